"""Sets of lengths that are known altogether: listed up to some length, periodic beyond."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool

from remanence.certificates._arrivals import Undecided

MOST_LISTED = 10_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class LengthSet:
    """A set of the lengths 1, 2, 3, ...: `listed` for the first ones, whose end repeats for ever.

    Beyond the listed lengths membership has the given period: it continues the last `period` of
    them. Two sets are equal if they have the same members.

    >>> from remanence import certificates
    >>> even = certificates.LengthSet(np.array([False, True]), period=2)
    >>> 10 in even, 11 in even, even.first_missing
    (True, False, 1)
    >>> up_to_three = certificates.LengthSet(np.array([True, True, True, False]), period=1)
    >>> print(up_to_three & even)
    length 2
    >>> up_to_three.list_runs(), up_to_three.covers(1, 3), up_to_three.covers(1)
    ([(1, 3)], True, False)
    >>> certificates.LengthSet.from_json(even.to_json()) == even
    True
    """

    listed: Bool[np.ndarray, " lengths"]
    period: int

    def __post_init__(self):
        if not 1 <= self.period <= len(self.listed):
            raise ValueError(f"period {self.period} of {len(self.listed)} listed lengths")
        listed, period = _minimize(np.asarray(self.listed, bool), self.period)
        object.__setattr__(self, "listed", listed)
        object.__setattr__(self, "period", period)

    def __contains__(self, length: int) -> bool:
        if length < 1:
            return False
        beyond = length - len(self.listed) - 1
        index = length - 1 if beyond < 0 else beyond % self.period - self.period
        return bool(self.listed[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LengthSet):
            return NotImplemented
        return self.period == other.period and np.array_equal(self.listed, other.listed)

    def __and__(self, other: "LengthSet") -> "LengthSet":
        period = math.lcm(self.period, other.period)
        num_listed = max(len(self.listed), len(other.listed)) + period
        if num_listed > MOST_LISTED:
            raise Undecided(f"the cues' common period of {period:,} lengths is too long to list")
        return LengthSet(self.unfold(num_listed) & other.unfold(num_listed), period)

    def unfold(self, num_lengths: int) -> Bool[np.ndarray, " unfolded"]:
        """Membership of the first so many lengths, (lengths,).

        >>> from remanence import certificates
        >>> certificates.LengthSet(np.array([False, True]), period=2).unfold(5).tolist()
        [False, True, False, True, False]
        """
        missing = max(0, num_lengths - len(self.listed))
        repeated = np.tile(self.listed[-self.period :], -(-missing // self.period))
        return np.concatenate([self.listed, repeated])[:num_lengths]

    @property
    def complete(self) -> bool:
        """Whether every length belongs to the set."""
        return bool(self.listed.all())

    @property
    def first_missing(self) -> int | None:
        """The smallest length that does not belong to it."""
        return None if self.complete else int(np.argmin(self.listed)) + 1

    def covers(self, low: int, high: int | None = None) -> bool:
        """Whether all lengths from one on belong to it, up to another if there is one."""
        end = high or low + len(self.listed) + self.period
        return bool(self.unfold(end)[low - 1 :].all())

    @property
    def bounded(self) -> bool:
        """Whether only finitely many lengths belong to it."""
        return not self.listed[-self.period :].any()

    @property
    def cofinite(self) -> bool:
        """Whether all but finitely many lengths belong to it."""
        return bool(self.listed[-self.period :].all())

    def list_runs(self) -> list[tuple[int, int]]:
        """First and last of each run of listed lengths that belong to the set."""
        fenced = np.concatenate([[False], self.listed, [False]])
        edges = np.flatnonzero(fenced[1:] != fenced[:-1])
        return [(low + 1, high) for low, high in edges.reshape(-1, 2).tolist()]

    def to_json(self) -> dict[str, Any]:
        """Listed lengths as runs; see `from_json`."""
        runs = [list(run) for run in self.list_runs()]
        return {"listed": len(self.listed), "period": self.period, "runs": runs}

    @staticmethod
    def from_json(found: dict[str, Any]) -> "LengthSet":
        """The set that `to_json` wrote."""
        listed = np.zeros(found["listed"], bool)
        for low, high in found["runs"]:
            listed[low - 1 : high] = True
        return LengthSet(listed, found["period"])

    def __str__(self) -> str:
        """In words, such as "lengths 1 to 17, 20, and all from 40 on"."""
        if self.complete:
            return "every length"
        if not self.listed.any():
            return "no length"
        start, tail = ", ".join(self._describe_start()), self._describe_tail()
        if not start:
            return tail
        alone = self.bounded and self.listed.sum() == 1
        words = f"{'length' if alone else 'lengths'} {start}"
        return f"{words}, and {tail}" if tail else words

    def _describe_start(self, most_runs: int = 6) -> Iterator[str]:
        """The members before the part that goes on for ever."""
        end = self._find_tail()
        runs = [(low, min(high, end)) for low, high in self.list_runs() if low <= end]
        for low, high in runs[:most_runs]:
            yield f"{low:,}" if low == high else f"{low:,} to {high:,}"
        if len(runs) > most_runs:
            yield f"{len(runs) - most_runs} more stretches up to {runs[-1][1]:,}"

    def _describe_tail(self) -> str:
        if self.bounded:
            return ""
        members = int(self.listed[-self.period :].sum())
        some = "all" if self.cofinite else f"{members:,} of every {self.period:,}"
        return f"{some} lengths from {self._find_tail() + 1:,} on"

    def _find_tail(self) -> int:
        """How many lengths come before the part that goes on for ever; nothing does if bounded."""
        if self.cofinite:
            return self.list_runs()[-1][0] - 1
        return len(self.listed) - (0 if self.bounded else self.period)


def _minimize(
    listed: Bool[np.ndarray, " lengths"], period: int
) -> tuple[Bool[np.ndarray, " fewer"], int]:
    """The shortest listing with the smallest period that has the same members."""
    tail = listed[-period:]
    divisors = (d for d in range(1, period + 1) if period % d == 0)
    period = next(d for d in divisors if np.array_equal(tail[d:], tail[:-d]))
    # Of two lengths one period apart the later need not be listed if all after it agree as well.
    differs = np.flatnonzero(listed[period:] != listed[:-period])
    num_listed = period + (int(differs[-1]) + 1 if len(differs) else 0)
    return listed[:num_listed], period
