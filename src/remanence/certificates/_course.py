"""All lengths of the T-maze at once: on which an agent is optimal, and on which it solves."""

import dataclasses

import numpy as np
from jaxtyping import Int

from remanence.certificates._arrivals import Exhausted, Undecided
from remanence.certificates._itinerary import Itinerary
from remanence.certificates._lengths import MOST_LISTED, LengthSet
from remanence.certificates._orbit import Closure
from remanence.certificates._walker import ARMS, RIGHT


@dataclasses.dataclass(frozen=True)
class Course:
    """The ending of every length for one cue, listed from length 1 on.

    Beyond the listed lengths the last `period` of them repeat, each time `shift` steps later.
    An arm of 0 means that the episode never ends.
    """

    arms: Int[np.ndarray, " lengths"]
    num_steps: Int[np.ndarray, " lengths"]
    period: int
    shift: int

    def unfold(self, num_cycles: int) -> "Course":
        """The same with so many further periods listed."""
        arms = np.tile(self.arms[-self.period :], num_cycles)
        later = self.shift * np.repeat(np.arange(1, num_cycles + 1), self.period)
        num_steps = np.tile(self.num_steps[-self.period :], num_cycles) + later
        return dataclasses.replace(
            self,
            arms=np.concatenate([self.arms, arms]),
            num_steps=np.concatenate([self.num_steps, num_steps]),
        )


def chart_course(itinerary: Itinerary, budget: int) -> Course:
    """The endings of all lengths there are; raises `Undecided` if the budget does not suffice."""
    close_orbit(itinerary, budget)
    arrivals = itinerary.find_arrivals()
    num_listed = len(arrivals.times)
    itinerary.settle(arrivals.times[1:] - 1)
    if arrivals.shift == 0:
        num_listed += 1  # one that is never reached stands for all longer ones
    else:
        last = range(num_listed - arrivals.levels, num_listed)
        reach = [
            itinerary.respond(int(arrivals.times[level]) - 1, None, budget).reach for level in last
        ]
        num_listed = max(num_listed, max(reach) + arrivals.levels + 1)
    _demand_listable(num_listed)
    endings = [itinerary.end(length, budget) for length in range(1, num_listed + 1)]
    arms, num_steps = np.array(endings, np.int64).T
    return Course(arms, num_steps, arrivals.levels, arrivals.shift)


def find_solved(course: Course, goal: int, limit_factor: int) -> LengthSet:
    """The lengths on which the episode ends in the goal's arm within the time limit."""
    course = course.unfold(_count_cycles_to_settle(course, goal, limit_factor))
    lengths = np.arange(1, len(course.arms) + 1)
    within = (limit_factor == 0) | (course.num_steps <= limit_factor * lengths)
    return LengthSet((course.arms == goal) & within, course.period)


def find_solved_among(
    itinerary: Itinerary, lengths: LengthSet, limit_factor: int, budget: int
) -> LengthSet:
    """Those of finitely many lengths on which the episode ends so; others are not looked at."""
    assert lengths.bounded
    solved = np.zeros(len(lengths.listed), bool)
    for index in np.flatnonzero(lengths.listed).tolist():
        solved[index] = _solves(itinerary, index + 1, limit_factor * (index + 1), budget)
    return LengthSet(solved, 1)


def _solves(itinerary: Itinerary, length: int, limit: int, budget: int) -> bool:
    try:
        arm, num_steps = itinerary.end(length, limit or budget)
    except Exhausted:
        raise
    except Undecided:
        if not limit:
            raise
        return False  # it does not end within the limit
    return arm == itinerary.goal and (not limit or num_steps <= limit)


def _count_cycles_to_settle(course: Course, goal: int, limit_factor: int) -> int:
    """Periods until each length of one and all its later repetitions are on one side of the limit.

    Steps and limit both grow linearly from period to period, so that happens.
    """
    if limit_factor == 0:
        return 0
    lengths = np.arange(1, len(course.arms) + 1)[-course.period :]
    slack = limit_factor * lengths - course.num_steps[-course.period :]
    growth = limit_factor * course.period - course.shift
    slack = slack[course.arms[-course.period :] == goal]
    crosses = slack < 0 if growth > 0 else slack >= 0
    if growth == 0 or not crosses.any():
        return 0
    distance = -slack[crosses] if growth > 0 else slack[crosses] + 1
    num_cycles = int(np.max(-(-distance // abs(growth))))
    _demand_listable(len(course.arms) + num_cycles * course.period)
    return num_cycles


def find_optimal(itinerary: Itinerary, budget: int) -> LengthSet:
    """The lengths on which the agent takes the goal's arm in the fewest steps there are.

    It goes right all along, and decides right on arrival. An orbit that ever does anything else
    need not close for that to be known.
    """
    deviation = find_deviation(itinerary, budget)
    if deviation is None:
        transient, period = close_orbit(itinerary, budget)
        num_steps = transient + period
    else:
        num_steps, period = deviation, 1
    itinerary.prepare(np.arange(num_steps))
    decisions = [itinerary.open(), *map(itinerary.decide, range(num_steps))]
    listed = [ARMS.get(decision) == itinerary.goal for decision in decisions]
    return LengthSet(np.array(listed + [False] * (deviation is not None)), period)


def find_deviation(itinerary: Itinerary, budget: int) -> int | None:
    """The first time at which the agent does not go right in the corridor."""
    orbit = itinerary.orbit
    while True:
        others = np.flatnonzero(orbit.actions != RIGHT)
        if len(others):
            return int(others[0])
        if orbit.closed or orbit.num_steps >= budget:
            return None
        orbit.extend(min(max(1, 2 * orbit.num_steps), budget))


def close_orbit(itinerary: Itinerary, budget: int) -> Closure:
    """Walk until the orbit closes."""
    itinerary.orbit.extend(budget)
    if itinerary.orbit.closure is None:
        raise Undecided(f"the memory has not repeated itself within {budget:,} steps")
    return itinerary.orbit.closure


def _demand_listable(num_lengths: int) -> None:
    if num_lengths > MOST_LISTED:
        raise Undecided(f"it would take a list of more than {MOST_LISTED:,} lengths")
