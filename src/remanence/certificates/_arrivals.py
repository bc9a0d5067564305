"""When an agent that walks as its orbit says reaches the junction, for every length at once.

Until it reaches the junction, the walk does not depend on the length: it is one walk on 0, 1, 2,
..., with a wall on its left, and a maze of length L is over when level L - 1 is reached first.
"""

import dataclasses

import numpy as np
from jaxtyping import Int

from remanence.certificates._orbit import Orbit
from remanence.certificates._walker import LEFT, RIGHT

MOST_STEPS = 2**25


class Undecided(Exception):
    """What was asked for lies beyond the budget."""


class Exhausted(Undecided):
    """Nothing is left of a budget for many questions, so this one was not even looked at."""


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """The time of first arrival at each level; `times[0]` is 0, the start.

    Levels beyond the listed ones are never reached if `shift` is 0. Else they follow from the last
    `levels` listed ones: each further `levels` levels take `shift` further steps.
    """

    times: Int[np.ndarray, " listed"]
    levels: int
    shift: int

    def at(self, level: int) -> int | None:
        """When the level is reached first; None means never."""
        beyond = level - len(self.times)
        if beyond < 0:
            return int(self.times[level])
        if self.shift == 0:
            return None
        repeats, rest = divmod(beyond, self.levels)
        return int(self.times[len(self.times) - self.levels + rest]) + (repeats + 1) * self.shift


def list_arrivals(actions: Int[np.ndarray, " time"]) -> Int[np.ndarray, " listed"]:
    """The time of first arrival at each level that these actions reach."""
    positions = _walk(actions)
    highest = np.maximum.accumulate(positions)
    return np.searchsorted(highest, np.arange(highest[-1] + 1))


def find_arrivals(orbit: Orbit) -> Arrivals:
    """Arrivals at all levels there are, from a closed orbit.

    Per period the walk drifts. If it drifts to the right, it leaves the wall at some time for good;
    from then on the positions one period later are the same plus the drift, and so are all
    arrivals at levels not reached before. If not, each period ends on max(c, x + drift) when it
    began on x, for some c: that settles, and what has not been reached then never is.
    """
    assert orbit.closure is not None
    transient, period = orbit.closure
    opening, cycle = np.split(orbit.actions[: transient + period], [transient])
    moves = np.cumsum(_moves(cycle))
    drift, deepest = int(moves[-1]), int(max(0, -moves.min()))
    num_cycles = 2
    while True:
        walked = _unfold(opening, cycle, num_cycles)
        positions = _walk(walked)
        begins = positions[transient::period]
        if drift > 0 and begins[-2] >= deepest:
            # The last period and all later ones are away from the wall. Levels that it has not
            # reached are fresh, and one drift of them stands for the rest.
            num_listed = int(positions.max()) + 1 + drift
            num_cycles += -(-(num_listed - int(positions[-1])) // drift)
            times = list_arrivals(_unfold(opening, cycle, num_cycles))
            return Arrivals(times[:num_listed], levels=drift, shift=period)
        if drift <= 0 and begins[-1] == begins[-2]:
            return Arrivals(list_arrivals(walked), levels=1, shift=0)
        num_cycles *= 2


def _unfold(
    opening: Int[np.ndarray, " opening"], cycle: Int[np.ndarray, " cycle"], num_cycles: int
) -> Int[np.ndarray, " time"]:
    if len(opening) + len(cycle) * num_cycles > MOST_STEPS:
        raise Undecided(f"the walk has not settled within {MOST_STEPS:,} steps")
    return np.concatenate([opening, np.tile(cycle, num_cycles)])


def _moves(actions: Int[np.ndarray, " time"]) -> Int[np.ndarray, " time"]:
    return (actions == RIGHT).astype(np.int64) - (actions == LEFT)


def _walk(actions: Int[np.ndarray, " time"]) -> Int[np.ndarray, " positions"]:
    """Positions before and after each action; at the wall a step to the left is a bump."""
    free = np.concatenate([[0], np.cumsum(_moves(actions))])
    return free - np.minimum.accumulate(np.minimum(free, 0))
