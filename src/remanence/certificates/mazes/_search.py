"""All memories with which an agent can stand in each place, found one maze after another.

Where these are finitely many, as a BMRU's are, nothing is left out, for any number of mazes.
"""

import abc
from collections.abc import Callable, Iterator

import numpy as np

from remanence.certificates.mazes._world import ARM, World

NOBODY = -1


class AbstractMemory(abc.ABC):
    """Memories by their numbers, of which 0 is the one before an episode."""

    @abc.abstractmethod
    def step(self, letters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The memories after these observations, pair by pair."""


# Which actions are taken, (nodes, 4), in places with memories.
Choose = Callable[[np.ndarray, np.ndarray], np.ndarray]
# How promising it is to go on from nodes; less is better.
Rank = Callable[[np.ndarray], np.ndarray]


class Search:
    """A search through the mazes of a world, maze by maze and in each step by step.

    Nodes are pairs of place and memory, in the order in which they are found: `places`, `memories`,
    the `parents` that they were found from by `actions`, and in which of the `mazes`, from 1 on.
    `letters` says of each place how the memories call what is seen there. `num_mazes` have been
    searched. If `num_kept` is given, then of the memories that a maze is left with so many go on,
    half of them those that `rank` prefers, and of what can be done in a maze `most_steps` steps
    are.
    """

    def __init__(
        self,
        world: World,
        memory: AbstractMemory,
        letters: np.ndarray,
        choose: Choose,
        num_kept: int | None = None,
        most_steps: int | None = None,
        rank: Rank = np.zeros_like,
    ):
        self.world, self.memory, self.letters, self.choose = world, memory, letters, choose
        self.size, self.num_mazes, self.finished, self.complete = 0, 0, False, True
        self._num_kept, self._most_steps, self.rank = num_kept, most_steps, rank
        self._random = np.random.default_rng(0)
        self._found = np.zeros((5, 1), int)
        self._known: dict[int, int] = {}

    @property
    def places(self) -> np.ndarray:
        return self._found[0, : self.size]

    @property
    def memories(self) -> np.ndarray:
        return self._found[1, : self.size]

    @property
    def parents(self) -> np.ndarray:
        return self._found[2, : self.size]

    @property
    def actions(self) -> np.ndarray:
        return self._found[3, : self.size]

    @property
    def mazes(self) -> np.ndarray:
        return self._found[4, : self.size]

    def run(self, budget: int) -> Iterator[np.ndarray]:
        """What is found by each further step, until it is nothing or there are more than so many.

        In the end the search is `finished` if all there is has been found; it is `complete` as long
        as no sequence of `num_mazes` mazes has been left out.
        """
        nobody = np.full(len(self.world.openings), NOBODY)
        level = self._add(self.world.openings, np.zeros_like(nobody), nobody, nobody)
        while len(level):
            first, num_steps = int(level[0]), 0
            while len(level):
                yield level
                num_steps += 1
                if self.size > budget:
                    return
                if num_steps == self._most_steps:
                    self.complete = False
                    break
                level = self._walk_on(level)
            self.num_mazes += 1
            level = self._enter(np.arange(first, self.size))
        self.finished = self.complete

    def follow(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which actions are taken in some nodes, and in which places they end, (nodes, 4) each."""
        places = self.places[nodes]
        return self.choose(places, self.memories[nodes]), self.world.following[places]

    def find(self, places: np.ndarray, memories: np.ndarray) -> np.ndarray:
        """The nodes at these places, reached with these memories before what is seen there."""
        after = self.memory.step(self.letters[places], memories)
        return np.array([self._known[key] for key in _join(places, after)], int)

    def trace(self, node: int) -> list[int]:
        """The nodes from an opening to this one."""
        path = [node]
        while (parent := int(self.parents[path[-1]])) != NOBODY:
            path.append(parent)
        return path[::-1]

    def _walk_on(self, nodes: np.ndarray) -> np.ndarray:
        chosen, following = self.follow(nodes)
        rows, actions = np.nonzero(chosen & (following != ARM))
        parents = nodes[rows]
        return self._add(following[rows, actions], self.memories[parents], parents, actions)

    def _enter(self, nodes: np.ndarray) -> np.ndarray:
        """By an arm to the entrance of any maze."""
        chosen, following = self.follow(nodes)
        turning = chosen & (following == ARM)
        rows = np.flatnonzero(turning.any(1))
        rows = rows[np.unique(self.memories[nodes[rows]], return_index=True)[1]]
        if self._num_kept and len(rows) > self._num_kept:
            self.complete, rows = False, self._sift(nodes, rows)
        entrances = np.tile(self.world.entrances, len(rows))
        rows = np.repeat(rows, len(self.world.entrances))
        parents, actions = nodes[rows], turning[rows].argmax(1)
        return self._add(entrances, self.memories[parents], parents, actions)

    def _sift(self, nodes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        assert self._num_kept is not None
        best = rows[np.argsort(self.rank(nodes[rows]), kind="stable")[: self._num_kept // 2]]
        rest = np.setdiff1d(rows, best)
        return np.append(best, self._random.choice(rest, self._num_kept - len(best), replace=False))

    def _add(
        self, places: np.ndarray, before: np.ndarray, parents: np.ndarray, actions: np.ndarray
    ) -> np.ndarray:
        """Number the nodes that are new, in these places, with these memories before them."""
        memories = self.memory.step(self.letters[places], before)
        fresh = []
        for row, key in enumerate(_join(places, memories)):
            if self._known.setdefault(key, self.size + len(fresh)) == self.size + len(fresh):
                fresh.append(row)
        numbers = np.arange(self.size, self.size + len(fresh))
        self.size += len(fresh)
        if self.size > self._found.shape[1]:
            self._found = np.pad(self._found, ((0, 0), (0, self.size)))
        mazes = np.full(len(fresh), self.num_mazes + 1)
        part = (places[fresh], memories[fresh], parents[fresh], actions[fresh], mazes)
        self._found[:, numbers] = part
        return numbers


def _join(places: np.ndarray, memories: np.ndarray) -> list[int]:
    return (places << 32 | memories).tolist()


def find_endless(search: Search, nodes: np.ndarray) -> np.ndarray:
    """Those of some nodes from which one may walk among them for ever, and never take an arm."""
    chosen, following = search.follow(nodes)
    rows, actions = np.nonzero(chosen & (following != ARM))
    sources, endless = nodes[rows], np.zeros(search.size, bool)
    targets = search.find(following[rows, actions], search.memories[sources])
    endless[sources], count = True, -1
    while count != np.count_nonzero(endless):
        count = np.count_nonzero(endless)
        going = sources[endless[targets]]
        endless[:] = False
        endless[going] = True
    return np.flatnonzero(endless)
