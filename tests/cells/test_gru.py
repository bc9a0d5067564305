import itertools

import jax
import numpy as np
import pytest

from remanence.cells import GRU
from tests.cells import reference

jitted_run = jax.jit(GRU.run)


def name_weights(cell: GRU) -> reference.Weights:
    return reference.name_weights(
        ["W_xr", "W_xz", "W_xn", "W_hr", "W_hz", "W_hn", "b_r", "b_z", "b_n"],
        [*cell.inputs.weight, *cell.recurrent_weight, *cell.inputs.bias],
    )


@pytest.mark.parametrize("seed", range(4))
def test_run_follows_the_paper(seed: int):
    cell = reference.randomise(GRU(3, 5, key=jax.random.key(seed)), seed)
    episodes = reference.draw_episodes(cell, seed)
    expected = reference.run(reference.step_gru, name_weights(cell), episodes)
    np.testing.assert_allclose(jitted_run(cell, *episodes), expected, rtol=1e-5, atol=1e-6)


# In double precision, as large weights magnify float32's rounding beyond any useful tolerance.
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_step_follows_the_paper_with_weights_of_any_size(scale: float):
    cell = reference.randomise(GRU(3, 5, key=jax.random.key(0)), 0, scale)
    computed, expected = reference.compare_steps(cell, reference.step_gru, name_weights)
    np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-12)


def test_gradient_is_the_slope():
    cell = reference.randomise(GRU(2, 3, key=jax.random.key(0)), 0)
    gradient, slope = reference.compare_slopes(cell)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    assert np.all(gradient != 0)


def test_weights_start_as_stated():
    cell = GRU(20, 40, key=jax.random.key(0))
    assert reference.is_xavier(cell.inputs.weight)
    assert not np.any(cell.inputs.bias)
    for weight in cell.recurrent_weight:
        np.testing.assert_allclose(weight @ weight.T, np.eye(40), atol=1e-5)
    for one, other in itertools.combinations(cell.recurrent_weight, 2):
        assert np.max(np.abs(one - other)) > 0.1
