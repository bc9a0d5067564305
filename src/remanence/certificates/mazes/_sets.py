"""Sets of memories for every sequence of mazes: a box for each node of a finite graph."""

import abc
from collections.abc import Callable

import numpy as np

from remanence.certificates.mazes._boxes import Boxes
from remanence.certificates.mazes._looks import Ends
from remanence.certificates.mazes._search import Search
from remanence.certificates.mazes._world import ARM

MOST_ROUNDS = 300
RESOLUTION = 1e-4
# Beyond what it has to hold a growing box is widened a little, and more so as time goes by.
PUSH, FASTER = 1e-6, 1.03
PATIENCE = 10  # rounds


class AbstractEnclosure(abc.ABC):
    """A finished search among boxes, with a box for each node that holds all memories there.

    Where a box is `lower` and `upper` are, (nodes, moving) each, after so many rounds in which all
    of them were mapped. The openings of an episode are known exactly.
    """

    def __init__(self, search: Search, boxes: Boxes):
        self.search, self.boxes, self.num_rounds = search, boxes, 0
        self._letters = search.letters[search.places]
        self.lower, self.upper = self.begin()
        opening = np.isin(search.places, search.world.openings)
        nothing = np.zeros_like(self.lower[opening])
        self.lower[opening], self.upper[opening] = boxes.looks.move(
            self._letters[opening], nothing, nothing
        )
        self._sources, self._targets, self._starts = _list_edges(search)

    @abc.abstractmethod
    def begin(self) -> Ends:
        """The boxes before any round; those of openings do not matter."""

    def compare(self, nodes: np.ndarray) -> np.ndarray:
        """At least by how much each logit is above each other one, (nodes, 4, 4)."""
        numbers = self.search.memories[nodes]
        ends = self.lower[nodes], self.upper[nodes]
        return self.boxes.compare(self._letters[nodes], numbers, *ends)

    def map_hulls(self) -> tuple[np.ndarray, Ends]:
        """Nodes, and what the boxes of all nodes before each of them are mapped to."""
        lower = np.minimum.reduceat(self.lower[self._sources], self._starts)
        upper = np.maximum.reduceat(self.upper[self._sources], self._starts)
        self.num_rounds += 1
        return self._targets, self.boxes.looks.move(self._letters[self._targets], lower, upper)


class Enclosure(AbstractEnclosure):
    """Boxes that get smaller round by round, from what is known without a place.

    What is in a place with some memory came from somewhere: it is in the hull of what its
    predecessors' boxes are mapped to.
    """

    def begin(self) -> Ends:
        return self.boxes.find_ends(self.search.memories)

    def shrink(self, num_rounds: int | None = None) -> None:
        """So many rounds, or else until boxes hardly shrink."""
        reach = RESOLUTION * np.abs([self.lower, self.upper]).max(initial=0)
        while self.num_rounds < (MOST_ROUNDS if num_rounds is None else num_rounds):
            targets, (lower, upper) = self.map_hulls()
            moved = (lower - self.lower[targets], upper - self.upper[targets])
            self.lower[targets], self.upper[targets] = lower, upper
            if num_rounds is None and np.abs(moved).max(initial=0) <= reach:
                return


class GrowingEnclosure(AbstractEnclosure):
    """Boxes that get larger round by round, from none but those of the first memories.

    They hold all memories once every box holds what the boxes before it are mapped to.
    """

    def begin(self) -> Ends:
        size = (self.search.size, np.count_nonzero(~self.boxes.looks.switches))
        return np.full(size, np.inf), np.full(size, -np.inf)

    def grow(self, go_on: Callable[[np.ndarray], bool]) -> bool:
        """Whether boxes that hold everything were found.

        `go_on` is asked now and then, with the nodes that have been come to, whether it is worth
        while: boxes get no smaller.
        """
        while self.num_rounds < MOST_ROUNDS:
            come_to = np.flatnonzero(np.isfinite(self.lower).all(1))
            if self.num_rounds % PATIENCE == 0 and not go_on(come_to):
                return False
            if not self._widen():
                return go_on(come_to)
        return False

    def _widen(self) -> bool:
        """Make boxes larger that do not hold what they should; whether there was one."""
        targets, (lower, upper) = self.map_hulls()
        push = PUSH * FASTER**self.num_rounds
        low, high = self.lower[targets], self.upper[targets]
        # Before a node has been come to its box is empty, and so is what it is mapped to.
        less, more = lower < low, upper > high
        self.lower[targets] = np.where(less, lower - push, low)
        self.upper[targets] = np.where(more, upper + push, high)
        return bool(less.any() or more.any())


def _list_edges(search: Search) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes that lead to others, those others, and where in the first list each one's begin."""
    nodes = np.arange(search.size)
    chosen, following = search.follow(nodes)
    sources, actions = np.nonzero(chosen & (following != ARM))
    targets = search.find(following[sources, actions], search.memories[sources])
    leaving = np.flatnonzero((chosen & (following == ARM)).any(1))
    entrances = np.repeat(search.world.entrances, len(leaving))
    leaving = np.tile(leaving, len(search.world.entrances))
    entered = search.find(entrances, search.memories[leaving])
    pairs = np.unique([[*targets, *entered], [*sources, *leaving]], axis=1)
    targets, starts = np.unique(pairs[0], return_index=True)
    return pairs[1], targets, starts
