"""Which proofs there are for which cells, and all verdicts for an agent."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.certificates.mazes._boxes import Boxes
from remanence.certificates.mazes._case import Case
from remanence.certificates.mazes._enclosing import STAGES, Stages, enclose, grow
from remanence.certificates.mazes._finding import REFUTED, SETS, TableFinding
from remanence.certificates.mazes._forgetting import find_forgotten
from remanence.certificates.mazes._looks import DisturbedLooks, ExactLooks, SmoothLooks
from remanence.certificates.mazes._memories import Memories
from remanence.certificates.mazes._search import Search
from remanence.certificates.mazes._sequences import Refutation
from remanence.certificates.mazes._walks import ANY, GREEDY, STRAIGHT, choose_any, shorten
from remanence.certificates.mazes._world import World, list_tables

if TYPE_CHECKING:
    from remanence.certificates.mazes._chain import Chain
from remanence.envs import LookupTreeMaze
from remanence.portable import PortablePolicy

NUM_MAZES = 10_000  # in which an agent that samples is counted on
FINITE, ENCLOSABLE = ("bmru",), ("mingru", "hybrid")
SMOOTH = ("gru", "brc", "nbrc", "lstm")


class Prover:
    """Decides for one agent, table by table.

    Memories of BMRUs are finitely many, and all found. Those of one layer of minGRU or hybrid are
    enclosed, unless a sequence refutes. So are those of GRU, BRC, nBRC and LSTM, if boxes can be
    found; of several layers of minGRU or hybrid, only sequences are looked for that refute.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        architecture: Mapping[str, Any],
        maze: LookupTreeMaze,
        lengths: Sequence[int],
        budget: int,
    ):
        self.policy = policy = PortablePolicy(arrays, architecture)
        self.cell = cell = architecture["cell"]
        self._network, self.budget = (arrays, architecture), budget
        self.maze, self.lengths = maze, tuple(lengths)
        self.enclosable = cell in ENCLOSABLE and architecture["num_layers"] == 1
        world = World(maze, lengths)
        patient = World(maze, shorten(world.lengths))
        self.worlds = {GREEDY: world, STRAIGHT: world, ANY: patient}
        letters = np.unique(np.concatenate([world.observe(it) for it in list_tables(maze)]), axis=0)
        self._letters = {row.tobytes(): number for number, row in enumerate(letters)}
        self._seen, self.memories = letters, Memories(policy, letters)
        size = policy.initial_state().size
        count = {"bmru": size, "hybrid": size // 2}.get(cell, 0)
        self._switches = np.arange(size) < count
        self._marks = self._find_marks(world)

    def _find_marks(self, world: World) -> frozenset[int]:
        """What is seen where mazes begin, and nowhere else."""
        tables = list_tables(world.maze)
        seen = {
            entered: {
                self._letters[row.tobytes()]
                for table in tables
                for row, place in zip(world.observe(table), world.places, strict=True)
                if place.entered == entered
            }
            for entered in (True, False)
        }
        return frozenset(seen[True] - seen[False])

    def decide(self, table: tuple[int, ...]) -> dict[str, TableFinding]:
        """The verdict for each way of walking."""
        greedy, straight = (self.settle(table, walk) for walk in (GREEDY, STRAIGHT))
        any_walk = self.settle(table, ANY, straight.refutation)
        if any_walk.method == SETS:
            straight = self._refine(straight, any_walk)
        return {GREEDY: greedy, STRAIGHT: straight, ANY: any_walk}

    def _refine(self, straight: TableFinding, any_walk: TableFinding) -> TableFinding:
        """No less is to be said of walking straight ahead, which is one way among all."""
        if (straight.least_margin or 0) >= (any_walk.least_margin or 0):
            return straight
        assert any_walk.history is not None
        assert any_walk.reach is not None
        stages = [(any_walk.history, any_walk.reach)]
        finer = self._enclose(self.open_case(straight.table, STRAIGHT), stages)
        return max(straight, finer, key=lambda it: it.least_margin or 0)

    def find_forgotten(self) -> int | None:
        """From which maze on it provably cannot tell tables apart; None if that is not shown."""
        if self.cell != "mingru" or not self.enclosable:
            return None
        world = self.worlds[GREEDY]
        letters = [self.open_case(table, GREEDY).letters for table in list_tables(world.maze)]
        return find_forgotten(self.memories, world, letters)

    def make_boxes(self, history: int, reach: int) -> Boxes:
        """Boxes that are told apart by so many observations, so many of them of earlier mazes."""
        looks = ExactLooks(self.policy, self.memories.prepared, self._switches)
        return Boxes(looks, self._marks, history, reach)

    def make_smooth_boxes(self, history: int, reach: int) -> Boxes:
        """The same, of cells whose units see each other."""
        looks = SmoothLooks(self.policy, self._seen, *self._network)
        return Boxes(looks, self._marks, history, reach)

    def disturb_boxes(self, radius: float, history: int, reach: int) -> Boxes:
        """The same, of memories of observations that are disturbed by no more than a radius."""
        looks = DisturbedLooks(self.policy, self._seen, self._switches, radius)
        return Boxes(looks, self._marks, history, reach)

    def make_chain(self, table: tuple[int, ...]) -> "Chain | None":
        """The agent as a Markov chain; None if the budget or numbers' precision do not suffice."""
        from remanence.certificates.mazes._chain import Chain  # brings SciPy: slow to import

        case = self.open_case(table, GREEDY)  # in mazes of all lengths
        search = Search(case.world, self.memories, case.letters, choose_any)
        for _ in search.run(self.budget):
            pass
        if not search.finished:
            return None
        logits = self.memories.decode(case.letters[search.places], search.memories)
        chain = Chain(search, table, logits)
        return chain if chain.accurate else None

    def open_case(self, table: tuple[int, ...], walk: str) -> Case:
        """One table and one way of walking."""
        world = self.worlds[walk]
        letters = np.array([self._letters[row.tobytes()] for row in world.observe(table)])
        return Case(self.memories, world, letters, table, walk, self.budget)

    def settle(
        self, table: tuple[int, ...], walk: str, known: Refutation | None = None
    ) -> TableFinding:
        """The verdict for one way of walking; a refutation of a straighter one may be known."""
        case = self.open_case(table, walk)
        if self.cell in FINITE:
            found = case.search()
            if walk == ANY and found.num_memories is not None:
                return self._count_on(found, table)
            return found
        refutation = case.refute()
        # To walk straight ahead is one way among all.
        if known and (refutation is None or known.num_mazes < refutation.num_mazes):
            refutation = dataclasses.replace(known, earliest=known.num_mazes == 1)
        if refutation:
            return case.conclude(REFUTED, refutation=refutation)
        return self._enclose(case)

    def _count_on(self, found: TableFinding, table: tuple[int, ...]) -> TableFinding:
        """The finding with how often sampled decisions are right, if that can be solved for."""
        chain = self.make_chain(table)
        if chain is None:
            return found
        share, limit = chain.average([NUM_MAZES])[0], chain.find_limit()
        known = limit if 0 <= limit <= 1 else None
        return dataclasses.replace(found, sampled_share=share, limit_share=known)

    def _enclose(self, case: Case, stages: Stages = STAGES) -> TableFinding:
        """What sets prove, if there are any for this cell."""
        if self.cell in SMOOTH:
            return grow(case, self.make_smooth_boxes, stages)
        return enclose(case, self.make_boxes, stages) if self.enclosable else case.give_up()
