"""When an agent that samples reaches the junction: the chances of each time, for one length.

A walk on 0, 1, 2, ... with a wall on its left whose chances change with time until the orbit
closes. What is improbable is left out: all chances together then fall short of 1 by as much.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from remanence.certificates._chances import SampledOrbit

SLIGHT = 1e-20  # of a distribution's tail, left out now and then
FAINT = 1e-13  # the same where a Fourier transform has left noise of that size
STEPS_BETWEEN = 32
FEWEST_JUMPED = 64
DIRECT = 1024  # sizes up to which sums of products are quick, which leave no noise


class Passage(NamedTuple):
    """First arrivals at the junction: the chance of each time; and the chance of none in time."""

    times: np.ndarray
    chances: np.ndarray
    never: float


@dataclasses.dataclass
class Cloud:
    """Chances of places in a row, of which `low` is the first."""

    chances: np.ndarray
    low: int

    @property
    def high(self) -> int:
        return self.low + len(self.chances) - 1

    def trim(self, slight: float) -> None:
        """Leave out tails of that chance."""
        left, right = np.cumsum(self.chances), np.cumsum(self.chances[::-1])
        begin = int(np.searchsorted(left, slight))
        end = len(right) - int(np.searchsorted(right, slight))
        begin = min(begin, len(right) - 1)
        self.chances = self.chances[begin : max(end, begin + 1)]
        self.low += begin

    def add(self, other: "Cloud") -> "Cloud":
        """The sum of two independent places."""
        one, two = self.chances, other.chances
        if min(len(one), len(two)) <= DIRECT:
            return Cloud(np.convolve(one, two), self.low + other.low)
        size = len(one) + len(two) - 1
        padded = 1 << (size - 1).bit_length()
        product = np.fft.irfft(np.fft.rfft(one, padded) * np.fft.rfft(two, padded), padded)
        return Cloud(np.maximum(product[:size], 0), self.low + other.low)


class Leaps:
    """How far 1, 2, 4, ... periods of a closed orbit carry a walk that meets no wall."""

    def __init__(self, orbit: SampledOrbit):
        assert orbit.closure is not None
        self.moves, self.period = orbit.list_cycle(), orbit.closure.period
        leap = Cloud(np.ones(1), 0)
        for right, left in self.moves:
            leap = leap.add(Cloud(np.array([left, max(0.0, 1 - right - left), right]), -1))
        self._leaps = [leap]

    def find(self, most_steps: int) -> tuple[int, Cloud] | None:
        """The longest leap within so many steps, and how many steps it takes."""
        power = (most_steps // self.period).bit_length() - 1
        if most_steps < FEWEST_JUMPED or power < 0:
            return None
        while len(self._leaps) <= power:
            leap = self._leaps[-1].add(self._leaps[-1])
            leap.trim(FAINT if len(self._leaps[-1].chances) > DIRECT else SLIGHT)
            self._leaps.append(leap)
        return self.period << power, self._leaps[power]

    def bound_climb(self, height: int, num_steps: int) -> float:
        """A bound on the chance to be so much higher at some time within so many steps.

        With the wall, a place is the highest of all climbs that begin at any time before (Lindley
        1952). Of one climb the chance is at most min over θ of exp(num_steps max(0, ψ) - θ height)
        (Chernoff 1952, and Doob's inequality), ψ being the logarithm of the mean of exp(θ step).
        """
        tilts = np.geomspace(1e-6, 8, 200)
        right, left = (self.moves[:, side, None] for side in (0, 1))
        growth = np.log1p(right * np.expm1(tilts) + left * np.expm1(-tilts))
        rounds = 1 + num_steps // self.period
        most = rounds * np.maximum(growth.sum(0), 0) + np.maximum(growth, 0).sum(0)
        return float(np.exp(min(0.0, np.log(num_steps + 1) + np.min(most - tilts * height))))


class Walks:
    """The walks of one cue's orbit to junctions at any distance."""

    def __init__(self, orbit: SampledOrbit):
        self._orbit = orbit
        self._leaps: Leaps | None = None

    def pass_through(self, length: int, limit: int) -> Passage:
        """First arrivals at the junction of a maze, early enough for one step within the limit."""
        level, last = length - 1, limit - 1
        if level == 0:
            return Passage(np.zeros(1, int), np.ones(1), 0.0)
        cloud, time, times, chances = Cloud(np.ones(1), 0), 0, [], []
        while time < last and cloud.chances.sum() > FAINT:
            leap = self._find_leap(time, min(cloud.low, level - 1 - cloud.high, last - time))
            if leap is not None:
                num_steps, carried = leap
                cloud, time = cloud.add(carried), time + num_steps
                cloud.trim(FAINT if len(carried.chances) > DIRECT else SLIGHT)
                continue
            cloud, arrived = step_walk(cloud, *self._orbit.moves(time), level)
            time += 1
            if arrived > 0:
                times.append(time)
                chances.append(arrived)
            if time % STEPS_BETWEEN == 0:
                cloud.trim(SLIGHT)
                if self._is_hopeless(cloud, time, level, last):
                    time = last
        # Those that are still on their way have run out of time, or are left out.
        never = float(cloud.chances.sum()) - FAINT if time == last else 0.0
        return Passage(np.array(times, int), np.array(chances), max(0.0, never))

    def _find_leap(self, time: int, room: int) -> tuple[int, Cloud] | None:
        leaps = self._close(time) if room >= FEWEST_JUMPED else None
        return None if leaps is None else leaps.find(room)

    def _is_hopeless(self, cloud: Cloud, time: int, level: int, last: int) -> bool:
        """Whether no arrival worth mentioning is to come, from a walk that stays at the wall."""
        if cloud.low or time & (time - 1) or last - time < FEWEST_JUMPED:
            return False
        leaps = self._close(time)
        return leaps is not None and leaps.bound_climb(level - cloud.high, last - time) < FAINT

    def _close(self, time: int) -> Leaps | None:
        closure = self._orbit.closure
        if closure is None or time < closure.transient:
            return None
        if self._leaps is None:
            self._leaps = Leaps(self._orbit)
        return self._leaps


def step_walk(cloud: Cloud, right: float, left: float, level: int) -> tuple[Cloud, float]:
    """The places after one step, and the chance that the level is reached with it."""
    low, wall = cloud.low - (cloud.low > 0), cloud.low == 0
    chances = np.zeros(cloud.high + 2 - low)
    begin, size = cloud.low - low, len(cloud.chances)
    chances[begin : begin + size] = (1 - right - left) * cloud.chances
    chances[begin + 1 : begin + 1 + size] += right * cloud.chances
    moved = left * cloud.chances
    if wall:
        chances[0] += moved[0]
        chances[: size - 1] += moved[1:]
    else:
        chances[:size] += moved
    if cloud.high + 1 < level:
        return Cloud(chances, low), 0.0
    return Cloud(chances[:-1], low), float(chances[-1])
