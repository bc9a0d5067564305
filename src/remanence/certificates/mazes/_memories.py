"""The memories of an agent, each with a number: what an observation makes of them, bit for bit."""

from collections.abc import Iterator

import numpy as np

from remanence.certificates.mazes._search import AbstractMemory
from remanence.portable import PortablePolicy

ROWS = 512  # that are worked through at once
UNKNOWN = -1


class Memories(AbstractMemory):
    """Steps and logits of the portable program, each computed once.

    `letters` (letters, observation) are the observations there are. Number 0 is the memory before
    an episode.
    """

    def __init__(self, policy: PortablePolicy, letters: np.ndarray):
        self.policy = policy
        self.prepared = [policy.prepare(letter) for letter in letters.astype(policy.dtype)]
        self._states = policy.initial_state()[None]
        self._numbers = {self._states[0].tobytes(): 0}
        self._after = np.full((len(letters), 1), UNKNOWN)
        self._logits = np.full((len(letters), 1, 4), np.nan)

    def __len__(self) -> int:
        return len(self._numbers)

    def read(self, numbers: np.ndarray) -> np.ndarray:
        """The states themselves, (memories, state)."""
        return self._states[numbers]

    def step(self, letters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        for letter, rows in _split(letters, numbers, self._after[letters, numbers] == UNKNOWN):
            states = self.policy.update(self.prepared[letter], self._states[rows])
            # First: numbering may replace the arrays by larger ones.
            found = self._number(states)
            self._after[letter, rows] = found
        return self._after[letters, numbers]

    def decode(self, letters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Logits (pairs, 4), of memories after these observations."""
        for letter, rows in _split(letters, numbers, np.isnan(self._logits[letters, numbers, 0])):
            self._logits[letter, rows] = self.policy.decode(
                self.prepared[letter], self._states[rows]
            )
        return self._logits[letters, numbers]

    def _number(self, states: np.ndarray) -> np.ndarray:
        """Numbers of states, new ones of those that were not met before."""
        before = len(self)
        numbers = np.array([self._numbers.setdefault(it.tobytes(), len(self)) for it in states])
        fresh = np.unique(numbers, return_index=True)[1]
        fresh = fresh[numbers[fresh] >= before]
        if len(self) > len(self._states):
            self._grow(2 * len(self))
        self._states[numbers[fresh]] = states[fresh]
        return numbers

    def _grow(self, size: int) -> None:
        more = size - len(self._states)
        self._states = np.pad(self._states, ((0, more), (0, 0)))
        self._after = np.pad(self._after, ((0, 0), (0, more)), constant_values=UNKNOWN)
        self._logits = np.pad(self._logits, ((0, 0), (0, more), (0, 0)), constant_values=np.nan)


def _split(
    letters: np.ndarray, numbers: np.ndarray, wanted: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """The wanted pairs, each once: a letter and some memories at a time."""
    for letter in np.unique(letters[wanted]):
        rows = np.unique(numbers[wanted & (letters == letter)])
        for first in range(0, len(rows), ROWS):
            yield letter, rows[first : first + ROWS]
