"""How an agent's episodes end for one cue, in mazes of any length.

Fast-forward: nothing is walked twice. The way to the junction is read off the agent's one orbit,
and what follows there depends on the memory it arrives with, which repeats as the orbit does.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from remanence.certificates._arrivals import (
    Arrivals,
    Exhausted,
    Undecided,
    find_arrivals,
    list_arrivals,
)
from remanence.certificates._crowds import Crowds
from remanence.certificates._lingering import Response, respond
from remanence.certificates._orbit import Orbit
from remanence.certificates._walker import ARMS, AbstractWalker, Spot

MOST_TOGETHER = 4096  # memories, each of which takes as much space as a state


class Ending(NamedTuple):
    """The arm that ends an episode and the number of its steps; arm 0 means that none ever does."""

    arm: int
    num_steps: int


NEVER = Ending(0, 0)


class Itinerary:
    """One cue's orbit, with what follows wherever it meets a junction.

    No time limit is looked at here. A search that takes more than its budget of steps raises
    `Undecided`: within so many steps, the episode does not end. `lingering_budget` bounds the steps
    of all searches at junctions together, for there is one for each length.
    """

    def __init__(
        self,
        walker: AbstractWalker,
        goal: int,
        lingering_budget: int | float = math.inf,
        at_once: bool = False,
        crowds: Crowds | None = None,
    ):
        self._walker = walker
        self._crowds = crowds
        self._lingering_budget = lingering_budget
        self.goal = goal
        self.orbit = Orbit(walker, goal, at_once)
        self._closed_arrivals: Arrivals | None = None
        self._decisions: dict[int, int] = {}
        self._responses: dict[tuple[int | None, int | None], Response] = {}

    def end(self, length: int, budget: int) -> Ending:
        """How the episode ends in a maze of that length."""
        if length == 1:
            response = self._respond(None, 1, budget)
            return Ending(response.arm, response.num_steps)
        time = self.arrive(length - 1, budget)
        if time is None:
            return NEVER
        response = self.respond(time - 1, length, budget)
        return Ending(response.arm, time + response.num_steps) if response.arm else NEVER

    def grant(self, lingering_budget: int) -> None:
        """Allow so many steps of lingering from here on."""
        self._lingering_budget = lingering_budget

    def open(self) -> int:
        """The first action in a maze of length 1, where cue and junction are seen together."""
        return int(self._walker.walk(Spot(self.goal, length=1), 1).actions[0])

    def respond(self, time: int, length: int | None, budget: int) -> Response:
        """What the memory after that time does at the junction; None is an endless corridor."""
        arm = ARMS.get(self.decide(time))
        if arm is not None:
            return Response(arm, num_steps=1)
        if length is None:
            return self._respond(time, None, budget)
        try:
            response = self._respond(time, None, budget)
        except Undecided:
            return self._respond(time, length, budget)
        return response if length > response.reach else self._respond(time, length, budget)

    def read_state(self, time: int) -> np.ndarray:
        """The recurrent state after that time."""
        return self._walker.read_state(self.orbit.memory(time))

    def decide(self, time: int) -> int:
        """The action if the junction is seen next after that time: ρ of the memory."""
        time = self.orbit.reduce(time)
        if time not in self._decisions:
            self.prepare(np.array([time]))
        return self._decisions[time]

    def prepare(self, times: Int[np.ndarray, " times"]) -> None:
        """Compute the decisions at many times in one go."""
        wanted = {self.orbit.reduce(int(time)) for time in times} - self._decisions.keys()
        fresh = np.array(sorted(wanted), int)
        self._decisions.update(zip(fresh.tolist(), self.orbit.decide(fresh).tolist(), strict=True))

    def settle(self, times: Int[np.ndarray, " times"]) -> None:
        """Find out what follows at the junction after many times at once, as far as that goes."""
        self.prepare(times)
        if self._crowds is None:
            return
        distinct = {self.orbit.reduce(int(time)) for time in times}
        lingering = sorted(time for time in distinct if self.decide(time) not in ARMS)
        # Late ones first: they are most alike, so that if nothing is known of these, it ends there.
        for end in range(len(lingering), 0, -MOST_TOGETHER):
            some = lingering[max(0, end - MOST_TOGETHER) : end]
            memories = np.stack([self.orbit.memory(time) for time in some])
            budget = self._lingering_budget * len(some) / len(lingering)
            settled = {
                (time, None): Response(*response)
                for crowd, *response in self._crowds.follow(memories, budget)
                for time in some[crowd]
            }
            if not settled:
                break
            self._responses |= settled

    def find_arrivals(self) -> Arrivals:
        """Arrivals at all levels; the orbit must have closed."""
        if self._closed_arrivals is None:
            self._closed_arrivals = find_arrivals(self.orbit)
        return self._closed_arrivals

    def arrive(self, level: int, budget: int) -> int | None:
        """When the level is reached first; None means never."""
        if self._closed_arrivals is not None:
            return self._closed_arrivals.at(level)
        num_steps = level
        while True:
            self.orbit.extend(min(num_steps, budget))
            times = list_arrivals(self.orbit.actions)
            if level < len(times):
                return int(times[level])
            if self.orbit.closed:
                return self._extrapolate(level, budget)
            if self.orbit.num_steps >= budget:
                raise Undecided(f"the junction is not reached within {budget:,} steps")
            num_steps = 2 * self.orbit.num_steps

    def _extrapolate(self, level: int, budget: int) -> int | None:
        """Arrival at a level beyond what was walked, from a closed orbit."""
        try:
            return self.find_arrivals().at(level)
        except Undecided:
            times = list_arrivals(self.orbit.unfold(budget))
            if level >= len(times):
                raise
            return int(times[level])

    def _respond(self, time: int | None, length: int | None, budget: int) -> Response:
        """By simulation, from the memory after a time; without one, from the cue itself."""
        time = None if time is None else self.orbit.reduce(time)
        if (time, length) not in self._responses:
            if self._lingering_budget <= 0:
                raise Exhausted("there is too much lingering at junctions to look at all of it")
            memory = None if time is None else self.orbit.memory(time)
            response, num_steps = respond(
                self._walker, memory, self.goal, length, budget, self._crowds
            )
            self._lingering_budget -= num_steps
            self._responses[time, length] = response
        return self._responses[time, length]
