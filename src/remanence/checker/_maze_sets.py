"""Sets that hold every memory, for minGRU and hybrid: the rule of proof for endless rows of mazes.

With what is seen, a unit of a minGRU becomes z h + (1 - z) n, which rises with h if z >= 0, also
when products and sums are rounded; a BMRU's is set or holds. So whatever is between two memories is
mapped between their images, by the portable program's own arithmetic.

A node is a place, what the BMRU holds, and the last few observations. A box of memories for each
node holds all that can be there if it holds what the boxes of all nodes before it are mapped to,
and this is done again and again, from a box that everything is in.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._maze_fields import GREEDY
from ._mazes import (
    DOWN,
    LEFT,
    RIGHT,
    UP,
    Mazes,
    Spot,
    TooManyError,
    at_junction,
    go,
    list_actions,
)
from ._program import Program, add_up, read_decay, rectify

MOST_SETS = 200_000
TINY, LARGEST = 1e-37, 2.0**100  # what underflows is less, and what is less does not overflow
WIDEST = 2.0**40
ROUNDS_BEFORE = 200


class NotProvedError(Exception):
    """The sets do not suffice; nothing is proved, and nothing refuted."""


class Node(NamedTuple):
    """Where one is, what the BMRU holds, and what was seen last."""

    spot: Spot
    held: bytes
    word: tuple[tuple[int, ...], ...]


class Sets:
    """Boxes of memories of an agent, of which the last observations are known.

    These are `history` at most, and at most `reach` of them are from before what was last seen that
    is seen where mazes begin and nowhere else.
    """

    def __init__(self, mazes: Mazes, history: int, reach: int):
        self.mazes, self.history, self.reach = mazes, history, reach
        self.program = mazes.program
        begins = [*mazes.enter(first=True), *mazes.enter(first=False)]
        inside = [Spot(*it[:2], place) for it in begins for place in range(it.length)]
        self.marks = set(map(mazes.observe, begins)) - set(map(mazes.observe, inside))
        self.half = self.count_held()
        self.held: dict[tuple[bytes, tuple[int, ...]], bytes] = {}

    def count_held(self) -> int:
        """How many units come first that hold what they were set to."""
        shape = self.program.shape
        if shape["cell"] not in ("mingru", "hybrid") or shape["num_layers"] != 1:
            raise NotProvedError("nothing is proved by sets about this cell")
        return shape["state_size"] // 2 if shape["cell"] == "hybrid" else 0

    def gather(self, spots: Sequence[Spot]) -> tuple[np.ndarray, ...]:
        """z and (1 - z) n, after what is seen in each place, (places, moving) each."""
        found = []
        for spot in spots:
            seen = self.mazes.look(spot)[1]
            z, n = seen[1] if self.half else seen
            z = read_decay(self.program.layers[0], z)
            if not np.all(z >= 0):
                raise NotProvedError("a gate may be below 0")
            found.append((z, (z.dtype.type(1) - z) * n))
        return tuple(np.array(it) for it in zip(*found, strict=True))

    def move(
        self, gates: tuple[np.ndarray, ...], rows: Any, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of boxes after what is seen in some of the places that were gathered."""
        decay, drift = (it[rows] for it in gates)
        return decay * low + drift, decay * high + drift

    def open(self) -> list[Node]:
        """The nodes of first mazes."""
        start = Node(Spot(0, 1, 0), self.begin(), ())
        return [self.find_node(start, spot) for spot in self.mazes.enter(first=True)]

    def begin(self) -> bytes:
        """What is held before an episode."""
        return self.program.start[: self.half].tobytes()

    def find_node(self, node: Node, spot: Spot) -> Node:
        """The node at a place, coming from another one."""
        seen = self.mazes.observe(spot)
        if (node.held, seen) not in self.held:
            self.held[node.held, seen] = self.hold(node.held, spot)
        return Node(spot, self.held[node.held, seen], self.trim_word((*node.word, seen)))

    def hold(self, held: bytes, spot: Spot) -> bytes:
        """What is held after what is seen."""
        state = np.zeros_like(self.program.start)
        state[: self.half] = np.frombuffer(held, self.program.dtype)
        state = self.program.update(self.mazes.look(spot), state)
        return state[: self.half].tobytes()

    def trim_word(self, word: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """What is known of the last observations, from what was known before and the last one."""
        word = word[-self.history :] if self.history else ()
        for place in range(len(word) - 1, self.reach, -1):
            if word[place] in self.marks:
                return word[place - self.reach :]
        return word

    def bound(self, node: Node, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
        """Bounds on what the output layer sees."""
        held = np.frombuffer(node.held, self.program.dtype)
        features = self.mazes.look(node.spot)[0]
        ends = [np.append(held, low), np.append(held, high)]
        return bound_outputs(self.program, [features, features], ends)


def bound_outputs(
    program: Program, features: list[np.ndarray], ends: list[np.ndarray]
) -> list[np.ndarray]:
    """Bounds on what the output layer sees, from bounds on features and on states."""
    ends = [it[-program.shape["state_size"] :][: program.outputs] for it in ends]
    if program.shape["skip"]:
        ends = [rectify(one + other) for one, other in zip(features, ends, strict=True)]
    return apply_dense_between(program, "head", ends)


def round_outward(ends: Sequence[np.ndarray], dtype: Any) -> list[np.ndarray]:
    """Ends in a program's precision that are no further in."""
    sides = zip(ends, (-np.inf, np.inf), strict=True)
    return [np.nextafter(end.astype(dtype), dtype.type(side)) for end, side in sides]


def apply_dense_between(program: Program, part: str, ends: list[np.ndarray]) -> list[np.ndarray]:
    """Bounds on what the encoder or the head makes of all that is between two vectors."""
    for number in range(len(program.shape[part])):
        weight, bias = (program.weights[f"{part}.{number}.{kind}"] for kind in ("weight", "bias"))
        ends = [rectify(it) for it in apply_between(weight, bias, *ends)]
    return ends


def apply_between(
    weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest of W x + b; each product is rounded, and so is each sum."""
    one, other = weight * low[..., None, :], weight * high[..., None, :]
    return (
        add_up(np.minimum(one, other)) + bias,
        add_up(np.maximum(one, other)) + bias,
    )


def compare(program: Any, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """At least by how much each logit is above each other one, (4, 4)."""
    weight, bias = (
        np.asarray(program.weights[f"output.{it}"], np.float64) for it in ("weight", "bias")
    )
    low, high = low.astype(np.float64), high.astype(np.float64)
    slopes = weight[:, None] - weight[None]
    least = np.minimum(slopes * low, slopes * high).sum(2) + (bias[:, None] - bias[None])
    size = np.abs(weight) @ np.maximum(np.abs(low), np.abs(high)) + np.abs(bias)
    # Each logit is rounded n + 1 times at most (Higham 2002, section 3.1); what is computed here is
    # rounded far less, which the same again covers.
    count = 2 * (weight.shape[1] + 2)
    slack = count * (float(np.finfo(program.dtype).eps) * size + TINY)
    slack = np.where(size <= LARGEST, slack, np.inf)
    return least - (slack[:, None] + slack[None])


class Graph:
    """All nodes that can be come to, if in each of them some actions are possible at most."""

    def __init__(self, sets: Sets, walk: str, possible: Mapping[Node, list[int]]):
        self.sets, self.walk, self.possible = sets, walk, possible
        self.nodes = {node: number for number, node in enumerate(dict.fromkeys(sets.open()))}
        self.num_openings = len(self.nodes)
        self.within: list[tuple[int, int]] = []
        self.between: list[tuple[int, int]] = []
        queue = list(self.nodes)
        for node in queue:
            for action in self.choose(node):
                target = go(node.spot, action)
                spots = sets.mazes.enter(first=False) if target is None else [target]
                for spot in spots:
                    after = sets.find_node(node, spot)
                    if after not in self.nodes:
                        self.nodes[after] = len(queue)
                        queue.append(after)
                    edges = self.between if target is None else self.within
                    edges.append((self.nodes[node], self.nodes[after]))
            if len(queue) > MOST_SETS:
                raise TooManyError(f"there are more than {MOST_SETS:,} sets")

    def choose(self, node: Node) -> Sequence[int]:
        """The actions that are possible."""
        if self.walk == GREEDY:
            return self.possible.get(node, [RIGHT, UP, LEFT, DOWN])
        return list_actions(self.walk, node.spot)

    def enclose(self, num_rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the boxes of all nodes, mapped so often."""
        sets, observe = self.sets, self.sets.mazes.observe
        gates = sets.gather([node.spot for node in self.nodes])
        # Where all that is seen leads to, wherever one is, is where the boxes begin.
        kinds = list({observe(node.spot): number for node, number in self.nodes.items()}.values())
        low, high = _find_invariant(sets, gates, kinds)
        lows, highs = np.tile(low, (len(self.nodes), 1)), np.tile(high, (len(self.nodes), 1))
        openings = slice(self.num_openings)
        nothing = np.zeros_like(lows[openings])
        lows[openings], highs[openings] = sets.move(gates, openings, nothing, nothing)
        targets, sources, starts = self.list_edges()
        for _ in range(num_rounds):
            hull = find_hulls(lows, highs, sources, starts)
            lows[targets], highs[targets] = sets.move(gates, targets, *hull)
        return lows, highs

    def list_edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes that others lead to, those others, and where in that list each one's begin."""
        edges = np.array(sorted({(b, a) for a, b in (*self.within, *self.between)}))
        targets, starts = np.unique(edges[:, 0], return_index=True)
        return targets, edges[:, 1], starts

    def is_endless(self) -> bool:
        """Whether one may walk in a maze for ever."""
        edges = set(self.within)
        going = {source for source, _ in edges}
        while True:
            left = {source for source, target in edges if target in going}
            if left == going:
                return bool(going)
            going = left


def find_hulls(
    lows: np.ndarray, highs: np.ndarray, sources: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Boxes around those of all nodes that lead to one."""
    return (
        np.minimum.reduceat(lows[sources], starts),
        np.maximum.reduceat(highs[sources], starts),
    )


def _find_invariant(
    sets: Sets, gates: tuple[np.ndarray, ...], kinds: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of a box with 0 in it that nothing leads out of, and then of its images."""
    zeros, reach = np.zeros_like(gates[0][kinds]), 1.0
    while True:
        low, high = sets.move(gates, kinds, zeros - reach, zeros + reach)
        if np.all(low >= -reach) and np.all(high <= reach):
            break
        reach *= 2
        if reach > WIDEST:
            raise NotProvedError("no set was found that every observation keeps")
    for _ in range(ROUNDS_BEFORE):
        low, high = np.minimum(low.min(0), 0), np.maximum(high.max(0), 0)
        low, high = sets.move(gates, kinds, low[None] + zeros, high[None] + zeros)
    return np.minimum(low.min(0), 0), np.maximum(high.max(0), 0)


def prove(mazes: Mazes, walk: str, history: int, reach: int, num_rounds: int) -> float:
    """At least by how much the right arm is better at every junction; raises if it may not be.

    Of a greedy agent, nothing is said of margins: it never takes the wrong arm, and never walks for
    ever. It is followed wherever the boxes let it go, and again where smaller ones do.
    """
    return prove_by(Sets(mazes, history, reach), walk, num_rounds + history)


def prove_by(sets: Sets, walk: str, num_rounds: int) -> float:
    """The same by given sets."""
    if walk != GREEDY:
        graph = Graph(sets, walk, {})
        return measure(sets, graph, *graph.enclose(num_rounds))
    possible: dict[Node, list[int]] = {}
    while True:
        graph = Graph(sets, walk, possible)
        before = {node: graph.choose(node) for node in graph.nodes}
        possible = dict(_exclude(sets, graph, num_rounds))
        if possible == before:
            break
    for node, actions in possible.items():
        if at_junction(node.spot) and UP + DOWN - sets.mazes.find_right_arm(node.spot) in actions:
            raise NotProvedError("the wrong arm may be taken")
    if graph.is_endless():
        raise NotProvedError("the agent may walk in a maze for ever")
    return np.inf


def measure(sets: Sets, graph: Graph, lows: np.ndarray, highs: np.ndarray) -> float:
    """At least by how much the right arm is better at every junction; raises if it may not be."""
    margin = np.inf
    for node, low, high in zip(graph.nodes, lows, highs, strict=True):
        if at_junction(node.spot):
            right = sets.mazes.find_right_arm(node.spot)
            over = compare(sets.program, *sets.bound(node, low, high))
            margin = min(float(over[right, UP + DOWN - right]), margin)
            if not margin > 0:
                raise NotProvedError("the wrong arm may be the better one")
    return margin


def _exclude(sets: Sets, graph: Graph, num_rounds: int) -> Iterator[tuple[Node, list[int]]]:
    """The actions in each node that are not surely worse than another."""
    for node, low, high in zip(graph.nodes, *graph.enclose(num_rounds), strict=True):
        worse = np.any(compare(sets.program, *sets.bound(node, low, high)) > 0, axis=0)
        yield node, [action for action in graph.choose(node) if not worse[action]]
