"""Sets of lengths 1, 2, 3, ...: members listed up to some length, the last of them periodic."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

MOST_LISTED = 10_000_000


class TooLongError(Exception):
    """What would have to be listed or walked is more than is looked at."""


@dataclasses.dataclass(frozen=True, eq=False)
class Lengths:
    """Membership of the first lengths; the last `period` of them repeat for ever."""

    members: np.ndarray
    period: int

    def unfold(self, count: int) -> np.ndarray:
        """Membership of so many lengths, at least of those that are listed."""
        more = max(0, count - len(self.members))
        repeated = np.tile(self.members[-self.period :], -(-more // self.period))[:more]
        return np.concatenate([self.members, repeated])

    def has(self, length: int) -> bool:
        """Whether a length is a member."""
        if length <= len(self.members):
            return bool(self.members[length - 1])
        beyond = (length - len(self.members) - 1) % self.period
        return bool(self.members[len(self.members) - self.period + beyond])

    def write(self) -> dict[str, Any]:
        """In the one shortest form that a certificate may have."""
        cycle = self.members[-self.period :]
        period = next(
            p
            for p in range(1, self.period + 1)
            if self.period % p == 0 and np.array_equal(cycle[p:], cycle[:-p])
        )
        # Listed are the lengths up to the last that is not what it is one period later.
        odd = np.flatnonzero(self.members[period:] != self.members[:-period])
        listed = self.members[: period + (odd[-1] + 1 if len(odd) else 0)]
        fenced = np.concatenate([[False], listed, [False]])
        edges = np.flatnonzero(fenced[1:] != fenced[:-1])
        runs = [[low + 1, high] for low, high in edges.reshape(-1, 2).tolist()]
        return {"listed": len(listed), "period": period, "runs": runs}


def read(found: dict[str, Any]) -> Lengths:
    """The set that `write` wrote."""
    members = np.zeros(found["listed"], bool)
    for low, high in found["runs"]:
        members[low - 1 : high] = True
    return Lengths(members, found["period"])


def intersect(sets: Sequence[Lengths]) -> Lengths:
    """What is in all sets."""
    period = math.lcm(*(lengths.period for lengths in sets))
    count = max(len(lengths.members) for lengths in sets) + period
    if count > MOST_LISTED:
        raise TooLongError(f"a list of more than {MOST_LISTED:,} lengths")
    return Lengths(np.logical_and.reduce([lengths.unfold(count) for lengths in sets]), period)


def describe(found: dict[str, Any] | None) -> str:
    """A written set in words."""
    if found is None:
        return "undecided"
    lengths = read(found)
    tail = lengths.members[-lengths.period :]
    if lengths.members.all():
        return "every length"
    if not lengths.members.any():
        return "no length"
    if len(found["runs"]) == 1 and tail.all():
        return f"all lengths from {found['runs'][0][0]:,} on"
    runs = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in found["runs"]]
    if tail.all():
        runs[-1] = f"all from {found['runs'][-1][0]:,} on"
    elif tail.any():
        some = f"{int(tail.sum()):,} of every {lengths.period:,}"
        runs.append(f"{some} from {found['listed'] - lengths.period + 1:,} on")
    shown = runs if len(runs) <= 4 else [*runs[:2], f"{len(runs) - 3:,} more stretches", runs[-1]]
    return f"length{'' if lengths.members.sum() == 1 else 's'} {', '.join(shown)}"
