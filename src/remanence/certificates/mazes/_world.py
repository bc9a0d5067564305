"""The LookupTreeMaze as a finite graph: places, what is seen in each, and where actions lead."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from remanence._numbers import check_whole
from remanence.envs import LookupTreeMaze
from remanence.errors import InvalidOptionError

RIGHT, UP, LEFT, DOWN = range(4)
ARM = -1  # where an arm leads: out of this maze, into any other
LENGTHS = (1, 2, 3)
LONGEST = 1_000
MOST_LENGTHS, MOST_ENTRIES = 100, 12  # that certificates speak of


class Place(NamedTuple):
    """Where an agent is, in which maze, and whether it has just entered it or the first of all.

    `entry` is the table's that counts in this maze, and that its index says.
    """

    entry: int
    length: int
    position: int
    entered: bool = False
    opening: bool = False


class World:
    """All places of mazes of some lengths, by number.

    `openings` are the entrances to a first maze, `entrances` those to later ones. `following[place,
    action]` is the next place, or `ARM`.

    >>> from remanence import envs
    >>> from remanence.certificates import mazes
    >>> world = mazes.World(envs.LookupTreeMaze(table_size=3), lengths=[1])
    >>> [world.places[number][:3] for number in world.entrances]
    [(0, 1, 0), (1, 1, 0), (2, 1, 0)]
    >>> world.following[world.entrances[0]].tolist()
    [6, -1, 6, -1]
    >>> world.observe([1, -1, -1])[world.openings].tolist()[2]
    [1.0, -1.0, -1.0, 2.0, 1.0]
    >>> arms = world.find_right_arms([1, -1, -1])[world.entrances]
    >>> [envs.ACTION_NAMES[arm] for arm in arms]
    ['down', 'up', 'up']
    """

    def __init__(self, maze: LookupTreeMaze, lengths: Sequence[int] = LENGTHS):
        self.maze, self.lengths = maze, check_lengths(lengths)
        mazes = list(itertools.product(range(maze.table_size), self.lengths))
        openings = [Place(*it, 0, entered=True, opening=True) for it in mazes]
        entrances = [Place(*it, 0, entered=True) for it in mazes]
        inside = [Place(*it, position) for it in mazes for position in range(it[1])]
        self.places = [*openings, *entrances, *inside]
        self.openings = np.arange(len(mazes))
        self.entrances = self.openings + len(mazes)
        numbers = {place: number for number, place in enumerate(self.places)}
        self.following = np.array([self._follow(place, numbers) for place in self.places])
        self.at_junction = np.array([it.position == it.length - 1 for it in self.places])

    def _follow(self, place: Place, numbers: dict[Place, int]) -> list[int]:
        index, length, position = place[:3]
        stay = ARM if position == length - 1 else numbers[Place(index, length, position)]
        ahead = numbers[Place(index, length, min(position + 1, length - 1))]
        back = numbers[Place(index, length, max(position - 1, 0))]
        return [ahead, stay, back, stay]

    def observe(self, table: Sequence[int]) -> np.ndarray:
        """What is seen in each place when the table is this one, (places, observation)."""
        size = self.maze.table_size
        seen = np.zeros((len(self.places), self.maze.observation_size), np.float32)
        for row, place in zip(seen, self.places, strict=True):
            if place.opening:
                row[:size] = table
            if place.entered and self.maze.index_encoding == "one-hot":
                row[size + place.entry] = 1
            elif place.entered:
                row[size] = place.entry
        seen[:, -1] = self.at_junction
        return seen

    def find_right_arms(self, table: Sequence[int]) -> np.ndarray:
        """The action that takes the right arm of the maze that a place is in, (places,)."""
        return np.array([DOWN if table[place.entry] > 0 else UP for place in self.places])


def list_tables(maze: LookupTreeMaze) -> list[tuple[int, ...]]:
    """All tables, in the order of the environment's cues.

    >>> from remanence import envs
    >>> from remanence.certificates import mazes
    >>> mazes.list_tables(envs.LookupTreeMaze(table_size=2))
    [(1, -1), (-1, 1)]
    """
    return [tuple(map(int, row[: maze.table_size])) for row in maze.cue_observations()]


def check_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    """Lengths in ascending order, each once."""
    if not len(lengths):
        raise InvalidOptionError("lengths", list(lengths), "give at least one length")
    for length in lengths:
        check_whole("lengths", length, 1, LONGEST)
    found = tuple(sorted(set(map(int, lengths))))
    if len(found) > MOST_LENGTHS:
        remedy = f"a certificate speaks of up to {MOST_LENGTHS}"
        raise InvalidOptionError("lengths", f"{len(found)} of them", remedy)
    return found
