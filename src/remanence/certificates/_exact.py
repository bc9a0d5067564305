"""Greedy episodes of a T-maze, exactly: stepped plainly, or fast-forwarded to the same end."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from remanence.certificates._arrivals import Undecided
from remanence.certificates._crowds import make_crowds
from remanence.certificates._itinerary import NEVER, Ending, Itinerary
from remanence.certificates._walker import (
    GOALS,
    RETURNS,
    TAPE_ROWS,
    AbstractWalker,
    Spot,
    Walker,
)
from remanence.envs import AbstractEnvironment, TMaze
from remanence.errors import InvalidOptionError
from remanence.networks import Agent

UNLIMITED_BUDGET = 10_000_000


class ExactEpisode(NamedTuple):
    """How one episode goes; `cue` is a row of the environment's `cue_observations`.

    `end` is "right", "wrong" or "timeout". A timeout takes all of the time limit, and 0 steps where
    there is none.

    >>> from remanence import certificates
    >>> certificates.ExactEpisode(20, 1, -0.1, 20, "wrong")
    ExactEpisode(length=20, cue=1, total_reward=-0.1, num_steps=20, end='wrong')
    """

    length: int
    cue: int
    total_reward: float
    num_steps: int | None
    end: str


def make_exact_evaluator(
    env: tuple[AbstractEnvironment, Any], *, plain: bool = False
) -> "ExactEvaluator | None":
    """What runs all greedy episodes that there are in an environment, or None if nothing can.

    The T-maze has two at each length, one for each goal, with or without the previous action.

    >>> from remanence import certificates, envs
    >>> type(certificates.make_exact_evaluator(envs.make("tmaze"))).__name__
    'ExactEvaluator'
    >>> certificates.make_exact_evaluator(envs.make("lookup-tree-maze")) is None
    True
    """
    environment, params = env
    if not isinstance(environment.unwrapped, TMaze):
        return None
    return ExactEvaluator(environment, int(np.max(params.limit_factor)), plain)


class ExactEvaluator:
    """The two episodes of an agent in a T-maze, one for each goal, at any length.

    `plain` steps through all of it; else nothing that repeats bit for bit is stepped through
    again. Both run the same executable, so they agree to the bit.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> evaluator = certificates.ExactEvaluator(envs.TMaze(), limit_factor=10)
    >>> for episode in evaluator.run(agent, [20]):
    ...     print(episode)
    ExactEpisode(length=20, cue=0, total_reward=4.0, num_steps=20, end='right')
    ExactEpisode(length=20, cue=1, total_reward=-0.1, num_steps=20, end='wrong')
    """

    def __init__(self, environment: AbstractEnvironment, limit_factor: int, plain: bool = False):
        if plain and not limit_factor:
            remedy = "plain stepping needs a time limit, as some agents never arrive"
            raise InvalidOptionError("time_limit_factor", None, remedy)
        self._environment = environment
        self._limit_factor = limit_factor
        self._plain = plain

    def run(self, agent: Agent, lengths: Sequence[int]) -> Iterator[ExactEpisode]:
        """Length by length, and cue by cue at each."""
        walker = Walker(agent, self._environment)
        crowds = make_crowds(walker, agent, self._environment)
        itineraries = {goal: Itinerary(walker, goal, crowds=crowds) for goal in GOALS}
        for length in lengths:
            limit = self._limit_factor * length
            for cue, goal in enumerate(GOALS):
                arm, num_steps = (
                    step_plainly(walker, goal, length, limit)
                    if self._plain
                    else _fast_forward(itineraries[goal], length, limit)
                )
                end = "timeout" if arm == 0 else "right" if arm == goal else "wrong"
                yield ExactEpisode(
                    length, cue, RETURNS[end], num_steps if arm else limit or None, end
                )


def _fast_forward(itinerary: Itinerary, length: int, limit: int) -> Ending:
    """How the episode ends; an arm of 0 means that the time runs out first."""
    try:
        ending = itinerary.end(length, limit or UNLIMITED_BUDGET)
    except Undecided as reason:
        if limit:
            return NEVER
        remedy = f"set a time limit: without one this agent's episode is undecided ({reason})"
        raise InvalidOptionError("time_limit_factor", None, remedy) from reason
    return ending if not limit or ending.num_steps <= limit else NEVER


def step_plainly(walker: AbstractWalker, goal: int, length: int, limit: int) -> Ending:
    """One episode, step by step to its end or to the time limit."""
    spot, num_steps = Spot(goal, length), 0
    while num_steps < limit:
        trace = walker.walk(spot, min(TAPE_ROWS, limit - num_steps))
        num_steps += len(trace.actions)
        if trace.arm:
            return Ending(trace.arm, num_steps)
        spot = spot._replace(position=int(trace.positions[-1]), memory=trace.memories[-1])
    return NEVER
