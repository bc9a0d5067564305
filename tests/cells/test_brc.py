import jax
import numpy as np
import pytest

from remanence.cells import BRC, NBRC
from tests.cells import reference

jitted_run = jax.jit(lambda cell, *episodes: cell.run(*episodes))


def name_brc(cell: BRC) -> reference.Weights:
    return reference.name_weights(
        ["W_r", "W_z", "W_n", "w_r", "w_z", "b_r", "b_z", "b_n"],
        [*cell.inputs.weight, *cell.recurrent_weight, *cell.inputs.bias],
    )


def name_nbrc(cell: NBRC) -> reference.Weights:
    return reference.name_weights(
        ["W_xr", "W_xz", "W_n", "W_hr", "W_hz", "b_r", "b_z", "b_n"],
        [*cell.inputs.weight, *cell.recurrent_weight, *cell.inputs.bias],
    )


both = pytest.mark.parametrize(
    ("kind", "step", "name_weights"),
    [(BRC, reference.step_brc, name_brc), (NBRC, reference.step_nbrc, name_nbrc)],
    ids=["brc", "nbrc"],
)


@both
@pytest.mark.parametrize("seed", range(4))
def test_run_follows_the_paper(kind, step, name_weights, seed: int):
    cell = reference.randomise(kind(3, 5, key=jax.random.key(seed)), seed)
    episodes = reference.draw_episodes(cell, seed)
    expected = reference.run(step, name_weights(cell), episodes)
    np.testing.assert_allclose(jitted_run(cell, *episodes), expected, rtol=1e-5, atol=1e-6)


# In double precision, as large weights magnify float32's rounding beyond any useful tolerance.
@both
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_step_follows_the_paper_with_weights_of_any_size(kind, step, name_weights, scale: float):
    cell = reference.randomise(kind(3, 5, key=jax.random.key(0)), 0, scale)
    computed, expected = reference.compare_steps(cell, step, name_weights)
    np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [BRC, NBRC])
def test_gradient_is_the_slope(kind):
    gradient, slope = reference.compare_slopes(
        reference.randomise(kind(2, 3, key=jax.random.key(0)), 0)
    )
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    assert np.all(gradient != 0)


def test_brc_weights_start_as_stated():
    cell = BRC(20, 40, key=jax.random.key(0))
    assert reference.is_xavier(cell.inputs.weight)
    assert not np.any(cell.inputs.bias)
    np.testing.assert_array_equal(cell.recurrent_weight, np.ones((2, 40)))


def test_nbrc_weights_start_as_stated():
    cell = NBRC(20, 40, key=jax.random.key(0))
    assert reference.is_xavier(cell.inputs.weight)
    assert reference.is_xavier(cell.recurrent_weight)
    assert not np.any(cell.inputs.bias)
