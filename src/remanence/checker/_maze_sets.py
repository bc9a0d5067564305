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
from ._mazes import DOWN, LEFT, RIGHT, UP, Mazes, Spot, TooManyError, at_junction, go
from ._program import add_up, read_decay, rectify

MOST_SETS = 200_000
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
        shape = self.program.shape
        if shape["cell"] not in ("mingru", "hybrid") or shape["num_layers"] != 1:
            raise NotProvedError("nothing is proved by sets about this cell")
        self.half = shape["state_size"] // 2 if shape["cell"] == "hybrid" else 0
        self.held: dict[tuple[bytes, tuple[int, ...]], bytes] = {}

    def read_gates(self, spot: Spot) -> tuple[np.ndarray, np.ndarray]:
        """z and (1 - z) n, after what is seen."""
        seen = self.mazes.look(spot)[1]
        z, n = seen[1] if self.half else seen
        z = read_decay(self.program.layers[0], z)
        if not np.all(z >= 0):
            raise NotProvedError("a gate may be below 0")
        return z, (z.dtype.type(1) - z) * n

    def open(self) -> list[Node]:
        """The nodes of first mazes."""
        start = Node(Spot(0, 1, 0), self.program.start[: self.half].tobytes(), ())
        return [self.see(start, spot) for spot in self.mazes.enter(first=True)]

    def see(self, node: Node, spot: Spot) -> Node:
        """The node at a place, coming from another one."""
        seen = self.mazes.observe(spot)
        if (node.held, seen) not in self.held:
            state = np.zeros_like(self.program.start)
            state[: self.half] = np.frombuffer(node.held, self.program.dtype)
            state = self.program.update(self.mazes.look(spot), state)
            self.held[node.held, seen] = state[: self.half].tobytes()
        return Node(spot, self.held[node.held, seen], self.cut((*node.word, seen)))

    def cut(self, word: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """What is known of the last observations, from what was known before and the last one."""
        word = word[-self.history :]
        for place in range(len(word) - 1, self.reach, -1):
            if word[place] in self.marks:
                return word[place - self.reach :]
        return word

    def bound(self, node: Node, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
        """Bounds on what the output layer sees."""
        held = np.frombuffer(node.held, self.program.dtype)
        ends, look = [np.append(held, low), np.append(held, high)], self.mazes.look(node.spot)
        if self.program.shape["skip"]:
            ends = [rectify(look[0] + end) for end in ends]
        for number in range(len(self.program.shape["head"])):
            weight, bias = (
                self.program.weights[f"head.{number}.{kind}"] for kind in ("weight", "bias")
            )
            ends = [rectify(it) for it in _apply_between(weight, bias, *ends)]
        return ends


def _apply_between(
    weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest of W x + b; each product is rounded, and so is each sum."""
    one, other = weight * low, weight * high
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
    share = 2 * (weight.shape[1] + 2) * float(np.finfo(program.dtype).eps)
    return least - share * (size[:, None] + size[None])


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
                    after = sets.see(node, spot)
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
        return self.sets.mazes.choose(self.walk, node.spot, b"")

    def enclose(self, num_rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the boxes of all nodes, mapped so often."""
        gates = [self.sets.read_gates(node.spot) for node in self.nodes]
        decay, drift = (np.array(it) for it in zip(*gates, strict=True))
        reach = _find_reach(decay, drift)
        # Where all that is seen leads to, wherever one is, is where the boxes begin.
        observe = self.sets.mazes.observe
        kinds = list({observe(node.spot): number for node, number in self.nodes.items()}.values())
        low, high = np.full_like(drift[0], -reach), np.full_like(drift[0], reach)
        for _ in range(ROUNDS_BEFORE):
            low = np.minimum((decay[kinds] * low + drift[kinds]).min(0), 0)
            high = np.maximum((decay[kinds] * high + drift[kinds]).max(0), 0)
        openings = slice(self.num_openings)
        lows, highs = np.tile(low, (len(decay), 1)), np.tile(high, (len(decay), 1))
        # A first memory is all zeros; what is added to z 0 is left.
        lows[openings] = highs[openings] = decay[openings] * 0 + drift[openings]
        edges = np.array(sorted({(b, a) for a, b in (*self.within, *self.between)}))
        targets, starts = np.unique(edges[:, 0], return_index=True)
        for _ in range(num_rounds):
            for ends, join in ((lows, np.minimum), (highs, np.maximum)):
                hull = join.reduceat(ends[edges[:, 1]], starts)
                ends[targets] = decay[targets] * hull + drift[targets]
        return lows, highs

    def is_endless(self) -> bool:
        """Whether one may walk in a maze for ever."""
        edges = set(self.within)
        going = {source for source, _ in edges}
        while True:
            left = {source for source, target in edges if target in going}
            if left == going:
                return bool(going)
            going = left


def _find_reach(decay: np.ndarray, drift: np.ndarray) -> float:
    """A number so large that nothing leads from within it, either way, to beyond it."""
    reach = 1.0
    while reach <= WIDEST:
        end = np.full_like(drift, reach)
        if np.all(decay * end + drift <= end) and np.all(decay * -end + drift >= -end):
            return reach
        reach *= 2
    raise NotProvedError("no set was found that every observation keeps")


def prove(mazes: Mazes, walk: str, history: int, reach: int, num_rounds: int) -> float:
    """At least by how much the right arm is better at every junction; raises if it may not be.

    Of a greedy agent, nothing is said of margins: it never takes the wrong arm, and never walks for
    ever. It is followed wherever the boxes let it go, and again where smaller ones do.
    """
    sets = Sets(mazes, history, reach)
    if walk != GREEDY:
        return _measure(sets, Graph(sets, walk, {}), num_rounds + history)
    possible: dict[Node, list[int]] = {}
    while True:
        graph = Graph(sets, walk, possible)
        before = {node: graph.choose(node) for node in graph.nodes}
        possible = dict(_exclude(sets, graph, num_rounds + history))
        if possible == before:
            break
    for node, actions in possible.items():
        if at_junction(node.spot) and UP + DOWN - mazes.find_right_arm(node.spot) in actions:
            raise NotProvedError("the wrong arm may be taken")
    if graph.is_endless():
        raise NotProvedError("the agent may walk in a maze for ever")
    return np.inf


def _measure(sets: Sets, graph: Graph, num_rounds: int) -> float:
    margin = np.inf
    for node, low, high in zip(graph.nodes, *graph.enclose(num_rounds), strict=True):
        if at_junction(node.spot):
            right = sets.mazes.find_right_arm(node.spot)
            over = compare(sets.program, *sets.bound(node, low, high))
            margin = min(margin, float(over[right, UP + DOWN - right]))
    if not margin > 0:
        raise NotProvedError("the wrong arm may be the better one")
    return margin


def _exclude(sets: Sets, graph: Graph, num_rounds: int) -> Iterator[tuple[Node, list[int]]]:
    """The actions in each node that are not surely worse than another."""
    for node, low, high in zip(graph.nodes, *graph.enclose(num_rounds), strict=True):
        worse = np.any(compare(sets.program, *sets.bound(node, low, high)) > 0, axis=0)
        yield node, [action for action in graph.choose(node) if not worse[action]]
