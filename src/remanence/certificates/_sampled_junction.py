"""What an agent that samples does from the junction on: the chances of each arm at each step.

It may bump on, or walk back and return, and remembers each look at the junction. So there are many
memories, each with the chances of all distances from the junction that go with it. Memories that
are equal bit for bit are one; those that are improbable are left out.
"""

import dataclasses
import math

import numpy as np

from remanence.certificates._chances import Rows, SampledAgent
from remanence.certificates._walker import DOWN, LEFT, RIGHT, UP

SLIGHT = 1e-15  # a memory or distance that is less probable is left out
MOST_MEMORIES = 1024
MOST_STEPS = 20_000


@dataclasses.dataclass
class _Frontier:
    """Memories: which arrival each is of, and the chance (memories, distances) of each distance."""

    origins: np.ndarray
    states: Rows
    chances: np.ndarray


class Lingering:
    """What follows some arrivals at the junction, computed as far as it is asked for.

    The corridor behind it has that length; None is an endless one. For each number of steps after
    the arrival, (steps + 1, arrivals, ...): `arms` is the chance that the arm up, or down, is
    entered with it, and `alive` that none has been. All memories together take about `most_looks`
    looks, and no further steps are known beyond.
    """

    def __init__(
        self,
        agent: SampledAgent,
        states: Rows,
        length: int | None,
        most_looks: float = math.inf,
    ):
        self._agent, self._wall = agent, None if length is None else length - 1
        self._looks_left = most_looks
        self._number = len(states)
        chances = np.ones((self._number, 1))
        self._frontier = _Frontier(np.arange(self._number), states, chances)
        self._arms: list[np.ndarray] = [np.zeros((self._number, 2))]
        self._alive: list[np.ndarray] = [np.ones(self._number)]
        self.reach = 0  # the farthest that anyone gets from the junction

    @property
    def arms(self) -> np.ndarray:
        return np.array(self._arms)

    @property
    def alive(self) -> np.ndarray:
        return np.array(self._alive)

    @property
    def num_steps(self) -> int:
        return len(self._arms) - 1

    def extend(self, num_steps: int) -> None:
        """Walk on until so many steps are known, `MOST_STEPS` at most, or nothing is left."""
        most_steps = min(num_steps, MOST_STEPS)
        while self.num_steps < most_steps and self._looks_left > 0 and len(self._frontier.origins):
            self._step()

    def _step(self) -> None:
        self._looks_left -= len(self._frontier.origins)
        here, away = self._look_at_junction(), self._look_down_corridor()
        joined = _join(here, away)
        self._frontier = _drop(_merge(joined))
        self.reach = max(self.reach, self._frontier.chances.shape[1] - 1)
        totals = self._frontier.chances.sum(1)
        self._alive.append(np.bincount(self._frontier.origins, totals, self._number))

    def _look_at_junction(self) -> _Frontier:
        """Those at the junction after their look; the chances of arms are noted."""
        now = self._frontier
        members = now.chances[:, 0] > 0
        origins, mass = now.origins[members], now.chances[members, 0]
        acts, states = self._look(now.states[members], at_junction=True)
        self._arms.append(
            np.stack(
                [np.bincount(origins, mass * acts[:, arm], self._number) for arm in (UP, DOWN)], 1
            )
        )
        chances = mass[:, None] * acts[:, [RIGHT, LEFT]]
        return _Frontier(origins, states, self._stop_at_wall(chances))

    def _look_down_corridor(self) -> _Frontier:
        """Those away from the junction after their look."""
        now = self._frontier
        members = now.chances[:, 1:].any(1)
        mass = now.chances[members, 1:]
        acts, states = self._look(now.states[members], at_junction=False)
        right, left = acts[:, RIGHT, None], acts[:, LEFT, None]
        chances = np.zeros((len(mass), mass.shape[1] + 2))
        chances[:, :-2] = right * mass
        chances[:, 1:-1] += (1 - right - left) * mass
        chances[:, 2:] += left * mass
        return _Frontier(now.origins[members], states, self._stop_at_wall(chances))

    def _look(self, states: Rows, at_junction: bool) -> tuple[np.ndarray, Rows]:
        if not len(states):
            return np.zeros((0, 4)), states
        return self._agent.look(states, at_junction)

    def _stop_at_wall(self, chances: np.ndarray) -> np.ndarray:
        """A step to the left from the last cell is a bump."""
        if self._wall is None or chances.shape[1] <= self._wall + 1:
            return chances
        kept = chances[:, : self._wall + 1].copy()
        kept[:, -1] += chances[:, self._wall + 1 :].sum(1)
        return kept


def _join(one: _Frontier, other: _Frontier) -> _Frontier:
    width = max(one.chances.shape[1], other.chances.shape[1])
    padded = [np.pad(it.chances, [(0, 0), (0, width - it.chances.shape[1])]) for it in (one, other)]
    return _Frontier(
        np.concatenate([one.origins, other.origins]),
        np.concatenate([one.states, other.states]),
        np.concatenate(padded),
    )


def _merge(found: _Frontier) -> _Frontier:
    """Equal memories of one arrival as one."""
    count = len(found.origins)
    if not count:
        return found
    words = [
        np.ascontiguousarray(it).view(np.uint8).reshape(count, -1)
        for it in (found.origins, found.states)
    ]
    rows = np.ascontiguousarray(np.concatenate(words, axis=1))
    marks = rows.view(np.dtype((np.void, rows.shape[1])))[:, 0]
    _, first, which = np.unique(marks, return_index=True, return_inverse=True)
    chances = np.zeros((len(first), found.chances.shape[1]))
    np.add.at(chances, which, found.chances)
    return _Frontier(found.origins[first], found.states[first], chances)


def _drop(found: _Frontier) -> _Frontier:
    """Without what is improbable."""
    totals = found.chances.sum(1)
    kept = np.flatnonzero(totals > SLIGHT)
    if len(kept) > MOST_MEMORIES:
        kept = np.sort(kept[np.argsort(-totals[kept], kind="stable")[:MOST_MEMORIES]])
    chances = found.chances[kept]
    wide = np.flatnonzero(chances.sum(0) > SLIGHT)
    width = int(wide[-1]) + 1 if len(wide) else 1
    return _Frontier(found.origins[kept], found.states[kept], chances[:, :width])
