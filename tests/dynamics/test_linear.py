import jax
import numpy as np
import pytest

from remanence._typing import Key
from remanence.cells import GRU, MinGRU, Parallel, Stack
from remanence.dynamics import find_sole_attractor, idle_map, iterate
from tests.dynamics.maps import IDLE, affine, make_bmru, make_mingru


def make_stack(num_layers: int, size: int) -> Stack:
    """Layers of minGRUs that forget within some tens of steps."""
    keys = jax.random.split(jax.random.key(3), num_layers)
    sizes = [len(IDLE)] + [size] * (num_layers - 1)
    return Stack([MinGRU(below, size, key=key) for below, key in zip(sizes, keys, strict=True)])


@pytest.mark.parametrize("num_layers", [1, 2, 4])
def test_it_is_where_all_orbits_of_a_stack_end(num_layers):
    step = idle_map(make_stack(num_layers, 3), IDLE)
    starts = np.random.default_rng(0).normal(size=(5, 3 * num_layers))
    found = find_sole_attractor(step)
    assert found is not None
    np.testing.assert_allclose(iterate(step, starts, 2000), np.tile(found, (5, 1)), atol=1e-12)


def test_it_does_not_depend_on_how_slow_the_cell_is():
    found = find_sole_attractor(idle_map(make_mingru([30.0, -2.0], [0.5, -0.25]), IDLE))
    assert found is not None
    np.testing.assert_allclose(found, [0.5, -0.25], rtol=1e-6)


def test_nothing_is_said_where_the_form_does_not_tell():
    stuck = make_mingru([100.0], [0.5])  # σ(100) is 1, and the state stays what it was
    broken = [make_mingru([0.0], [drive]) for drive in (np.nan, np.inf)]
    mixed = Stack([MinGRU(2, 3, key=jax.random.key(0)), GRU(3, 3, key=jax.random.key(1))])
    beside = Parallel([MinGRU(2, 3, key=jax.random.key(i)) for i in range(2)])
    below = Stack([make_bmru([0.6], [0.5]), MinGRU(1, 2, key=jax.random.key(0))])
    for cell in (stuck, *broken, mixed, beside, below, make_bmru([0.5], [0.5])):
        assert find_sole_attractor(idle_map(cell, IDLE)) is None
    assert find_sole_attractor(affine([[0.5]], [0.0])) is None


class Swinging(MinGRU):
    """A cell whose decay is below -1."""

    def __init__(self, input_size: int, state_size: int, *, key: Key):
        super().__init__(input_size, state_size, key=key)

    def coefficients(self, projected):
        decay, drive = super().coefficients(projected)
        return -1 - decay, drive


def test_a_decay_below_minus_1_is_not_one_that_settles():
    calm, swinging = (make(2, 1, key=jax.random.key(0)) for make in (MinGRU, Swinging))
    assert find_sole_attractor(idle_map(calm, IDLE)) is not None
    assert find_sole_attractor(idle_map(swinging, IDLE)) is None
