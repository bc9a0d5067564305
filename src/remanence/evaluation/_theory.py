"""The paper's conditions for memory that lasts, looked at one by one on the orbits of the cues.

They speak of states that are reachable from a cue, and those are listed completely: the transient
and the cycle of each orbit.
"""

import bisect
import dataclasses
import itertools
from collections.abc import Mapping

import numpy as np

from remanence.evaluation._itinerary import Itinerary

TOLERANCE = 1e-4  # states that are nearer to each other are the same but for rounding
OPEN_STEPS = 4096  # of an orbit that did not close within the budget, so many are looked at


@dataclasses.dataclass(frozen=True)
class Witness:
    """A state at which a condition breaks: that of a cue after some steps in the corridor."""

    goal: int
    num_steps: int
    state: tuple[float, ...]
    says: str


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition by its name; `holds` is None where the budget did not suffice to tell."""

    name: str
    holds: bool | None
    witness: Witness | None = None
    remark: str | None = None


def check_compatible(
    itineraries: Mapping[int, Itinerary], action_names: tuple[str, ...]
) -> Condition:
    """Theorem 1: ρ(U(h)) = ρ(h), the decision does not change while the agent waits."""
    name = "compatible: the decision does not change while the agent waits"
    for goal, itinerary in itineraries.items():
        decisions = list_decisions(itinerary)
        changes = np.flatnonzero(np.diff(decisions))
        if len(changes):
            time = int(changes[0])
            before, after = (action_names[decisions[t]] for t in (time, time + 1))
            says = f"would do '{before}' at a junction here, and '{after}' one step later"
            return Condition(name, False, _witness(itinerary, goal, time, says))
    closed = all(itinerary.orbit.closed for itinerary in itineraries.values())
    return Condition(name, True if closed else None)


def check_separating(
    itineraries: Mapping[int, Itinerary], action_names: tuple[str, ...]
) -> Condition:
    """Theorem 1: different cues, different decisions, right after the cue."""
    name = "separating: different cues lead to different decisions"
    first = {goal: itinerary.decide(0) for goal, itinerary in itineraries.items()}
    if len(set(first.values())) == len(first):
        return Condition(name, True)
    goal, itinerary = next(iter(itineraries.items()))
    says = f"would do '{action_names[first[goal]]}' at a junction, as after the other cue"
    return Condition(name, False, _witness(itinerary, goal, 0, says))


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


def check_multistability(itineraries: Mapping[int, Itinerary]) -> tuple[Condition, ...]:
    """Theorem 2, condition by condition, with the cycles that the orbits end in as attractors."""
    one, other = itineraries.values()
    closed = [bool(itinerary.orbit.closed) for itinerary in itineraries.values()]
    settles = True if all(closed) else None
    changes = [len(set(list_decisions(it).tolist())) > 1 for it in itineraries.values()]
    invariant = False if any(changes) else settles
    shared = set(list_decisions(one).tolist()) & set(list_decisions(other).tolist())
    return (
        _check_attractors(one, other),
        Condition("each cue starts in the basin of one attractor", settles),
        Condition("the decision is the same all along each way", invariant),
        Condition("the decisions of the two ways differ", False if shared else settles),
        Condition("neither way leaves its basin", settles),
    )


def list_decisions(itinerary: Itinerary) -> np.ndarray:
    """ρ along an orbit: transient, cycle, and its first state again; if open, along its start."""
    closure = itinerary.orbit.closure
    times = np.arange(sum(closure) + 1 if closure else OPEN_STEPS)
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
    states = (itinerary.read_state(time).astype(np.float64) for itinerary in (one, other))
    return float(np.linalg.norm(np.subtract(*states)))


def _check_attractors(one: Itinerary, other: Itinerary) -> Condition:
    """That two cycles differ to the bit is not enough: rounding alone may keep them apart."""
    name = "multistable: the cues end in different attractors"
    distance = measure_distance(one, other)
    if distance is not None and distance <= TOLERANCE and _differ(one, other):
        return Condition(name, False, remark=f"rounding alone keeps them {distance:.0e} apart")
    return Condition(name, _differ(one, other))


def _differ(one: Itinerary, other: Itinerary) -> bool | None:
    if not one.orbit.closure or not other.orbit.closure:
        return None
    start, period = one.orbit.closure
    memory = one.orbit.memory(start)
    begin, other_period = other.orbit.closure
    times = itertools.count(begin) if period == other_period else ()
    cycle = itertools.islice(times, other_period)
    return not any(np.array_equal(memory, other.orbit.memory(time)) for time in cycle)


def _witness(itinerary: Itinerary, goal: int, time: int, says: str) -> Witness:
    state = itinerary.read_state(time)
    return Witness(goal, time, tuple(float(number) for number in state), says)
