"""Orbits of a NumPy function, followed in Python, where JAX would call back at every step.

What is meant is said where the same is done for maps of JAX, in `_orbits.py` and `_attractors.py`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Float

from remanence.dynamics._differences import PROBING
from remanence.dynamics._maps import Cycle, NumpyMap

Point = Float[np.ndarray, " state"]
Same = Callable[[np.ndarray, np.ndarray], bool]
# Closed, transient, period, point and steps, as `Orbits` has them.
Found = tuple[bool, int, int, np.ndarray, int]
MAX_NEWTON_STEPS = 64


def walk(step: NumpyMap, state: Point) -> Iterator[np.ndarray]:
    """The states of an orbit without end, `state` the first."""
    while True:
        yield state
        # Copies, as a function may change what it is given, and may return the same array again.
        state = np.array(step.function(state.copy()), state.dtype).reshape(state.shape)


@np.errstate(**PROBING)  # an orbit may run away, which is no mistake
def find_numpy_orbit(step: NumpyMap, start: Point, budget: int, tolerance: float | None) -> Found:
    """How the orbit from a start ends, by Brent's algorithm."""
    exact = tolerance is None
    same: Same = (
        (lambda a, b: a.tobytes() == b.tobytes())
        if tolerance is None
        else (lambda a, b: bool(np.linalg.norm(a - b) <= tolerance))
    )
    orbit = walk(step, start)
    anchor = hare = next(orbit)
    power, lag, walked, closed = 1, 0, 0, False
    while not closed and walked < budget:
        if lag == power:
            anchor, power, lag = hare, 2 * power, 0
        hare, lag, walked = next(orbit), lag + 1, walked + 1
        closed = same(anchor, hare) and (exact or _stays(step, same, anchor, hare, lag))
    located = _locate(step, same, start, lag, 1 if exact else lag, walked) if closed else None
    return (False, -1, -1, hare, walked) if located is None else (True, *located, walked)


def _stays(step: NumpyMap, same: Same, behind: Point, ahead: Point, period: int) -> bool:
    """Whether two states that are near each other stay so over one period."""
    pairs = zip(walk(step, behind), walk(step, ahead), strict=True)
    return all(same(one, other) for one, other in islice(pairs, period))


def _locate(
    step: NumpyMap, same: Same, start: Point, period: int, needed: int, walked: int
) -> tuple[int, int, np.ndarray] | None:
    """The first time from which `needed` states in a row recur a period later, with its state."""
    orbit = walk(step, start)
    window = deque(islice(orbit, period + 1), maxlen=period + 1)
    first, point = -1, start
    for time in range(walked + 2):
        if not same(window[0], window[-1]):
            first = -1
        elif first < 0:
            first, point = time, window[0]
        if first >= 0 and time - first + 1 >= needed:
            return first, period, point
        window.append(next(orbit))
    return None


def list_numpy_cycle(step: NumpyMap, start: Point, period: int) -> Cycle:
    """The first `period` states of the orbit from `start`."""
    return np.stack(list(islice(walk(step, start), period)))


@np.errstate(**PROBING)
def refine_numpy_cycle(step: NumpyMap, point: Point, period: int) -> tuple[Any, ...]:
    """A point of a cycle moved onto it by Newton's method.

    With it come how far one turn moves the point before and after, and that turn's Jacobian.
    """
    precision = 100 * float(np.finfo(point.dtype).eps)
    moved, before = point, _turn(step, point, period)
    gap, jacobian = before
    for _ in range(MAX_NEWTON_STEPS):
        try:
            shift = np.linalg.solve(jacobian - np.eye(point.size), gap)
        except np.linalg.LinAlgError:
            break
        moved = (moved - shift).astype(point.dtype)
        gap, jacobian = _turn(step, moved, period)
        still = np.abs(shift) <= precision * (1 + np.abs(moved))
        if still.all() or not np.isfinite(moved).all():
            break
    return moved, np.linalg.norm(before[0]), np.linalg.norm(gap), jacobian


def _turn(step: NumpyMap, point: Point, period: int) -> tuple[np.ndarray, np.ndarray]:
    """How far one turn moves a point, and the turn's Jacobian; of no turn, 0 and the identity."""
    *states, end = islice(walk(step, point), max(period, 0) + 1)
    jacobian = np.eye(point.size)
    for state in states:
        jacobian = step.differentiate(state) @ jacobian
    return end - point, jacobian
