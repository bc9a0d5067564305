"""Sets of memories for every sequence of mazes: a box for each node of a finite graph."""

import numpy as np

from remanence.certificates.mazes._boxes import Boxes
from remanence.certificates.mazes._search import Search
from remanence.certificates.mazes._world import ARM

MOST_ROUNDS = 300
RESOLUTION = 1e-4


class Enclosure:
    """A finished search among boxes, with a box for each node that gets smaller round by round.

    What is in a place with some memory came from somewhere: it is in the hull of what its
    predecessors' boxes are mapped to. The openings of an episode are known exactly.
    """

    def __init__(self, search: Search, boxes: Boxes):
        self.search, self.boxes, self.num_rounds = search, boxes, 0
        self._letters = search.letters[search.places]
        self.lower, self.upper = (
            np.array([ends[number] for number in search.memories])
            for ends in (boxes.lower, boxes.upper)
        )
        opening = np.isin(search.places, search.world.openings)
        nothing = np.zeros_like(self.lower[opening])
        self.lower[opening], self.upper[opening] = boxes.looks.move(
            self._letters[opening], nothing, nothing
        )
        self._sources, self._targets, self._starts = _list_edges(search)

    def shrink(self, num_rounds: int | None = None) -> None:
        """So many rounds, or else until boxes hardly shrink."""
        reach = RESOLUTION * np.abs([self.lower, self.upper]).max(initial=0)
        while self.num_rounds < (MOST_ROUNDS if num_rounds is None else num_rounds):
            shrunk = self._map()
            self.num_rounds += 1
            if num_rounds is None and shrunk <= reach:
                return

    def compare(self, nodes: np.ndarray) -> np.ndarray:
        """At least by how much each logit is above each other one, (nodes, 4, 4)."""
        numbers = self.search.memories[nodes]
        ends = self.lower[nodes], self.upper[nodes]
        return self.boxes.compare(self._letters[nodes], numbers, *ends)

    def _map(self) -> float:
        """Map all boxes once; by how much an end moved at most."""
        pairs = ((self.lower, np.minimum), (self.upper, np.maximum))
        hull = (join.reduceat(ends[self._sources], self._starts) for ends, join in pairs)
        mapped = self.boxes.looks.move(self._letters[self._targets], *hull)
        shrunk = 0.0
        for (ends, _), after in zip(pairs, mapped, strict=True):
            shrunk = max(shrunk, float(np.abs(after - ends[self._targets]).max(initial=0)))
            ends[self._targets] = after
        return shrunk


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
