"""What the portable program does in every T-maze: all of it follows from orbits that have closed.

The corridor looks the same everywhere, so the memories on the way do not depend on the length. Of a
memory that comes again bit for bit, all that follows comes again as well.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._crowds import make_crowds
from ._kernel import DOWN, LEFT, RIGHT, UP
from ._lengths import MOST_LISTED, Lengths, TooLongError
from ._program import Look, Program

ARMS = {UP: -1, DOWN: 1}
MOVES = {RIGHT: 1, LEFT: -1}
MOST_WALKED = 2**25  # positions that are listed of one walk
MOST_LINGERING = 400_000  # steps at junctions, for one cue
MOST_AT_ONCE = 64  # steps side by side, of which each takes as much space as the weights
LARGEST_CROWD = 4096  # memories


class Machine:
    """The program as an automaton; a memory is a number that stands for a state and an action.

    The action belongs to it because a network may see it, and because one with a skip connection
    may act otherwise at the cue than later in the same state: what repeats must repeat whole.
    """

    def __init__(self, program: Program):
        self._program = program
        self._states: list[tuple[np.ndarray, int]] = []
        self._numbers: dict[tuple[bytes, int], int] = {}
        self._steps: dict[tuple[int, int], tuple[int, int]] = {}
        self._looks: dict[tuple[int, int, int | None], Look] = {}
        self._crowds = make_crowds(program)

    def open(self, cue: int, junction: int) -> tuple[int, int]:
        """Memory and action after the first observation."""
        return self._step(self._program.start, None, cue, junction)

    def step(self, memory: int, junction: int) -> tuple[int, int]:
        """Memory and action after the corridor, or the junction, has been seen."""
        if (memory, junction) not in self._steps:
            self._steps[memory, junction] = self._step(*self._states[memory], 0, junction)
        return self._steps[memory, junction]

    def turn(self, memories: Sequence[int]) -> list[int]:
        """The actions after the junction has been seen, of many memories at once."""
        groups: dict[int, list[int]] = {}
        for memory in dict.fromkeys(memories):
            if (memory, 1) not in self._steps:
                groups.setdefault(self._states[memory][1], []).append(memory)
        for previous, group in groups.items():
            look = self._look(0, 1, previous)
            for place in range(0, len(group), MOST_AT_ONCE):
                some = group[place : place + MOST_AT_ONCE]
                states = np.array([self._states[memory][0] for memory in some])
                rows = zip(some, *self._program.step(look, states), strict=True)
                for memory, after, logits in rows:
                    self._steps[memory, 1] = self._remember(after, logits)
        return [self.step(memory, 1)[1] for memory in memories]

    def look_together(self, memories: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Arms and numbers of steps of those that see the junction and are like others then."""
        found: dict[int, tuple[int, int]] = {}
        if self._crowds is None:
            return found
        for end in range(len(memories), 0, -LARGEST_CROWD):
            some = memories[max(0, end - LARGEST_CROWD) : end]
            states = np.array([self._states[memory][0] for memory in some])
            known = len(found)
            for first, last, arm, steps in self._crowds.settle(states):
                found |= dict.fromkeys(some[first:last], (arm, steps))
            if len(found) == known:
                break  # those before are less alike
        return found

    def state(self, memory: int) -> list[float]:
        """The numbers that a memory stands for."""
        return self._states[memory][0].tolist()

    def _step(
        self, state: np.ndarray, previous: int | None, cue: int, junction: int
    ) -> tuple[int, int]:
        after, logits = self._program.step(self._look(cue, junction, previous), state)
        return self._remember(after, logits)

    def _look(self, cue: int, junction: int, previous: int | None) -> Look:
        key = (cue, junction, previous)
        if key not in self._looks:
            self._looks[key] = self._program.look(*key)
        return self._looks[key]

    def _remember(self, after: np.ndarray, logits: np.ndarray) -> tuple[int, int]:
        if not (np.isfinite(after).all() and np.isfinite(logits).all()):
            raise TooLongError("numbers that are not finite")
        action = int(logits.argmax())  # the first of the greatest
        number = self._numbers.setdefault((after.tobytes(), action), len(self._states))
        if number == len(self._states):
            self._states.append((after, action))
        return number, action


@dataclasses.dataclass(frozen=True)
class Orbit:
    """Memories and actions in an endless corridor, from a cue on.

    `closure` is where the memories begin to repeat and after how many steps; None if they do not
    within the steps that were taken.
    """

    machine: Machine
    cue: int
    memories: list[int]
    actions: list[int]
    closure: tuple[int, int] | None

    def memory(self, time: int) -> int:
        """The memory after the step at a time."""
        if self.closure is None or time < self.closure[0]:
            return self.memories[time]
        transient, period = self.closure
        return self.memories[transient + (time - transient) % period]

    def decide(self, time: int) -> int:
        """The action if the junction is seen next after that time."""
        return self.machine.step(self.memory(time), 1)[1]

    def decide_all(self, count: int) -> list[int]:
        """The same for the times 0, 1, ..., so many."""
        return self.machine.turn([self.memory(time) for time in range(count)])

    def decide_at(self, length: int) -> int:
        """The action on arrival in a maze of that length, if every step before goes right."""
        if length == 1:
            return self.machine.open(self.cue, 1)[1]
        return self.decide(length - 2)

    def find_deviation(self) -> int | None:
        """The first time at which it does not go right in the corridor."""
        return next((t for t, action in enumerate(self.actions) if action != RIGHT), None)


def follow(machine: Machine, cue: int, budget: int) -> Orbit:
    """The orbit until a memory comes again, of at most `budget` memories."""
    memory, action = machine.open(cue, 0)
    memories, actions, times = [], [], {}
    while memory not in times and len(memories) < budget:
        times[memory] = len(memories)
        memories.append(memory)
        actions.append(action)
        memory, action = machine.step(memory, 0)
    closed = memory in times and len(memories) < budget
    closure = (times[memory], len(memories) - times[memory]) if closed else None
    return Orbit(machine, cue, memories, actions, closure)


def list_optimal(orbit: Orbit) -> Lengths | None:
    """Where it goes right at every step and takes the goal's arm at once; None if undecided."""
    deviation = orbit.find_deviation()
    if deviation is None and orbit.closure is None:
        return None
    count = len(orbit.memories) if deviation is None else deviation
    decided = [orbit.decide_at(1), *orbit.decide_all(count)]
    listed = [ARMS.get(action) == orbit.cue for action in decided]
    if deviation is not None:
        return Lengths(np.array([*listed, False]), 1)
    assert orbit.closure is not None
    return Lengths(np.array(listed), orbit.closure[1])


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """When each position is first reached; `levels` more take `shift` more steps, for ever.

    Without `levels`, what is not listed is never reached.
    """

    times: list[int]
    levels: int
    shift: int

    def at(self, position: int) -> int | None:
        """When a position is first reached; None means never."""
        if position < len(self.times):
            return self.times[position]
        if not self.levels:
            return None
        rounds, rest = divmod(position - len(self.times), self.levels)
        return self.times[rest - self.levels] + (rounds + 1) * self.shift


def list_arrivals(orbit: Orbit) -> Arrivals:
    """First arrivals in an endless corridor with a wall on its left, for a closed orbit.

    Round by round of the cycle. A walk that drifts to the right leaves the wall for good; as soon
    as two rounds without it have each reached new ground by their own length, all later ones do
    the same one drift further. A walk that does not drift begins two rounds in one place, and then
    every later round is the same.
    """
    assert orbit.closure is not None
    transient, period = orbit.closure
    moves = [MOVES.get(action, 0) for action in orbit.actions]
    drift = sum(moves[transient:])
    times, position, time = [0], 0, 0

    def walk(steps: list[int]) -> bool:
        nonlocal position, time
        bumped = False
        for move in steps:
            time += 1
            bumped |= position + move < 0
            position = max(position + move, 0)
            if position == len(times):
                times.append(time)
        return bumped

    walk(moves[:transient])
    regular, begins = 0, position
    while regular < 2:
        if time > MOST_WALKED:
            raise TooLongError(f"a walk of more than {MOST_WALKED:,} steps")
        known = len(times)
        bumped = walk(moves[transient:])
        if drift <= 0 and position == begins:
            return Arrivals(times, 0, 0)
        fresh = not bumped and drift > 0 and len(times) - known == drift
        regular = regular + 1 if fresh else 0
        begins = position
    return Arrivals(times, drift, period)


class Junction:
    """What follows on arrival at the junction; steps are counted over all that is asked."""

    def __init__(self, orbit: Orbit):
        self._orbit, self._left = orbit, MOST_LINGERING
        self._endless: dict[int, tuple[int, int, int]] = {}

    def end(self, length: int, arrivals: Arrivals) -> tuple[int, int]:
        """The arm that ends an episode and its number of steps; arm 0 means that none ever does."""
        if length == 1:
            memory, action = self._orbit.machine.open(self._orbit.cue, 1)
            return self._linger(memory, action, wall=0)[:2]
        time = arrivals.at(length - 1)
        if time is None:
            return 0, 0
        arm, steps, reach = self.respond(self._orbit.memory(time - 1))
        if length <= reach:
            memory = self._orbit.memory(time - 1)
            memory, action = self._orbit.machine.step(memory, 1)
            arm, steps, _ = self._linger(memory, action, wall=length - 1)
        return (arm, time + steps) if arm else (0, 0)

    def settle(self, memories: Sequence[int]) -> None:
        """Find out together what follows those that do not take an arm at once."""
        machine = self._orbit.machine
        actions = zip(memories, machine.turn(memories), strict=True)
        lingering = dict.fromkeys(memory for memory, action in actions if action not in ARMS)
        for memory, (arm, steps) in machine.look_together(list(lingering)).items():
            self._endless[memory] = arm, steps, 0

    def respond(self, memory: int) -> tuple[int, int, int]:
        """Arm, steps, and the length above which that is the same for every length."""
        if memory not in self._endless:
            after, action = self._orbit.machine.step(memory, 1)
            self._endless[memory] = self._linger(after, action, wall=None)
        return self._endless[memory]

    def _linger(self, memory: int, action: int, wall: int | None) -> tuple[int, int, int]:
        """From what is done at the junction on; `wall` is how far away the corridor begins."""
        away, farthest, steps, last_visit = 0, 0, 1, 0
        seen: dict[tuple[int, int], int] = {}
        passed: dict[int, tuple[int, int]] = {}  # when and where a memory was last in the corridor
        while not (away == 0 and action in ARMS):
            away = max(away - MOVES.get(action, 0), 0)
            away = away if wall is None else min(away, wall)
            farthest = max(farthest, away)
            if not away and self._endless.get(memory, (0, 0, 1))[2] == 0:
                arm, more, _ = self._endless[memory]  # which never leaves the junction
                return arm, steps + more if arm else 0, farthest
            if (memory, away) in seen:
                return 0, 0, farthest
            seen[memory, away] = steps
            if away == 0:
                last_visit = steps
            elif wall is None:
                time, place = passed.get(memory, (0, 0))
                if time > last_visit and away > place:
                    # It walks away for ever, a little farther each round, and sees nothing new.
                    return 0, 0, farthest + 2 * (steps - time)
                passed[memory] = steps, away
            self._left -= 1
            if self._left < 0:
                raise TooLongError(f"more than {MOST_LINGERING:,} steps of lingering")
            memory, action = self._orbit.machine.step(memory, int(away == 0))
            steps += 1
        return ARMS[action], steps, farthest


@dataclasses.dataclass(frozen=True)
class Course:
    """How every length ends after one cue, and on which the goal's arm is entered in time."""

    orbit: Orbit
    junction: Junction
    arrivals: Arrivals
    solved: Lengths

    def end(self, length: int, limit: int | None) -> int:
        """The arm that is entered within the limit, or 0."""
        arm, steps = self.junction.end(length, self.arrivals)
        return arm if limit is None or steps <= limit else 0


def chart(orbit: Orbit, factor: int | None) -> Course:
    """All lengths of a closed orbit; a maze of length L is over after `factor` L steps."""
    arrivals, junction = list_arrivals(orbit), Junction(orbit)
    opened, _ = orbit.machine.open(orbit.cue, 1)
    junction.settle([*(orbit.memory(time - 1) for time in arrivals.times[1:]), opened])
    count = len(arrivals.times)
    if not arrivals.levels:
        count += 1  # one that is never reached stands for all longer ones
    else:
        last = arrivals.times[-arrivals.levels :]
        reach = max(junction.respond(orbit.memory(time - 1))[2] for time in last)
        count = max(count, reach + 1) + arrivals.levels
    _demand_listable(count)
    endings = [junction.end(length, arrivals) for length in range(1, count + 1)]
    solved = _settle(endings, orbit.cue, arrivals, factor)
    return Course(orbit, junction, arrivals, solved)


def _settle(endings: Any, cue: int, arrivals: Arrivals, factor: int | None) -> Lengths:
    """Who is in time; listed until nobody is late or in time any more who was not before."""
    arms, steps = (np.array(column, np.int64) for column in zip(*endings, strict=True))
    period, shift = arrivals.levels or 1, arrivals.shift
    if factor is None:
        return Lengths(arms == cue, period)
    slack = factor * np.arange(1, len(arms) + 1) - steps
    gain = factor * period - shift
    tail = slack[-period:][arms[-period:] == cue]
    rounds = 0
    if gain and len(tail) and arrivals.levels:
        rounds = int(np.abs(tail).max()) // abs(gain) + 1
    _demand_listable(len(arms) + rounds * period)
    more = np.concatenate([slack[-period:] + gain * n for n in range(1, rounds + 1)] or [slack[:0]])
    slack, arms = np.append(slack, more), np.append(arms, np.tile(arms[-period:], rounds))
    return Lengths((arms == cue) & (slack >= 0), period)


def _demand_listable(count: int) -> None:
    if count > MOST_LISTED:
        raise TooLongError(f"a list of more than {MOST_LISTED:,} lengths")
