"""Float32 against float64 and JAX: what is stated of the error must hold."""

import json
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.dynamics import (
    PrecisionWarning,
    find_attractors,
    find_fixed_points,
    from_numpy,
    spread_starts,
)

WEIGHTS = Path(__file__).parents[2] / "examples" / "torch_gru_cell.json"
TimeConstant = tuple[np.ndarray, float, float]
PRECISIONS = {"float32": np.float32, "hidden float32": np.float64, "float64": np.float64}


def make_leaky(rate: float, size: int) -> tuple[Callable, Callable, np.ndarray]:
    """h -> h + rate (tanh(W h + b) - h), as functions of NumPy and of JAX, and weights."""
    random = np.random.default_rng(size)
    weights = 0.5 * random.normal(size=(size, size + 1)) / np.sqrt(size)

    def update(state, weights, tanh=np.tanh):
        dtype = weights.dtype.type
        return state + dtype(rate) * (tanh(weights[:, 1:] @ state + weights[:, 0]) - state)

    return update, lambda state, weights: update(state, weights, jnp.tanh), weights


def make_gru() -> tuple[Callable, Callable, np.ndarray]:
    """The example's PyTorch cell, its input at 0."""
    stored = json.loads(WEIGHTS.read_text())
    names = ("weight_hh", "bias_ih", "bias_hh")
    hh, b_ih, b_hh = (np.asarray(stored[name]) for name in names)

    def update(state, weights, numpy=np):
        x_r, x_z, x_n = weights[:, 0].reshape(3, -1)
        h_r, h_z, h_n = (weights[:, 2:] @ state + weights[:, 1]).reshape(3, -1)
        r, z = (1 / (1 + numpy.exp(-gate)) for gate in (x_r + h_r, x_z + h_z))
        return (1 - z) * numpy.tanh(x_n + r * h_n) + z * state

    weights = np.concatenate([b_ih[:, None], b_hh[:, None], hh], axis=1)
    return update, lambda state, weights: update(state, weights, jnp), weights


CELLS = {
    "quick": lambda: make_leaky(0.7, 1),
    "moderate": lambda: make_leaky(0.0625, 8),
    "slow": lambda: make_leaky(2.0**-8, 3),
    "gru": make_gru,
}


def make_map(make: Callable, kind: str) -> Callable:
    update, _, weights = make()
    inside = np.float64 if kind == "float64" else np.float32
    weights = weights.astype(np.float32).astype(inside)

    def function(state):
        result = update(state.astype(inside), weights)
        assert result.dtype == inside
        return result.astype(PRECISIONS[kind])

    return from_numpy(function)


def find(make: Callable, step: Callable, kind: str, tolerance: float) -> list[TimeConstant]:
    """Where attractors are, their time constants, and how far these may be off."""
    size = len(make()[2]) // (3 if make is make_gru else 1)
    starts = spread_starts(0, 8, size).astype(PRECISIONS[kind])
    # Rounding leaves the ends of a slow mode apart, by more than the default merges.
    found = find_attractors(step, starts, budget=20_000, tolerance=tolerance, merge_distance=1e-3)
    assert all(it.period == 1 for it in found)
    return [
        (it.points[0], it.time_constant_steps or 0.0, it.time_constant_error_steps or 0.0)
        for it in found
    ]


def differentiate(make: Callable, point: np.ndarray) -> np.ndarray:
    _, update, weights = make()
    with jax.enable_x64(True):
        weights = jnp.asarray(weights.astype(np.float32).astype(np.float64))
        slopes = jax.jit(jax.jacfwd(lambda state: update(state, weights)))
        return np.asarray(slopes(jnp.asarray(point)))


@pytest.mark.parametrize("name", CELLS)
def test_float32_time_constants_are_right_within_their_error(name: str):
    make = CELLS[name]
    precise = find(make, make_map(make, "float64"), "float64", 1e-6)
    for point, steps, error in precise:
        largest = np.abs(np.linalg.eigvals(differentiate(make, point))).max()
        assert steps == pytest.approx(-1 / np.log(largest), rel=1e-8)
        assert 0 < error < 1e-6 * steps
    for kind in ("float32", "hidden float32"):
        step = make_map(make, kind)
        for tolerance in (1e-4, 1e-5, 1e-6):
            found = find(make, step, kind, tolerance)
            for (point, steps, error), (place, truth, _) in zip(found, precise, strict=True):
                np.testing.assert_allclose(point, place, rtol=0, atol=1e-3)
                assert abs(steps - truth) <= error < 0.1 * truth


@pytest.mark.parametrize("kind", ["float16", "float32", "gates in float32"])
def test_derivatives_of_a_function_that_hides_its_precision(kind: str):
    """tanh(1.5 h + 0.1) / 2 + h / 2 at many states, each within the error that is stated."""
    inside = np.float16 if kind == "float16" else np.float32

    def function(state):
        gate = np.tanh(inside(1.5) * state.astype(inside) + inside(0.1))
        kept = state if kind.startswith("gates") else state.astype(inside)
        return (gate / inside(2) + kept / inside(2)).astype(np.float64)

    states = np.random.default_rng(0).uniform(-1, 1, 50)
    found = [from_numpy(function).linearize(np.array([state])) for state in states]
    truth = 0.75 * (1 - np.tanh(1.5 * states + 0.1) ** 2) + 0.5
    errors = np.array([it.error[0, 0] for it in found])
    offs = np.abs([it.jacobian[0, 0] for it in found] - truth)
    assert (offs <= errors).all()
    assert np.median(errors) < (0.5 if kind == "float16" else 2e-4)


def test_the_step_of_a_solver_has_a_width_that_suits_the_function():
    """With the width for float64, 6e-6, rounding to float32 would make errors of 1 in 100."""
    step = from_numpy(lambda state: np.tanh(state.astype(np.float32)).astype(np.float64))
    states = np.random.default_rng(0).uniform(-1, 1, 50)
    with jax.enable_x64(True):
        differentiate = jax.jit(jax.jacfwd(step))
        slopes = np.array([differentiate(jnp.array([state]))[0, 0] for state in states])
    np.testing.assert_allclose(slopes, 1 - np.tanh(states) ** 2, rtol=0, atol=1e-4)


def test_a_probe_may_leave_the_domain():
    step = from_numpy(lambda state: np.sqrt(1 - state**2))
    found = step.linearize(np.array([0.999]))
    truth = -0.999 / np.sqrt(1 - 0.999**2)
    assert abs(found.jacobian[0, 0] - truth) <= found.error[0, 0] < 1e-3


def test_a_jacobian_that_is_given_is_believed_up_to_the_rounding_of_the_function():
    half = np.array([[0.5]])
    single = from_numpy(lambda state: (state / 2 + 0.1).astype(np.float32), lambda state: half)
    found = single.linearize(np.array([0.2]))
    np.testing.assert_array_equal(found.jacobian, half)
    assert 1e-8 < found.error[0, 0] < 1e-6


def test_fixed_points_that_rounding_hides_are_warned_of():
    weights = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    step = from_numpy(lambda state: np.tanh(weights @ state.astype(np.float32) + np.float32(0.3)))
    starts = spread_starts(0, 6, 4)
    with pytest.warns(
        PrecisionWarning, match=r"6 starts .* tolerance of 1e-12, .* of [1-9]e-0[67],"
    ):
        assert find_fixed_points(step, starts, tolerance=1e-12) == ()
    [point] = find_fixed_points(step, starts, tolerance=1e-6)
    jacobian = (1 - point.point**2)[:, None] * weights.astype(np.float64)
    np.testing.assert_allclose(
        np.abs(point.eigenvalues).max(), np.abs(np.linalg.eigvals(jacobian)).max(), rtol=1e-4
    )
