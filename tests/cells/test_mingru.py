import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.cells import MinGRU
from remanence.errors import InvalidOptionError
from tests.cells import reference

jitted_run = eqx.filter_jit(MinGRU.run)


def name_weights(cell: MinGRU) -> reference.Weights:
    return reference.name_weights(
        ["W_z", "W_n", "b_z", "b_n"], [*cell.inputs.weight, *cell.inputs.bias]
    )


@pytest.mark.parametrize("method", ["loop", "scan"])
@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_run_follows_the_paper(seed: int, scale: float, method: str):
    cell = reference.randomise(MinGRU(3, 5, key=jax.random.key(seed)), seed, scale)
    episodes = reference.draw_episodes(cell, seed)
    expected = reference.run(reference.step_mingru, name_weights(cell), episodes)
    # States are as large as the weights here, so rounding is relative to them.
    np.testing.assert_allclose(
        jitted_run(cell, *episodes, method), expected, rtol=1e-5, atol=1e-6 * scale
    )


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_step_follows_the_paper_with_weights_of_any_size(scale: float):
    cell = reference.randomise(MinGRU(3, 5, key=jax.random.key(0)), 0, scale)
    computed, expected = reference.compare_steps(cell, reference.step_mingru, name_weights)
    np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["loop", "scan"])
@pytest.mark.parametrize("num_steps", [1, 5, 17])
def test_state_decays_geometrically_without_input(num_steps: int, method: str):
    """h_T = b_n + σ(b_z)^T (h_0 - b_n), as σ(b_z) and b_n are the same at every step."""
    cell = reference.randomise(MinGRU(3, 5, key=jax.random.key(0)), 0)
    inputs, first, state = reference.draw_episodes(cell, 0, num_steps)
    states = jitted_run(cell, inputs * 0, first & False, state, method)
    b_z, b_n = np.asarray(cell.inputs.bias, np.float64)
    expected = b_n + (1 / (1 + np.exp(-b_z))) ** num_steps * (np.asarray(state) - b_n)
    np.testing.assert_allclose(states[-1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_steps", [1, 2, 5, 17])
def test_scan_is_the_loop(num_steps: int):
    cell = reference.randomise(MinGRU(3, 5, key=jax.random.key(0)), num_steps)
    episodes = reference.draw_episodes(cell, 0, num_steps)
    loop, scan = (jitted_run(cell, *episodes, method) for method in ("loop", "scan"))
    np.testing.assert_allclose(scan, loop, rtol=1e-5, atol=1e-6)


def test_gradient_is_the_slope():
    cell = reference.randomise(MinGRU(2, 3, key=jax.random.key(0)), 0)
    gradient, slope = reference.compare_slopes(cell)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    assert np.all(gradient != 0)


def test_weights_start_as_stated():
    cell = MinGRU(20, 40, key=jax.random.key(0))
    assert reference.is_xavier(cell.inputs.weight)
    assert not np.any(cell.inputs.bias)


@pytest.mark.parametrize("method", ["loop", "scan"])
def test_a_reset_stops_even_nan(method):
    cell = MinGRU(2, 3, key=jax.random.key(0))
    inputs = jnp.ones((7, 2)).at[2].set(jnp.nan)
    first = jnp.arange(7) == 4
    states = np.asarray(jitted_run(cell, inputs, first, cell.initial_state(), method))
    np.testing.assert_array_equal(np.isnan(states).all(axis=1), [0, 0, 1, 1, 0, 0, 0])
    poisoned = jnp.full(3, jnp.nan)
    assert np.isfinite(jitted_run(cell, inputs[4:], first[4:], poisoned, method)).all()


@pytest.mark.parametrize("method", ["loop", "scan"])
def test_an_empty_sequence_has_no_states(method):
    cell = MinGRU(2, 3, key=jax.random.key(0))
    nothing = jnp.zeros((0, 2)), jnp.zeros(0, bool)
    assert jitted_run(cell, *nothing, cell.initial_state(), method).shape == (0, 3)


def test_no_decay_is_above_its_ceiling():
    """A ceiling times the gate of the same cell without one."""
    free, capped = (
        MinGRU(2, 3, key=jax.random.key(0), decay_ceiling=ceiling) for ceiling in (1.0, 0.6)
    )
    assert free.ceiling is None
    for size in (0.1, 100.0):
        input = size * jnp.array([1.0, -2.0])
        (decay, _), (lower, drive) = (it.coefficients(it.project(input)) for it in (free, capped))
        np.testing.assert_allclose(lower, 0.6 * decay, rtol=1e-6)
        np.testing.assert_allclose(drive, (1 - lower) * capped.project(input)[1], rtol=1e-6)


def test_a_ceiling_is_not_trained():
    cell = MinGRU(2, 3, key=jax.random.key(0), decay_ceiling=0.6)
    slope = eqx.filter_grad(lambda it: it.step(jnp.ones(2), jnp.ones(3)).sum())(cell)
    np.testing.assert_array_equal(slope.ceiling, np.zeros(3))
    assert np.all(slope.inputs.bias != 0)


@pytest.mark.parametrize("ceiling", [0.0, -0.5, 1.5, float("nan")])
def test_a_ceiling_is_above_0_and_up_to_1(ceiling):
    with pytest.raises(InvalidOptionError, match="use a number above 0 and up to 1"):
        MinGRU(2, 3, key=jax.random.key(0), decay_ceiling=ceiling)
