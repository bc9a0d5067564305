"""What a certificate may say of the portable program, found again in the same words."""

import math
from collections.abc import Sequence
from typing import Any

from ._kernel import LEFT
from ._lengths import Lengths, TooLongError, intersect
from ._orbits import ARMS, Course, Machine, Orbit, chart, follow, list_optimal

ACTIONS = ("right", "up", "left", "down")
CUES = (-1, 1)
TOLERANCE = 1e-4  # states that are nearer to each other are the same but for rounding
OPEN_STEPS = 4096  # of an orbit that did not close, so many steps are looked at


def find(machine: Machine, factor: int | None, budget: int) -> dict[str, Any]:
    """All statements, from orbits of at most `budget` memories; None where that is undecided."""
    orbits = [follow(machine, cue, budget) for cue in CUES]
    optimal, waste = _find_optimal(orbits)
    solved, loss = _find_solved(orbits, factor)
    ways = [_list_decisions(orbit, budget) for orbit in orbits]
    return {
        "optimal": optimal,
        "solved": solved,
        "failures": {"optimal": waste, "solved": loss},
        "cues": [
            {"cue": orbit.cue, "transient": transient, "period": period}
            for orbit, (transient, period) in ((o, o.closure or (None, None)) for o in orbits)
        ],
        "merge": _find_merge(*orbits),
        "distance": _measure_distance(*orbits),
        "compatible": _check_compatible(orbits, ways),
        "separating": _check_separating(orbits, ways),
        "multistability": _check_multistability(orbits, ways),
    }


def _find_optimal(orbits: Sequence[Orbit]) -> tuple[Any, Any]:
    sets = [list_optimal(orbit) for orbit in orbits]
    known = [lengths for lengths in sets if lengths is not None]
    if len(known) < len(sets):
        return None, None
    try:
        both = intersect(known)
    except TooLongError:
        return None, None
    length, culprit = _find_culprit(both, known)
    if length is None:
        return both.write(), None
    orbit = orbits[culprit]
    deviation = orbit.find_deviation()
    if deviation is not None and deviation < length - 1:
        return both.write(), _blame_deviation(orbit, length)
    arms = [ARMS.get(o.decide_at(length), 0) for o in orbits]
    return both.write(), _blame(orbit.cue, length, arms, culprit)


def _find_solved(orbits: Sequence[Orbit], factor: int | None) -> tuple[Any, Any]:
    if any(orbit.closure is None for orbit in orbits):
        return None, None
    try:
        courses = [chart(orbit, factor) for orbit in orbits]
        both = intersect([course.solved for course in courses])
    except TooLongError:
        return None, None
    length, culprit = _find_culprit(both, [course.solved for course in courses])
    if length is None:
        return both.write(), None
    return both.write(), _explain_loss(courses, culprit, length, factor)


def _explain_loss(courses: Sequence[Course], culprit: int, length: int, factor: int | None) -> Any:
    limit = None if factor is None else factor * length
    course, arms = courses[culprit], [course.end(length, limit) for course in courses]
    arrival = course.arrivals.at(length - 1)
    arrives = arrival is not None and (limit is None or arrival < limit)
    if not arms[culprit] and not arrives:
        return _blame_deviation(course.orbit, length)
    return _blame(course.orbit.cue, length, arms, culprit)


def _find_culprit(both: Lengths, sets: Sequence[Lengths]) -> tuple[int | None, int]:
    """The first length that is missing, and the first cue that it is missing for."""
    if both.members.all():
        return None, 0
    length = int(both.members.argmin()) + 1
    return length, next(n for n, lengths in enumerate(sets) if not lengths.has(length))


def _blame(cue: int, length: int, arms: Sequence[int], culprit: int) -> dict[str, Any]:
    if not arms[culprit]:
        kind = "stalls at the junction"
    else:
        kind = "forgets" if length > 1 and len(set(arms)) == 1 else "wrong arm"
    return {"length": length, "cue": cue, "kind": kind, "num_steps": None}


def _blame_deviation(orbit: Orbit, length: int) -> dict[str, Any]:
    deviation = orbit.find_deviation()
    assert deviation is not None
    kind = "steps back" if orbit.actions[deviation] == LEFT else "turns early"
    return {"length": length, "cue": orbit.cue, "kind": kind, "num_steps": deviation + 1}


def _list_decisions(orbit: Orbit, budget: int) -> list[int]:
    """What would be done at a junction, in every state on the way and in the cycle once more."""
    closed = None if orbit.closure is None else sum(orbit.closure) + 1
    return orbit.decide_all(closed or min(OPEN_STEPS, budget))


def _find_merge(one: Orbit, other: Orbit) -> int | None:
    """The first time at which the memories of both are the same, as they are from then on."""
    if (one.closure is None) != (other.closure is None):
        return None
    most = max(len(one.memories), len(other.memories))
    return next((t for t in range(most) if one.memory(t) == other.memory(t)), None)


def _measure_distance(one: Orbit, other: Orbit) -> float | None:
    if one.closure is None or other.closure is None:
        return None
    time = max(one.closure[0], other.closure[0])
    states = (orbit.machine.state(orbit.memory(time)) for orbit in (one, other))
    gaps = [a - b for a, b in zip(*states, strict=True)]
    # Correctly rounded sums and roots; where a square overflows, nothing is said.
    squares = [gap * gap for gap in gaps]
    finite = math.isfinite(sum(squares))
    return math.sqrt(math.fsum(squares)) if finite else None


def _check_compatible(orbits: Sequence[Orbit], ways: Sequence[list[int]]) -> dict[str, Any]:
    for orbit, way in zip(orbits, ways, strict=True):
        time = next((t for t in range(len(way) - 1) if way[t] != way[t + 1]), None)
        if time is not None:
            return _break(orbit, time, way[time], way[time + 1])
    closed = all(orbit.closure is not None for orbit in orbits)
    return {"holds": True if closed else None, "witness": None}


def _check_separating(orbits: Sequence[Orbit], ways: Sequence[list[int]]) -> dict[str, Any]:
    first, second = (way[0] for way in ways)
    if first != second:
        return {"holds": True, "witness": None}
    return _break(orbits[0], 0, first, second)


def _break(orbit: Orbit, time: int, *actions: int) -> dict[str, Any]:
    witness = {
        "cue": orbit.cue,
        "num_steps": time,
        "state": orbit.machine.state(orbit.memory(time)),
        "actions": [ACTIONS[action] for action in actions],
    }
    return {"holds": False, "witness": witness}


def _check_multistability(orbits: Sequence[Orbit], ways: Sequence[list[int]]) -> dict[str, Any]:
    settled = True if all(orbit.closure is not None for orbit in orbits) else None
    one, other = (set(way) for way in ways)
    return {
        "different_attractors": settled and _end_apart(*orbits),
        "in_basins": settled,
        "constant_decisions": False if len(one) > 1 or len(other) > 1 else settled,
        "different_decisions": False if one & other else settled,
    }


def _end_apart(one: Orbit, other: Orbit) -> bool:
    distance = _measure_distance(one, other)
    assert one.closure is not None
    assert other.closure is not None
    cycles = (set(orbit.memories[orbit.closure[0] :]) for orbit in (one, other) if orbit.closure)
    return (distance is None or distance > TOLERANCE) and set.isdisjoint(*cycles)
