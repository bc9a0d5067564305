import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import cells
from remanence.dynamics import find_orbits, from_numpy, idle_map, is_smooth, iterate
from remanence.errors import InvalidOptionError
from tests.dynamics.maps import IDLE, make_mingru


def test_idle_map_runs_in_the_precision_of_the_states():
    """h_T = b_n + σ(b_z)^T (h_0 - b_n), which float32 could not follow to 1e-14."""
    cell = make_mingru([1.0, -2.0, 3.0], [0.25, 0.5, -0.75])
    starts = np.random.default_rng(0).uniform(-1, 1, (2, 3))
    b_z, b_n = np.asarray(cell.inputs.bias, np.float64)
    expected = b_n + (1 / (1 + np.exp(-b_z))) ** 7 * (starts - b_n)
    states = iterate(idle_map(cell, IDLE), starts, 7)
    np.testing.assert_allclose(states, expected, rtol=1e-14, atol=1e-14)
    single = iterate(idle_map(cell, IDLE, np.float32), starts.astype(np.float32), 7)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-5, atol=1e-6)
    assert not jax.config.jax_enable_x64  # pyrefly: ignore[missing-attribute]


def test_input_reaches_the_cell():
    cell = cells.MinGRU(2, 3, key=jax.random.key(0))
    input = np.array([1.0, -2.0])
    z, n = np.asarray(cell.inputs.weight, np.float64) @ input
    [state] = iterate(idle_map(cell, input), np.ones((1, 3)), 1)
    np.testing.assert_allclose(state, 1 / (1 + np.exp(-z)) * (1 - n) + n, rtol=1e-14)


def test_cells_that_differ_in_weights_share_a_program():
    counts = [0]

    class Counted(cells.AbstractCell):
        weight: jax.Array  # pyrefly: ignore[bad-class-definition]
        input_size: int = eqx.field(static=True, default=2)
        state_size: int = eqx.field(static=True, default=3)

        def update(self, projected, state):
            counts[-1] += 1
            return self.weight * state

    for scale in (0.5, 0.25, 0.125):
        [state] = iterate(idle_map(Counted(weight=jnp.full(3, scale)), IDLE), np.ones((1, 3)), 2)
        np.testing.assert_array_equal(state, scale**2)
        counts.append(0)
    # Checking shapes traces once each time; compiling does only the first.
    assert counts[0] > 1
    assert counts[1:3] == [1, 1]


@pytest.mark.parametrize("name", ["gru", "lstm", "brc", "nbrc", "mingru", "bmru", "hybrid"])
def test_cells_with_a_bmru_are_not_smooth(name: str):
    cell = cells.make(name, 2, 4, key=jax.random.key(0))
    assert is_smooth(cell) == (name not in ("bmru", "hybrid"))
    assert is_smooth(cells.Stack([cell])) == is_smooth(cell)


def turn(state):
    return np.array([np.sin(2 * state[1]), np.cos(state[0]) * state[1]])


def differentiate_turn(state):
    x, y = state
    return np.array([[0, 2 * np.cos(2 * y)], [-np.sin(x) * y, np.cos(x)]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_function_keeps_its_bits(dtype: type):
    starts = np.random.default_rng(0).uniform(-1, 1, (5, 2)).astype(dtype)
    expected = starts
    for _ in range(20):
        expected = np.stack([turn(state) for state in expected]).astype(dtype)
    step = from_numpy(turn)
    np.testing.assert_array_equal(iterate(step, starts, 20), expected)
    orbits = find_orbits(step, starts, budget=20, tolerance=0.0)
    np.testing.assert_array_equal(orbits.point, expected)
    # Batched, where JAX may call from another thread.
    batched = jax.jit(jax.vmap(lambda it: jax.lax.fori_loop(0, 20, lambda _, x: step(x), it)))
    with jax.enable_x64(dtype == np.float64):
        np.testing.assert_array_equal(batched(starts), expected)


def logistic(state):
    return 3.2 * state * (1 - state)


LOGISTIC_STARTS = np.array([[0.1], [0.5], [0.9], [1.5], [0.0], [0.513045]])


@pytest.mark.parametrize("tolerance", [None, 1e-2, 1e-9])
@pytest.mark.parametrize("budget", [7, 5_000])
def test_orbits_of_a_numpy_function_are_those_of_the_same_map_in_jax(tolerance, budget):
    """A cycle of two, a start that runs away, one that stands still and one on the cycle."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = find_orbits(
            from_numpy(logistic), LOGISTIC_STARTS, budget=budget, tolerance=tolerance
        )
    expected = find_orbits(logistic, LOGISTIC_STARTS, budget=budget, tolerance=tolerance)
    for name in ("closed", "transient", "period", "steps"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    np.testing.assert_allclose(found.point, expected.point, rtol=1e-12)


@pytest.mark.parametrize("jacobian", [None, differentiate_turn])
def test_numpy_function_has_derivatives(jacobian):
    state = np.array([0.3, -0.7])
    with jax.enable_x64(True):
        derivatives = jax.jit(jax.jacfwd(from_numpy(turn, jacobian)))(state)
    atol = 1e-9 if jacobian is None else 1e-15
    np.testing.assert_allclose(derivatives, differentiate_turn(state), rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("step", "starts", "option"),
    [
        (lambda state: state, np.ones((0, 3)), "starts"),
        (lambda state: state[:1], np.ones((2, 3)), "step"),
        (lambda state: state.astype(jnp.float32), np.ones((2, 3)), "step"),
    ],
)
def test_mistake_is_named(step, starts: np.ndarray, option: str):
    with pytest.raises(InvalidOptionError, match=option):
        iterate(step, starts, 1)
