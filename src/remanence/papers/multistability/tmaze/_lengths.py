"""The lengths that one agent solves, as far as they are known."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates import LengthSet

YES, NO = "yes", "no"


@dataclasses.dataclass(frozen=True)
class SolvedLengths:
    """The lengths that an agent solves: all of them where its certificate tells, else those it was
    evaluated at.
    """

    certified: LengthSet | None
    evaluated: Mapping[int, bool]

    @classmethod
    def gather(
        cls, certificate: Mapping[str, Any] | None, rows: Sequence[Mapping[str, Any]]
    ) -> "SolvedLengths":
        """From a certificate, if there is one, and the outcomes at some lengths."""
        found = None if certificate is None else certificate["compiled"]["solved"]
        evaluated = {row["length"]: row["outcome"] == "solved" for row in rows}
        return cls(None if found is None else LengthSet.from_json(found), evaluated)

    def covers(self, low: int, high: int | None = None) -> str:
        """Whether all lengths from one on, up to another if there is one; empty if not known.

        One length that fails is enough to know, and any number that do not is not.
        """
        if self.certified is not None:
            return YES if self.certified.covers(low, high) else NO
        missed = (length for length, solved in self.evaluated.items() if not solved)
        return NO if any(low <= length <= (high or length) for length in missed) else ""

    def find_last_miss(self) -> float:
        """The last length from 2 on that fails: 0 if none does, infinite if there is no last one.

        NaN if not known.
        """
        if self.certified is None:
            return np.nan
        if not self.certified.cofinite:
            return np.inf
        missed = np.flatnonzero(~self.certified.listed[1:])
        return float(missed[-1] + 2) if len(missed) else 0.0


def list_stretches(lengths: LengthSet) -> Iterator[tuple[float, float, float]]:
    """First length, last length and share of each stretch; the last may go on for ever."""
    tail = lengths.listed[-lengths.period :]
    endless = len(lengths.listed) + 1
    for low, high in lengths.list_runs():
        if high == len(lengths.listed) and tail.all():
            endless = low
        else:
            yield float(low), float(high), 1.0
    if tail.any():
        yield float(endless), np.inf, float(tail.mean())
