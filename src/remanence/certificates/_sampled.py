"""Agents of the T-maze that sample: the chance of each end of an episode, computed and not drawn.

The chances are of the compiled program's logits, and summed up in double precision. What is too
improbable to follow is left out, and how much that is, is told.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from remanence.certificates._chances import SampledAgent, SampledOrbit
from remanence.certificates._passage import Walks
from remanence.certificates._sampled_junction import Lingering
from remanence.certificates._walker import DOWN, GOALS, RETURNS, UP
from remanence.envs import AbstractEnvironment, TMaze
from remanence.networks import Agent

MOST_TOGETHER = 16
NEAR = 32  # corridors up to that length have their wall from the outset
NEGLIGIBLE = 1e-17  # an arrival that is less probable is left out
# Of arrivals that are followed together. Who draws almost evenly has ever new memories at the
# junction, a thousand at a time.
MOST_LOOKS = 20_000


class Odds(NamedTuple):
    """How the episodes of one length and cue end, each end with its chance and mean steps.

    `cue` is a row of the environment's `cue_observations`. Steps are None where an end has no
    chance. `left_out` is what was too improbable or too much to follow, or what rounding has added:
    no chance is farther off than that.

    >>> from remanence import certificates
    >>> odds = certificates.Odds(20, 1, right=0.75, wrong=0.125, timeout=0.0, left_out=0.125)
    >>> odds.right_steps is None
    True
    """

    length: int
    cue: int
    right: float
    wrong: float
    timeout: float
    left_out: float
    right_steps: float | None = None
    wrong_steps: float | None = None


def make_sampled_evaluator(env: tuple[AbstractEnvironment, Any]) -> "SampledEvaluator | None":
    """What computes the chances of agents that sample in an environment, or None if nothing can.

    The T-maze has them, unless agents see their previous action: then their memory depends on
    what they drew.

    >>> from remanence import certificates, envs
    >>> type(certificates.make_sampled_evaluator(envs.make("tmaze"))).__name__
    'SampledEvaluator'
    >>> certificates.make_sampled_evaluator(envs.make("tmaze", previous_action=True)) is None
    True
    """
    environment, params = env
    if not isinstance(environment, TMaze):
        return None
    return SampledEvaluator(environment, int(np.max(params.limit_factor)))


class SampledEvaluator:
    """The chances of both arms, and of none in time, at any length of a T-maze with a time limit.

    `returns` are what an episode earns by its end.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> evaluator = certificates.SampledEvaluator(envs.TMaze(), limit_factor=10)
    >>> odds = list(evaluator.run(agent, [15]))
    >>> [round(it.right, 3) for it in odds], max(it.left_out for it in odds) < 1e-9
    ([0.922, 0.431], True)
    """

    returns: ClassVar[Mapping[str, float]] = RETURNS

    def __init__(self, environment: AbstractEnvironment, limit_factor: int):
        self._environment = environment
        self._limit_factor = limit_factor

    def run(self, agent: Agent, lengths: Sequence[int]) -> Iterator[Odds]:
        """Length by length, and cue by cue at each."""
        sampled = SampledAgent(agent, self._environment)
        cues = [_Cue(cue, sampled.follow(goal)) for cue, goal in enumerate(GOALS)]
        for length in lengths:
            for cue in cues:
                yield cue.end(length, self._limit_factor * length)


class _Cue:
    """What follows one cue at any length; nothing that lengths have in common is done twice."""

    def __init__(self, cue: int, orbit: SampledOrbit):
        self._cue, self._orbit = cue, orbit
        self._walks = Walks(orbit)
        self._known: dict[int, tuple[Lingering, int]] = {}  # by the time of arrival, reduced

    def end(self, length: int, limit: int) -> Odds:
        """The chances of each end."""
        tally = Tally(limit)
        if length == 1:
            self._open(tally)
        else:
            passage = self._walks.pass_through(length, limit)
            tally.timeout += passage.never
            probable = passage.chances > NEGLIGIBLE
            self._arrive(passage.times[probable], passage.chances[probable], length, tally)
        goal = GOALS.index(self._orbit.goal)
        return tally.compute_odds(length, self._cue, right=goal, wrong=1 - goal)

    def _open(self, tally: "Tally") -> None:
        """A maze of length 1: cue and junction are seen together, and every move is a bump."""
        acts, state = self._orbit.agent.open(self._orbit.goal, at_junction=True)
        arms = acts[[UP, DOWN]]
        tally.arms += arms
        tally.steps += arms
        lingering = Lingering(self._orbit.agent, state[None], 1, MOST_LOOKS)
        tally.add(np.ones(1, int), np.array([1 - arms.sum()]), lingering, np.zeros(1, int))

    def _arrive(self, times: np.ndarray, chances: np.ndarray, length: int, tally: "Tally") -> None:
        """Arrivals at the junction; those with equal memories share what follows."""
        if not len(times):
            return
        distinct, which = np.unique(self._orbit.reduce(times), return_inverse=True)
        found = self._linger(distinct.tolist(), length, tally.limit - int(times[0]))
        for lingering in {id(it): it for it, _ in found}.values():
            own = np.array([it is lingering for it, _ in found])[which]
            columns = np.array([column for _, column in found])[which[own]]
            tally.add(times[own], chances[own], lingering, columns)

    def _linger(self, times: list[int], length: int, num_steps: int) -> list[tuple[Lingering, int]]:
        """What follows arrivals at these times, and the column in which it is told."""
        if length > NEAR:
            self._known |= self._begin([it for it in times if it not in self._known], None)
            found = [self._known[time] for time in times]
            for lingering, _ in found:
                lingering.extend(num_steps)
            if all(lingering.reach < length for lingering, _ in found):
                return found
        # Whoever gets as far back as the wall has to be followed with a wall.
        walled = self._begin(times, length)
        return [walled[time] for time in times]

    def _begin(self, times: list[int], length: int | None) -> dict[int, tuple[Lingering, int]]:
        found = {}
        for block in range(0, len(times), MOST_TOGETHER):
            members = times[block : block + MOST_TOGETHER]
            states = self._orbit.read_states(np.array(members))
            lingering = Lingering(self._orbit.agent, states, length, MOST_LOOKS)
            found |= {time: (lingering, column) for column, time in enumerate(members)}
        return found


class Tally:
    """Chances of ends within a time limit, and the sums of steps that go with them."""

    def __init__(self, limit: int):
        self.limit = limit
        self.arms, self.steps, self.timeout = np.zeros(2), np.zeros(2), 0.0

    def add(
        self, times: np.ndarray, chances: np.ndarray, lingering: Lingering, columns: np.ndarray
    ) -> None:
        """Arrivals at some times, with their chances and the columns of what follows them."""
        left = self.limit - times
        lingering.extend(int(left.max()))
        arms, alive = lingering.arms, lingering.alive
        known = np.minimum(left, lingering.num_steps)
        taken = np.arange(len(arms))[:, None, None] * arms
        entered, steps = (np.cumsum(it, 0)[known, columns] for it in (arms, taken))
        self.arms += chances @ entered
        self.steps += chances @ (steps + times[:, None] * entered)
        self.timeout += float(chances @ np.where(left == known, alive[known, columns], 0.0))

    def compute_odds(self, length: int, cue: int, right: int, wrong: int) -> Odds:
        """The ends of a length and cue, whose right and wrong arms these are."""
        steps = [
            float(self.steps[arm] / self.arms[arm]) if self.arms[arm] > 0 else None
            for arm in (right, wrong)
        ]
        total = float(self.arms.sum()) + self.timeout
        excess = max(1.0, total)
        return Odds(
            length,
            cue,
            right=float(self.arms[right]) / excess,
            wrong=float(self.arms[wrong]) / excess,
            timeout=self.timeout / excess,
            left_out=abs(1 - total),
            right_steps=steps[0],
            wrong_steps=steps[1],
        )
