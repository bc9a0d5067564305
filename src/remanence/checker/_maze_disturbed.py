"""Sets that hold every memory of observations that are disturbed, each step anew, by a radius.

What depends on an observation alone has two ends, by the portable program's own arithmetic, which
keeps order when it rounds. A unit of a BMRU that may be set one way, the other, or not at all has
every value between those it may have. What moves is bounded in double precision, with what a
program may round away on top.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._maze_sets import (
    TINY,
    Node,
    NotProvedError,
    Sets,
    apply_between,
    apply_dense_between,
    bound_outputs,
    round_outward,
)
from ._mazes import Mazes, Spot

SIGMOID_UNITS, ROUNDINGS = 8, 4  # in units of the program's precision
CELLS = ("bmru", "mingru", "hybrid")


class DisturbedSets(Sets):
    """Sets as they are without disturbance; what is held has two ends, one after the other."""

    def __init__(self, mazes: Mazes, history: int, reach: int, radius: float):
        super().__init__(mazes, history, reach)
        self.radius, self.unit = radius, float(np.finfo(self.program.dtype).eps)
        self.seen: dict[tuple[int, ...], Any] = {}

    def count_held(self) -> int:
        shape = self.program.shape
        if shape["cell"] not in CELLS or shape["num_layers"] != 1:
            raise NotProvedError("nothing is proved of disturbances of this cell")
        size = shape["state_size"]
        return {"bmru": size, "hybrid": size // 2, "mingru": 0}[shape["cell"]]

    def look(self, spot: Spot) -> tuple[list[np.ndarray], dict[str, Any]]:
        """Ends of the features of all that may be seen, and of what gates see of them."""
        true = self.mazes.observe(spot)
        if true not in self.seen:
            sides = (np.array(true, np.float64) + side * self.radius for side in (-1, 1))
            ends = [side.astype(self.program.dtype) for side in sides]
            features = apply_dense_between(self.program, "encoder", ends)
            self.seen[true] = features, self._see_gates(features)
        return self.seen[true]

    def _see_gates(self, features: list[np.ndarray]) -> dict[str, Any]:
        weights, cell = self.program.layers[0], self.program.shape["cell"]
        prefixes = {"bmru": "cells.0.", "mingru": "cells.1."} if cell == "hybrid" else {cell: ""}
        gates = {}
        for part, prefix in prefixes.items():
            pairs = (weights[f"{prefix}inputs.{kind}"] for kind in ("weight", "bias"))
            found = [apply_between(*pair, *features) for pair in zip(*pairs, strict=True)]
            gates[part] = found, weights.get(f"{prefix}alpha"), weights.get(f"{prefix}ceiling")
        return gates

    def begin(self) -> bytes:
        return super().begin() * 2

    def hold(self, held: bytes, spot: Spot) -> bytes:
        if not self.half:
            return held
        (n, beta), alpha, _ = self.look(spot)[1]["bmru"]
        low, high = np.split(np.frombuffer(held, self.program.dtype), 2)
        least, most = _find_sizes(*n)
        threshold, highest = _find_sizes(*beta)
        sets, holds = most > threshold, least <= highest
        possible = [
            (sets & (n[1] >= 0), alpha, alpha),
            (sets & (n[0] < 0), -alpha, -alpha),
            (holds, low, high),
        ]
        ends = (
            np.min([np.where(may, it, np.inf) for may, it, _ in possible], axis=0),
            np.max([np.where(may, it, -np.inf) for may, _, it in possible], axis=0),
        )
        return b"".join(end.astype(self.program.dtype).tobytes() for end in ends)

    def gather(self, spots: Sequence[Spot]) -> tuple[np.ndarray, ...]:
        """Ends of z and of n, four arrays (places, moving)."""
        size = self.program.shape["state_size"] - self.half
        if not size:
            return tuple(np.zeros((len(spots), 0)) for _ in range(4))
        return tuple(map(np.array, zip(*map(self._gather_one, spots), strict=True)))

    def _gather_one(self, spot: Spot) -> list[np.ndarray]:
        (z, n), _, ceiling = self.look(spot)[1]["mingru"]
        top = 1.0 if ceiling is None else ceiling.astype(np.float64)
        ends = [(0.5 + 0.5 * np.tanh(0.5 * it.astype(np.float64))) for it in z]
        slack = (-SIGMOID_UNITS * self.unit, SIGMOID_UNITS * self.unit)
        ends = [np.clip(top * (it + more), 0, 1) for it, more in zip(ends, slack, strict=True)]
        return [*ends, *(it.astype(np.float64) for it in n)]

    def move(
        self, gates: tuple[np.ndarray, ...], rows: Any, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        # For some h and n, z h + (1 - z) n is between what it is at both ends of z.
        least, most, lowest, highest = (it[rows] for it in gates)
        below = [z * low + (1 - z) * lowest for z in (least, most)]
        above = [z * high + (1 - z) * highest for z in (least, most)]
        size = np.maximum(np.abs(low), np.abs(high))
        size = size + np.maximum(np.abs(lowest), np.abs(highest))
        slack = ROUNDINGS * self.unit * size + TINY
        return np.minimum(*below) - slack, np.maximum(*above) + slack

    def bound(self, node: Node, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
        dtype = self.program.dtype
        held = np.split(np.frombuffer(node.held, dtype), 2)
        outward = round_outward([low, high], dtype)
        ends = [np.append(one, it) for one, it in zip(held, outward, strict=True)]
        return bound_outputs(self.program, self.look(node.spot)[0], ends)


def _find_sizes(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest absolute value between two numbers."""
    crosses = (low <= 0) & (high >= 0)
    ends = np.abs(low), np.abs(high)
    return np.where(crosses, 0, np.minimum(*ends)), np.maximum(*ends)
