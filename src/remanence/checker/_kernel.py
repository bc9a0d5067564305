"""The trusted kernel: balls that hold what they should, the agent's map, the rule of proof.

What is proved holds of the network on the real numbers, and of every program that computes its
formulas with + - * right to 2^-23 of each result (binary32 has 2^-24), sums of products in any
order, fused or not, and what is added to them last; tanh and σ right to 2^-20, no number above
2^100. Assumed: IEEE binary64 rounded to nearest, NumPy's tanh right to 2^-48, its matrix products
sums of products in some order.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

RIGHT, UP, LEFT, DOWN = range(4)
GOAL_ARMS = {-1: UP, 1: DOWN}
NO, YES, UNKNOWN = 0, 1, -1
LARGEST = 2.0**100
SLACK = 1 + 2.0**-40  # covers the rounding of a bound that is itself computed, in 2^12 terms
OURS, THEIRS = (2.0**-52, 1e-300), (2.0**-22, 1e-37)  # rounding of an operation, and underflow
TANH_OURS, TANH_THEIRS = 2.0**-48, 2.0**-20
SMALLEST = 2.0**-126  # programs may take what is smaller for 0


class UndecidedError(Exception):
    """The evidence does not suffice; nothing is proved, and nothing refuted."""


def cover(spread: Any, size: Any, rounding: tuple[float, float], terms: int = 1) -> Any:
    """A bound on `spread` and on the rounding of `terms` operations on numbers up to `size`."""
    unit, tiny = rounding
    size = size + spread
    if not np.all(size <= LARGEST):
        raise UndecidedError("numbers above 2^100 may arise, where binary32 may overflow")
    return (spread + (terms + 3) * unit * size) * SLACK + terms * tiny * (size > 0)


class Ball:
    """Numbers within `radius` of `centre`; a program's are within `error` of those.

    A program's are within `doubt` of the centre and within `reach` of 0. `slope` holds derivatives
    in some directions, one in each column; None means that nothing depends on them.
    """

    __array_ufunc__ = None  # so that `matrix @ ball` comes here

    def __init__(self, centre: Any, radius: Any = 0.0, error: Any = 0.0, slope: Any = None):
        self.centre = np.asarray(centre, np.float64)
        self.radius = np.broadcast_to(radius, self.centre.shape)
        self.error = np.broadcast_to(error, self.centre.shape)
        self.slope: Ball | None = slope
        self.size = np.abs(self.centre) + self.radius
        self.doubt = (self.radius + self.error) * SLACK
        self.reach = (self.size + self.error) * SLACK

    def __getitem__(self, part: Any) -> "Ball":
        slope = self.slope and self.slope[part]
        return Ball(self.centre[part], self.radius[part], self.error[part], slope)

    def __neg__(self) -> "Ball":
        return Ball(-self.centre, self.radius, self.error, self.slope and -self.slope)

    def __add__(self, other: Any) -> "Ball":
        other = as_ball(other)
        centre = self.centre + other.centre
        inexact = (self.reach > 0) & (other.reach > 0)  # x + 0 is x, exactly
        radius = cover(self.radius + other.radius, np.abs(centre) * inexact, OURS)
        error = cover(self.error + other.error, (np.abs(centre) + radius) * inexact, THEIRS)
        return Ball(centre, radius, error, add_slopes(self.slope, other.slope))

    def __sub__(self, other: Any) -> "Ball":
        return self + -as_ball(other)

    def __mul__(self, other: Any) -> "Ball":
        other = as_ball(other)
        centre = self.centre * other.centre
        size = np.abs(centre) + OURS[1] * (self.reach > 0) * (other.reach > 0)
        spread = np.abs(self.centre) * other.radius + self.radius * other.size
        drift = self.size * other.error + self.error * other.reach
        radius = cover(spread, size, OURS)
        one, two = (a.slope and a.slope * b.flat() for a, b in ((self, other), (other, self)))
        return Ball(centre, radius, cover(drift, size + radius, THEIRS), add_slopes(one, two))

    def __rmatmul__(self, matrix: np.ndarray) -> "Ball":
        sizes, terms = np.abs(matrix), matrix.shape[-1]
        # In whatever order the terms are added (Higham 2002, section 3.1).
        size = sizes @ self.size + OURS[1] * np.any(self.reach > 0, axis=0)
        radius = cover(sizes @ self.radius, size, OURS, terms)
        error = cover(sizes @ self.error, size, THEIRS, terms)
        return Ball(matrix @ self.centre, radius, error, self.slope and matrix @ self.slope)

    def flat(self) -> "Ball":
        """The same without slopes."""
        return Ball(self.centre, self.radius, self.error)

    def ends(self, reach: Any) -> tuple[np.ndarray, np.ndarray]:
        """What lies `reach` below and above the centre, rounded outward; exact if that is 0."""
        ends = (np.nextafter(self.centre + side * reach, side * np.inf) for side in (-1, 1))
        low, high = (np.where(reach > 0, end, self.centre) for end in ends)
        return low, high

    def relu(self) -> "Ball":
        """The positive parts; no two numbers come to lie farther apart."""
        low, high = (np.maximum(end, 0) for end in self.ends(self.radius))
        return from_ends(low, high, self.error)

    def tanh(self) -> "Ball":
        """Monotone, so that its values at both ends enclose it; tanh' = 1 - tanh²."""
        low, high = (np.tanh(end) for end in self.ends(self.radius))
        low = np.maximum(low - (np.abs(low) * TANH_OURS + OURS[1]), -1)
        high = np.minimum(high + (np.abs(high) * TANH_OURS + OURS[1]), 1)
        most, least = np.maximum(np.abs(low), np.abs(high)), np.minimum(np.abs(low), np.abs(high))
        least = np.where(low * high > 0, least, 0)
        steepness = from_ends(1 - most * most - OURS[0], 1 - least * least + OURS[0])
        slope = self.slope and steepness * self.slope
        return from_ends(low, high, (self.error + TANH_THEIRS) * SLACK, slope)

    def sigmoid(self) -> "Ball":
        """1 / (1 + exp(-x)) = tanh(x / 2) / 2 + 1/2."""
        return (self * 0.5).tanh() * 0.5 + 0.5


def as_ball(number: Any) -> Ball:
    """Exact numbers as balls of no radius."""
    return number if isinstance(number, Ball) else Ball(number)


def from_ends(low: Any, high: Any, error: Any = 0.0, slope: Any = None) -> Ball:
    """The ball that reaches from one number to another."""
    middle = np.where(low == high, low, low / 2 + high / 2)
    radius = np.nextafter(np.maximum(high - middle, middle - low), np.inf)
    return Ball(middle, np.where(low == high, 0, radius), error, slope)


def add_slopes(one: Ball | None, other: Ball | None) -> Ball | None:
    """The sum of slopes, either of which may be missing."""
    return one + other if one and other else one or other


def join(parts: Sequence[Ball], axis: int = 0) -> Ball:
    """Balls one below the other, or side by side."""
    rows = [(part.centre, part.radius, part.error) for part in parts]
    slopes = [part.slope for part in parts if part.slope]
    fields = (np.concatenate(field, axis) for field in zip(*rows, strict=True))
    return Ball(*fields, slope=join(slopes) if slopes else None)


def blend(z: Ball, held: Ball, candidate: Ball) -> Ball:
    """z h + (1 - z) n, written so that nothing counts twice; its slope is z' (h - n) + ..."""
    gap = held.flat() - candidate.flat()
    mixed = candidate.flat() + z.flat() * gap
    # A program rounds two products, a difference and a sum, of numbers up to these sizes.
    more = 4 * THEIRS[0] * (held.reach + candidate.reach)
    pairs = ((z, gap), (held, z.flat()), (candidate, Ball(1.0) - z.flat()))
    slopes = [ball.slope * factor for ball, factor in pairs if ball.slope]
    return Ball(
        mixed.centre, mixed.radius, mixed.error + more, functools.reduce(add_slopes, slopes, None)
    )


def switch(n: Ball, beta: Ball, alpha: np.ndarray, held: Ball) -> Ball:
    """S(n) α where |n| > |β|, else what was held: a choice, so that what is exact stays exact."""
    least, most = Ball(np.abs(n.centre)).ends(n.doubt)
    low, high = Ball(np.abs(beta.centre)).ends(beta.doubt)
    # A program may ask whether |n| - |β| > 0, and take a difference that underflows for 0.
    is_set, holds = least > high + THEIRS[1], most <= low
    if not np.all(is_set | holds):
        raise UndecidedError("a unit of the BMRU is too near its threshold")

    def choose(value: Any, otherwise: Any) -> np.ndarray:
        return np.where(is_set, value, otherwise)

    slope = held.slope and Ball(choose(0, held.slope.centre), choose(0, held.slope.radius))
    centre = choose(np.where(n.centre >= 0, alpha, -alpha), held.centre)
    return Ball(centre, choose(0, held.radius), choose(0, held.error), slope)


Weights = Mapping[str, np.ndarray]


def select(weights: Weights, prefix: str) -> Weights:
    """The weights whose names begin so, by the rest of their names."""
    return {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}


def project(cell: str, weights: Weights, x: Ball) -> list[Any]:
    """What each gate of a cell sees of the input."""
    if cell == "hybrid":
        halves = zip(("bmru", "mingru"), ("cells.0.", "cells.1."), strict=True)
        return [project(half, select(weights, prefix), x) for half, prefix in halves]
    gates = zip(weights["inputs.weight"], weights["inputs.bias"], strict=True)
    return [weight @ x + bias[:, None] for weight, bias in gates]


def update(cell: str, weights: Weights, x: list[Any], h: Ball) -> Ball:
    """A cell's next state, from what its gates see of the input and from its state."""
    if cell == "hybrid":
        middle = len(h.centre) // 2
        held = update("bmru", select(weights, "cells.0."), x[0], h[:middle])
        return join([held, update("mingru", select(weights, "cells.1."), x[1], h[middle:])])
    if cell == "bmru":
        return switch(x[0], x[1], weights["alpha"][:, None], h)
    if cell == "mingru":
        return blend(x[0].sigmoid(), h, x[1])
    recurrent = weights["recurrent_weight"]
    seen = [h * w[:, None] if cell == "brc" else w @ h for w in recurrent]
    z = (seen[1] + x[1]).sigmoid()
    if cell == "gru":
        return blend(z, h, ((seen[0] + x[0]).sigmoid() * seen[2] + x[2]).tanh())
    return blend(z, h, (((seen[0] + x[0]).tanh() + 1.0) * h + x[2]).tanh())


class Policy:
    """The policy network of an agent in the T-maze, as a map on balls; states are columns."""

    def __init__(self, arrays: Weights, shape: Mapping[str, Any]):
        self.weights = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
        for name, array in self.weights.items():
            if np.any((array != 0) & (np.abs(array) < SMALLEST)):
                raise UndecidedError(f"{name!r} has numbers that some programs take for 0")
        self.shape, layers = shape, shape["num_layers"]
        prefixes = [f"cell.cells.{n}." for n in range(layers)] if layers > 1 else ["cell."]
        self.layers = [select(self.weights, prefix) for prefix in prefixes]
        self.width = shape["state_size"]
        self.start = Ball(np.zeros((layers * self.width, 1)))
        self.corridor, self.junction = self.look(0, 0, RIGHT), self.look(0, 1, RIGHT)

    def look(self, cue: int, junction: int, previous: int | None) -> tuple[Ball, list[Any]]:
        """What the network makes of an observation: features, and what the first cell sees."""
        action = [float(number == previous) for number in range(4)]
        seen = [cue, junction, *(action if self.shape["previous_action"] else [])]
        features = self.apply("encoder", Ball(np.array(seen, float)[:, None]))
        return features, project(self.shape["cell"], self.layers[0], features)

    def update(self, look: tuple[Ball, list[Any]], h: Ball) -> Ball:
        """The state after an observation."""
        states, seen = [], look[1]
        for number, weights in enumerate(self.layers):
            if number:
                seen = project(self.shape["cell"], weights, states[-1])
            part = h[number * self.width : (number + 1) * self.width]
            states.append(update(self.shape["cell"], weights, seen, part))
        return join(states)

    def decode(self, look: tuple[Ball, list[Any]], h: Ball) -> Ball:
        """The logits, from the observation and the state after it."""
        hidden = h[-self.width :].flat()
        hidden = self.apply("head", (hidden + look[0]).relu() if self.shape["skip"] else hidden)
        return self.weights["output.weight"] @ hidden + self.weights["output.bias"][:, None]

    def apply(self, part: str, x: Ball) -> Ball:
        """The dense layers of the encoder or the head."""
        for n in range(len(self.shape[part])):
            weight, bias = (self.weights[f"{part}.{n}.{kind}"] for kind in ("weight", "bias"))
            x = (weight @ x + bias[:, None]).relu()
        return x


@dataclasses.dataclass(frozen=True)
class Region:
    """The states centre + basis y with |y| <= radius; without a basis, a box."""

    centre: np.ndarray
    radius: np.ndarray
    basis: np.ndarray | None = None

    def image(self) -> Ball:
        """The same as ball + slope y with |y| <= 1."""
        if self.basis is None:
            return Ball(self.centre[:, None], self.radius[:, None])
        return Ball(self.centre[:, None], slope=Ball(self.basis) * self.radius)

    def box(self) -> Ball:
        """A ball around it, with the slopes of the image."""
        image = self.image()
        radius = sum_rows(image.slope).reach if image.slope else image.radius
        return Ball(image.centre, radius, slope=image.slope)


def measure(image: Ball, centre: np.ndarray, basis: np.ndarray | None) -> np.ndarray:
    """Radii with which a region of this centre and basis contains image + slope y, |y| <= 1."""
    inverse = np.eye(len(centre)) if basis is None else np.linalg.inv(basis)
    turned = image - centre[:, None] if basis is None else inverse @ (image - centre[:, None])
    reach = turned.reach if turned.slope is None else (sum_rows(turned.slope) + turned.reach).reach
    if basis is None:
        return reach[:, 0]
    # `inverse` is not quite: with E = 1 - inverse basis, what basis^-1 makes of v is at most
    # |inverse v| + |E| / (1 - max row of |E|) max |inverse v|, by the Neumann series.
    rows = sum_rows(Ball(np.eye(len(basis))) - inverse @ Ball(basis)).reach
    if not rows.max() < 0.5:
        raise UndecidedError("a basis cannot be inverted")
    return (Ball(rows) * (2.0 * reach.max()) + reach).reach[:, 0]


def sum_rows(matrix: Ball) -> Ball:
    """The sums of the largest absolute values in each row."""
    return matrix.reach @ Ball(np.ones((matrix.reach.shape[1], 1)))


def advance(policy: Policy, look: Any, region: Region) -> Ball:
    """What one step makes of a region: with a basis by U(c + V y) in U(c) + U'(box) V y."""
    moved = policy.update(look, region.box())
    if region.basis is None:
        return moved
    middle = policy.update(look, Ball(region.centre[:, None]))
    return Ball(middle.centre, middle.radius, moved.error, moved.slope)


def follow(policy: Policy, cue: int, turning: bool) -> Iterator[Region]:
    """Regions around the states after 1, 2, ... steps in the corridor, the first one at the cue.

    Those that turn do so with the flow, by QR decomposition (Lohner 1987).
    """
    image = policy.update(policy.look(cue, 0, None), policy.start)
    while True:
        basis = None
        if turning:
            columns = image.slope.centre if image.slope else np.eye(len(image.centre))
            order = np.argsort(-np.linalg.norm(columns, axis=0), kind="stable")
            basis = np.linalg.qr(columns[:, order])[0]
        centre = image.centre[:, 0]
        yield (region := Region(centre, measure(image, centre, basis), basis))
        image = advance(policy, policy.corridor, region)


def judge(logits: Ball, action: int) -> np.ndarray:
    """Whether an action has the greatest logit, for each column: YES, NO or UNKNOWN."""
    low, high = logits.ends(logits.doubt)
    others = [number for number in range(4) if number != action]
    leads, lags = low[action] > high[others].max(0), low[others].max(0) > high[action]
    return np.where(leads, YES, np.where(lags, NO, UNKNOWN))


def prove(policy: Policy, cue: int, evidence: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Whether the agent is optimal at lengths 1, 2, ..., and whether it takes the wrong arm.

    It is optimal if it goes right at every step before the junction and there takes the goal's arm
    at once. Its orbit is enclosed for `steps` steps and is then in the first set of the attractor;
    the corridor maps each set into the next, the last into the first. So the last lengths, as many
    as there are sets, repeat for ever; where there is no attractor, the last one is unknown.
    """
    steps, phases = evidence["steps"], evidence["attractor"]
    orbit = follow(policy, cue, evidence["enclosure"] == "parallelepipeds")
    *before, last = itertools.islice(orbit, steps + 1)
    if phases:
        demand_inside(last.image(), phases[0])
    for phase, following in zip(phases, phases[1:] + phases[:1], strict=True):
        demand_inside(advance(policy, policy.corridor, phase), following)
    boxes = join([region.box().flat() for region in (*before, *phases)], axis=1)
    walks = judge(policy.decode(policy.corridor, boxes), RIGHT)
    walks[0] = judge(policy.decode(policy.look(cue, 0, None), boxes[:, :1]), RIGHT)[0]
    logits = policy.decode(policy.junction, policy.update(policy.junction, boxes))
    at_once = policy.look(cue, 1, None)
    opening = policy.decode(at_once, policy.update(at_once, policy.start))
    # At length L the states 0 to L - 2 walk on, and state L - 2 turns; the cycle counts twice.
    repeat = (lambda x: np.append(x, x[-len(phases) :])) if phases else (lambda x: np.append(x, -1))
    stopped = np.logical_or.accumulate(repeat(walks) == NO)
    walked = np.logical_and.accumulate(repeat(walks) == YES)
    right, wrong = (repeat(judge(logits, GOAL_ARMS[goal])) for goal in (cue, -cue))
    known = np.where(walked & (right == YES), YES, UNKNOWN)
    optimal = np.where(stopped | (right == NO), NO, known)
    first, err = (judge(opening, GOAL_ARMS[goal]) for goal in (cue, -cue))
    return np.append(first, optimal), np.append(err == YES, walked & (wrong == YES))


def demand_inside(image: Ball, target: Region) -> None:
    """Raise unless a region contains all of an image."""
    if not np.all(measure(image, target.centre, target.basis) <= target.radius):
        raise UndecidedError("a set of the orbit or the attractor is not mapped into the next one")
