"""What a map does near one of its cycles, by the eigenvalues of its linear part there."""

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from remanence.dynamics._differences import Linearization
from remanence.dynamics._maps import Cycle, NumpyMap, Step, measure_rounding, use_precision
from remanence.dynamics._orbits import follow

Eigenvalues = Complex[np.ndarray, " state"]
NUM_SAMPLES = 16
# A time constant that may be off by more than this part of itself is warned of.
TOLERATED_ERROR = 0.1


class PrecisionWarning(UserWarning):
    """The map rounds too coarsely for what was asked of it.

    In float32, for example, a time constant of a million steps cannot be known:

    >>> import warnings
    >>> from remanence import dynamics
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     [point] = dynamics.find_fixed_points(
    ...         lambda state: (1 - 1e-6) * state, np.zeros((1, 1), np.float32)
    ...     )
    >>> [warning.category.__name__ for warning in caught]
    ['PrecisionWarning']
    """


class Spectrum(NamedTuple):
    """The eigenvalues of one turn around a cycle, and the time constant of the slowest mode.

    `error_steps` is how far the time constant may be from the true one, as far as can be told.
    """

    eigenvalues: Eigenvalues
    time_constant_steps: float
    error_steps: float

    @property
    def stable(self) -> bool:
        """Whether all eigenvalues are inside the unit circle."""
        return bool((np.abs(self.eigenvalues) < 1).all())


def compute_spectrum(step: Step, cycle: Cycle, residual: float) -> Spectrum:
    """The spectrum of one turn around `cycle`, which misses its first point by `residual`."""
    period = len(cycle)
    turn = _linearize_turn(step, cycle)
    if not np.isfinite(turn.jacobian).all():
        return Spectrum(np.full(cycle.shape[1], np.nan, complex), np.nan, np.nan)
    eigenvalues = np.linalg.eigvals(turn.jacobian).astype(complex)
    eigenvalues = eigenvalues[np.argsort(-np.abs(eigenvalues), kind="stable")]
    largest = float(np.abs(eigenvalues[0]))
    spread = _spread_by_derivatives(turn) + _spread_by_position(step, cycle, turn, residual)
    return Spectrum(
        eigenvalues,
        compute_time_constant(largest, period),
        _compute_error(largest, spread, period),
    )


def compute_time_constant(largest: float, period: int) -> float:
    """Steps in which a mode of the eigenvalue |λ| = `largest` shrinks by a factor e.

    That is -period / log|λ|. It is infinite where the mode neither shrinks nor grows, 0 where it
    is gone within one turn, and NaN where it grows.
    """
    if not 0 < largest < 1:
        return {0.0: 0.0, 1.0: np.inf}.get(largest, np.nan)
    return float(-period / np.log(largest))


def warn_if_uncertain(found: Iterable[tuple[float | None, float | None]], stacklevel: int) -> None:
    """Warn of the worst known of some time constants, each given with its error."""
    known = [(steps, error) for steps, error in found if steps is not None and error is not None]
    # A mode that lasts for ever, or is gone in a step, needs no digits.
    known = [(steps, error) for steps, error in known if np.isfinite(steps)]
    uncertain = [it for it in known if it[1] > TOLERATED_ERROR * max(it[0], 1.0)]
    if uncertain:
        steps, error = max(uncertain, key=lambda it: it[1] / max(it[0], 1.0))
        much = f"by {error:.2g} steps" if np.isfinite(error) else "by any number of steps"
        warnings.warn(
            f"{len(uncertain)} of {len(known)} time constants are not known to within a tenth; "
            f"the worst is given as {steps:.4g} steps and may be off {much}, because the map "
            "rounds too coarsely. Use float64 starts, and a map that computes in float64 all the "
            "way.",
            PrecisionWarning,
            stacklevel=stacklevel + 1,
        )


def _compute_error(largest: float, spread: float, period: int) -> float:
    """How far the time constant moves if the largest eigenvalue moves by `spread`."""
    middle = compute_time_constant(largest, period)
    if not np.isfinite(middle):
        return np.nan if np.isnan(middle) else np.inf
    if not largest + spread < 1:
        return np.inf
    ends = (max(largest - spread, 0.0), largest + spread)
    return max(abs(compute_time_constant(end, period) - middle) for end in ends)


def _spread_by_derivatives(turn: Linearization) -> float:
    """How far the largest eigenvalue moves if every derivative is off by its error.

    The signs of the errors are not known, and are drawn: that holds for eigenvalues that meet,
    too, where a formula of first order does not.
    """
    if not np.isfinite(turn.error).all():
        return np.inf
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (NUM_SAMPLES, *turn.error.shape))
    moved = _find_largest(turn.jacobian + signs * turn.error)
    return float(np.abs(moved - _find_largest(turn.jacobian)).max())


def _spread_by_position(step: Step, cycle: Cycle, turn: Linearization, residual: float) -> float:
    """How far the largest eigenvalue moves if the cycle is where rounding may have hidden it.

    Where x is known to satisfy f(x) = x up to e, it is known up to e / σ, along the direction in
    which I - f'(x) is least, σ.
    """
    missed = residual + 3 * float(np.linalg.norm(turn.noise))
    _, sizes, directions = np.linalg.svd(np.eye(len(turn.jacobian)) - turn.jacobian)
    if not sizes[-1] > 0:
        return np.inf
    largest, spread = _find_largest(turn.jacobian), 0.0
    for shift in (missed / sizes[-1], -missed / sizes[-1]):
        start = (cycle[0] + shift * directions[-1]).astype(cycle.dtype)
        moved = _linearize_turn(step, follow(step, start, len(cycle))).jacobian
        if not np.isfinite(moved).all():
            return np.inf
        spread = max(spread, abs(float(_find_largest(moved) - largest)))
    return spread


def _find_largest(
    jacobians: Float[np.ndarray, "*batch state state"],
) -> Float[np.ndarray, "*batch"]:
    return np.asarray(np.abs(np.linalg.eigvals(jacobians)).max(axis=-1))


def _linearize_turn(step: Step, cycle: Cycle) -> Linearization:
    """One turn's Jacobian, by the chain rule, with errors that add up along the way."""
    size = cycle.shape[1]
    jacobian, error, noise = np.eye(size), np.zeros((size, size)), np.zeros(size)
    for part in _linearize(step, cycle):
        slopes = np.abs(part.jacobian)
        error = slopes @ error + part.error @ np.abs(jacobian)
        noise = slopes @ noise + part.noise
        jacobian = part.jacobian @ jacobian
    return Linearization(jacobian, error, noise)


def _linearize(step: Step, cycle: Cycle) -> list[Linearization]:
    if isinstance(step, NumpyMap):
        return [step.linearize(point) for point in cycle]
    with use_precision(cycle.dtype):
        jacobians = jax.device_get(_differentiate(step, jnp.asarray(cycle))).astype(float)
    rounding = 4 * float(np.finfo(cycle.dtype).eps)
    return [
        Linearization(
            jacobian,
            rounding * np.maximum(1, np.abs(jacobian)),
            measure_rounding(step, point),
        )
        for jacobian, point in zip(jacobians, cycle, strict=True)
    ]


@eqx.filter_jit
def _differentiate(
    step: Step, points: Float[Array, "points state"]
) -> Float[Array, "points state state"]:
    return jax.vmap(jax.jacfwd(step))(points)
