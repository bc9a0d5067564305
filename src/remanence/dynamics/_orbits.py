"""Where orbits end: transient, period and a point of the cycle, to the bit or to a tolerance."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from remanence._typing import Flag
from remanence.dynamics._maps import (
    NumpyMap,
    Starts,
    State,
    States,
    Step,
    check_starts,
    use_precision,
)
from remanence.dynamics._numpy_orbits import find_numpy_orbit, list_numpy_cycle
from remanence.errors import InvalidOptionError

Same = Callable[[State, State], Flag]
# How many starts run together where their arithmetic may: enough to fill the machine.
BATCH_SIZE = 1024


@dataclass(frozen=True)
class Orbits:
    """How the orbit from each start ends.

    A closed orbit is on its cycle, of `period` points, after `transient` steps, in the state
    `point`. Of one that did not close, transient and period are -1 and `point` is where the
    search ended. `steps` were walked from the start until that was known.

    >>> from remanence import dynamics
    >>> orbits = dynamics.find_orbits(lambda state: state**2, np.array([[-1.0], [1.0]]))
    >>> orbits.closed.tolist(), orbits.transient.tolist(), orbits.point.tolist()
    ([True, True], [1, 0], [[1.0], [1.0]])
    """

    closed: Bool[np.ndarray, " starts"]
    transient: Int[np.ndarray, " starts"]
    period: Int[np.ndarray, " starts"]
    point: Float[np.ndarray, "starts state"]
    steps: Int[np.ndarray, " starts"]


class _Hunt(NamedTuple):
    """The hare is `lag` steps past the anchor, `walked` past the start."""

    anchor: State
    hare: State
    power: Int[Array, ""]
    lag: Int[Array, ""]
    walked: Int[Array, ""]
    closed: Flag


def find_orbits(
    step: Step, starts: Starts, *, budget: int = 100_000, tolerance: float | None = None
) -> Orbits:
    """Follow the orbit of every start until it closes, by Brent's algorithm (1980).

    Starts are (starts, state); every field of what is returned has one row for each.

    Without a tolerance an orbit has closed when a state comes back bit for bit, so that -0.0 is
    not 0.0 and NaN is itself. What is found holds for the program that was run: compiled
    otherwise, as for another machine, the same map may round otherwise. Each start is run alone,
    so its orbit does not depend on the others.

    With a tolerance an orbit closes at time s with period p when it stays so for one whole period:
    |x_{t+p} - x_t| <= tolerance (Euclidean) for t = s, ..., s+p-1. Tried in order are the times
    s = 2^k - 1, each with the periods up to 2^k. The first p with which it closes is the period,
    and the first time at which it closes with that p the transient. A state that creeps by less
    than the tolerance counts as standing still, wherever it is heading. Starts run together, and
    may round otherwise than alone.

    `budget` is the number of steps after which an orbit that has not come back is given up. One
    of transient m and period p is found within 2 max(m, p) + p steps.

    >>> from remanence import dynamics
    >>> starts = np.array([[1.0], [0.0]])  # of which 0.0 goes to -0.0 and back
    >>> dynamics.find_orbits(jnp.negative, starts).period.tolist()
    [2, 2]
    >>> dynamics.find_orbits(jnp.negative, starts, tolerance=1e-9).period.tolist()
    [2, 1]
    """
    if not 1 <= budget < 2**31:
        raise InvalidOptionError("budget", budget, "use a number of steps from 1 to 2^31 - 1")
    if tolerance is not None and not tolerance >= 0:
        raise InvalidOptionError(
            "tolerance", tolerance, "use a number of 0 or more, or None to compare bits"
        )
    starts = check_starts(step, starts)
    if isinstance(step, NumpyMap):
        rows = [find_numpy_orbit(step, start, budget, tolerance) for start in starts]
        return Orbits(*map(np.array, zip(*rows, strict=True)))
    with use_precision(starts.dtype):
        width = None if tolerance is None else jnp.asarray(tolerance, starts.dtype)
        found = _find_orbits(step, jnp.asarray(starts), jnp.int32(budget), width)
        return Orbits(*jax.device_get(found))


def iterate(step: Step, starts: Starts, num_steps: int) -> States:
    """The states that many steps after the starts, each of which is run alone.

    Starts and states are (starts, state).

    >>> from remanence import dynamics
    >>> dynamics.iterate(jnp.negative, np.array([[1.0], [2.0]]), 3).tolist()
    [[-1.0], [-2.0]]
    """
    starts = check_starts(step, starts)
    with use_precision(starts.dtype):
        return jax.device_get(_iterate(step, jnp.asarray(starts), jnp.int32(num_steps)))


def list_cycle(
    step: Step, point: Float[Array | np.ndarray, " state"], period: int
) -> Float[np.ndarray, "{period} state"]:
    """The first `period` states of the orbit from `point`, itself the first: (period, state).

    >>> from remanence import dynamics
    >>> dynamics.list_cycle(jnp.negative, np.array([1.0]), 2).tolist()
    [[1.0], [-1.0]]
    """
    return follow(step, check_starts(step, np.asarray(point)[None])[0], period)


def follow(
    step: Step, start: Float[np.ndarray, " state"], period: int
) -> Float[np.ndarray, "{period} state"]:
    """`list_cycle` of a step and a start that are known to fit: checking takes a trace."""
    if period == 1:
        return start[None]
    if isinstance(step, NumpyMap):
        return list_numpy_cycle(step, start, period)
    with use_precision(start.dtype):
        return jax.device_get(_list_cycle(step, jnp.asarray(start), period))


@eqx.filter_jit
def _find_orbits(
    step: Step,
    starts: Float[Array, "starts state"],
    budget: Int[Array, ""],
    tolerance: Float[Array, ""] | None,
) -> tuple[Array, ...]:
    def run(start: State) -> tuple[Array, ...]:
        return _find_orbit(isolate(step), start, budget, tolerance)

    return jax.lax.map(run, starts, batch_size=None if tolerance is None else BATCH_SIZE)


def _find_orbit(
    step: Step, start: State, budget: Int[Array, ""], tolerance: Float[Array, ""] | None
) -> tuple[Array, ...]:
    exact = tolerance is None
    same = _same_bits if exact else lambda a, b: jnp.linalg.norm(a - b) <= tolerance
    hunt = _hunt(step, same, start, budget, exact)
    # Two states with the same bits have the same future, so one match is as good as a period's.
    needed = jnp.int32(1) if exact else hunt.lag
    located, transient, point = _locate(step, same, start, hunt, needed)
    closed = hunt.closed & located
    transient, period = (jnp.where(closed, count, -1) for count in (transient, hunt.lag))
    return closed, transient, period, jnp.where(closed, point, hunt.hare), hunt.walked


def _hunt(step: Step, same: Same, start: State, budget: Int[Array, ""], exact: bool) -> _Hunt:
    """Walk until the hare is back at the anchor, which moves up to it at powers of two."""

    def walk(hunt: _Hunt) -> _Hunt:
        caught_up = hunt.lag == hunt.power
        anchor = jnp.where(caught_up, hunt.hare, hunt.anchor)
        power = jnp.where(caught_up, 2 * hunt.power, hunt.power)
        lag = jnp.where(caught_up, 0, hunt.lag) + 1
        hare = step(hunt.hare)
        closed = same(anchor, hare)
        if not exact:
            # Batched, a closed orbit waits here for the others, and must not be followed again.
            closed = _stays(step, same, anchor, hare, lag, closed & ~hunt.closed)
        return _Hunt(anchor, hare, power, lag, hunt.walked + 1, closed)

    zero, one = jnp.int32(0), jnp.int32(1)
    hunt = _Hunt(start, start, one, zero, zero, jnp.array(False))
    return jax.lax.while_loop(lambda it: ~it.closed & (it.walked < budget), walk, hunt)


def _stays(
    step: Step, same: Same, behind: State, ahead: State, period: Int[Array, ""], near: Flag
) -> Flag:
    """Whether two states that are near each other stay so over one period."""

    def advance(now: tuple[State, State, Array, Flag]) -> tuple[State, State, Array, Flag]:
        behind, ahead, count, _ = now
        behind, ahead = step(behind), step(ahead)
        return behind, ahead, count + 1, same(behind, ahead)

    now = behind, ahead, jnp.int32(1), near
    return jax.lax.while_loop(lambda it: it[3] & (it[2] < period), advance, now)[3]


def _locate(
    step: Step, same: Same, start: State, hunt: _Hunt, needed: Int[Array, ""]
) -> tuple[Flag, Int[Array, ""], State]:
    """The first time from which `needed` states in a row recur a period later, and its state."""

    def note(behind: State, ahead: State, time: Array, first: Array, point: State):
        near = same(behind, ahead)
        opens = near & (first < 0)
        first = jnp.where(near, jnp.where(opens, time, first), -1)
        return behind, ahead, time, first, jnp.where(opens, behind, point)

    def advance(now: tuple[Array, ...]) -> tuple[Array, ...]:
        behind, ahead, time, first, point = now
        return note(step(behind), step(ahead), time + 1, first, point)

    def is_located(now: tuple[Array, ...]) -> Flag:
        return (now[3] >= 0) & (now[2] - now[3] + 1 >= needed)

    def goes_on(now: tuple[Array, ...]) -> Flag:
        return hunt.closed & ~is_located(now) & (now[2] <= hunt.walked)

    period = jnp.where(hunt.closed, hunt.lag, 0)
    ahead = jax.lax.fori_loop(0, period, lambda _, state: step(state), start)
    now = note(start, ahead, jnp.int32(0), jnp.int32(-1), start)
    now = jax.lax.while_loop(goes_on, advance, now)
    return is_located(now), now[3], now[4]


def _same_bits(a: State, b: State) -> Flag:
    unsigned = jnp.uint64 if a.dtype == jnp.float64 else jnp.uint32
    a, b = (jax.lax.bitcast_convert_type(state, unsigned) for state in (a, b))
    return jnp.all(a == b)


def isolate(step: Step) -> Step:
    """`step` fenced off, so that it is not fused with, and rounds the same, whatever is around."""
    fence = jax.lax.optimization_barrier
    return lambda state: fence(step(fence(state)))


@eqx.filter_jit
def _iterate(
    step: Step, starts: Float[Array, "starts state"], num_steps: Int[Array, ""]
) -> Float[Array, "starts state"]:
    advance = isolate(step)
    return jax.lax.map(
        lambda start: jax.lax.fori_loop(0, num_steps, lambda _, state: advance(state), start),
        starts,
    )


@eqx.filter_jit
def _list_cycle(step: Step, point: State, period: int) -> Float[Array, "{period} state"]:
    advance = isolate(step)
    return jax.lax.scan(lambda state, _: (advance(state), state), point, length=period)[1]
