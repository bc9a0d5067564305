"""What follows at the junction after many memories at once, if the cell is a minGRU.

z h + (1 - z) n rises with h, also as the program rounds it, and z and n do not depend on h. So if
states differ in the last layer alone, the program leads all that lie between two of them to what
lies between what becomes of these two. What is done in between is judged by the kernel's balls.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ._kernel import DOWN, RIGHT, UP, Policy, UndecidedError, from_ends, judge
from ._program import Program

MOST_STEPS = 4096
MOST_WASTED = 50_000  # steps more than to follow each row by itself
MOST_TAKEN = 200_000  # steps of one call
MOST_WIDER, NUM_SMALLER = 60, 10


class Crowds:
    """States on arrival; they come as rows."""

    def __init__(self, program: Program, policy: Policy):
        width = policy.shape["state_size"]
        self._below, self._top = slice(len(program.start) - width), slice(-width, None)
        self._program, self._look, self._policy = program, program.look(0, 1, None), policy
        self._taken = 0

    def settle(self, states: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
        """From which row to before which other which arm is entered after how many steps.

        Arm 0 stands for never. Rows that are left out are not settled.
        """
        same = np.all(states[1:, self._below] == states[:-1, self._below], axis=1)
        borders = [0, *(np.flatnonzero(~same) + 1).tolist(), len(states)]
        waiting, saved, begin = list(pairwise(borders)), 0, self._taken
        while waiting and self._taken - begin < min(MOST_WASTED + saved, MOST_TAKEN):
            first, last = waiting.pop()
            some, before = states[first:last], self._taken
            try:
                found = self._follow(np.array([some.min(axis=0), some.max(axis=0)]))
            except UndecidedError:
                found = None
            if found is not None:
                yield first, last, *found
                saved += (last - first) * (self._taken - before)
            elif last - first > 1:
                waiting += [(first, (first + last) // 2), ((first + last) // 2, last)]

    def _follow(self, ends: np.ndarray) -> tuple[int, int] | None:
        """Arm and steps of all that lies between two rows; None if it cannot be told."""
        steps, size = 0, 16
        while steps < MOST_STEPS:
            path = [ends := self._update(ends) for _ in range(size)]
            low, high = np.array(path).transpose(1, 2, 0)
            logits = self._policy.decode(self._policy.junction, from_ends(low, high))
            right, up, down = (judge(logits, action)[0] for action in (RIGHT, UP, DOWN))
            if not right.all():
                turn = int(right.argmin())
                arm = int(down[turn]) - int(up[turn])
                return (arm, steps + turn + 1) if arm else None
            steps, size = steps + size, min(steps + size, 1024)
            if steps >= 256 and self._stay(ends):
                return 0, 0
        return None

    def _update(self, ends: np.ndarray) -> np.ndarray:
        self._taken += 1
        return self._program.update(self._look, ends)

    def _stay(self, ends: np.ndarray) -> bool:
        """Whether it goes right for ever: wider ends enclose what becomes of all between them.

        Ends move outwards by twice as much each time until no unit leaves them. Then they come
        back in ever smaller steps, as far as that stays so.
        """
        outward = np.array([[-1], [1]], ends.dtype)
        after = self._update(ends)
        if np.any(after[:, self._below] != ends[:, self._below]):
            return False
        step = np.maximum(outward * (after - ends)[:, self._top], 0)
        reach = step.copy()
        for _ in range(MOST_WIDER):
            leaves = self._leaves(ends, outward * reach, outward)
            if not leaves.any():
                break
            step = np.where(leaves, reach, step)
            reach = np.where(leaves, reach + step, reach)
        else:
            return False
        for _ in range(NUM_SMALLER):
            step = step * 0.5
            less = np.maximum(reach - step, 0)
            reach = np.where(self._leaves(ends, outward * less, outward), reach, less)
        wide = self._move(ends, outward * reach)
        if self._leaves(wide, np.zeros_like(reach), outward).any():
            return False
        logits = self._policy.decode(self._policy.junction, from_ends(*wide[:, :, None]))
        return bool(judge(logits, RIGHT)[0].all())

    def _move(self, ends: np.ndarray, by: np.ndarray) -> np.ndarray:
        """Other numbers in the last layer."""
        return np.concatenate([ends[:, self._below], ends[:, self._top] + by], axis=1)

    def _leaves(self, ends: np.ndarray, by: np.ndarray, outward: np.ndarray) -> np.ndarray:
        """Which units of moved ends the program leads farther outwards."""
        moved = self._move(ends, by)
        return ~(outward * (self._update(moved) - moved)[:, self._top] <= 0)


def make_crowds(program: Program) -> Crowds | None:
    """For agents that have such a cell, and see no action."""
    shape = program.shape
    if shape["cell"] != "mingru" or shape["previous_action"]:
        return None
    try:
        return Crowds(program, Policy(program.weights, shape))
    except UndecidedError:
        return None
