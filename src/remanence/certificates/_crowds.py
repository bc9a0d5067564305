"""What becomes of all memories between two at the junction, for layers of minGRU.

A unit goes from h to z h + (1 - z) n, where z and n come from the layers below. A program computes
that by operations of which each keeps order when it rounds. So of memories that differ in the last
layer alone, those between two stay between what these become, bit for bit, and the agent's own
program says what that is. Actions are judged for every program at once, by `_intervals`.
"""

import math
from collections.abc import Iterator

import jax
import numpy as np

from remanence.certificates._arrivals import Undecided
from remanence.certificates._enclosures import YES, judge
from remanence.certificates._identity import take_policy
from remanence.certificates._interval_policy import Policy
from remanence.certificates._intervals import Interval, UndecidedError
from remanence.certificates._walker import (
    ENDLESS,
    GOALS,
    RIGHT,
    TAPE_ROWS,
    AbstractWalker,
    Memories,
    Spot,
    Trace,
    Walker,
)
from remanence.envs import AbstractEnvironment, TMaze
from remanence.networks import Agent

FIRST_STEPS = 16
MOST_STEPS = 4096  # of one crowd
PATIENCE = 256  # steps before it is asked whether it ever ends
MOST_IN_VAIN = 100_000  # steps more than it would take to follow each memory by itself
STEPS_OF_CALL = 16  # that a call of the program takes besides
MOST_WIDENINGS, NUM_HALVINGS = 60, 8

Ends = tuple[np.ndarray, np.ndarray]  # the least and the greatest memory


def make_crowds(
    walker: AbstractWalker, agent: Agent, environment: AbstractEnvironment
) -> "Crowds | None":
    """What looks at many memories of an agent at once, if its cell keeps order."""
    if not isinstance(environment, TMaze):
        return None
    # Other processors than a CPU may round products to less than `_intervals` allows for.
    if isinstance(walker, Walker) and jax.default_backend() != "cpu":
        return None
    arrays, architecture = take_policy(agent)
    if architecture["cell"] != "mingru":
        return None
    try:
        return Crowds(walker, Policy(arrays, architecture))
    except UndecidedError:
        return None


class Crowds:
    """Memories that a walker has at the junction, looked at together."""

    def __init__(self, walker: AbstractWalker, policy: Policy):
        self._walker, self._policy = walker, policy
        self._num_steps = 0
        size, layer = policy.cell.state_size, policy.architecture["state_size"]
        self._below, self._last = slice(size - layer), slice(size - layer, size)

    def follow(
        self, memories: Memories, budget: int | float = math.inf
    ) -> Iterator[tuple[slice, int, int]]:
        """Which memories, one after the other, enter which arm after how many steps.

        The arm is 0 where none is ever entered. The largest crowds come first, and one that does
        not stay together is looked at in halves. What is in no slice is not settled: `budget`
        bounds the steps of all crowds.
        """
        crowds, credit, begin = self._group(memories), MOST_IN_VAIN, self._num_steps
        while crowds and self._num_steps - begin < min(credit, budget):
            crowd = crowds.pop()
            response, num_steps = self._respond(self._bound(memories[crowd]))
            if response:
                yield crowd, *response
                credit += (crowd.stop - crowd.start) * num_steps
            elif crowd.stop - crowd.start > 1:
                middle = (crowd.start + crowd.stop) // 2
                crowds += [slice(crowd.start, middle), slice(middle, crowd.stop)]

    def stays(self, memory: np.ndarray) -> bool:
        """Whether it is certain that an agent with this memory bumps on for ever."""
        try:
            return self._stay((memory, memory))
        except (Undecided, UndecidedError):
            return False

    def _group(self, memories: Memories) -> list[slice]:
        """Neighbours that differ in the last layer alone, and have all acted alike."""
        fixed = np.delete(memories, np.r_[self._last], axis=1)
        changes = np.flatnonzero((fixed[1:] != fixed[:-1]).any(axis=1)) + 1
        starts, ends = [0, *changes.tolist()], [*changes.tolist(), len(memories)]
        return [slice(*pair) for pair in zip(starts, ends, strict=True)]

    def _bound(self, memories: Memories) -> Ends:
        states = self._walker.read_state(memories)
        lower, upper = states[:, self._last].min(axis=0), states[:, self._last].max(axis=0)
        return self._join(memories[0], lower), self._join(memories[0], upper)

    def _join(self, memory: np.ndarray, state: np.ndarray) -> np.ndarray:
        """A memory with another state in its last layer."""
        joined = memory.copy()
        joined[self._last] = state.view(memory.dtype)
        return joined

    def _walk(self, memory: np.ndarray, num_steps: int) -> Trace:
        self._num_steps += STEPS_OF_CALL + num_steps
        return self._walker.walk(Spot(GOALS[0], ENDLESS, ENDLESS - 1, memory), num_steps)

    def _respond(self, ends: Ends) -> tuple[tuple[int, int] | None, int]:
        """The arm and the steps that are the same for all between two, or None if unknown.

        And for how many steps they were followed.
        """
        num_steps = 0
        try:
            while num_steps < MOST_STEPS:
                size = min(max(FIRST_STEPS, num_steps), TAPE_ROWS)
                lower, upper = (self._walk(end, size) for end in ends)
                num_steps += len(lower.actions)
                if not self._agree(lower, upper):
                    break
                if lower.arm:
                    return (lower.arm, num_steps), num_steps
                ends = lower.memories[-1], upper.memories[-1]
                if num_steps >= PATIENCE and self._stay(ends):
                    return (0, 0), num_steps
        except (Undecided, UndecidedError):
            pass
        return None, num_steps

    def _agree(self, lower: Trace, upper: Trace) -> bool:
        """Whether all between two do the same, and that is to bump on or to enter an arm."""
        actions = lower.actions
        if not np.array_equal(actions, upper.actions) or np.any(actions[:-1] != RIGHT):
            return False
        if actions[-1] != RIGHT and not lower.arm:
            return False
        lower_states, upper_states = map(self._walker.read_state, (lower.memories, upper.memories))
        if np.any(lower_states > upper_states) or np.any(
            lower.memories[:, self._below] != upper.memories[:, self._below]
        ):
            return False  # this program does not keep order
        before, last = slice(-1), slice(-1, None)
        return self._act(lower_states[before], upper_states[before], RIGHT) and self._act(
            lower_states[last], upper_states[last], int(actions[-1])
        )

    def _act(self, lower: np.ndarray, upper: np.ndarray, action: int) -> bool:
        """Whether all between the states in two rows certainly do that, row by row."""
        box = Interval(lower.T, upper.T)
        return bool(np.all(judge(self._policy.decode(self._policy.junction, box), action) == YES))

    def _stay(self, ends: Ends) -> bool:
        """Whether all between two bump on for ever: nothing leaves what is between wider ones."""
        wider = [self._widen(end, side) for end, side in zip(ends, (-1, 1), strict=True)]
        if any(end is None for end in wider):
            return False
        lower, upper = (self._walker.read_state(end)[None] for end in wider if end is not None)
        return self._act(lower, upper, RIGHT)

    def _widen(self, memory: np.ndarray, side: int) -> np.ndarray | None:
        """A memory on that side of one which no unit of the last layer is led beyond.

        None if there is none nearby, or the layers below do not rest. How far units have to be
        moved is doubled until it suffices, and then halved as long as it does.
        """
        state = self._walker.read_state(memory)[self._last]
        led = self._lead(memory, state)
        if led is None:
            return None
        far = np.maximum(side * (led - state), 0)
        near = np.zeros_like(far)  # too near, where units move at all
        for _ in range(MOST_WIDENINGS):
            beyond = self._leads_beyond(memory, state, side, far)
            if not beyond.any():
                break
            near, far = np.where(beyond, far, near), np.where(beyond, 2 * far, far)
        else:
            return None
        for _ in range(NUM_HALVINGS):
            middle = near / 2 + far / 2
            beyond = self._leads_beyond(memory, state, side, middle)
            near, far = np.where(beyond, middle, near), np.where(beyond, far, middle)
        return self._join(memory, state + side * far)

    def _leads_beyond(
        self, memory: np.ndarray, state: np.ndarray, side: int, reach: np.ndarray
    ) -> np.ndarray:
        """Which units are led beyond where they are, moved so far to a side."""
        moved = state + side * reach
        return ~(side * (self._lead(memory, moved) - moved) <= 0)  # nor known where it is NaN

    def _lead(self, memory: np.ndarray, state: np.ndarray) -> np.ndarray | None:
        """What the last layer's state becomes; None if the layers below do not rest."""
        after = self._walk(self._join(memory, state), 1).memories[0]
        if np.any(after[self._below] != memory[self._below]):
            return None
        return self._walker.read_state(after)[self._last]
