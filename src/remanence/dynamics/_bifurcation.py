"""How attractors come and go as one number of a map, such as a weight, is moved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from remanence.dynamics._attractors import find_with_labels, warn_if_unsettled
from remanence.dynamics._fixed_points import solve_fixed_points
from remanence.dynamics._maps import Starts, State, States, Step

Rows = tuple[Float[np.ndarray, "rows state"], Bool[np.ndarray, " rows"], Int[np.ndarray, " rows"]]


@dataclass(frozen=True)
class Bifurcation:
    """All points of all attractors and unstable fixed points, one in each row.

    Row i was found with the parameter at `parameter[i]`; `period` is that of the cycle it is a
    point of. `num_attractors` has one entry for each of `values`.

    >>> from remanence import dynamics
    >>> found = dynamics.trace_bifurcation(
    ...     lambda gain: lambda state: gain * state, [-1.0], np.ones((1, 1)), smooth=False
    ... )
    >>> found.parameter.tolist(), found.point.tolist(), found.period.tolist()
    ([-1.0, -1.0], [[1.0], [-1.0]], [2, 2])
    """

    values: Float[np.ndarray, " values"]
    num_attractors: Int[np.ndarray, " values"]
    parameter: Float[np.ndarray, " rows"]
    point: Float[np.ndarray, "rows state"]
    stable: Bool[np.ndarray, " rows"]
    period: Int[np.ndarray, " rows"]


class _MapAt(eqx.Module):
    """The map at one value: the value is data, so that all values share one compiled program."""

    make_step: Callable[[Float[Array, ""]], Step] = eqx.field(static=True)
    value: Float[Array | np.ndarray, ""]

    def __call__(self, state: State) -> State:
        return self.make_step(jnp.asarray(self.value))(state)


def trace_bifurcation(
    make_step: Callable[[Float[Array, ""]], Step],
    values: Float[np.ndarray, " values"] | Sequence[float],
    starts: Starts,
    *,
    smooth: bool = True,
    budget: int = 100_000,
    tolerance: float = 1e-9,
    merge_distance: float = 1e-5,
    on_progress: Callable[[int, int], None] | None = None,
) -> Bifurcation:
    """Attractors, and for smooth maps unstable fixed points, of `make_step(value)` for each value.

    Starts are (starts, state), the same for all values.

    `make_step` is traced with a scalar of the starts' precision, so it must be made of JAX
    operations. A map that is not smooth is only iterated, and what iteration ended in is called
    stable. The other options are those of `find_attractors`, as is the `BudgetWarning`, given once
    for all values; `on_progress` is called with the number of values done and to do.

    >>> from remanence import dynamics
    >>> found = dynamics.trace_bifurcation(
    ...     lambda gain: lambda state: jnp.tanh(gain * state),
    ...     [0.5, 2.0],
    ...     np.array([[-1.0], [0.1], [1.0]]),
    ... )
    >>> found.num_attractors.tolist()
    [1, 2]
    >>> found.parameter.tolist(), found.stable.tolist()
    ([0.5, 2.0, 2.0, 2.0], [True, True, True, False])
    """
    starts = np.asarray(starts)
    values = np.asarray(values, starts.dtype)
    found: list[Rows] = []
    labels: list[Int[np.ndarray, " starts"]] = []
    for done, value in enumerate(values, start=1):
        step = _MapAt(make_step, np.asarray(value))
        rows, ends = _find_rows(step, starts, smooth, budget, tolerance, merge_distance)
        found.append(rows)
        labels.append(ends)
        if on_progress is not None:
            on_progress(done, len(values))
    warn_if_unsettled(np.stack(labels), budget, stacklevel=2)
    points, stable, periods = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # Every point of a cycle has a row, so rows weigh the reciprocal of their period.
    counts = [round((stable / periods).sum()) for _, stable, periods in found]
    parameter = np.repeat(values, [len(rows[0]) for rows in found])
    return Bifurcation(values, np.asarray(counts), parameter, points, stable, periods)


def _find_rows(
    step: Step,
    starts: States,
    smooth: bool,
    budget: int,
    tolerance: float,
    merge_distance: float,
) -> tuple[Rows, Int[np.ndarray, " starts"]]:
    """What was found at one value, and the attractor of every start, as `find_with_labels` has."""
    options = smooth, budget, tolerance, merge_distance
    attractors, labels = find_with_labels(step, starts, *options)
    # An orbit that starts on an unstable fixed point stays there, and is listed below.
    cycles = [(it.points, True) for it in attractors if it.stable or not smooth]
    if smooth:
        points = solve_fixed_points(step, starts, tolerance, merge_distance)[0]
        cycles += [(it.point[None], False) for it in points if not it.stable]
    if not cycles:
        none = np.zeros((0, starts.shape[1]), starts.dtype), np.zeros(0, bool), np.zeros(0, int)
        return none, labels
    stable = np.concatenate([np.full(len(cycle), flag) for cycle, flag in cycles])
    periods = np.concatenate([np.full(len(cycle), len(cycle)) for cycle, _ in cycles])
    return (np.concatenate([cycle for cycle, _ in cycles]), stable, periods), labels
