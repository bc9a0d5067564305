"""The orbit of an agent in a corridor without end: its memories and actions from one cue on.

The corridor looks the same everywhere, so this one orbit is what happens in every corridor for as
long as the junction has not been reached. It runs through the agent's one compiled program, which
the orbits of `remanence.dynamics`, each a program of its own, do not.
"""

import bisect
import hashlib
from typing import NamedTuple

import numpy as np

from remanence.certificates._walker import ENDLESS, TAPE_ROWS, AbstractWalker, Memories, Spot, Trace

FIRST_STEPS = 64
KEPT_BLOCKS = 64


class Closure(NamedTuple):
    """The smallest n and p for which the memory after n + p steps is that after n."""

    transient: int
    period: int


class Orbit:
    """Grows as far as it is asked for, and closes when a memory repeats bit for bit.

    Step t is the agent's step at time t: `memory(0)` has seen the cue. Once the orbit has closed,
    all later times are known without computing them.

    The repetition is found as in Brent (1980): one memory is kept, and the next is chosen when the
    time has doubled; one that stands still, the most usual end, is seen in its block. Only each
    block's last memory is stored; the others are computed again when they are wanted. With
    `at_once` a mark of every memory is kept, and the first repetition is seen when it happens: then
    whether an orbit closes within some steps is a fact about the orbit.
    """

    def __init__(self, walker: AbstractWalker, goal: int, at_once: bool = False):
        self._walker = walker
        self._goal = goal
        self._ends: list[int] = []  # the number of steps known after each block
        self._corners: list[np.ndarray | None] = [None]  # the memory before each block
        self._actions: list[np.ndarray] = []
        self._kept: tuple[int, np.ndarray] | None = None
        self._marks: dict[bytes, int] | None = {} if at_once else None
        self.closure: Closure | None = None
        self._blocks: dict[int, Memories] = {}  # the memories of some blocks

    @property
    def closed(self) -> bool:
        return self.closure is not None

    @property
    def num_steps(self) -> int:
        """How many steps are known one by one."""
        return self._ends[-1] if self._ends else 0

    @property
    def actions(self) -> np.ndarray:
        """The actions of all steps that are known one by one."""
        if len(self._actions) > 1:
            self._actions = [np.concatenate(self._actions)]
        return self._actions[0] if self._actions else np.zeros(0, np.int32)

    def extend(self, num_steps: int) -> None:
        """Walk on until so many steps are known or the orbit has closed."""
        while not self.closed and self.num_steps < num_steps:
            self._extend_block(num_steps - self.num_steps)

    def reduce(self, time: int) -> int:
        """The earliest time at which the memory is the same."""
        if self.closure is None or time < self.closure.transient:
            return time
        transient, period = self.closure
        return transient + (time - transient) % period

    def unfold(self, num_steps: int) -> np.ndarray:
        """The actions of the first so many steps of a closed orbit."""
        assert self.closure is not None
        transient, period = self.closure
        cycle = self.actions[transient : transient + period]
        repeated = np.tile(cycle, -(-num_steps // period))
        return np.concatenate([self.actions[:transient], repeated])[:num_steps]

    def memory(self, time: int) -> np.ndarray:
        """The memory after the step at that time."""
        self.extend(time + 1)
        time = self.reduce(time)
        block = bisect.bisect_right(self._ends, time)
        return self._look_up(block)[time - self._begin(block)]

    def decide(self, times: np.ndarray) -> np.ndarray:
        """What would be done at these times if the junction were seen next: ρ of the memory."""
        if not len(times):
            return np.zeros(0, np.int32)
        distinct, which = np.unique([self.reduce(int(time)) for time in times], return_inverse=True)
        return self._walker.decide(np.stack([self.memory(int(t)) for t in distinct]))[which]

    def _begin(self, block: int) -> int:
        return self._ends[block - 1] if block else 0

    def _look_up(self, block: int) -> Memories:
        if block not in self._blocks:
            num_steps = self._ends[block] - self._begin(block)
            self._keep_block(block, self._walk(self._corners[block], num_steps).memories)
        return self._blocks[block]

    def _keep_block(self, block: int, memories: Memories) -> None:
        if len(self._blocks) >= KEPT_BLOCKS:
            del self._blocks[next(iter(self._blocks))]  # the one that was kept first
        self._blocks[block] = memories

    def _walk(self, memory: np.ndarray | None, num_steps: int) -> Trace:
        return self._walker.walk(Spot(self._goal, ENDLESS, 0, memory), num_steps)

    def _extend_block(self, most_steps: int) -> None:
        size = min(max(FIRST_STEPS, self.num_steps), TAPE_ROWS, most_steps)
        begin = self.num_steps
        trace = self._walk(self._corners[-1], size)
        self._ends.append(begin + len(trace.actions))
        self._corners.append(trace.memories[-1].copy())  # a view would keep the whole block
        self._actions.append(trace.actions)
        self._keep_block(len(self._ends) - 1, trace.memories)
        self._look_for_repetition(begin, trace.memories)

    def _look_for_repetition(self, begin: int, memories: Memories) -> None:
        if self._marks is not None:
            self._compare_marks(begin, memories, self._marks)
            return
        if self._rests(begin, memories):
            return
        if self._kept is not None:
            time, memory = self._kept
            hits = np.flatnonzero(np.all(memories == memory[None], axis=1))
            if len(hits):
                self._close(period=begin + int(hits[0]) - time)
                return
        last = begin + len(memories) - 1
        if self._kept is None or last >= 2 * self._kept[0]:
            self._kept = last, memories[-1]

    def _rests(self, begin: int, memories: Memories) -> bool:
        """Whether a memory is the same as the one before; the first that is closes the orbit."""
        before = self._corners[-2]
        joined = memories if before is None else np.concatenate([before[None], memories])
        hits = np.flatnonzero(np.all(joined[1:] == joined[:-1], axis=1))
        if len(hits):
            self.closure = Closure(begin - (before is not None) + int(hits[0]), 1)
        return bool(len(hits))

    def _compare_marks(self, begin: int, memories: Memories, marks: dict[bytes, int]) -> None:
        for time, memory in enumerate(memories, start=begin):
            mark = hashlib.blake2b(memory.tobytes(), digest_size=16).digest()
            if mark in marks:
                self.closure = Closure(marks[mark], time - marks[mark])
                return
            marks[mark] = time

    def _close(self, period: int) -> None:
        """The kept memory repeats first after `period`; find where the repetition begins."""
        assert self._kept is not None

        def repeats(time: int) -> bool:
            return bool(np.array_equal(self.memory(time), self.memory(time + period)))

        # Once a memory repeats all later ones do, so the first is found by halving.
        transient = bisect.bisect_left(range(self._kept[0]), True, key=repeats)
        self.closure = Closure(transient, period)
