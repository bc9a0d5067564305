"""Boxes around memories, of cells whose units keep to themselves: minGRU, and half of a hybrid.

A minGRU's unit becomes z h + (1 - z) n with a z and an n that depend on the observation alone. That
rises with h, also when it is rounded, so the ends of a box are mapped to the ends of its image by
the portable program itself, and nothing is lost but how units hang together.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from remanence.certificates.mazes._search import AbstractMemory
from remanence.portable import PortablePolicy

MOST_POWER = 40
ROUNDS = 200
ROWS = 256  # that are compared at once


class UndecidedError(Exception):
    """The arithmetic here cannot tell; nothing is proved, and nothing refuted."""


class Boxes(AbstractMemory):
    """Memories by what switches in them, exactly, and by the last few observations.

    What does not switch moves. The last `history` observations are told apart, of which at most
    `reach` are from before the last one of `marks`, which is what is seen when a maze begins.
    `lower[number]` and `upper[number]` bound what moves in a memory, (moving,) each, however it
    came about.
    """

    def __init__(
        self,
        policy: PortablePolicy,
        prepared: Sequence[tuple[np.ndarray, Any]],
        switches: np.ndarray,
        marks: frozenset[int],
        history: int,
        reach: int,
    ):
        self.policy, self.prepared = policy, prepared
        self.switches, self._marks = switches, marks
        self._history, self._reach = history, reach
        gates = [seen[1][1] if switches.any() else seen[1] for seen in prepared]
        self._decays = np.array([z for z, _ in gates])
        self._drifts = np.array([(z.dtype.type(1) - z) * n for z, n in gates])
        self._ends = self._find_invariant()
        self._numbers: dict[tuple[bytes, tuple[int, ...]], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._possible: dict[tuple[int, int], np.ndarray] = {}
        self._kept: list[tuple[np.ndarray, tuple[int, ...]]] = []
        self.lower: list[np.ndarray] = []
        self.upper: list[np.ndarray] = []
        self._number(policy.initial_state(), ())

    def step(self, letters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        pairs = list(zip(letters.tolist(), numbers.tolist(), strict=True))
        for letter, number in dict.fromkeys(pairs):
            if (letter, number) not in self._after:
                state, word = self._kept[number]
                state = self.policy.update(self.prepared[letter], state)
                self._after[letter, number] = self._number(state, (*word, letter))
        return np.array([self._after[pair] for pair in pairs], int)

    def move(self, letters: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """What observations make of ends of boxes, (boxes, moving)."""
        return self._decays[letters] * ends + self._drifts[letters]

    def compare(
        self, letters: np.ndarray, numbers: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> np.ndarray:
        """At least by how much each logit is above each other one, (boxes, 4, 4).

        For memories whose moving part is within these bounds, after these observations.
        """
        found = np.zeros((len(letters), 4, 4))
        for letter in np.unique(letters):
            rows = np.flatnonzero(letters == letter)
            for some in np.split(rows, range(ROWS, len(rows), ROWS)):
                states = (self._fill(numbers[some], ends[some]) for ends in (lower, upper))
                ends = self.policy.bound(self.prepared[letter], *states)
                found[some] = _compare_outputs(self.policy, *ends)
        return found

    def find_possible(self, letters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Which actions may be the best, (memories, 4), for all that is known without a place."""
        pairs = list(zip(letters.tolist(), numbers.tolist(), strict=True))
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in self._possible]
        if fresh:
            seen, known = np.array(fresh).T
            lower, upper = (np.array([ends[n] for n in known]) for ends in (self.lower, self.upper))
            found = find_best(self.compare(seen, known, lower, upper))
            self._possible.update(zip(fresh, found, strict=True))
        return np.array([self._possible[pair] for pair in pairs])

    def _fill(self, numbers: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Whole states, from what moves in them and what is known to have switched."""
        states = np.array([self._kept[number][0] for number in numbers.tolist()])
        states[:, ~self.switches] = ends
        return states

    def _number(self, state: np.ndarray, word: tuple[int, ...]) -> int:
        state = np.where(self.switches, state, state.dtype.type(0))
        word = self._cut(word)
        key = (state.tobytes(), word)
        if key not in self._numbers:
            self._numbers[key] = len(self._kept)
            self._kept.append((state, word))
            for ends, end in zip((self.lower, self.upper), self._ends, strict=True):
                for letter in word:
                    end = self.move(np.array(letter), end)
                ends.append(end)
        return self._numbers[key]

    def _cut(self, word: tuple[int, ...]) -> tuple[int, ...]:
        """What is known of the past. It follows from what was known before, and what was seen."""
        word = word[-self._history :]
        begins = [place for place, letter in enumerate(word) if letter in self._marks]
        return word[max(0, begins[-1] - self._reach) :] if begins else word

    def _find_invariant(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of a box that holds the first memory, and that no observation leads out of."""
        letters, one = np.arange(len(self._decays)), self._decays.dtype.type(1)
        for power in range(MOST_POWER):
            upper = np.full(self._decays.shape[1], one * 2**power)
            ends = self.move(letters, -upper), self.move(letters, upper)
            if np.all((-upper <= ends[0]) & (ends[1] <= upper) & (self._decays >= 0)):
                return self._tighten(letters, -upper, upper)
        raise UndecidedError("no set of memories was found that every observation keeps")

    def _tighten(
        self, letters: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        # The image of a box that is mapped into itself is mapped into itself, too.
        for _ in range(ROUNDS):
            lower = np.minimum(self.move(letters, lower).min(0), 0)
            upper = np.maximum(self.move(letters, upper).max(0), 0)
        return lower, upper


def find_best(over: np.ndarray) -> np.ndarray:
    """Which actions may have the greatest logit, (boxes, 4), where some are surely above others."""
    return np.logical_not(np.any(over > 0, axis=1))


def _compare_outputs(policy: PortablePolicy, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """At least by how much each logit is above each other, from what the output layer sees."""
    weight, bias = (np.asarray(it, np.float64) for it in policy.output)
    lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    # Of the difference of two logits: what both have in common cancels.
    slopes, offsets = weight[:, None] - weight, bias[:, None] - bias
    ends = slopes * np.where(slopes >= 0, lower[:, None, None], upper[:, None, None])
    sizes = np.maximum(np.abs(lower), np.abs(upper)) @ np.abs(weight).T + np.abs(bias)
    # A sum of n products is right to n units of rounding, in any order (Higham 2002, section 3.1);
    # twice as much covers the numbers here, which are rounded less than the program's.
    unit = 2 * (weight.shape[1] + 4) * np.finfo(policy.dtype).eps
    return ends.sum(-1) + offsets - unit * (sizes[:, :, None] + sizes[:, None])
