"""The trusted kernel: balls that hold what they should, the agent's map, the rule of proof.

What is proved holds of the network on the real numbers, and of every program that computes its
formulas with + - * right to 2^-23 of each result (binary32 has 2^-24), sums of products in any
order, fused or not, and what is added to them last; tanh and σ right to 2^-20, no number above
2^100. Assumed: IEEE binary64 rounded to nearest, NumPy's tanh right to 2^-48, its matrix products
sums of products in some order.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

RIGHT, UP, LEFT, DOWN = range(4)
SLACK = 1 + 2.0**-40  # covers the rounding of a bound that is itself computed, in 2^12 terms
OURS, THEIRS = (2.0**-52, 1e-300), (2.0**-22, 1e-37)  # rounding of an operation, and underflow
TANH_OURS, TANH_THEIRS = 2.0**-48, 2.0**-20
SMALLEST, LARGEST = 2.0**-126, 2.0**100  # programs may take less for 0, and overflow at more


class UndecidedError(Exception):
    """The evidence does not suffice; nothing is proved, and nothing refuted."""


def cover(spread: Any, size: Any, unit: float, tiny: float, terms: int = 1) -> Any:
    """A bound on `spread` and on the rounding of `terms` operations on numbers up to `size`."""
    if not ((size := size + spread) <= LARGEST).all():
        raise UndecidedError("numbers above 2^100 may arise, where binary32 may overflow")
    return (spread + (terms + 3) * unit * size) * SLACK + terms * tiny * (size > 0)


class Ball:
    """Numbers within `radius` of `centre`; a program's are within `error` of those.

    The last two axes are rows and columns. On the first one, `[:1]` are values and `[1:]` their
    slopes, derivatives in some directions; without any, the values do not depend on anything.
    """

    __array_ufunc__ = None  # so that `matrix @ ball` comes here
    size = cached_property(lambda it: np.abs(it.centre) + it.radius)
    doubt = cached_property(lambda it: (it.radius + it.error) * SLACK)  # of a program, from centre
    reach = cached_property(lambda it: (it.size + it.error) * SLACK)  # of a program, from 0

    def __init__(self, centre: Any, radius: Any = 0.0, error: Any = 0.0):
        self.centre = it = np.array(centre, np.float64, ndmin=3, copy=None)
        self.radius = radius if np.shape(radius) == it.shape else np.full_like(it, radius)
        self.error = error if np.shape(error) == it.shape else np.full_like(it, error)

    def __getitem__(self, part: Any) -> "Ball":
        return Ball(self.centre[part], self.radius[part], self.error[part])

    def split(self, count: int) -> list["Ball"]:
        """So many parts of as many rows each."""
        size = self.centre.shape[1] // count
        return [self[:, size * n : size * (n + 1)] for n in range(count)]

    def __add__(self, other: "Ball") -> "Ball":
        if len(self.centre) != len(other.centre):
            assert 1 in (len(self.centre), len(other.centre))
            deeper = max(self, other, key=lambda ball: len(ball.centre))
            return join([self[:1] + other[:1], deeper[1:]], axis=0)
        centre = self.centre + other.centre
        inexact = (self.reach > 0) & (other.reach > 0)  # x + 0 is x, exactly
        radius = cover(self.radius + other.radius, np.abs(centre) * inexact, *OURS)
        error = cover(self.error + other.error, (np.abs(centre) + radius) * inexact, *THEIRS)
        return Ball(centre, radius, error)

    def __sub__(self, other: "Ball") -> "Ball":
        return self + Ball(-other.centre, other.radius, other.error)

    def __mul__(self, other: "Ball") -> "Ball":
        if 1 in (len(self.centre), len(other.centre)):  # one of them has no slopes
            return self.times(other)
        return chain(self[:1].times(other[:1]), (self, other[:1]), (other, self[:1]))

    def times(self, other: "Ball") -> "Ball":
        """Products number by number; `*` heeds slopes as well."""
        centre = self.centre * other.centre
        size = np.abs(centre) + OURS[1] * (self.reach > 0) * (other.reach > 0)
        spread = np.abs(self.centre) * other.radius + self.radius * other.size
        drift = self.size * other.error + self.error * other.reach
        radius = cover(spread, size, *OURS)
        return Ball(centre, radius, cover(drift, size + radius, *THEIRS))

    def __rmatmul__(self, matrix: np.ndarray) -> "Ball":
        sizes, terms = np.abs(matrix), matrix.shape[-1]
        # In whatever order the terms are added (Higham 2002, section 3.1).
        size = sizes @ self.size + OURS[1] * np.any(self.reach > 0, axis=1, keepdims=True)
        radius = cover(sizes @ self.radius, size, *OURS, terms)
        return Ball(matrix @ self.centre, radius, cover(sizes @ self.error, size, *THEIRS, terms))

    def ends(self, reach: Any) -> list[np.ndarray]:
        """What lies `reach` below and above the centre, rounded outward; exact if that is 0."""
        ends = [np.nextafter(self.centre + side * reach, side * np.inf) for side in (-1, 1)]
        return [np.where(reach > 0, end, self.centre) for end in ends]

    def relu(self) -> "Ball":
        """The positive parts of values; no two numbers come to lie farther apart."""
        return from_ends(*(np.maximum(end, 0) for end in self.ends(self.radius)), error=self.error)

    def tanh(self) -> "Ball":
        """Monotone, so that its values at both ends enclose it; tanh' = 1 - tanh²."""
        ends = zip((-1, 1), map(np.tanh, self[:1].ends(self.radius[:1])), strict=True)
        low, high = ((t + s * (np.abs(t) * TANH_OURS + OURS[1])).clip(-1, 1) for s, t in ends)
        least = np.where(low * high > 0, np.minimum(low * low, high * high), 0)
        steepness = from_ends(1 - np.maximum(low * low, high * high) - OURS[0], 1 - least + OURS[0])
        value = from_ends(low, high, (self.error[:1] + TANH_THEIRS) * SLACK)
        return chain(value, (self, steepness))

    def sigmoid(self) -> "Ball":
        """1 / (1 + exp(-x)) = tanh(x / 2) / 2 + 1/2."""
        return (self * Ball(0.5)).tanh() * Ball(0.5) + Ball(0.5)

    def blend(self, held: "Ball", candidate: "Ball") -> "Ball":
        """z h + (1 - z) n, written so that nothing counts twice; its slope is z' (h - n) + ..."""
        z, h, n = self[:1], held[:1], candidate[:1]
        mixed = n + z * (gap := h - n)
        # A program rounds two products, a difference and a sum, of numbers up to these sizes.
        mixed = Ball(mixed.centre, mixed.radius, mixed.error + 4 * THEIRS[0] * (h.reach + n.reach))
        return chain(mixed, (self, gap), (held, z), (candidate, Ball(1.0) - z))

    def switch(self, beta: "Ball", alpha: np.ndarray, held: "Ball") -> "Ball":
        """S(n) α where |n| > |β|, else what was held: a choice, so that what is exact stays so."""
        n, beta = self[:1], beta[:1]
        (least, most), (low, high) = (Ball(np.abs(x.centre)).ends(x.doubt) for x in (n, beta))
        # A program may ask whether |n| - |β| > 0, and take a difference that underflows for 0.
        is_set, holds = least > high + THEIRS[1], most <= low
        if not np.all(is_set | holds):
            raise UndecidedError("a unit of the BMRU is too near its threshold")
        kept = Ball(*(np.where(is_set, 0, it) for it in (held.centre, held.radius, held.error)))
        return kept + Ball(np.where(is_set, np.where(n.centre >= 0, alpha, -alpha), 0))

    def box(self) -> "Ball":
        """A box, with the same slopes, around what programs make of value + slopes y, |y| <= 1."""
        radius = (self.doubt[:1] + self.reach[1:].sum(0)) * SLACK
        return join([Ball(self.centre[:1], radius), self[1:]], axis=0)


def from_ends(low: Any, high: Any, error: Any = 0.0) -> Ball:
    """The ball that reaches from one number to another."""
    middle = np.where(low == high, low, low / 2 + high / 2)
    radius = np.nextafter(np.maximum(high - middle, middle - low), np.inf)
    return Ball(middle, np.where(low == high, 0, radius), error)


def join(parts: Sequence[Ball], axis: int) -> Ball:
    """Slopes after a value (axis 0), balls one below the other (1), or side by side (2)."""
    fields = zip(*((part.centre, part.radius, part.error) for part in parts), strict=True)
    return Ball(*(np.concatenate(field, axis) for field in fields))


def chain(value: Ball, *terms: tuple[Ball, Ball]) -> Ball:
    """A value with the slopes of some balls, each times a factor: the chain rule."""
    slopes = [ball[1:].times(factor) for ball, factor in terms if len(ball.centre) > 1]
    return join([value, sum(slopes[1:], slopes[0])], axis=0) if slopes else value


class Policy:
    """The policy network as a map on balls; a state is a column, an LSTM's outputs and cells."""

    def __init__(self, arrays: Mapping[str, np.ndarray], shape: Mapping[str, Any]):
        self.weights = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
        for name, array in self.weights.items():
            if np.any((array != 0) & (np.abs(array) < SMALLEST)):
                raise UndecidedError(f"{name!r} has numbers that some programs take for 0")
        self.shape, layers = shape, shape["num_layers"]
        self.layers = ["cell."] if layers == 1 else [f"cell.cells.{n}." for n in range(layers)]
        self.outputs = slice(shape["state_size"] // 2 if shape["cell"] == "lstm" else None)
        self.start = Ball(np.zeros((layers * shape["state_size"], 1)))
        self.corridor, self.junction = self.look(0, 0, RIGHT), self.look(0, 1, RIGHT)

    def look(self, cue: int, junction: int, previous: int | None = None) -> Ball:
        """What the first cell sees of an observation."""
        action = [number == previous for number in range(4) if self.shape["previous_action"]]
        return self.run_dense("encoder", Ball(np.array([cue, junction, *action])[:, None]))

    def run_dense(self, part: str, x: Ball) -> Ball:
        """The layers of the encoder or the head."""
        for n in range(len(self.shape[part])):
            x = self.apply(f"{part}.{n}", x).relu()
        return x

    def apply(self, name: str, x: Ball) -> Ball:
        """W x + b; of several gates one below the other."""
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return weight.reshape(bias.size, -1) @ x + Ball(bias.reshape(-1, 1))

    def update(self, x: Ball, h: Ball) -> Ball:
        """The state after an observation."""
        states = []
        for name, part in zip(self.layers, h.split(len(self.layers)), strict=True):
            states.append(self.update_cell(self.shape["cell"], name, x, part))
            x = states[-1][:, self.outputs]
        return join(states, axis=1)

    def update_cell(self, cell: str, name: str, x: Ball, h: Ball) -> Ball:
        """The next state of the cell whose weights' names begin so."""
        if cell == "hybrid":
            halves = zip(("bmru", "mingru"), ("cells.0.", "cells.1."), h.split(2), strict=True)
            return join([self.update_cell(a, name + b, x, part) for a, b, part in halves], axis=1)
        gates = self.apply(f"{name}inputs", x).split(len(self.weights[f"{name}inputs.bias"]))
        if cell == "bmru":
            return gates[0].switch(gates[1], self.weights[f"{name}alpha"][:, None], h)
        if cell == "mingru":
            z, top = gates[0].sigmoid(), self.weights.get(f"{name}ceiling")
            return (z if top is None else z * Ball(top[:, None])).blend(h, gates[1])
        h, *c = h.split(2) if cell == "lstm" else [h]
        recurrent = self.weights[f"{name}recurrent_weight"]
        seen = [h * Ball(w[:, None]) if cell == "brc" else w @ h for w in recurrent]
        if cell == "lstm":
            i, f, g, o = (a + b for a, b in zip(seen, gates, strict=True))
            c = f.sigmoid() * c[0] + i.sigmoid() * g.tanh()
            return join([o.sigmoid() * c.tanh(), c], axis=1)
        r, z = seen[0] + gates[0], (seen[1] + gates[1]).sigmoid()
        recalled = r.sigmoid() * seen[2] if cell == "gru" else (r.tanh() + Ball(1.0)) * h
        return z.blend(h, (recalled + gates[2]).tanh())

    def decode(self, x: Ball, h: Ball) -> Ball:
        """The logits, from the observation and the state after it."""
        hidden = h[:1].split(len(self.layers))[-1][:, self.outputs]
        hidden = (hidden + x).relu() if self.shape["skip"] else hidden
        return self.apply("output", self.run_dense("head", hidden))


def span(centre: np.ndarray, radius: np.ndarray, basis: np.ndarray | None) -> Ball:
    """The states centre + basis y, |y| <= radius, or a box, as value + slopes y with |y| <= 1."""
    if basis is None:
        return Ball(centre[:, None], radius[:, None])
    slopes = Ball(basis.T[:, :, None]).times(Ball(radius[:, None, None]))
    return join([Ball(centre[:, None]), slopes], axis=0)


def measure(image: Ball, centre: np.ndarray, basis: np.ndarray | None) -> np.ndarray:
    """Radii with which a region of this centre and basis contains all of an image."""
    offset = image - Ball(centre[:, None])
    if basis is None:
        return (offset.reach.sum(0) * SLACK)[:, 0]
    inverse = np.linalg.inv(basis)
    reach = ((inverse @ offset).reach.sum(0) * SLACK)[:, 0]
    # `inverse` is not quite: with E = 1 - inverse basis, what basis^-1 makes of v is at most
    # |inverse v| + |E| / (1 - max row of |E|) max |inverse v|, by the Neumann series.
    rows = (Ball(np.eye(len(basis))) - inverse @ Ball(basis)).reach.sum(2) * SLACK
    if not rows.max() < 0.5:
        raise UndecidedError("a basis cannot be inverted")
    return (Ball(rows) * Ball(2.0 * reach.max()) + Ball(reach)).reach[0, 0]


def wrap(image: Ball, turning: bool) -> dict[str, Any]:
    """A region around an image; one that turns does so with the flow, by QR (Lohner 1987)."""
    centre, columns = image.centre[0, :, 0], image.centre[1:, :, 0].T
    order = np.argsort(-np.linalg.norm(columns, axis=0), kind="stable")
    basis = np.linalg.qr(columns[:, order], mode="complete")[0] if turning else None
    return {"centre": centre, "radius": measure(image, centre, basis), "basis": basis}


def advance(policy: Policy, region: Mapping[str, Any]) -> Ball:
    """What the corridor makes of a region: with a basis by U(c + V y) in U(c) + U'(box) V y."""
    image = span(**region)
    moved = policy.update(policy.corridor, image.box())
    middle = moved if region["basis"] is None else policy.update(policy.corridor, image[:1])
    return join([Ball(middle.centre, middle.radius, moved.error[:1]), moved[1:]], axis=0)


def judge(logits: Ball, action: int) -> np.ndarray:
    """Whether an action has the greatest logit: in each column surely, and possibly."""
    (low, high), others = (it[0] for it in logits.ends(logits.doubt)), np.arange(4) != action
    return np.array([low[action] > high[others].max(0), ~(low[others].max(0) > high[action])])


def prove(policy: Policy, cue: int, evidence: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Whether the agent is optimal at lengths 1, 2, ..., and whether it takes the wrong arm.

    Each is told as surely and as possibly. Optimal is to go right at every step before the junction
    and there to take the goal's arm at once. The orbit is enclosed for `steps` steps and is then in
    the first set of the attractor; the corridor maps each set into the next, the last into the
    first. So the last lengths, one for each set, repeat for ever; without sets the last is unknown.
    """
    sets, opening, at_once = evidence["attractor"], policy.look(cue, 0), policy.look(cue, 1)
    image, boxes = policy.update(opening, policy.start), []
    for _ in range(evidence["steps"]):
        boxes.append(image.box()[:1])
        image = advance(policy, wrap(image, evidence["enclosure"] == "parallelepipeds"))
    for before, region in zip([None, *sets], sets + sets[:1], strict=bool(sets)):
        image = image if before is None else advance(policy, before)
        if not np.all(measure(image, region["centre"], region["basis"]) <= region["radius"]):
            raise UndecidedError("a set of the orbit or the attractor is not mapped into the next")
    boxes = join([*boxes, *(span(**region).box()[:1] for region in sets)], axis=2)
    walks = np.insert(judge(policy.decode(policy.corridor, boxes), RIGHT), 0, True, axis=1)
    walks[:, 1:2] = judge(policy.decode(opening, boxes[:, :, :1]), RIGHT)
    starts, turns = policy.update(at_once, policy.start), policy.update(policy.junction, boxes)
    logits = join([policy.decode(at_once, starts), policy.decode(policy.junction, turns)], axis=2)
    # At length L the states 0 to L - 2 walk on, and state L - 2 turns; the cycle counts twice.
    known = np.array([walks, *(judge(logits, arm) for arm in (UP, DOWN)[::-cue])])  # goal first
    last = known[:, :, -len(sets) :] if sets else np.array([[[False], [True]]] * 3)
    walks, right, wrong = np.concatenate([known, last], axis=2)
    walked = np.logical_and.accumulate(walks, axis=1)
    return walked & right, walked & wrong
