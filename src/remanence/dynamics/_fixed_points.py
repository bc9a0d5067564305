"""Fixed points of smooth maps, the unstable ones too, which no iteration can find."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array, Float

from remanence.dynamics._maps import Cycle, Starts, State, Step, check_starts, use_precision
from remanence.dynamics._merging import merge
from remanence.dynamics._orbits import BATCH_SIZE
from remanence.dynamics._spectrum import Eigenvalues, compute_eigenvalues, compute_time_constant


@dataclass(frozen=True)
class FixedPoint:
    """A state that the map leaves where it is, up to `residual` = |step(point) - point|.

    It is stable when all `eigenvalues` of the Jacobian are inside the unit circle.
    """

    point: Float[np.ndarray, " state"]
    residual: float
    stable: bool
    eigenvalues: Eigenvalues
    time_constant_steps: float
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

    Levenberg-Marquardt (Optimistix) seeks |step(x) - x| = 0. Where it ends with a residual above
    `tolerance`, as in a local minimum that is not 0, there is no fixed point and nothing is
    returned. Points within `merge_distance` of each other are one, of which the one with the
    least residual is returned; `share` is the fraction of starts that led there. The
    defaults are for float64. More starts may find more: nothing tells that all were found.
    """
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
    return tuple(sorted(found, key=lambda it: (it.num_unstable, it.point.tolist())))


def _describe(step: Step, group: Cycle, residual: float, share: float) -> FixedPoint:
    eigenvalues = compute_eigenvalues(step, group)
    return FixedPoint(
        group[0],
        residual,
        stable=bool((np.abs(eigenvalues) < 1).all()),
        eigenvalues=eigenvalues,
        time_constant_steps=compute_time_constant(eigenvalues, 1),
        share=float(share),
    )


@eqx.filter_jit
def _solve(
    step: Step, starts: Float[Array, "starts state"], max_steps: int
) -> tuple[Float[Array, "starts state"], Float[Array, " starts"]]:
    # Far tighter than any tolerance in use: the residual decides what is kept, not the solver.
    precision = 100 * float(np.finfo(starts.dtype).eps)
    solver = optx.LevenbergMarquardt(rtol=precision, atol=precision)

    def move(state: State, _: None) -> State:
        return step(state) - state

    def solve(start: State) -> tuple[State, Float[Array, ""]]:
        point = optx.least_squares(move, solver, start, max_steps=max_steps, throw=False).value
        return point, jnp.linalg.norm(move(point, None))

    return jax.lax.map(solve, starts, batch_size=BATCH_SIZE)
