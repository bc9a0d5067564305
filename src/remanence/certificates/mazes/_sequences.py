"""Sequences of mazes that an agent is led through, as evidence: found, written down, replayed."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from remanence.certificates.mazes._search import Search
from remanence.certificates.mazes._world import ARM, Place, World
from remanence.envs import ACTION_NAMES
from remanence.portable import PortablePolicy

WRONG_ARM, STALL = "wrong arm", "stall"


@dataclasses.dataclass(frozen=True)
class Visit:
    """One maze, and what is done in it.

    >>> from remanence.certificates import mazes
    >>> mazes.Visit(index=1, length=3, actions=(0, 0, 3)).to_json()
    {'index': 1, 'length': 3, 'actions': [['right', 2], ['down', 1]]}
    """

    index: int
    length: int
    actions: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """With actions by name, and how often each in a row."""
        runs = [(action, len(list(alike))) for action, alike in itertools.groupby(self.actions)]
        actions = [[ACTION_NAMES[action], count] for action, count in runs]
        return {"index": self.index, "length": self.length, "actions": actions}


@dataclasses.dataclass(frozen=True)
class Refutation:
    """A sequence of mazes after which an agent takes the wrong arm, or never takes one.

    `earliest` tells that no sequence with fewer mazes ends so. The last maze ends with the wrong
    arm, or with the step after which place and memory are what they have been before.

    >>> from remanence.certificates import mazes
    >>> visits = tuple(mazes.Visit(index, 1, (3,)) for index in (1, 0))
    >>> refutation = mazes.Refutation("wrong arm", visits, earliest=True)
    >>> refutation.num_mazes, [maze["index"] for maze in refutation.to_json()["mazes"]]
    (2, [1, 0])
    """

    kind: str
    visits: tuple[Visit, ...]
    earliest: bool

    @property
    def num_mazes(self) -> int:
        """How many mazes it takes."""
        return len(self.visits)

    def to_json(self) -> dict[str, Any]:
        """As a certificate has it."""
        visits = [visit.to_json() for visit in self.visits]
        return {"kind": self.kind, "earliest": self.earliest, "mazes": visits}


def read_visits(search: Search, node: int, ending: Sequence[int]) -> tuple[Visit, ...]:
    """The mazes on the way to a node, and some last actions in it."""
    path = search.trace(node)
    actions = [*(int(search.actions[it]) for it in path[1:]), *ending]
    entered = [n for n, it in enumerate(path) if search.world.places[search.places[it]].entered]
    visits = []
    for first, last in itertools.pairwise([*entered, len(actions)]):
        place = search.world.places[search.places[path[first]]]
        visits.append(Visit(place.entry, place.length, tuple(actions[first:last])))
    return tuple(visits)


def replay(
    policy: PortablePolicy, world: World, table: Sequence[int], visits: Sequence[Visit]
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, bytes]]]:
    """Plain stepping: the chosen actions (steps,), logits (steps, 4), and places with memories."""
    seen, numbers = world.observe(table), {it: n for n, it in enumerate(world.places)}
    state, taken, logits, spots = policy.initial_state(), [], [], []
    for number, visit in enumerate(visits):
        place = numbers[Place(visit.index, visit.length, 0, entered=True, opening=number == 0)]
        for action in visit.actions:
            assert place != ARM, "nothing is done in a maze after an arm"
            found, state = policy.step(seen[place].astype(policy.dtype), state)
            spots.append((place, state.tobytes()))
            taken.append(action)
            logits.append(found)
            place = int(world.following[place, action])
    return np.array(taken), np.array(logits), spots
