import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from remanence.dynamics import (
    Attractor,
    BudgetWarning,
    PrecisionWarning,
    find_attractors,
    idle_map,
    spread_starts,
)
from tests.dynamics.maps import (
    IDLE,
    Logistic,
    affine,
    find_root,
    make_bmru,
    make_gru_unit,
    make_mingru,
)

LINE = spread_starts(0, 16, 1)


def get_eigenvalues(attractor: Attractor) -> np.ndarray:
    assert attractor.eigenvalues is not None
    return attractor.eigenvalues


def test_linear_map_has_its_fixed_point_and_spectrum():
    matrix = np.array([[0.5, 0.2], [0.0, -0.9]])
    [attractor] = find_attractors(affine(matrix, [1.0, 2.0]), spread_starts(0, 8, 2))
    expected = np.linalg.solve(np.eye(2) - matrix, [1.0, 2.0])
    np.testing.assert_allclose(attractor.points, expected[None], rtol=1e-12)
    np.testing.assert_allclose(get_eigenvalues(attractor), [-0.9, 0.5], rtol=1e-12)
    assert attractor.time_constant_steps == pytest.approx(-1 / np.log(0.9))
    assert (attractor.period, attractor.share) == (1, 1.0)
    assert attractor.stable
    assert attractor.converged
    assert attractor.residual <= 1e-12


def test_gru_has_the_equilibria_that_a_root_finder_has():
    """z h + (1 - z) tanh(w h / 2 + b), of slope z + (1 - z) (1 - h²) w / 2 where h is at rest."""
    w, b, z = 3.0, np.float64(np.float32(0.1)), 1 / (1 + np.exp(-0.5))
    attractors = find_attractors(idle_map(make_gru_unit(w, b), IDLE), LINE)
    roots = [
        find_root(lambda h: np.tanh(w * h / 2 + b) - h, *ends) for ends in [(-1, -0.5), (0.5, 1)]
    ]
    found = sorted(attractors, key=lambda it: it.points[0, 0])
    for attractor, root in zip(found, roots, strict=True):
        assert attractor.points[0, 0] == pytest.approx(root, abs=1e-10)
        slope = z + (1 - z) * (1 - root**2) * w / 2
        np.testing.assert_allclose(get_eigenvalues(attractor), [slope], rtol=1e-9)
    saddle = find_root(lambda h: np.tanh(w * h / 2 + b) - h, -0.5, 0.0)
    assert found[1].share == (saddle < LINE).mean()


@pytest.mark.parametrize(("rate", "period"), [(2.8, 1), (3.2, 2), (3.5, 4)])
def test_cycles_of_the_logistic_map(rate: float, period: int):
    [cycle] = find_attractors(Logistic(np.array(rate)), 0.5 + 0.4 * LINE)
    assert cycle.period == period
    successors = rate * cycle.points * (1 - cycle.points)
    np.testing.assert_allclose(successors, np.roll(cycle.points, -1, axis=0), atol=1e-12)
    multiplier = np.prod(rate * (1 - 2 * cycle.points))
    np.testing.assert_allclose(get_eigenvalues(cycle), [multiplier], rtol=1e-9)
    assert cycle.time_constant_steps == pytest.approx(-period / np.log(abs(multiplier)))
    if period == 2:
        assert multiplier == pytest.approx(4 + 2 * rate - rate**2)


def test_a_chaotic_map_has_no_cycle_to_show():
    with pytest.warns(BudgetWarning, match="16 of 16 orbits had not settled .* 500 steps"):
        assert find_attractors(Logistic(np.array(3.9)), 0.5 + 0.4 * LINE, budget=500) == ()


def test_a_budget_that_ends_too_early_is_warned_of():
    """The left half moves by 1 in 10 of the way that is left, the right half by 1 in 10,000."""

    def step(state):
        right = state > 0
        return state + jnp.where(right, 1e-4, 0.1) * (jnp.where(right, 1.0, -1.0) - state)

    starts = np.array([[-0.5], [-0.4], [0.5]])
    with pytest.warns(BudgetWarning, match="1 of 3 orbits had not settled .* 300 steps"):
        [left] = find_attractors(step, starts, budget=300)
    assert left.share == pytest.approx(2 / 3)
    left, right = find_attractors(step, starts, budget=300_000)
    assert left.share + right.share == 1


def test_float32_that_cannot_tell_a_slow_mode_is_warned_of():
    """In float32, 1 - 1e-6 is known to 6 parts in 100 of its distance from 1."""
    step = idle_map(make_mingru([14.0], [0.25]), IDLE, np.float32)
    with pytest.warns(PrecisionWarning, match="1 of 1 time constants .* rounds too coarsely"):
        [attractor] = find_attractors(step, np.array([[0.25]], np.float32), tolerance=1e-6)
    assert attractor.time_constant_error_steps is not None
    assert attractor.time_constant_steps == pytest.approx(
        np.exp(14.0), abs=attractor.time_constant_error_steps
    )


def test_a_mode_slower_than_the_tolerance_is_followed_to_its_end():
    """Each step moves by less than 3e-10 of the distance that is left."""
    b_z = 22.0
    [attractor] = find_attractors(idle_map(make_mingru([b_z], [0.25]), IDLE), LINE)
    np.testing.assert_allclose(attractor.points, [[0.25]], atol=1e-6)
    assert attractor.time_constant_steps == pytest.approx(np.exp(b_z), rel=1e-5)


def test_newton_does_not_lead_to_an_unstable_point():
    """Both starts creep away from 0.5, by less than the tolerance."""
    growth = 1e-11
    starts = np.array([[0.25], [0.75]])
    attractors = find_attractors(affine([[1 + growth]], [-0.5 * growth]), starts)
    assert [it.points[0, 0] for it in attractors] == pytest.approx([0.25, 0.75], abs=1e-6)
    assert [it.stable for it in attractors] == [False, False]


def test_a_slowly_decaying_oscillation_is_no_cycle():
    [attractor] = find_attractors(affine([[-0.999]], [1.0]), LINE)
    assert attractor.period == 1
    np.testing.assert_allclose(attractor.points, [[1 / 1.999]], atol=1e-10)
    np.testing.assert_allclose(get_eigenvalues(attractor), [-0.999], rtol=1e-12)


@pytest.mark.parametrize("tolerance", [None, 1e-9])
def test_bmru_has_an_attractor_for_each_pattern_that_it_holds(tolerance: float | None):
    """The third unit's input is above its threshold, and sets it."""
    step = idle_map(make_bmru([0.1, -0.2, -0.9], [0.5, 0.5, 0.5], alpha=0.75), IDLE)
    corners = 0.75 * np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    attractors = find_attractors(step, corners, smooth=False, tolerance=tolerance)
    expected = {(0.75 * a, 0.75 * b, -0.75) for a in (-1, 1) for b in (-1, 1)}
    assert {tuple(it.points[0]) for it in attractors} == expected
    for attractor in attractors:
        assert (attractor.residual, attractor.share) == (0.0, 0.25)
        assert attractor.converged
        assert attractor.stable is None
        assert attractor.eigenvalues is None
        assert attractor.time_constant_steps is None
        assert attractor.time_constant_error_steps is None


def test_an_orbit_at_rest_on_an_unstable_point_is_told_from_the_others():
    starts = np.array([[-0.5], [0.0], [0.0], [0.5]])
    attractors = find_attractors(lambda state: jnp.tanh(2 * state), starts)
    assert [it.stable for it in attractors] == [True, False, True]
    assert [it.share for it in attractors] == [0.25, 0.5, 0.25]
    unstable = attractors[1]
    np.testing.assert_array_equal(unstable.points, [[0.0]])
    np.testing.assert_array_equal(get_eigenvalues(unstable), [2.0])
    assert unstable.time_constant_steps is not None
    assert np.isnan(unstable.time_constant_steps)


def test_a_map_that_holds_everything_has_no_time_constant():
    first, second = find_attractors(affine([[1.0]], [0.0]), np.array([[0.0], [1.0]]))
    assert first.time_constant_steps == second.time_constant_steps == np.inf
    assert not first.stable
    [gone] = find_attractors(affine([[0.0]], [2.0]), np.array([[0.0], [1.0]]))
    assert gone.time_constant_steps == 0.0
    assert gone.stable


def test_starts_fill_the_cube():
    starts = spread_starts(3, 1000, 2, scale=2.0)
    np.testing.assert_array_equal(starts, spread_starts(3, 1000, 2, scale=2.0))
    assert (np.abs(starts) <= 2).all()
    np.testing.assert_allclose(starts.std(axis=0), 2 / np.sqrt(3), rtol=0.1)
