"""An agent that samples, and has finitely many memories: a Markov chain of places and memories."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

from remanence.certificates.mazes._search import Search
from remanence.certificates.mazes._world import ARM, World

ACCURACY = 1e-10
SETTLED = 1e-13  # how much may still change from one maze to the next, in all


class Chain:
    """How often decisions are right in any number of mazes, exactly but for rounding.

    Mazes are drawn as the environment draws them: a goal by a fair coin, an index that has it, a
    length. There is no time limit. `logits` (nodes, 4) are those of a finished search for any walk.
    `accurate` tells whether rounding leaves it so.
    """

    def __init__(self, search: Search, table: Sequence[int], logits: np.ndarray):
        likely = np.exp(logits - logits.max(1, keepdims=True))
        likely /= likely.sum(1, keepdims=True)
        following = search.world.following[search.places]
        rows, actions = np.nonzero(following != ARM)
        ahead = search.find(following[rows, actions], search.memories[rows])
        moves = _collect(likely[rows, actions], ahead, rows, search.size)
        turning = np.where(following == ARM, likely, 0)
        right = search.world.find_right_arms(table)[search.places]
        self._is_right = turning[np.arange(search.size), right]
        self._leaves = turning.sum(1)
        # Of entrances with their shares: how often each node is met before the next arm.
        self._moves, stays = moves, scipy.sparse.eye_array(search.size, format="csc")
        solver = scipy.sparse.linalg.splu((stays - moves).tocsc())
        self._visit = solver.solve
        # Every walk ends with an arm. Where arms are so rare that this is lost in rounding, all is.
        self.accurate = bool(np.abs(solver.solve(self._leaves, "T") - 1).max() < ACCURACY)
        self._opened = np.zeros(search.size)
        odds = find_odds(search.world, table)
        openings = search.find(search.world.openings, np.zeros(len(odds), int))
        np.add.at(self._opened, openings, odds)
        self._entered = self._list_entered(search, odds)

    def _list_entered(self, search: Search, odds: np.ndarray) -> scipy.sparse.csc_array:
        """From nodes with an arm to those at all entrances."""
        leaving = np.flatnonzero(self._leaves)
        entrances = np.tile(search.world.entrances, len(leaving))
        sources = np.repeat(leaving, len(odds))
        ahead = search.find(entrances, search.memories[sources])
        return _collect(np.tile(odds, len(leaving)), ahead, sources, search.size)

    def walk(self) -> Iterator[float]:
        """The probability that the decision is right, maze by maze, until it hardly changes.

        What changes from one maze to the next never grows, so after k more mazes it is off by k
        times `SETTLED` at most.
        """
        entered, change = self._opened, np.inf
        while change > SETTLED:
            visits = self._visit(entered)
            yield float(visits @ self._is_right)
            before, entered = entered, self._entered @ (visits * self._leaves)
            entered /= entered.sum()  # which is 1 but for rounding
            change = np.abs(entered - before).sum()

    def average(self, num_mazes: Sequence[int]) -> list[float]:
        """The mean share of right decisions in so many mazes."""
        shares = np.array(list(itertools.islice(self.walk(), max(num_mazes))))
        sums = np.append(0, np.cumsum(shares))
        known = np.minimum(num_mazes, len(shares))
        beyond = (np.asarray(num_mazes) - known) * shares[-1]
        return ((sums[known] + beyond) / num_mazes).tolist()

    def find_limit(self) -> float:
        """The share of right decisions in the limit of ever more mazes.

        What can never be left (closed classes of places and memories) is entered with some
        probability each, and in each of them the chain settles to one distribution. That may
        take far more mazes than anybody walks through, where memory is lost by rare actions.
        """
        chain = (self._moves + self._entered * self._leaves[None]).tocsc()
        count, classes = scipy.sparse.csgraph.connected_components(chain, connection="strong")
        sources, targets = chain.nonzero()[::-1]
        is_open = np.zeros(count, bool)
        is_open[classes[sources[classes[sources] != classes[targets]]]] = True
        passing = is_open[classes]
        visits = _solve(chain, passing, self._opened[passing])
        arrived = self._opened + chain[:, np.flatnonzero(passing)] @ visits
        return sum(
            arrived[classes == it].sum() * self._settle(chain, classes == it)
            for it in np.flatnonzero(~is_open)
        )

    def _settle(self, chain: scipy.sparse.csc_array, within: np.ndarray) -> float:
        """The share of right decisions in the distribution that a closed class settles to."""
        # Seen from one of its nodes: how often the others are met until it is met again.
        nodes = np.flatnonzero(within)
        others, inflow = within.copy(), chain[:, [nodes[0]]].toarray()[:, 0]  # pyrefly: ignore[missing-attribute]
        others[nodes[0]] = False
        mass = np.zeros(len(within))
        mass[nodes[0]] = 1
        mass[others] = _solve(chain, others, inflow[others])
        return float((mass @ self._is_right) / (mass @ self._leaves))


def find_odds(world: World, table: Sequence[int]) -> np.ndarray:
    """How probable each maze is, in the order of entrances."""
    signs, mazes = np.array(table), [world.places[number] for number in world.entrances]
    alike = [np.count_nonzero(signs == table[maze.entry]) for maze in mazes]
    return 0.5 / (np.array(alike) * len(world.lengths))


def _collect(
    values: np.ndarray, targets: np.ndarray, sources: np.ndarray, size: int
) -> scipy.sparse.csc_array:
    """A sparse matrix in which values with the same place are added up."""
    return scipy.sparse.coo_array((values, (targets, sources)), shape=(size, size)).tocsc()


def _solve(chain: scipy.sparse.csc_array, within: np.ndarray, start: np.ndarray) -> np.ndarray:
    """How often nodes are met, from a start, before all of them are left."""
    nodes = np.flatnonzero(within)
    if not len(nodes):
        return np.zeros(0)
    stays = scipy.sparse.eye_array(len(nodes), format="csc")
    inner = chain[nodes][:, nodes]  # pyrefly: ignore[bad-index]
    return scipy.sparse.linalg.splu((stays - inner).tocsc()).solve(start)
