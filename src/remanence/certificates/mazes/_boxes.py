"""Boxes around memories, told apart by what switches in them and by what was seen last."""

import functools

import numpy as np

from remanence.certificates._intervals import LARGEST
from remanence.certificates.mazes._looks import TINY, AbstractLooks, Ends, UndecidedError
from remanence.certificates.mazes._search import AbstractMemory
from remanence.portable import PortablePolicy

MOST_POWER = 40
ROUNDS = 200
ROWS = 256  # that are compared at once


class Boxes(AbstractMemory):
    """Memories by what switches in them, and by the last few observations.

    What switches is known, or may be one of several values: its ends are. What does not switch
    moves. The last `history` observations are told apart, of which at most `reach` are from before
    the last one of `marks`, which is what is seen when a maze begins.
    """

    def __init__(self, looks: AbstractLooks, marks: frozenset[int], history: int, reach: int):
        self.looks, self._marks = looks, marks
        self._history, self._reach = history, reach
        self._numbers: dict[tuple[bytes, bytes, tuple[int, ...]], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._possible: dict[tuple[int, int], np.ndarray] = {}
        self._kept: list[tuple[Ends, tuple[int, ...]]] = []
        self._ends: dict[int, Ends] = {}
        start = looks.policy.initial_state()
        self._number((start, start), ())

    def step(self, letters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        pairs = list(zip(letters.tolist(), numbers.tolist(), strict=True))
        for letter, number in dict.fromkeys(pairs):
            if (letter, number) not in self._after:
                ends, word = self._kept[number]
                ends = self.looks.switch(letter, *ends)
                self._after[letter, number] = self._number(ends, (*word, letter))
        return np.array([self._after[pair] for pair in pairs], int)

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
                states = self._complete_states(numbers[some], lower[some], upper[some])
                ends = self.looks.bound(int(letter), *states)
                found[some] = _compare_outputs(self.looks.policy, *ends)
        return found

    def find_possible(self, letters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Which actions may be the best, (memories, 4), for all that is known without a place."""
        pairs = list(zip(letters.tolist(), numbers.tolist(), strict=True))
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in self._possible]
        if fresh:
            seen, known = np.array(fresh).T
            found = find_best(self.compare(seen, known, *self.find_ends(known)))
            self._possible.update(zip(fresh, found, strict=True))
        return np.array([self._possible[pair] for pair in pairs])

    def find_ends(self, numbers: np.ndarray) -> Ends:
        """Bounds on what moves in memories, (memories, moving) each, however they came about."""
        for number in np.unique(numbers).tolist():
            if number not in self._ends:
                ends = self._invariant
                for letter in self._kept[number][1]:
                    ends = self.looks.move(np.array(letter), *ends)
                self._ends[number] = ends
        found = [self._ends[number] for number in numbers.tolist()]
        return np.array([low for low, _ in found]), np.array([high for _, high in found])

    def _complete_states(self, numbers: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Ends:
        """Ends of whole states, from what moves in them and what is known to have switched."""
        kept = np.array([self._kept[number][0] for number in numbers.tolist()], lower.dtype)
        kept[:, 0, ~self.looks.switches] = lower
        kept[:, 1, ~self.looks.switches] = upper
        return kept[:, 0], kept[:, 1]

    def _number(self, ends: Ends, word: tuple[int, ...]) -> int:
        low, high = (np.where(self.looks.switches, it, it.dtype.type(0)) for it in ends)
        word = self._trim_word(word)
        key = (low.tobytes(), high.tobytes(), word)
        if key not in self._numbers:
            self._numbers[key] = len(self._kept)
            self._kept.append(((low, high), word))
        return self._numbers[key]

    def _trim_word(self, word: tuple[int, ...]) -> tuple[int, ...]:
        """What is known of the past. It follows from what was known before, and what was seen."""
        word = word[max(0, len(word) - self._history) :]
        begins = [place for place, letter in enumerate(word) if letter in self._marks]
        return word[max(0, begins[-1] - self._reach) :] if begins else word

    @functools.cached_property
    def _invariant(self) -> Ends:
        """Ends of a box that holds the first memory, and that no observation leads out of."""
        letters = np.arange(self.looks.num_letters)
        start = self.looks.policy.initial_state()[~self.looks.switches]
        for power in range(MOST_POWER):
            upper = start + start.dtype.type(2**power)
            ends = self.looks.move(
                letters, np.tile(-upper, (len(letters), 1)), np.tile(upper, (len(letters), 1))
            )
            if np.all((-upper <= ends[0]) & (ends[1] <= upper)):
                return self._tighten(letters, -upper, upper)
        raise UndecidedError("no set of memories was found that every observation keeps")

    def _tighten(self, letters: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Ends:
        # The image of a box that is mapped into itself is mapped into itself, too.
        for _ in range(ROUNDS):
            lower, upper = self.looks.move(letters, lower[None], upper[None])
            lower, upper = np.minimum(lower.min(0), 0), np.maximum(upper.max(0), 0)
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
    count = 2 * (weight.shape[1] + 4)
    slack = count * (np.finfo(policy.dtype).eps * sizes + TINY)
    slack = np.where(sizes <= LARGEST, slack, np.inf)
    return ends.sum(-1) + offsets - (slack[:, :, None] + slack[:, None])
