"""What observations make of boxes of memories.

Of BMRU, minGRU, and the hybrid of both, units keep to themselves. A BMRU's unit switches: by what
is seen alone it is set or holds. A minGRU's moves: it becomes z h + (1 - z) n, with a z and an n
that depend on what is seen alone. That rises with h, also when it is rounded, so the ends of a box
are mapped to the ends of its image by the portable program itself. Of other cells all units move.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates import _intervals as intervals
from remanence.certificates._interval_policy import Policy
from remanence.portable import PortablePolicy

Ends = tuple[np.ndarray, np.ndarray]
# By how much a program's σ is off at most: its tanh is right to 8 units in the last place.
SIGMOID_UNITS = 8
TINY = 1e-37  # covers what underflows


class UndecidedError(Exception):
    """The arithmetic here cannot tell; nothing is proved, and nothing refuted."""


class AbstractLooks(abc.ABC):
    """Observations by their letters, of which there are `num_letters`.

    `switches` (state,) tells which units switch.
    """

    policy: PortablePolicy
    switches: np.ndarray
    num_letters: int

    @abc.abstractmethod
    def switch(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        """What switches, after an observation; of whole states (state,), the rest is ignored."""

    @abc.abstractmethod
    def move(self, letters: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Ends:
        """What moves, after observations, (boxes, moving) each."""

    @abc.abstractmethod
    def bound(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        """Bounds on what the output layer sees of states (boxes, state) after an observation."""


class ExactLooks(AbstractLooks):
    """Observations as they are; `prepared` is what the policy makes of each."""

    def __init__(
        self,
        policy: PortablePolicy,
        prepared: Sequence[tuple[np.ndarray, Any]],
        switches: np.ndarray,
    ):
        self.policy, self.switches, self._prepared = policy, switches, prepared
        self.num_letters = len(prepared)
        gates = [seen[1][1] if switches.any() else seen[1] for seen in prepared]
        self._decays = np.array([z for z, _ in gates])
        self._drifts = np.array([(z.dtype.type(1) - z) * n for z, n in gates])
        if not np.all(self._decays >= 0):
            raise UndecidedError("a gate may be below 0")

    def switch(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        del upper  # what switches is known exactly
        state = self.policy.update(self._prepared[letter], lower)
        return state, state

    def move(self, letters: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Ends:
        decays, drifts = self._decays[letters], self._drifts[letters]
        return decays * lower + drifts, decays * upper + drifts

    def bound(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        return self.policy.bound(self._prepared[letter], lower, upper)


class DisturbedLooks(AbstractLooks):
    """Observations of which every number may be off by a radius, each step anew.

    `letters` (letters, observation) are those that there are to be seen, without disturbance. A
    unit that an observation may set, or set either way, has every value between those it may have.
    """

    def __init__(
        self, policy: PortablePolicy, letters: np.ndarray, switches: np.ndarray, radius: float
    ):
        self.policy, self.switches, self.num_letters = policy, switches, len(letters)
        exact = letters.astype(np.float64)
        # Rounding keeps order: a number of the program within the radius is between these.
        ends = (exact - radius).astype(policy.dtype), (exact + radius).astype(policy.dtype)
        self._features = policy.bound_features(*ends)
        cells = getattr(policy.cell, "cells", [policy.cell])
        if switches.any():
            n, beta = cells[0].bound_gates(*self._features)
            self._alpha = np.abs(cells[0].alpha)
            self._up, self._down, self._holds = _find_possible(n, beta, cells[0].alpha)
        if not switches.all():
            self._z, self._n = self._bound_gates(cells[-1])

    def _bound_gates(self, cell: Any) -> tuple[Ends, Ends]:
        """z and n of what moves, in double precision."""
        z, n = cell.bound_gates(*self._features)
        unit = SIGMOID_UNITS * np.finfo(self.policy.dtype).eps
        top = 1.0 if cell.ceiling is None else cell.ceiling.astype(np.float64)
        low, high = (1 / (1 + np.exp(-np.clip(it.astype(np.float64), -50, 50))) for it in z)
        ends = np.clip(top * (low - unit), 0, 1), np.clip(top * (high + unit), 0, 1)
        return ends, (n[0].astype(np.float64), n[1].astype(np.float64))

    def switch(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        if not self.switches.any():
            return lower, upper
        least, most = lower.copy(), upper.copy()
        up, down, holds = (it[letter] for it in (self._up, self._down, self._holds))
        held = lower[self.switches], upper[self.switches]
        least[self.switches] = _choose(
            np.minimum, (down, -self._alpha), (up, self._alpha), (holds, held[0])
        )
        most[self.switches] = _choose(
            np.maximum, (down, -self._alpha), (up, self._alpha), (holds, held[1])
        )
        return least, most

    def move(self, letters: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Ends:
        if self.switches.all():
            return lower, upper
        z, n = (tuple(end[letters] for end in it) for it in (self._z, self._n))
        # z h + (1 - z) n is linear in z, so that one of its ends has the least and one the most.
        low, high = (
            join(z[0] * h + (1 - z[0]) * end, z[1] * h + (1 - z[1]) * end)
            for join, h, end in ((np.minimum, lower, n[0]), (np.maximum, upper, n[1]))
        )
        # A program rounds two products, a difference and a sum; so does this, and less.
        unit = 4 * np.finfo(self.policy.dtype).eps
        slack = unit * sum(np.maximum(np.abs(a), np.abs(b)) for a, b in ((lower, upper), n)) + TINY
        return low - slack, high + slack

    def bound(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        # What is rounded to the program's precision is rounded outward.
        dtype = self.policy.dtype
        ends = round_down(lower, dtype), -round_down(-upper, dtype)
        features = self._features[0][letter], self._features[1][letter]
        return self.policy.bound_between(features, *ends)


class SmoothLooks(AbstractLooks):
    """Observations as they are, of cells whose units see each other: all of them move.

    Images of boxes are enclosed in interval arithmetic, with what a program may round away.
    """

    def __init__(
        self,
        policy: PortablePolicy,
        letters: np.ndarray,
        arrays: Mapping[str, np.ndarray],
        architecture: Mapping[str, Any],
    ):
        self.policy, self.num_letters = policy, len(letters)
        self.switches = np.zeros(policy.initial_state().size, bool)
        self._exact = [policy.prepare(it) for it in letters.astype(policy.dtype)]
        try:
            self._network = Policy(arrays, architecture)
            self._seen = [self._network.prepare(it.tolist()) for it in letters]
        except intervals.UndecidedError as error:
            raise UndecidedError(str(error)) from error

    def switch(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        del letter
        return lower, upper

    def move(self, letters: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Ends:
        low, high = np.full_like(lower, np.inf), np.full_like(upper, -np.inf)
        known = np.isfinite(lower).all(-1)
        for letter in np.unique(letters[known]):
            rows = known & (letters == letter)
            box = intervals.Interval(lower[rows].T, upper[rows].T)
            try:
                after = self._network.update(self._seen[letter], box)
            except intervals.UndecidedError as error:
                raise UndecidedError(str(error)) from error
            low[rows] = intervals.round_down(after.lower - after.error).T
            high[rows] = intervals.round_up(after.upper + after.error).T
        return low, high

    def bound(self, letter: int, lower: np.ndarray, upper: np.ndarray) -> Ends:
        dtype = self.policy.dtype
        ends = round_down(lower, dtype), -round_down(-upper, dtype)
        return self.policy.bound(self._exact[letter], *ends)


def round_down(numbers: np.ndarray, dtype: Any) -> np.ndarray:
    """Numbers of a precision, none of them above what it stands for."""
    found = numbers.astype(dtype)
    return np.where(found > numbers, np.nextafter(found, dtype.type(-np.inf)), found)


def _find_possible(n: Ends, beta: Ends, alpha: np.ndarray) -> tuple[np.ndarray, ...]:
    """Which units may become |α|, which -|α|, and which may hold, (letters, units) each."""
    (least, most), (low, high) = map(_measure_sizes, (n, beta))
    may_set, may_hold = most > low, least <= high
    # A unit may be set up because n is positive, whose sign decides, and α too.
    positive, negative = may_set & (n[1] >= 0), may_set & (n[0] < 0)
    up = np.where(alpha >= 0, positive, negative)
    return up, np.where(alpha >= 0, negative, positive), may_hold


def _measure_sizes(ends: Ends) -> Ends:
    """The least and the greatest absolute value between two numbers."""
    least = np.maximum(np.maximum(ends[0], -ends[1]), ends[0].dtype.type(0))
    return least, np.maximum(np.abs(ends[0]), np.abs(ends[1]))


def _choose(join: Any, *possible: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The least or the greatest value of those that are possible."""
    nothing = np.inf if join is np.minimum else -np.inf
    return join.reduce([np.where(may, value, nothing) for may, value in possible])
