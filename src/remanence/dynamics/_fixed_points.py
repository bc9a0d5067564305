"""Fixed points of smooth maps, the unstable ones too, which no iteration can find."""

import warnings
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from remanence.dynamics._maps import (
    Cycle,
    Starts,
    State,
    Step,
    check_starts,
    measure_rounding,
    use_precision,
)
from remanence.dynamics._merging import merge
from remanence.dynamics._orbits import BATCH_SIZE
from remanence.dynamics._spectrum import (
    Eigenvalues,
    PrecisionWarning,
    compute_spectrum,
    warn_if_uncertain,
)

Missed = tuple[Float[np.ndarray, "missed state"], Float[np.ndarray, " missed"]]


@dataclass(frozen=True)
class FixedPoint:
    """A state that the map leaves where it is, up to `residual` = |step(point) - point|.

    It is stable when all `eigenvalues` of the Jacobian are inside the unit circle. Its time
    constant may be off by `time_constant_error_steps`, as that of an `Attractor`.

    >>> from remanence import dynamics
    >>> [point] = dynamics.find_fixed_points(jnp.cos, np.array([[0.5]]))
    >>> point.point.round(3).tolist(), point.residual < 1e-9, point.stable, point.num_unstable
    ([0.739], True, True, 0)
    """

    point: Float[np.ndarray, " state"]
    residual: float
    stable: bool
    eigenvalues: Eigenvalues
    time_constant_steps: float
    time_constant_error_steps: float
    share: float

    @property
    def num_unstable(self) -> int:
        """In how many directions the map leads away from it."""
        return int((np.abs(self.eigenvalues) >= 1).sum())


def find_fixed_points(
    step: Step,
    starts: Starts,
    *,
    tolerance: float = 1e-9,
    merge_distance: float = 1e-5,
    max_steps: int = 256,
) -> tuple[FixedPoint, ...]:
    """Fixed points of a smooth map, stable ones first, by least squares from every start.

    Levenberg-Marquardt (Optimistix) seeks |step(x) - x| = 0 from each of the starts, (starts,
    state). Where it ends with a residual above `tolerance`, as in a local minimum that is not 0,
    there is no fixed point and nothing is returned. Points within `merge_distance` of each other
    are one, of which the one with the least residual is returned; `share` is the fraction of
    starts that led there. The defaults are for float64. More starts may find more: nothing tells
    that all were found.

    A `PrecisionWarning` says where the map rounds too coarsely for `tolerance`, or leaves more
    than a tenth of a time constant unknown.

    >>> from remanence import dynamics
    >>> points = dynamics.find_fixed_points(
    ...     lambda state: jnp.tanh(2 * state), np.array([[-1.0], [0.1], [1.0]])
    ... )
    >>> [round(float(it.point[0]), 3) for it in points if it.stable], points[-1].num_unstable
    ([-0.958, 0.958], 1)
    """
    found, missed = solve_fixed_points(step, starts, tolerance, merge_distance, max_steps)
    _warn_if_missed(step, missed, tolerance)
    warn_if_uncertain(
        ((it.time_constant_steps, it.time_constant_error_steps) for it in found), stacklevel=2
    )
    return found


def solve_fixed_points(
    step: Step, starts: Starts, tolerance: float, merge_distance: float, max_steps: int = 256
) -> tuple[tuple[FixedPoint, ...], Missed]:
    """As `find_fixed_points`, with the points above `tolerance` and their residuals."""
    starts = check_starts(step, starts)
    with use_precision(starts.dtype):
        points, residuals = jax.device_get(_solve(step, jnp.asarray(starts), max_steps))
    order = np.argsort(residuals, kind="stable")
    points, residuals = points[order], residuals[order]
    labels, groups = merge(
        points, merge_distance, residuals <= tolerance, lambda row: points[row : row + 1]
    )
    found = [
        _describe(step, group, float(residuals[labels == label][0]), (labels == label).mean())
        for label, group in enumerate(groups)
    ]
    found.sort(key=lambda it: (it.num_unstable, it.point.tolist()))
    missed = labels < 0
    return tuple(found), (points[missed], residuals[missed])


def _warn_if_missed(step: Step, missed: Missed, tolerance: float) -> None:
    """Warn of points that are as near to fixed as the map's rounding allows, and not returned."""
    reach = [10 * float(np.linalg.norm(measure_rounding(step, point))) for point in missed[0]]
    near = missed[1] <= np.asarray(reach)
    if near.any():
        warnings.warn(
            f"{near.sum()} starts led to where the map moves by no more than its rounding, which "
            f"is above the tolerance of {tolerance:g}, so fixed points may be missing. Use a "
            f"tolerance of {max(np.asarray(reach)[near]):.0e}, or a map that computes in float64 "
            "all the way.",
            PrecisionWarning,
            stacklevel=3,
        )


def _describe(step: Step, group: Cycle, residual: float, share: float) -> FixedPoint:
    spectrum = compute_spectrum(step, group, residual)
    return FixedPoint(
        group[0],
        residual,
        stable=spectrum.stable,
        eigenvalues=spectrum.eigenvalues,
        time_constant_steps=spectrum.time_constant_steps,
        time_constant_error_steps=spectrum.error_steps,
        share=float(share),
    )


@eqx.filter_jit
def _solve(
    step: Step, starts: Float[Array, "starts state"], max_steps: int
) -> tuple[Float[Array, "starts state"], Float[Array, " starts"]]:
    import optimistix as optx  # slow to import, and most who import this never get here

    # Far tighter than any tolerance in use: the residual decides what is kept, not the solver.
    precision = 100 * float(np.finfo(starts.dtype).eps)
    solver = optx.LevenbergMarquardt(rtol=precision, atol=precision)

    def move(state: State, _: None) -> State:
        return step(state) - state

    def solve(start: State) -> tuple[State, Float[Array, ""]]:
        point = optx.least_squares(move, solver, start, max_steps=max_steps, throw=False).value
        return point, jnp.linalg.norm(move(point, None))

    return jax.lax.map(solve, starts, batch_size=BATCH_SIZE)
