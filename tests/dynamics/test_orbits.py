import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.cells import GRU
from remanence.dynamics import find_orbits, idle_map, list_cycle
from remanence.errors import InvalidOptionError
from tests.dynamics.maps import IDLE, Logistic, Table, affine

SIZE = 24
tables = st.lists(st.integers(0, SIZE - 1), min_size=SIZE, max_size=SIZE)
every_start = np.arange(SIZE, dtype=float)[:, None]


def follow(step, start) -> tuple[int, int]:
    """Transient and period, by remembering every state there was."""
    seen = {}
    while start not in seen:
        seen[start] = len(seen)
        start = step(start)
    return seen[start], len(seen) - seen[start]


@given(tables)
@settings(max_examples=50, deadline=None)
@pytest.mark.parametrize("tolerance", [None, 0.5])
def test_orbits_of_finite_maps(tolerance: float | None, table: list[int]):
    expected = [follow(table.__getitem__, start) for start in range(SIZE)]
    # What the docstring promises to be enough.
    budget = max(2 * max(transient, period) + period for transient, period in expected)
    step = Table(np.array(table, float))
    orbits = find_orbits(step, every_start, budget=budget, tolerance=tolerance)
    assert orbits.closed.all()
    assert list(zip(orbits.transient, orbits.period, strict=True)) == expected
    for start, point in enumerate(orbits.point):
        for _ in range(expected[start][0]):
            start = table[start]
        assert point == [start]
    assert (orbits.steps <= budget).all()


@pytest.mark.parametrize("rate", [3.2, 3.5, 3.9])
def test_orbits_of_the_logistic_map_to_the_bit(rate: float):
    """No multiplication feeds an addition here, so NumPy's float32 has the same bits."""
    rate32, start = np.float32(rate), np.float32(0.3)
    expected = follow(lambda x: rate32 * x * (np.float32(1) - x), start)
    orbits = find_orbits(Logistic(np.array(rate32)), np.array([[start]]))
    assert (orbits.transient[0], orbits.period[0]) == expected


def test_a_sign_of_zero_counts_and_nan_is_itself():
    step = affine([[-1.0]], [0.0])
    orbits = find_orbits(lambda state: -state, np.array([[0.0], [np.nan]]))
    np.testing.assert_array_equal(orbits.period, [2, 2])
    held = find_orbits(lambda state: state * 1, np.array([[0.0], [np.nan]]))
    np.testing.assert_array_equal(held.period, [1, 1])
    np.testing.assert_array_equal(held.transient, [0, 0])
    near = find_orbits(step, np.array([[0.0], [np.nan]]), budget=100, tolerance=1e-3)
    np.testing.assert_array_equal(near.closed, [True, False])


@pytest.mark.parametrize("tolerance", [None, 1e-3])
def test_an_orbit_that_does_not_close_says_so(tolerance: float | None):
    starts = np.array([[0.0, 1.0], [5.0, 0.0]])
    step = affine([[1.0, 1.0], [0.0, 1.0]], [0.0, 0.0])
    orbits = find_orbits(step, starts, budget=100, tolerance=tolerance)
    np.testing.assert_array_equal(orbits.closed, [False, True])
    np.testing.assert_array_equal(orbits.transient, [-1, 0])
    np.testing.assert_array_equal(orbits.period, [-1, 1])
    np.testing.assert_array_equal(orbits.point, [[100.0, 1.0], [5.0, 0.0]])
    np.testing.assert_array_equal(orbits.steps, [100, 1])


def spiral(state):
    """Every orbit nears the unit circle, on which it turns by a seventh at each step."""
    radius = jnp.linalg.norm(state)
    angle = jnp.arctan2(state[1], state[0]) + 2 * np.pi / 7
    return (0.9 * radius + 0.1) * jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def test_orbits_close_to_a_tolerance_as_defined():
    starts, tolerance = np.array([[3.0, 0.0], [0.1, -0.1], [0.0, 1.0]]), 1e-4
    orbits = find_orbits(spiral, starts, tolerance=tolerance)
    np.testing.assert_array_equal(orbits.period, 7)
    for start, transient, point in zip(starts, orbits.transient, orbits.point, strict=True):
        states = list_cycle(spiral, start, 200)
        near = np.linalg.norm(states[7:] - states[:-7], axis=1) <= tolerance
        expected = next(t for t in range(100) if near[t : t + 7].all())
        assert transient == expected
        np.testing.assert_allclose(point, states[transient], rtol=0, atol=1e-12)


class Places(eqx.Module):
    """From each place to another; some places are near one another, but lead elsewhere."""

    places: np.ndarray
    table: np.ndarray

    def __call__(self, state):
        here = jnp.argmin(jnp.abs(jnp.asarray(self.places) - state))
        return jnp.asarray(self.places)[jnp.asarray(self.table)[here]][None]


def close_by_trying(states, tolerance: float) -> tuple[int, int]:
    """Transient and period, as the docstring has them."""

    def closes(time: int, period: int) -> bool:
        window = range(time, time + period)
        return all(abs(states[t + period] - states[t]) <= tolerance for t in window)

    times = [2**k - 1 for k in range(8)]
    period = next(p for s in times for p in range(1, s + 2) if closes(s, p))
    return next(t for t in range(200) if closes(t, period)), period


@given(tables, st.lists(st.integers(0, 40), min_size=SIZE, max_size=SIZE, unique=True))
@settings(max_examples=50, deadline=None)
def test_a_state_that_comes_near_once_has_not_closed(table: list[int], places: list[int]):
    step = Places(np.array(places, float), np.array(table, np.int32))
    starts = np.array(places, float)[:, None]
    orbits = find_orbits(step, starts, tolerance=1.5)
    for start in range(SIZE):
        indices = [start]
        for _ in range(400):
            indices.append(table[indices[-1]])
        states = [places[index] for index in indices]
        transient, period = close_by_trying(states, 1.5)
        assert (orbits.transient[start], orbits.period[start]) == (transient, period)
        assert orbits.point[start] == [states[transient]]


def test_an_orbit_does_not_depend_on_the_other_starts():
    step = idle_map(GRU(2, 5, key=jax.random.key(0)), IDLE)
    starts = np.random.default_rng(0).uniform(-1, 1, (3, 5))
    together = find_orbits(step, starts)
    alone = [find_orbits(step, start[None]) for start in starts]
    for name in ("transient", "period", "point", "steps"):
        expected = np.concatenate([getattr(orbits, name) for orbits in alone])
        np.testing.assert_array_equal(getattr(together, name), expected)


def test_cycle_is_listed_in_order():
    step = Table(np.roll(np.arange(SIZE, dtype=float), 1))
    np.testing.assert_array_equal(list_cycle(step, np.array([2.0]), 4), [[2], [1], [0], [SIZE - 1]])


@pytest.mark.parametrize("options", [{"budget": 0}, {"budget": 2**31}, {"tolerance": -1.0}])
def test_mistake_is_named(options: dict):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        find_orbits(lambda state: state, np.ones((1, 1)), **options)
