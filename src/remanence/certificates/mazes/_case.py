"""One agent, one table, one way of walking: memories met bit for bit, and what goes wrong."""

import dataclasses
import functools
from typing import Any

import numpy as np

from remanence.certificates.mazes._finding import (
    CERTIFIED,
    REFUTED,
    SEARCH,
    UNDECIDED,
    TableFinding,
)
from remanence.certificates.mazes._memories import Memories
from remanence.certificates.mazes._search import Choose, Search, find_endless
from remanence.certificates.mazes._sequences import STALL, WRONG_ARM, Refutation, read_visits
from remanence.certificates.mazes._walks import (
    ANY,
    GREEDY,
    choose_any,
    choose_greedy,
    choose_patient,
    choose_straight,
    measure_margins,
)
from remanence.certificates.mazes._world import ARM, DOWN, UP, World

QUICK = 2_000  # nodes of a first search, in memories that need not be finitely many
NUM_KEPT, MOST_STEPS = 16, 1_000
LONGEST_STALL, PROBED = 20_000, 64  # steps


@dataclasses.dataclass(frozen=True)
class Case:
    """An agent's `memories` in a world; `letters` numbers what is seen in its places.

    `table` is the table, `walk` the way of walking, and `budget` the most nodes that are searched.
    """

    memories: Memories
    world: World
    letters: np.ndarray
    table: tuple[int, ...]
    walk: str
    budget: int

    @functools.cached_property
    def right(self) -> np.ndarray:
        """The right arm in each place."""
        return self.world.find_right_arms(self.table)

    def conclude(self, verdict: str, *found: Any, **known: Any) -> TableFinding:
        """A finding about this case."""
        return TableFinding(self.table, self.walk, verdict, *found, **known)

    def give_up(self) -> TableFinding:
        """What is to be said when the budget is spent."""
        return self.conclude(UNDECIDED, budget=self.budget)

    def choose(self) -> Choose:
        """The actions that are taken."""
        if self.walk == GREEDY:
            return choose_greedy(self.memories, self.letters)
        return choose_any if self.walk == ANY else choose_straight(self.world)

    def search(self) -> TableFinding:
        """All memories there are, if the budget suffices."""
        search = self._open(self.choose())
        refutation = self._run(search, self.budget, to_the_end=self.walk != GREEDY)
        if not search.finished and refutation is None:
            return self.give_up()
        known = {}
        if search.finished and self.walk != GREEDY:
            nodes = np.flatnonzero(self.world.at_junction[search.places])
            least = float(self._measure(search, nodes).min())
            known["least_margin"] = least if np.isfinite(least) else None
        if search.finished:
            known["num_memories"] = len(np.unique(search.memories))
        verdict = CERTIFIED if refutation is None else REFUTED
        return self.conclude(verdict, SEARCH, refutation=refutation, **known)

    def refute(self) -> Refutation | None:
        """A sequence that refutes, if one is found among memories that may be infinitely many."""
        quick = self._open(self.choose())
        refutation = self._run(quick, min(QUICK, self.budget))
        if refutation or quick.finished:
            return refutation
        choose = choose_patient(self.world) if self.walk == ANY else self.choose()
        return self._run(self._open(choose, NUM_KEPT, MOST_STEPS), self.budget // 5)

    def _open(
        self, choose: Choose, num_kept: int | None = None, most_steps: int | None = None
    ) -> Search:
        search = Search(self.world, self.memories, self.letters, choose, num_kept, most_steps)
        search.rank = functools.partial(self._measure, search)
        return search

    def _measure(self, search: Search, nodes: np.ndarray) -> np.ndarray:
        """By how much the right arm is better than the other."""
        return measure_margins(self._decode(search, nodes), self.right[search.places[nodes]])

    def _decode(self, search: Search, nodes: np.ndarray) -> np.ndarray:
        places = search.places[nodes]
        return self.memories.decode(self.letters[places], search.memories[nodes])

    def _run(self, search: Search, budget: int, to_the_end: bool = False) -> Refutation | None:
        """Search, and the first thing that goes wrong."""
        found, num_mazes, num_steps = None, 0, 0
        for level in search.run(budget):
            if found is None and search.num_mazes > num_mazes:
                found, num_mazes, num_steps = self._find_stall(search), search.num_mazes, 0
            found = found or self._find_wrong_arm(search, level)
            num_steps += 1
            if found is None and num_steps == PROBED:
                found = self._follow_alone(search, int(level[0]))
            if found and not to_the_end:
                return found
        return found or (self._find_stall(search) if search.num_mazes > num_mazes else None)

    def _find_wrong_arm(self, search: Search, nodes: np.ndarray) -> Refutation | None:
        nodes = nodes[self.world.at_junction[search.places[nodes]]]
        right = self.right[search.places[nodes]]
        wrong_arms = UP + DOWN - right
        if self.walk == GREEDY:
            wrong = self._decode(search, nodes).argmax(1) == wrong_arms
        else:
            wrong = ~(self._measure(search, nodes) > 0)  # nor if it is no number
        if not wrong.any():
            return None
        first = wrong.argmax()
        return self._write(search, WRONG_ARM, int(nodes[first]), [int(wrong_arms[first])])

    def _find_stall(self, search: Search) -> Refutation | None:
        """From some node of the maze that was searched last, a greedy agent takes no arm."""
        if self.walk != GREEDY:
            return None
        endless = find_endless(search, np.flatnonzero(search.mazes == search.num_mazes))
        return self._follow_alone(search, int(endless[0])) if len(endless) else None

    def _follow_alone(self, search: Search, node: int) -> Refutation | None:
        """Whether one greedy walk, from a node on, ever comes back to where it was."""
        spot, actions, met = (int(search.places[node]), int(search.memories[node])), [], set()
        while self.walk == GREEDY and spot not in met and len(met) < LONGEST_STALL:
            met.add(spot)
            place, memory = (np.array([it]) for it in spot)
            logits = self.memories.decode(self.letters[place], memory)
            actions.append(int(logits.argmax()))
            place = self.world.following[place, actions[-1]]
            if place[0] == ARM:
                return None
            memory = self.memories.step(self.letters[place], memory)
            spot = (int(place[0]), int(memory[0]))
        return self._write(search, STALL, node, actions) if spot in met else None

    def _write(self, search: Search, kind: str, node: int, ending: list[int]) -> Refutation:
        return Refutation(kind, read_visits(search, node, ending), search.complete)
