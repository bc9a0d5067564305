"""Greedy episodes of a T-maze, exactly: stepped plainly, or fast-forwarded to the same end."""

from remanence.certificates._arrivals import Undecided
from remanence.certificates._itinerary import NEVER, Ending, Itinerary
from remanence.certificates._walker import GOALS, TAPE_ROWS, AbstractWalker, Spot, Walker
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError
from remanence.networks import Agent

UNLIMITED_BUDGET = 10_000_000


class ExactEpisodes:
    """The two episodes of an agent, one for each goal, in a maze of any length.

    `plain` steps through all of it; else nothing that repeats bit for bit is stepped through
    again. Both run the same executable, so they agree to the bit.
    """

    def __init__(
        self, agent: Agent, environment: AbstractEnvironment, limit_factor: int, plain: bool = False
    ):
        if plain and not limit_factor:
            remedy = "plain stepping needs a time limit, for some agents never arrive"
            raise InvalidOptionError("time_limit_factor", None, remedy)
        self._limit_factor = limit_factor
        self._plain = plain
        self._walker = Walker(agent, environment)
        self._itineraries = {goal: Itinerary(self._walker, goal) for goal in GOALS}

    def end(self, goal: int, length: int) -> Ending:
        """How the episode ends; an arm of 0 means that the time runs out first."""
        limit = self._limit_factor * length
        if self._plain:
            return step_plainly(self._walker, goal, length, limit)
        try:
            ending = self._itineraries[goal].end(length, limit or UNLIMITED_BUDGET)
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
