"""Sets that grow until they hold every memory, of cells whose units see each other.

A box for each node begins around the first memories of an episode, and is made larger as long as
the boxes before it are mapped to something that it does not hold. Once each holds all that, so does
it for every sequence of mazes. What a step makes of a box is the kernel's, with what a program may
round away.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._kernel import Ball, Policy, UndecidedError, from_ends
from ._maze_fields import GREEDY
from ._maze_sets import (
    Graph,
    Node,
    NotProvedError,
    Sets,
    bound_outputs,
    find_hulls,
    measure,
    round_outward,
)
from ._mazes import Mazes, Spot

CELLS = ("gru", "brc", "nbrc", "lstm")
MORE = 2  # times as many rounds are gone as the certificate says
PUSH, FASTER = 1e-6, 1.03  # by how much boxes are made too large, and how that grows


class MazePolicy(Policy):
    """The policy on balls, which sees what there is to be seen in rows of mazes."""

    def look(self, cue: int, junction: int, previous: int | None = None) -> Ball:
        del cue, junction, previous
        return Ball(np.nan)  # the T-maze's corridor, which is not asked for

    def see(self, numbers: tuple[int, ...]) -> Ball:
        """What the first cell sees of an observation."""
        return self.run_dense("encoder", Ball(np.array(numbers, np.float64)[:, None]))


class GrownSets(Sets):
    """Boxes of whole states; nothing is held exactly."""

    def __init__(self, mazes: Mazes, history: int, reach: int):
        super().__init__(mazes, history, reach)
        shape = {**self.program.shape, "previous_action": False}
        self.policy = MazePolicy(self.program.weights, shape)
        self.kinds: dict[tuple[int, ...], int] = {}

    def count_held(self) -> int:
        if self.program.shape["cell"] not in CELLS:
            raise NotProvedError("nothing is proved by such sets about this cell")
        return 0

    def gather(self, spots: Sequence[Spot]) -> tuple[np.ndarray, ...]:
        """The number of what is seen in each place."""
        observe = self.mazes.observe
        seen = [self.kinds.setdefault(observe(it), len(self.kinds)) for it in spots]
        return (np.array(seen),)

    def move(
        self, gates: tuple[np.ndarray, ...], rows: Any, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        lows, highs = np.full_like(low, np.inf), np.full_like(high, -np.inf)
        seen, known = gates[0][rows], np.isfinite(low).all(1)
        for numbers, kind in self.kinds.items():
            some = known & (seen == kind)
            if some.any():
                states = from_ends(low[some].T[None], high[some].T[None])
                after = self.policy.update(self.policy.see(numbers), states)
                ends = after.ends(after.doubt)
                lows[some], highs[some] = (end[0].T for end in ends)
        return lows, highs

    def bound(self, node: Node, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
        features = self.mazes.look(node.spot)[0]
        ends = round_outward([low, high], self.program.dtype)
        return bound_outputs(self.program, [features, features], ends)


def prove_grown(mazes: Mazes, walk: str, history: int, reach: int, num_rounds: int) -> float:
    """At least by how much the right arm is better at every junction; raises if it may not be."""
    if walk == GREEDY:
        raise NotProvedError("nothing is proved by such sets about greedy agents")
    try:
        sets = GrownSets(mazes, history, reach)
        graph = Graph(sets, walk, {})
        return measure(sets, graph, *_grow(sets, graph, MORE * num_rounds))
    except UndecidedError as error:
        raise NotProvedError(str(error)) from error


def _grow(sets: GrownSets, graph: Graph, num_rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of boxes that hold all that the boxes before them are mapped to."""
    gates, size = sets.gather([it.spot for it in graph.nodes]), len(sets.program.start)
    lows = np.full((len(graph.nodes), size), np.inf)
    highs, openings = -lows, slice(graph.num_openings)
    nothing = np.zeros_like(lows[openings])
    lows[openings], highs[openings] = sets.move(gates, openings, nothing, nothing)
    targets, sources, starts = graph.list_edges()
    for number in range(num_rounds):
        low, high = sets.move(gates, targets, *find_hulls(lows, highs, sources, starts))
        less, more = low < lows[targets], high > highs[targets]
        if not less.any() and not more.any():
            return lows, highs
        push = PUSH * FASTER**number
        lows[targets] = np.where(less, low - push, lows[targets])
        highs[targets] = np.where(more, high + push, highs[targets])
    raise NotProvedError("the boxes do not come to hold each other")
