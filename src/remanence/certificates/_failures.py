"""What goes wrong at a length, in one word."""

import dataclasses
from collections.abc import Mapping

from remanence.certificates._arrivals import Undecided
from remanence.certificates._course import find_deviation
from remanence.certificates._itinerary import NEVER, Ending, Itinerary
from remanence.certificates._walker import ARMS, LEFT

FORGETS = "forgets"
WRONG_ARM = "wrong arm"
TURNS_EARLY = "turns early"
STEPS_BACK = "steps back"
STALLS = "stalls at the junction"
KINDS = (FORGETS, WRONG_ARM, TURNS_EARLY, STEPS_BACK, STALLS)
NAMES = {-1: "up", 1: "down"}


@dataclasses.dataclass(frozen=True)
class Failure:
    """The first thing that is not as it should be at some length, after a cue.

    `num_steps` counts the steps up to the one that leads astray in the corridor; None if none does.
    """

    length: int
    cue: int
    kind: str
    num_steps: int | None = None


def explain_waste(itineraries: Mapping[int, Itinerary], goal: int, length: int) -> Failure:
    """Why an agent is not optimal at a length: its first step that is not the best one."""
    itinerary = itineraries[goal]
    deviation = find_deviation(itinerary, length - 1)
    if deviation is not None and deviation < length - 1:
        return _explain_deviation(itinerary, deviation, length)
    arms = {g: ARMS.get(_decide(itineraries[g], length)) for g in itineraries}
    if arms[goal] is None:
        return Failure(length, goal, STALLS)
    return _explain_arm(goal, length, arms)


def explain_loss(
    itineraries: Mapping[int, Itinerary], goal: int, length: int, limit: int, budget: int
) -> Failure:
    """Why an agent does not solve a length: the arm it ends in, or what keeps it from ending."""
    endings = {g: _end(itineraries[g], length, limit, budget) for g in itineraries}
    if endings[goal].arm:
        return _explain_arm(goal, length, {g: ending.arm for g, ending in endings.items()})
    itinerary = itineraries[goal]
    arrival = 0 if length == 1 else _arrive(itinerary, length, budget)
    if arrival is not None and (not limit or arrival < limit):
        return Failure(length, goal, STALLS)
    deviation = find_deviation(itinerary, budget)
    assert deviation is not None, "who goes right all along arrives in time"
    return _explain_deviation(itinerary, deviation, length)


def _explain_deviation(itinerary: Itinerary, time: int, length: int) -> Failure:
    kind = STEPS_BACK if itinerary.orbit.actions[time] == LEFT else TURNS_EARLY
    return Failure(length, itinerary.goal, kind, time + 1)


def _explain_arm(goal: int, length: int, arms: Mapping[int, int | None]) -> Failure:
    forgets = length > 1 and len(set(arms.values())) == 1
    return Failure(length, goal, FORGETS if forgets else WRONG_ARM)


def _decide(itinerary: Itinerary, length: int) -> int:
    return itinerary.open() if length == 1 else itinerary.decide(length - 2)


def _end(itinerary: Itinerary, length: int, limit: int, budget: int) -> Ending:
    try:
        ending = itinerary.end(length, limit or budget)
    except Undecided:
        return NEVER
    return NEVER if limit and ending.num_steps > limit else ending


def _arrive(itinerary: Itinerary, length: int, budget: int) -> int | None:
    try:
        return itinerary.arrive(length - 1, budget)
    except Undecided:
        return None
