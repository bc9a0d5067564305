"""What an agent does that has reached the junction and does not decide at once.

It may bump on, walk back and return, or walk away. All of it is simulated step by step until an
arm is entered or it is certain that none ever will be.
"""

import dataclasses

import numpy as np

from remanence.certificates._arrivals import Undecided
from remanence.certificates._crowds import Crowds
from remanence.certificates._walker import ENDLESS, AbstractWalker, Spot, Trace

FIRST_STEPS = 16
PATIENCE = 1024  # steps before it is asked whether an agent that bumps on ever stops


@dataclasses.dataclass(frozen=True)
class Response:
    """The arm entered in the end and the steps that took; arm 0 means that none ever is.

    It is the same for all lengths above `reach`: the agent then never meets the wall on its left,
    or never comes back from it.
    """

    arm: int
    num_steps: int
    reach: int = 0


def respond(
    walker: AbstractWalker,
    memory: np.ndarray | None,
    goal: int,
    length: int | None,
    budget: int,
    crowds: Crowds | None = None,
) -> tuple[Response, int]:
    """What follows on arrival at the junction, and how many steps it took to find out.

    The corridor behind has that length; None is an endless one.

    Without a memory the agent looks for the first time, which it does at a junction in a maze of
    length 1.
    """
    search = _Search(walker, goal, length or ENDLESS, memory, crowds)
    while search.num_steps < budget:
        response = search.advance(budget - search.num_steps, endless=length is None)
        if response is not None:
            return response, search.num_steps
    raise Undecided(f"the agent lingers at the junction for more than {budget:,} steps")


class _Search:
    """A simulation in blocks, which keeps one (memory, distance) and waits for it to repeat."""

    def __init__(
        self,
        walker: AbstractWalker,
        goal: int,
        length: int,
        memory: np.ndarray | None,
        crowds: Crowds | None,
    ):
        self._walker = walker
        self._crowds = crowds
        self._spot = Spot(goal, length, length - 1, memory)
        self.num_steps = 0
        self._farthest = 0
        self._last_visit = 0  # the time of the last step that was spent at the junction
        self._kept: tuple[int, np.ndarray, int] | None = None

    def advance(self, most_steps: int, endless: bool) -> Response | None:
        """Some steps more, and the response if they decide it."""
        size = min(max(FIRST_STEPS, self.num_steps), most_steps)
        trace = self._walker.walk(self._spot, size)
        distances = self._spot.length - 1 - trace.positions
        begin, self.num_steps = self.num_steps, self.num_steps + len(trace.actions)
        if trace.arm:
            reach = max(self._farthest, int(distances.max(initial=0)))
            return Response(trace.arm, self.num_steps, reach)
        response = self._compare(begin, trace, distances, endless)
        self._farthest = max(self._farthest, int(distances.max()))
        self._note_visits(begin, distances)
        last = self.num_steps - 1
        if self._kept is None or last >= 2 * self._kept[0]:
            self._kept = last, trace.memories[-1], int(distances[-1])
            if response is None and self._stays(trace, distances):
                return Response(arm=0, num_steps=0, reach=self._farthest)
        self._spot = self._spot._replace(
            position=int(trace.positions[-1]), memory=trace.memories[-1]
        )
        return response

    def _stays(self, trace: Trace, distances: np.ndarray) -> bool:
        """Whether it bumps on at the junction, and can be shown to do so for ever."""
        if self._crowds is None or self.num_steps < PATIENCE or distances.any():
            return False
        return self._crowds.stays(trace.memories[-1])

    def _note_visits(self, begin: int, distances: np.ndarray) -> None:
        visits = np.flatnonzero(distances == 0)
        if len(visits):
            self._last_visit = begin + int(visits[-1])

    def _compare(
        self, begin: int, trace: Trace, distances: np.ndarray, endless: bool
    ) -> Response | None:
        """Whether the kept memory comes again: where it was, or farther from the junction.

        Or whether memory and agent stand still, which is how most come to stay.
        """
        farthest = max(self._farthest, int(distances.max()))
        still = np.all(trace.memories[1:] == trace.memories[:-1], axis=1)
        if np.any(still & (distances[1:] == distances[:-1])):
            return Response(arm=0, num_steps=0, reach=farthest)
        if self._kept is None:
            return None
        time, memory, distance = self._kept
        same = np.all(trace.memories == memory[None], axis=1)
        if np.any(same & (distances == distance)):
            return Response(arm=0, num_steps=0, reach=farthest)
        away = np.flatnonzero(same & (distances > distance))
        if not endless or not len(away):
            return None
        end = int(away[0])
        if self._last_visit >= time or np.any(distances[: end + 1] == 0):
            return None
        # From here it repeats itself and gets farther with every period, and nothing but the
        # corridor is seen. At a wall it then stays within two periods of it.
        period = begin + end - time
        return Response(arm=0, num_steps=0, reach=farthest + 2 * period)
