"""The paper's conditions for memory that lasts, looked at one by one on the orbits of the cues.

They speak of states that are reachable from a cue, and those are listed completely: the transient
and the cycle of each orbit.
"""

import bisect
import dataclasses
import itertools
import math
from collections.abc import Mapping

import numpy as np

from remanence.certificates._itinerary import Itinerary
from remanence.dynamics import TOLERANCE

OPEN_STEPS = 4096  # of an orbit that did not close within the budget, so many are looked at


@dataclasses.dataclass(frozen=True)
class Witness:
    """A state at which a condition breaks: that of a cue after some steps in the corridor.

    `actions` are the two decisions that should be the same, or should not.
    """

    cue: int
    num_steps: int
    state: tuple[float, ...]
    actions: tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Condition:
    """Whether a condition holds; None where the budget did not suffice to tell."""

    holds: bool | None
    witness: Witness | None = None


@dataclasses.dataclass(frozen=True)
class Multistability:
    """The paper's theorem 2, condition by condition; None where the budget did not suffice.

    The cues end in different attractors (cycles that rounding alone keeps apart are one); each cue
    is in the basin of an attractor and does not leave it; the decision is the same all along each
    way; and the decisions of the two ways differ.
    """

    different_attractors: bool | None
    in_basins: bool | None
    constant_decisions: bool | None
    different_decisions: bool | None

    @property
    def holds(self) -> bool | None:
        """Whether all of them do."""
        found = dataclasses.astuple(self)
        return False if False in found else None if None in found else True


def check_compatible(
    itineraries: Mapping[int, Itinerary], action_names: tuple[str, ...]
) -> Condition:
    """Theorem 1: ρ(U(h)) = ρ(h), the decision does not change while the agent waits."""
    for goal, itinerary in itineraries.items():
        decisions = list_decisions(itinerary)
        changes = np.flatnonzero(np.diff(decisions))
        if len(changes):
            time = int(changes[0])
            before, after = (action_names[decisions[t]] for t in (time, time + 1))
            return Condition(False, _witness(itinerary, goal, time, (before, after)))
    closed = all(itinerary.orbit.closed for itinerary in itineraries.values())
    return Condition(True if closed else None)


def check_separating(
    itineraries: Mapping[int, Itinerary], action_names: tuple[str, ...]
) -> Condition:
    """Theorem 1: different cues, different decisions, right after the cue."""
    first = {goal: itinerary.decide(0) for goal, itinerary in itineraries.items()}
    if len(set(first.values())) == len(first):
        return Condition(True)
    goal, itinerary = next(iter(itineraries.items()))
    one, other = (action_names[decision] for decision in first.values())
    return Condition(False, _witness(itinerary, goal, 0, (one, other)))


def find_merge(one: Itinerary, other: Itinerary) -> int | None:
    """Proposition 1: the step from which on two cues have left the same memory, bit for bit.

    None means that they never do, or not within what is known of the orbits.
    """
    if one.orbit.closure and other.orbit.closure:
        last = max(one.orbit.closure.transient, other.orbit.closure.transient)
    else:
        last = min(one.orbit.num_steps, other.orbit.num_steps) - 1

    def equal(time: int) -> bool:
        return bool(np.array_equal(one.orbit.memory(time), other.orbit.memory(time)))

    # Memories that are equal stay equal, so the first is found by halving.
    return bisect.bisect_left(range(last), True, key=equal) if equal(last) else None


def check_multistability(itineraries: Mapping[int, Itinerary]) -> Multistability:
    """Theorem 2, with the cycles that the orbits end in as attractors."""
    one, other = itineraries.values()
    settles = True if all(it.orbit.closed for it in itineraries.values()) else None
    ways = [set(list_decisions(itinerary).tolist()) for itinerary in itineraries.values()]
    return Multistability(
        different_attractors=_end_apart(one, other),
        in_basins=settles,
        constant_decisions=False if any(len(way) > 1 for way in ways) else settles,
        different_decisions=False if ways[0] & ways[1] else settles,
    )


def list_decisions(itinerary: Itinerary) -> np.ndarray:
    """ρ along an orbit: transient, cycle, and its first state again; if open, along its start."""
    closure = itinerary.orbit.closure
    open_steps = min(OPEN_STEPS, itinerary.orbit.num_steps)
    times = np.arange(sum(closure) + 1 if closure else open_steps)
    itinerary.prepare(times)
    return np.array([itinerary.decide(int(time)) for time in times])


def measure_distance(one: Itinerary, other: Itinerary) -> float | None:
    """How far apart the states are that two cues end in, at the time when both have settled.

    A distance of the size of a rounding error means that only rounding keeps them apart: a map
    with one attractor may stall in neighbouring floating point numbers.
    """
    if not one.orbit.closure or not other.orbit.closure:
        return None
    time = max(one.orbit.closure.transient, other.orbit.closure.transient)
    pairs = zip(one.read_state(time).tolist(), other.read_state(time).tolist(), strict=True)
    gaps = [a - b for a, b in pairs]
    # Correctly rounded sums and roots, so that the number is the same everywhere.
    squares = [gap * gap for gap in gaps]
    finite = math.isfinite(sum(squares))
    return math.sqrt(math.fsum(squares)) if finite else None


def _end_apart(one: Itinerary, other: Itinerary) -> bool | None:
    """That two cycles differ to the bit is not enough: rounding alone may keep them apart."""
    distance = measure_distance(one, other)
    return _differ(one, other) if distance is None or distance > TOLERANCE else False


def _differ(one: Itinerary, other: Itinerary) -> bool | None:
    if not one.orbit.closure or not other.orbit.closure:
        return None
    start, period = one.orbit.closure
    memory = one.orbit.memory(start)
    begin, other_period = other.orbit.closure
    times = itertools.count(begin) if period == other_period else ()
    cycle = itertools.islice(times, other_period)
    return not any(np.array_equal(memory, other.orbit.memory(time)) for time in cycle)


def _witness(itinerary: Itinerary, goal: int, time: int, actions: tuple[str, str]) -> Witness:
    return Witness(goal, time, tuple(itinerary.read_state(time).tolist()), actions)
