"""Attractors of a map, found by iterating it from many starts: for cells that jump, too."""

import warnings
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from remanence.dynamics._maps import (
    Cycle,
    NumpyMap,
    Starts,
    State,
    States,
    Step,
    check_starts,
    use_precision,
)
from remanence.dynamics._merging import merge
from remanence.dynamics._numpy_orbits import refine_numpy_cycle
from remanence.dynamics._orbits import BATCH_SIZE, find_orbits, follow
from remanence.dynamics._spectrum import Eigenvalues, compute_spectrum, warn_if_uncertain


class BudgetWarning(UserWarning):
    """Some orbits had not closed when their budget of steps ended, so attractors may be missing.

    >>> import warnings
    >>> from remanence import dynamics
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     found = dynamics.find_attractors(jnp.cbrt, np.array([[-0.5], [0.5]]), budget=3)
    >>> found, [warning.category.__name__ for warning in caught]
    ((), ['BudgetWarning'])
    """


@dataclass(frozen=True)
class Attractor:
    """A cycle, or for `period` 1 a fixed point, that orbits ended in.

    `residual` is the distance from the first point to where it is after one turn. `eigenvalues`
    of one turn's Jacobian, `stable` (all are inside the unit circle) and the time constant of the
    slowest mode are None where derivatives mean nothing. The time constant may be off by
    `time_constant_error_steps`: an estimate, on the safe side, of what the errors of derivatives
    and of the cycle's position make of it, both due to rounding. It is infinite where the mode
    cannot be told from one that lasts. `share` is the fraction of all starts that ended here.

    >>> from remanence import dynamics
    >>> [low, high] = dynamics.find_attractors(jnp.cbrt, np.array([[-0.5], [0.5]]))
    >>> high.points.round(3).tolist(), high.period, high.stable, high.share
    ([[1.0]], 1, True, 0.5)
    """

    points: Float[np.ndarray, "period state"]
    residual: float
    converged: bool
    stable: bool | None
    eigenvalues: Eigenvalues | None
    time_constant_steps: float | None
    time_constant_error_steps: float | None
    share: float

    @property
    def period(self) -> int:
        """The number of points of the cycle."""
        return len(self.points)


def spread_starts(seed: int, num: int, size: int, scale: float = 1.0) -> States:
    """States, (num, size), drawn uniformly from the cube of half-width `scale` around the origin.

    >>> from remanence import dynamics
    >>> starts = dynamics.spread_starts(seed=0, num=5, size=2, scale=3.0)
    >>> starts.shape, bool((np.abs(starts) <= 3).all())
    ((5, 2), True)
    """
    return np.random.default_rng(seed).uniform(-scale, scale, (num, size))


def find_attractors(
    step: Step,
    starts: Starts,
    *,
    smooth: bool = True,
    budget: int = 100_000,
    tolerance: float | None = 1e-9,
    merge_distance: float = 1e-5,
) -> tuple[Attractor, ...]:
    """The attractors that orbits from `starts`, one state in each row, end in.

    An orbit has closed as `find_orbits` has it; where shares sum to less than 1, some did not
    within `budget` steps, and a `BudgetWarning` says how many. For a `smooth` map the end is then
    refined by Newton's method on one turn around the cycle, which is kept if it is stable and its
    residual is no larger. So a slow mode that creeps by less than `tolerance` is still followed to
    its end. A map that is not smooth, as a BMRU's (`is_smooth` tells), is only iterated. With
    `tolerance=None` orbits close to the bit and are not refined.

    One criterion merges duplicates: an orbit belongs to the first attractor that has a point
    within `merge_distance` of the orbit's own. In float32 a mode with a time constant of τ steps
    stalls up to about τ 1e-7 from its end, so a larger distance may be needed. A BMRU holds any
    state it is put in, so give it starts that it can reach, or each is an attractor of its own.

    A `PrecisionWarning` says where rounding leaves more than a tenth of a time constant unknown.

    >>> from remanence import dynamics
    >>> [left, right] = dynamics.find_attractors(
    ...     lambda state: jnp.tanh(2 * state), np.array([[-0.5], [0.5]])
    ... )
    >>> round(left.time_constant_steps, 3), left.time_constant_error_steps < 1e-12
    (0.558, True)
    """
    options = smooth, budget, tolerance, merge_distance
    attractors, labels = find_with_labels(step, starts, *options)
    warn_if_unsettled(labels, budget, stacklevel=2)
    warn_if_uncertain(
        ((it.time_constant_steps, it.time_constant_error_steps) for it in attractors), stacklevel=2
    )
    return attractors


def warn_if_unsettled(labels: Int[np.ndarray, "..."], budget: int, stacklevel: int) -> None:
    """Warn of orbits, labelled -1, that had not closed when their budget ended."""
    num_unsettled = int((labels < 0).sum())
    if num_unsettled:
        warnings.warn(
            f"{num_unsettled} of {labels.size} orbits had not settled when their budget of "
            f"{budget} steps ended, so attractors may be missing. Give them a larger budget or a "
            "larger tolerance. If the map is chaotic, or runs away, they never settle.",
            BudgetWarning,
            stacklevel=stacklevel + 1,
        )


def find_with_labels(
    step: Step,
    starts: Starts,
    smooth: bool,
    budget: int,
    tolerance: float | None,
    merge_distance: float,
) -> tuple[tuple[Attractor, ...], Int[np.ndarray, " starts"]]:
    """As `find_attractors`, with the attractor of every start; -1 where its orbit did not close."""
    starts = check_starts(step, starts)
    orbits = find_orbits(step, starts, budget=budget, tolerance=tolerance)
    points = orbits.point
    if smooth and tolerance is not None:
        points = refine(step, points, orbits.period)

    def turn(row: int) -> Cycle:
        cycle = follow(step, points[row], int(orbits.period[row]))
        return _shorten(cycle, merge_distance)

    labels, cycles = merge(points, merge_distance, orbits.closed, turn)
    shares = [float((labels == label).mean()) for label in range(len(cycles))]
    return tuple(
        _describe(step, cycle, share, smooth, tolerance or 0.0)
        for cycle, share in zip(cycles, shares, strict=True)
    ), labels


def refine(step: Step, points: States, periods: Int[np.ndarray, " starts"]) -> States:
    """Each point of a cycle moved onto it by Newton's method, where that ends in a stable cycle."""
    if isinstance(step, NumpyMap):
        turns = zip(points, periods.tolist(), strict=True)
        rows = [refine_numpy_cycle(step, *turn) for turn in turns]
        moved, before, after, jacobians = map(np.stack, zip(*rows, strict=True))
    else:
        with use_precision(points.dtype):
            moved, before, after, jacobians = jax.device_get(
                _refine(step, jnp.asarray(points), jnp.asarray(periods))
            )
    better = (after <= before) & np.isfinite(jacobians).all(axis=(1, 2))
    eigenvalues = np.linalg.eigvals(np.where(better[:, None, None], jacobians, 0))
    better &= np.abs(eigenvalues).max(axis=1) < 1
    return np.where(better[:, None], moved, points)


@eqx.filter_jit
def _refine(
    step: Step, points: Float[Array, "starts state"], periods: Int[Array, " starts"]
) -> tuple[Array, ...]:
    import optimistix as optx  # slow to import, and most who import this never get here

    precision = 100 * float(np.finfo(points.dtype).eps)
    solver = optx.Newton(rtol=precision, atol=precision)

    def run(given: tuple[State, Int[Array, ""]]) -> tuple[Array, ...]:
        point, period = given

        def turn(state: State) -> State:
            return jax.lax.fori_loop(0, period, lambda _, state: step(state), state)

        def move(state: State, _: None = None) -> State:
            return turn(state) - state

        moved = optx.root_find(move, solver, point, max_steps=64, throw=False).value
        residuals = [jnp.linalg.norm(move(state)) for state in (point, moved)]
        return moved, *residuals, jax.jacfwd(turn)(moved)

    return jax.lax.map(run, (points, periods), batch_size=BATCH_SIZE)


def _shorten(cycle: Cycle, distance: float) -> Cycle:
    """One turn of a cycle that was walked several times.

    That happens where an oscillation decays so slowly that it returns to itself before it ends.
    """
    for period in range(1, len(cycle)):
        if len(cycle) % period == 0:
            gaps = np.linalg.norm(np.roll(cycle, -period, axis=0) - cycle, axis=1)
            if gaps.max() <= distance:
                return cycle[:period]
    return cycle


def _describe(step: Step, cycle: Cycle, share: float, smooth: bool, tolerance: float) -> Attractor:
    period = len(cycle)
    turn = follow(step, cycle[0], period + 1)
    residual = float(np.linalg.norm(turn[-1] - cycle[0]))
    spectrum = compute_spectrum(step, cycle, residual) if smooth else None
    return Attractor(
        cycle,
        residual,
        converged=residual <= tolerance,
        stable=spectrum.stable if spectrum else None,
        eigenvalues=spectrum.eigenvalues if spectrum else None,
        time_constant_steps=spectrum.time_constant_steps if spectrum else None,
        time_constant_error_steps=spectrum.error_steps if spectrum else None,
        share=share,
    )
