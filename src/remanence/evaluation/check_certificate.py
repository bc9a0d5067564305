"""Re-verifies a certificate of a T-maze agent from the agent's weights, in plain NumPy.

    python check_certificate.py certificate.json agent.safetensors [--json]

The file stands alone, to be read and trusted alone. It assumes IEEE 754 double precision rounded to
nearest, dot products that are sums in some order, and `exp` and `tanh` of NumPy right to 2^-48.
"""

import argparse
import dataclasses
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RIGHT, UP, LEFT, DOWN = range(4)
NUM_ACTIONS = 4
GOAL_ARMS = {-1: UP, 1: DOWN}
RELATIVE_ERROR = 2.0**-48  # of exp and tanh; libraries promise 2^-50 or better
ABSOLUTE_ERROR = 1e-300  # of anything that may have underflowed
NO, YES, UNKNOWN = 0, 1, -1
NUM_PLAYED, LONGEST_PLAYED = 40, 2_000  # lengths of a claim that are played step by step
REMARKS = ("budget", "backend", "reasons")  # of a claim, what does not claim anything
FIELDS = ("cell", "num_layers", "encoder", "head", "skip")


class CertificateError(ValueError):
    """A certificate or a file of weights that cannot be read as one."""


class UndecidedError(Exception):
    """The arithmetic here cannot tell; nothing is proved, and nothing refuted."""


class Interval:
    """Arrays of intervals; every operation contains what it gives on the reals, rounded outward."""

    __array_ufunc__ = None  # so that `array @ interval` comes here

    def __init__(self, lower: Any, upper: Any = None):
        self.lower = np.asarray(lower, np.float64)
        self.upper = self.lower if upper is None else np.asarray(upper, np.float64)

    def __getitem__(self, index: Any) -> "Interval":
        return Interval(self.lower[index], self.upper[index])

    def __add__(self, other: Any) -> "Interval":
        if isinstance(other, Dual):
            return NotImplemented
        other = as_interval(other)
        return _round_outward(self.lower + other.lower, self.upper + other.upper)

    def __mul__(self, other: Any) -> "Interval":
        if isinstance(other, Dual):
            return NotImplemented
        other = as_interval(other)
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        lower = np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))
        upper = np.maximum(np.maximum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))
        return _round_outward(lower, upper)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Interval":
        return Interval(-self.upper, -self.lower)

    def __sub__(self, other: Any) -> "Interval":
        return self + -(other if isinstance(other, Dual) else as_interval(other))

    def __rsub__(self, other: Any) -> "Interval":
        return -self + other

    def __truediv__(self, other: Any) -> "Interval":
        other = as_interval(other)
        if not np.all((other.lower > 0) | (other.upper < 0)):
            raise UndecidedError("a divisor may be 0")
        return self * _round_outward(1 / other.upper, 1 / other.lower)

    def __rtruediv__(self, other: Any) -> "Interval":
        return as_interval(other) / self

    def __rmatmul__(self, matrix: np.ndarray) -> "Interval":
        """A matrix of exact numbers times intervals, as midpoint and radius (Rump 1999)."""
        # |fl(x y) - x y| <= g |x| |y| with g = n u / (1 - n u), in whatever order the n terms are
        # added (Higham 2002, section 3.1). The share allowed is above 2 g: once for the midpoints,
        # once for the sum that bounds them.
        terms, middle, radius = matrix.shape[-1], self.middle, self.radius
        share = (terms + 2) * 2.0**-52
        reach = _up(radius + _up(share * _up(np.abs(middle) + radius)))
        spread = _up(np.abs(matrix) @ reach + terms * ABSOLUTE_ERROR)
        centre = matrix @ middle
        return _round_outward(centre - spread, centre + spread)

    @property
    def middle(self) -> np.ndarray:
        """A point of each interval, near its middle."""
        return np.clip(self.lower / 2 + self.upper / 2, self.lower, self.upper)

    @property
    def radius(self) -> np.ndarray:
        """How far an interval reaches from `middle`, at most."""
        return np.maximum(_up(self.middle - self.lower), _up(self.upper - self.middle))

    @property
    def magnitude(self) -> np.ndarray:
        """The largest absolute value in each interval."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    def clip(self, low: float | int, high: float | int) -> "Interval":
        """The same intervals, knowing that what they enclose lies between two numbers."""
        return Interval(np.clip(self.lower, low, high), np.clip(self.upper, low, high))

    def intersect(self, other: "Interval") -> "Interval":
        """What is in both of two enclosures of the same numbers."""
        return Interval(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))

    def abs(self) -> "Interval":
        """The absolute values, exactly."""
        return Interval(np.maximum(np.maximum(self.lower, -self.upper), 0), self.magnitude)

    def relu(self) -> "Interval":
        """The positive parts, exactly."""
        return Interval(np.maximum(self.lower, 0), np.maximum(self.upper, 0))

    def tanh(self) -> "Interval":
        """Monotone, so that its values at both ends enclose it."""
        return _allow_error(np.tanh(self.lower), np.tanh(self.upper), RELATIVE_ERROR).clip(-1, 1)

    def sigmoid(self) -> "Interval":
        """1 / (1 + exp(-x)), monotone; beyond ±700 it is as good as 0 and 1."""
        low, high = (1 / (1 + np.exp(-np.clip(end, -700, 700))) for end in (self.lower, self.upper))
        return _allow_error(low, high, 2 * RELATIVE_ERROR).clip(0, 1)

    def blend(self, held: "Interval", candidate: "Interval") -> "Interval":
        """z * held + (1 - z) * candidate for a z from 0 to 1; each form is tight elsewhere."""
        both = self * held + (1 - self) * candidate
        one = candidate + self * (held - candidate)
        between = Interval(
            np.minimum(held.lower, candidate.lower), np.maximum(held.upper, candidate.upper)
        )
        return both.intersect(one).intersect(between)

    def switch(self, threshold: "Interval", alpha: np.ndarray, held: "Interval") -> "Interval":
        """S(n) α where |n| > β, else what was held; a selection, so that what is exact stays so."""
        size = self.abs()
        is_set, holds = size.lower > threshold.upper, size.upper <= threshold.lower
        if not np.all(is_set | holds):
            raise UndecidedError("a BMRU is too near its threshold")
        value = np.where(self.lower >= 0, alpha, -alpha)
        return Interval(np.where(is_set, value, held.lower), np.where(is_set, value, held.upper))


class Dual:
    """Intervals with the slopes of what they enclose, one column for each direction."""

    __array_ufunc__ = None

    def __init__(self, value: Interval, slope: Interval):
        self.value, self.slope = value, slope

    def __getitem__(self, index: Any) -> "Dual":
        return Dual(self.value[index], self.slope[index])

    def __add__(self, other: Any) -> "Dual":
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    def __mul__(self, other: Any) -> "Dual":
        if isinstance(other, Dual):
            slope = self.value * other.slope + self.slope * other.value
            return Dual(self.value * other.value, slope)
        return Dual(self.value * other, self.slope * other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> "Dual":
        return self + -other

    def __rsub__(self, other: Any) -> "Dual":
        return -self + other

    def __rmatmul__(self, matrix: np.ndarray) -> "Dual":
        return Dual(matrix @ self.value, matrix @ self.slope)

    def abs(self) -> Interval:
        """Only thresholds need it, and those need no slope."""
        return self.value.abs()

    def tanh(self) -> "Dual":
        """tanh' = 1 - tanh²."""
        value = self.value.tanh()
        return Dual(value, (1 - value * value).clip(0, 1) * self.slope)

    def sigmoid(self) -> "Dual":
        """σ' = σ (1 - σ)."""
        value = self.value.sigmoid()
        return Dual(value, (value * (1 - value)).clip(0, 0.25) * self.slope)

    def blend(self, held: "Dual", candidate: "Dual") -> "Dual":
        """As for intervals."""
        value = self.value.blend(held.value, candidate.value)
        slope = self.slope * (held.value - candidate.value)
        slope = slope + self.value * held.slope + (1 - self.value) * candidate.slope
        return Dual(value, slope)

    def switch(self, threshold: Interval, alpha: np.ndarray, held: "Dual") -> "Dual":
        """As for intervals; a BMRU's state is known exactly, and so it has no slope."""
        value = self.value.switch(threshold, alpha, held.value)
        return Dual(value, Interval(np.zeros_like(held.slope.lower)))


def as_interval(number: Any) -> Interval:
    """Exact numbers as intervals of no width."""
    return number if isinstance(number, Interval) else Interval(number)


def _up(number: Any) -> Any:
    return np.nextafter(number, np.inf)


def _down(number: Any) -> Any:
    return np.nextafter(number, -np.inf)


def _round_outward(lower: Any, upper: Any) -> Interval:
    return Interval(_down(lower), _up(upper))


def _allow_error(lower: Any, upper: Any, relative: float) -> Interval:
    lower = lower - (np.abs(lower) * relative + ABSOLUTE_ERROR)
    upper = upper + (np.abs(upper) * relative + ABSOLUTE_ERROR)
    return _round_outward(lower, upper)


def tanh(x: Any) -> Any:
    """tanh in whatever arithmetic x is in."""
    return np.tanh(x) if isinstance(x, np.ndarray) else x.tanh()


def sigmoid(x: Any) -> Any:
    """σ in whatever arithmetic x is in."""
    return 1 / (1 + np.exp(-x)) if isinstance(x, np.ndarray) else x.sigmoid()


def relu(x: Any) -> Any:
    """The positive part in whatever arithmetic x is in."""
    return np.maximum(x, 0) if isinstance(x, np.ndarray) else x.relu()


def blend(z: Any, held: Any, candidate: Any) -> Any:
    """z * held + (1 - z) * candidate in whatever arithmetic they are in."""
    if isinstance(z, np.ndarray):
        return z * held + (1 - z) * candidate
    if isinstance(held, Dual):
        z, candidate = _as_dual(z, held), _as_dual(candidate, held)
    return z.blend(held, candidate)


def switch(n: Any, beta: Any, alpha: np.ndarray, held: Any) -> Any:
    """S(n) α where |n| > |β|, else what was held, in whatever arithmetic they are in."""
    if isinstance(n, np.ndarray):
        is_set = np.abs(n) - np.abs(beta) > 0
        return np.where(is_set, np.where(n >= 0, alpha, -alpha), held)
    if isinstance(held, Dual):
        n = _as_dual(n, held)
    return n.switch(beta.abs(), alpha, held)


def concatenate(parts: Sequence[Any]) -> Any:
    """States side by side, in whatever arithmetic they are in."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0], Dual):
        return Dual(concatenate([p.value for p in parts]), concatenate([p.slope for p in parts]))
    lower, upper = ([getattr(part, end) for part in parts] for end in ("lower", "upper"))
    return Interval(np.concatenate(lower), np.concatenate(upper))


def affine(weight: np.ndarray, x: Any, bias: np.ndarray) -> Any:
    """W x + b; columns that meet an exact 0 are left out, so that W 0 + b is exactly b."""
    if isinstance(x, Interval):
        live = np.any((x.lower != 0) | (x.upper != 0), axis=1)
        if not live.any():
            return Interval(np.broadcast_to(bias[:, None], (len(bias), x.lower.shape[1])))
        if not live.all():
            weight, x = weight[:, live], x[live]
    return weight @ x + bias[:, None]


def _as_dual(x: Any, like: Dual) -> Dual:
    return x if isinstance(x, Dual) else Dual(x, Interval(np.zeros_like(like.slope.lower)))


Weights = Callable[[str], np.ndarray]


class GatedCell:
    """A cell of one layer; states are columns, and all of them may be intervals."""

    gates: int
    discrete = False  # whether its states are always known exactly

    def __init__(self, weights: Weights):
        self.weight, self.bias = weights("inputs.weight"), weights("inputs.bias")
        _demand(len(self.weight) == self.gates, f"a {type(self).__name__} has {self.gates} gates")
        self.state_size = self.weight.shape[1]

    def project(self, x: Any) -> list[Any]:
        """What each gate sees of the input."""
        return [affine(w, x, b) for w, b in zip(self.weight, self.bias, strict=True)]

    def mask(self) -> np.ndarray:
        """Which components of the state are discrete."""
        return np.full(self.state_size, self.discrete)

    def read(self, state: Any) -> Any:
        """What later layers see of a state."""
        return state


class GRU(GatedCell):
    """Gates r, z, n; n = tanh(x + r * (W h))."""

    gates = 3

    def __init__(self, weights: Weights):
        super().__init__(weights)
        self.recurrent = weights("recurrent_weight")

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        r, z = (sigmoid(x[gate] + self.recurrent[gate] @ h) for gate in (0, 1))
        return blend(z, h, tanh(x[2] + r * (self.recurrent[2] @ h)))


class NBRC(GRU):
    """Gates r, z, n; n = tanh(x + r * h) with r = 1 + tanh(x + W h)."""

    def recur(self, gate: int, h: Any) -> Any:
        """What a gate sees of the state."""
        return self.recurrent[gate] @ h

    def update(self, x: Any, h: Any) -> Any:
        r, z = 1 + tanh(x[0] + self.recur(0, h)), sigmoid(x[1] + self.recur(1, h))
        return blend(z, h, tanh(x[2] + r * h))


class BRC(NBRC):
    """As NBRC, but the gates of a unit see that unit alone."""

    def recur(self, gate: int, h: Any) -> Any:
        return self.recurrent[gate][:, None] * h


class MinGRU(GatedCell):
    """Gates z, n, which see the input alone."""

    gates = 2

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        return blend(sigmoid(x[0]), h, x[1])


class BMRU(GatedCell):
    """Gates n, β; a unit is set where |n| > |β|, and holds elsewhere."""

    gates, discrete = 2, True

    def __init__(self, weights: Weights):
        super().__init__(weights)
        self.alpha = weights("alpha")

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        return switch(x[0], x[1], self.alpha[:, None], h)


class Composition:
    """Cells whose states are side by side in one vector."""

    def __init__(self, cells: Sequence[Any]):
        self.cells = cells
        ends = list(itertools.accumulate(cell.state_size for cell in cells))
        self.state_size = ends[-1]
        self.parts = [slice(*pair) for pair in itertools.pairwise([0, *ends])]

    def mask(self) -> np.ndarray:
        """Which components of the state are discrete."""
        return np.concatenate([cell.mask() for cell in self.cells])


class Parallel(Composition):
    """All cells see the input."""

    def project(self, x: Any) -> list[Any]:
        """What each cell makes of the input."""
        return [cell.project(x) for cell in self.cells]

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        steps = zip(self.cells, x, self.parts, strict=True)
        return concatenate([cell.update(seen, h[part]) for cell, seen, part in steps])

    def read(self, state: Any) -> Any:
        """What later layers see of a state."""
        return state


class Stack(Composition):
    """Each cell sees what the one before it has become."""

    def project(self, x: Any) -> Any:
        """What the first cell makes of the input."""
        return self.cells[0].project(x)

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        states = [self.cells[0].update(x, h[self.parts[0]])]
        for below, cell, part in zip(self.cells, self.cells[1:], self.parts[1:], strict=False):
            states.append(cell.update(cell.project(below.read(states[-1])), h[part]))
        return concatenate(states)

    def read(self, state: Any) -> Any:
        """What later layers see of a state: the last cell's."""
        return self.cells[-1].read(state[self.parts[-1]])


CELLS = {"gru": GRU, "brc": BRC, "nbrc": NBRC, "mingru": MinGRU, "bmru": BMRU}


def _make_cell(name: str, weights: Weights) -> Any:
    if name == "hybrid":
        parts = [("bmru", "cells.0."), ("mingru", "cells.1.")]
        return Parallel([_make_cell(cell, _below(weights, prefix)) for cell, prefix in parts])
    if name not in CELLS:
        raise CertificateError(f"cannot check this cell: {name!r}")
    return CELLS[name](weights)


def _below(weights: Weights, prefix: str) -> Weights:
    return lambda name: weights(prefix + name)


class Policy:
    """The policy network of an agent in the T-maze, in floats or in intervals."""

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        architecture: Mapping[str, Any],
        previous_action: bool = False,
        dtype: Any = np.float64,
    ):
        _demand_keys("architecture", architecture, FIELDS)
        self._arrays = {k: a for k, a in arrays.items() if k.startswith("policy.")}
        self._unread, self._dtype = set(self._arrays), np.dtype(dtype)
        self.precision = np.result_type(np.float32, *self._arrays.values())
        self.architecture, self.previous_action = dict(architecture), previous_action
        self.encoder = self._take_dense("encoder")
        self.cell = self._take_cell()
        self.head = self._take_dense("head")
        self.output = (self._take("policy.output.weight"), self._take("policy.output.bias"))
        _demand(not self._unread, f"the weights {sorted(self._unread)} do not fit the architecture")
        self.discrete = self.cell.mask()
        try:
            self.corridor = self.prepare([0, 0], RIGHT)
            self.junction = self.prepare([0, 1], RIGHT)
            logits = self.decode(self.junction, self.update(self.junction, self.open(1)[1]))
        except (ValueError, IndexError) as error:
            raise CertificateError(f"the weights do not fit each other: {error}") from error
        _demand(logits.shape == (NUM_ACTIONS, 1), "the policy does not have 4 actions")

    def cast(self, dtype: Any) -> "Policy":
        """The same policy in another precision."""
        return Policy(self._arrays, self.architecture, self.previous_action, dtype)

    def prepare(self, seen: Sequence[int], previous: int | None = None) -> dict[str, Any]:
        """What the network makes of an observation alone, in floats and in intervals."""
        action = [float(number == previous) for number in range(NUM_ACTIONS)]
        numbers = [*seen, *action] if self.previous_action else seen
        column = np.array(numbers, self._dtype)[:, None]
        features = {"floats": column, "intervals": Interval(column)}
        for weight, bias in self.encoder:
            features = {k: relu(affine(weight, x, bias)) for k, x in features.items()}
        return {k: (x, self.cell.project(x)) for k, x in features.items()}

    def update(self, prepared: Mapping[str, Any], state: Any) -> Any:
        """The state after an observation."""
        return self.cell.update(_choose(prepared, state)[1], state)

    def decode(self, prepared: Mapping[str, Any], state: Any) -> Any:
        """The logits, from the observation and the state after it."""
        hidden = self.cell.read(state)
        if self.architecture["skip"]:
            hidden = relu(_choose(prepared, state)[0] + hidden)
        for weight, bias in self.head:
            hidden = relu(affine(weight, hidden, bias))
        return affine(self.output[0], hidden, self.output[1])

    def open(self, cue: int, at_junction: int = 0) -> tuple[dict[str, Any], np.ndarray]:
        """The first observation, and the state before it."""
        return self.prepare([cue, at_junction]), np.zeros((self.cell.state_size, 1), self._dtype)

    def _take(self, name: str) -> np.ndarray:
        _demand(name in self._arrays, f"the weights lack {name!r}")
        self._unread.discard(name)
        array = self._arrays[name].astype(self._dtype)
        _demand(bool(np.isfinite(array).all()), f"{name!r} is not finite")
        return array

    def _take_dense(self, part: str) -> list[tuple[np.ndarray, np.ndarray]]:
        names = [f"policy.{part}.{number}." for number in range(len(self.architecture[part]))]
        return [(self._take(name + "weight"), self._take(name + "bias")) for name in names]

    def _take_cell(self) -> Any:
        name, layers = self.architecture["cell"], self.architecture["num_layers"]
        if layers == 1:
            return _make_cell(name, _below(self._take, "policy.cell."))
        prefixes = [f"policy.cell.cells.{number}." for number in range(layers)]
        return Stack([_make_cell(name, _below(self._take, prefix)) for prefix in prefixes])


def _choose(prepared: Mapping[str, Any], state: Any) -> Any:
    return prepared["floats" if isinstance(state, np.ndarray) else "intervals"]


@dataclasses.dataclass
class Region:
    """The states centre + basis y with |y| <= radius; without a basis, a box.

    Basis and radius speak of the continuous components; the discrete ones are the centre's.
    """

    centre: np.ndarray
    radius: np.ndarray
    basis: np.ndarray | None = None


@dataclasses.dataclass
class Image:
    """States offset + slope y with |y| <= radius; without a slope, those of the offset."""

    offset: Interval
    radius: np.ndarray
    slope: Interval | None = None


def enclose(policy: Policy, region: Region) -> Interval:
    """The smallest box around a region."""
    spread = np.zeros(len(region.centre))
    radius = region.radius
    if region.basis is not None:
        radius = (np.abs(region.basis) @ Interval(radius[:, None])).upper[:, 0]
    spread[~policy.discrete] = radius
    box = Interval(region.centre) + Interval(-spread, spread)
    exact = policy.discrete
    lower, upper = (np.where(exact, region.centre, end) for end in (box.lower, box.upper))
    return Interval(lower[:, None], upper[:, None])


def as_image(policy: Policy, region: Region) -> Image:
    """A region written as an image, so that it can be measured as one."""
    if region.basis is None:
        return Image(enclose(policy, region), region.radius)
    return Image(Interval(region.centre[:, None]), region.radius, Interval(region.basis))


def map_region(policy: Policy, region: Region) -> Image:
    """What one step down the corridor makes of a region; by the mean value form if it has a basis.

    U(c + V y) is in U(c) + U'(box) V y, row by row.
    """
    box = enclose(policy, region)
    if region.basis is None:
        return Image(_check_discrete(policy, policy.update(policy.corridor, box)), region.radius)
    seeds = np.zeros((len(region.centre), len(region.radius)))
    seeds[~policy.discrete] = region.basis
    moved = policy.update(policy.corridor, Dual(box, Interval(seeds)))
    offset = policy.update(policy.corridor, Interval(region.centre[:, None]))
    return Image(_check_discrete(policy, offset), region.radius, moved.slope[~policy.discrete])


def _check_discrete(policy: Policy, state: Interval) -> Interval:
    exact = state.lower[policy.discrete] == state.upper[policy.discrete]
    if not exact.all():
        raise UndecidedError("the state of a BMRU is not known exactly")
    return state


def measure(policy: Policy, image: Image, centre: np.ndarray, basis: Any = None) -> np.ndarray:
    """Radii of a region with this centre and basis that contains the image."""
    moving = ~policy.discrete
    offset = (image.offset - centre[:, None])[moving]
    slope = image.slope
    if basis is None or not basis.size:
        return _add_radii(offset, slope, image.radius)
    inverse = np.linalg.inv(basis)
    radius = _add_radii(inverse @ offset, None if slope is None else inverse @ slope, image.radius)
    # `inverse` is not quite: with E = 1 - inverse basis, what basis^-1 makes of v is at most
    # |inverse v| + |E| / (1 - |E|) max |inverse v|, by the Neumann series.
    defect = (np.eye(len(basis)) - inverse @ Interval(basis)).magnitude
    norm = (defect @ Interval(np.ones((len(basis), 1)))).upper.max()
    if not norm < 1:
        raise UndecidedError("a basis cannot be inverted")
    return (Interval(norm) / (1 - Interval(norm)) * radius.max() + radius).upper


def _add_radii(offset: Interval, slope: Interval | None, radius: np.ndarray) -> np.ndarray:
    reach = offset.magnitude[:, 0]
    if slope is None:
        return reach
    return (slope.magnitude @ Interval(radius[:, None]) + reach[:, None]).upper[:, 0]


def follow_orbit(policy: Policy, cue: int, parallelepipeds: bool) -> Iterator[Region]:
    """Regions around h_0, h_1, ... in the corridor, h_0 being the state after the cue.

    Parallelepipeds turn with the flow, by QR decomposition (Lohner 1987).
    """
    prepared, initial = policy.open(cue)
    image = Image(policy.update(prepared, Interval(initial)), np.zeros(0))
    identity = np.eye(int(np.count_nonzero(~policy.discrete)))
    while True:
        offset = _check_discrete(policy, image.offset)
        basis = _turn_basis(image, identity) if parallelepipeds else None
        centre = offset.middle[:, 0]
        region = Region(centre, measure(policy, image, centre, basis), basis)
        yield region
        image = map_region(policy, region)


def _turn_basis(image: Image, identity: np.ndarray) -> np.ndarray:
    if image.slope is None or not identity.size:
        return identity
    columns = image.slope.middle * image.radius
    order = np.argsort(-np.linalg.norm(columns, axis=0), kind="stable")
    # Scaled, because the columns may be as small as numbers get.
    largest = np.abs(columns).max()
    return np.linalg.qr(columns[:, order] / largest)[0] if largest > 0 else identity


def judge(logits: Interval, action: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each column's greatest logit is that action's, and the margin that decides it."""
    others = np.delete(np.arange(len(logits.lower)), action)
    lead = _down(logits.lower[action] - logits.upper[others].max(0))
    lag = _down(logits.lower[others].max(0) - logits.upper[action])
    return np.where(lead > 0, YES, np.where(lag > 0, NO, UNKNOWN)), np.maximum(lead, lag)


@dataclasses.dataclass
class Conduct:
    """For corridor states in a row: does the agent walk on, and would it take the goal's arm."""

    walks: np.ndarray
    turns: np.ndarray
    margins: np.ndarray


def judge_conduct(policy: Policy, cue: int, boxes: Sequence[Interval], start: bool) -> Conduct:
    """What the agent does in each box; at the `start` of an orbit it still sees the cue."""
    if not boxes:
        return Conduct(*np.zeros((3, 0)))
    states = Interval(
        np.hstack([box.lower for box in boxes]), np.hstack([box.upper for box in boxes])
    )
    walks, walk_margins = judge(policy.decode(policy.corridor, states), RIGHT)
    if start:
        first, margin = judge(policy.decode(policy.open(cue)[0], boxes[0]), RIGHT)
        walks[0], walk_margins[0] = first[0], margin[0]
    at_junction = policy.update(policy.junction, states)
    turns, margins = judge(policy.decode(policy.junction, at_junction), GOAL_ARMS[cue])
    return Conduct(walks, turns, np.minimum(margins, walk_margins))


def judge_length_one(policy: Policy, cue: int) -> np.ndarray:
    """Whether the agent takes the goal's arm where the cue is seen at the junction."""
    prepared, initial = policy.open(cue, at_junction=1)
    state = policy.update(prepared, Interval(initial))
    return judge(policy.decode(prepared, state), GOAL_ARMS[cue])[0]


def list_lengths(at_once: np.ndarray, orbit: Conduct, cycle: Conduct | None) -> np.ndarray:
    """Whether the agent succeeds at lengths 1, 2, ...; the cycle is gone through twice."""
    if cycle is None:
        cycle = Conduct(*np.full((3, 1), UNKNOWN))
    walks = np.concatenate([orbit.walks, cycle.walks, cycle.walks])
    turns = np.concatenate([orbit.turns, cycle.turns, cycle.turns])
    stops = np.logical_or.accumulate(walks == NO)
    doubtful = np.logical_or.accumulate(walks == UNKNOWN)
    walked = np.where(stops, NO, np.where(doubtful, UNKNOWN, YES))
    return np.concatenate([at_once, _both(walked, turns)])


def _both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    known = np.where((one == YES) & (other == YES), YES, UNKNOWN)
    return np.where((one == NO) | (other == NO), NO, known)


@dataclasses.dataclass
class Track:
    """Whether the agent succeeds with one cue at lengths 1, 2, ...; the last `period` repeat."""

    cue: int
    statuses: np.ndarray
    period: int = 1
    margin: float | None = None
    factor: float | None = None

    def unfold(self, num_lengths: int) -> np.ndarray:
        """The statuses of so many lengths, at least those that are here."""
        missing = num_lengths - len(self.statuses)
        return np.concatenate([self.statuses, np.resize(self.statuses[-self.period :], missing)])


def follow_cue(policy: Policy, evidence: Mapping[str, Any]) -> Track:
    """Follow the orbit of one cue into its attractor, and see what the agent does on the way."""
    cue, steps = evidence["cue"], evidence["steps"]
    orbit = follow_orbit(policy, cue, evidence["enclosure"] == "parallelepipeds")
    regions = []
    for step, region in enumerate(itertools.islice(orbit, steps + 1)):
        if not np.isfinite(region.radius).all():
            raise UndecidedError(f"the enclosure of the orbit bursts at step {step}")
        regions.append(region)
    boxes = [enclose(policy, region) for region in regions]
    before = judge_conduct(policy, cue, boxes[:steps], start=True)
    if evidence["attractor"] is None:
        return Track(cue, list_lengths(judge_length_one(policy, cue), before, None))
    phases = [_read_region(policy, phase) for phase in evidence["attractor"]]
    if not fit(policy, as_image(policy, regions[-1]), phases[0]) <= 1:
        raise UndecidedError(f"the orbit is not in the attractor's set at step {steps}")
    factor, within = verify_attractor(policy, cue, phases)
    statuses = list_lengths(judge_length_one(policy, cue), before, within)
    return Track(cue, statuses, len(phases), float(within.margins.min()), factor)


def verify_attractor(policy: Policy, cue: int, phases: Sequence[Region]) -> tuple[float, Conduct]:
    """Check that each set is mapped into the next, and the last into the first.

    Returned are the largest share of a radius that is filled, and what the agent does there.
    """
    factor = 0.0
    for number, phase in enumerate(phases):
        target = phases[(number + 1) % len(phases)]
        share = fit(policy, map_region(policy, phase), target)
        if not share <= 1:
            raise UndecidedError(f"set {number} of the attractor is not mapped into the next")
        factor = max(factor, share)
    boxes = [enclose(policy, phase) for phase in phases]
    return factor, judge_conduct(policy, cue, boxes, start=False)


def fit(policy: Policy, image: Image, target: Region) -> float:
    """The share of the target's radii that an image fills; above 1 it is not contained."""
    exact = image.offset[policy.discrete]
    wanted = target.centre[policy.discrete][:, None]
    if not (np.all(exact.lower == wanted) and np.all(exact.upper == wanted)):
        return math.inf
    radius = measure(policy, image, target.centre, target.basis)
    if not np.all(radius <= target.radius):
        return math.inf
    return float((radius[radius > 0] / target.radius[radius > 0]).max(initial=0.0))


def verify_contraction(policy: Policy, evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Derive from the evidence, and from nothing else, at which lengths the agent is optimal.

    The policy is that of the real numbers. Evidence that does not suffice proves nothing, and the
    report says why; it is never believed.
    """
    policy = policy.cast(np.float64)
    _check_evidence(evidence)
    try:
        _check_arithmetic()
        with np.errstate(all="ignore"):
            tracks = [follow_cue(policy, cue) for cue in evidence["cues"]]
            optimal = _combine(tracks)
    except (UndecidedError, np.linalg.LinAlgError) as error:
        return {"verified": False, "reason": str(error), "optimal": None, "cues": []}
    cues = [
        {
            "cue": track.cue,
            "entry": given["steps"] if given["attractor"] else None,
            "period": track.period if given["attractor"] else None,
            "margin": track.margin,
            "contraction": track.factor,
        }
        for track, given in zip(tracks, evidence["cues"], strict=True)
    ]
    return {"verified": True, "reason": None, "optimal": optimal, "cues": cues}


def _check_arithmetic() -> None:
    """Some libraries turn subnormal numbers off; rounding outward from 0 would then stay at 0."""
    if not np.nextafter(np.zeros(1), 1)[0] * np.ones(1)[0] > 0:
        raise UndecidedError("this process rounds subnormal numbers to 0")


def _combine(tracks: Sequence[Track]) -> dict[str, Any]:
    period = math.lcm(*(track.period for track in tracks))
    size = max(len(track.statuses) for track in tracks) + period
    statuses = _both(*(track.unfold(size) for track in tracks))
    if np.any(statuses == UNKNOWN):
        length = int(np.argmax(statuses == UNKNOWN)) + 1
        raise UndecidedError(f"it is not decided whether the agent succeeds at length {length}")
    return write_lengths(statuses == YES, period)


def write_lengths(members: np.ndarray, period: int) -> dict[str, Any]:
    """A set of lengths as data, as short as can be; `members` lists it, its end repeats."""
    members = np.asarray(members, bool)
    cycle = members[-period:]
    period = next(
        p for p in range(1, period + 1) if period % p == 0 and np.all(cycle == np.roll(cycle, p))
    )
    unequal = np.flatnonzero(members[period:] != members[:-period])
    listed = period + (int(unequal[-1]) + 1 if len(unequal) else 0)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], members[:listed], [0]]).astype(int)))
    runs = [[int(a) + 1, int(b)] for a, b in edges.reshape(-1, 2)]
    return {"listed": listed, "period": period, "runs": runs}


def read_lengths(lengths: Mapping[str, Any], num_lengths: int) -> np.ndarray:
    """Which of the lengths 1, 2, ... belong to the set that `write_lengths` wrote."""
    listed, period = lengths["listed"], lengths["period"]
    members = np.zeros(listed, bool)
    for first, last in lengths["runs"]:
        members[first - 1 : last] = True
    missing = max(0, num_lengths - listed)
    return np.concatenate([members, np.resize(members[listed - period :], missing)])[:num_lengths]


def rerun_bitwise(
    policy: Policy,
    claim: Mapping[str, Any],
    limit: int = 100_000,
    time_limit_factor: int | None = None,
) -> dict[str, Any]:
    """Run what a bitwise claim speaks of in NumPy's arithmetic, and report what differs.

    The claim is about one compiled program, whose tanh need not be NumPy's: a difference is news,
    not a refutation. Orbits that have not closed after `limit` steps are compared so far. The
    lengths that are said to be solved are played, the first ones and the one that is said to fail
    first, if the time limit is known.
    """
    policy = policy.cast(policy.precision)
    with np.errstate(all="ignore"):
        runs = [_run_floats(policy, cue["cue"], limit) for cue in claim["cues"]]
    cues = [
        {
            "cue": track.cue,
            "transient": transient,
            "period": track.period if transient is not None else None,
            "same": transient == given["transient"] and track.period == given["period"],
        }
        for given, (track, transient) in zip(claim["cues"], runs, strict=True)
    ]
    known = _list_known([track for track, _ in runs])
    difference = None
    if claim["optimal"] is not None:
        odd = np.flatnonzero(known != read_lengths(claim["optimal"], len(known)))
        difference = int(odd[0]) + 1 if len(odd) else None
    return {
        "closed": all(transient is not None for _, transient in runs),
        "lengths_compared": len(known),
        "first_difference": difference,
        "cues": cues,
        "solved": _play_claim(policy, claim.get("solved"), time_limit_factor),
        "not_checked": sorted(set(claim) - {"optimal", "solved", "cues", *REMARKS}),
    }


def _play_claim(policy: Policy, solved: Any, time_limit_factor: int | None) -> Any:
    """Which of the lengths played are not as claimed; None if nothing is claimed."""
    if solved is None or time_limit_factor is None:
        return None
    claimed = read_lengths(solved, max(NUM_PLAYED, solved["listed"] + 1))
    failures = np.flatnonzero(~claimed)
    lengths = {*range(1, NUM_PLAYED + 1), *(failures[:1] + 1).tolist()}
    played = sorted(length for length in lengths if length <= LONGEST_PLAYED)
    with np.errstate(all="ignore"):
        found = [
            all(play(policy, cue, length, time_limit_factor * length) for cue in GOAL_ARMS)
            for length in played
        ]
    odd = [n for n, right in zip(played, found, strict=True) if right != claimed[n - 1]]
    return {"lengths_played": len(played), "first_difference": odd[0] if odd else None}


def play(policy: Policy, cue: int, length: int, limit: int) -> bool:
    """Whether a greedy episode ends in the goal's arm within `limit` steps (0: any number)."""
    prepared, state = policy.open(cue, at_junction=int(length == 1))
    position, num_steps, seen = 0, 0, set()
    while not limit or num_steps < limit:
        state = policy.update(prepared, state)
        action = int(policy.decode(prepared, state).argmax(0)[0])
        num_steps += 1
        if position == length - 1 and action in GOAL_ARMS.values():
            return action == GOAL_ARMS[cue]
        move = {RIGHT: 1, LEFT: -1}.get(action, 0)
        position = min(max(position + move, 0), length - 1)
        # Whoever stands again where it stood, as it stood, does so for ever.
        mark = (state.tobytes(), position, action)
        if mark in seen:
            return False
        seen.add(mark)
        prepared = policy.prepare([0, int(position == length - 1)], action)
    return False


def _run_floats(policy: Policy, cue: int, limit: int) -> tuple[Track, int | None]:
    """The orbit until a state returns bit for bit, and at which step that was first seen."""
    prepared, initial = policy.open(cue)
    state, seen, states = policy.update(prepared, initial), {}, []
    while (mark := hashlib.blake2b(state.tobytes()).digest()) not in seen and len(states) < limit:
        seen[mark] = len(states)
        states.append(state)
        state = policy.update(policy.corridor, state)
    transient = seen.get(mark)
    conduct = judge_floats(policy, cue, np.hstack(states))
    prepared, initial = policy.open(cue, at_junction=1)
    logits = policy.decode(prepared, policy.update(prepared, initial))
    at_once = np.where(logits.argmax(0) == GOAL_ARMS[cue], YES, NO)
    if transient is None:
        return Track(cue, list_lengths(at_once, conduct, None)), None
    before, cycle = (
        Conduct(conduct.walks[part], conduct.turns[part], conduct.margins[part])
        for part in (slice(transient), slice(transient, None))
    )
    return Track(cue, list_lengths(at_once, before, cycle), len(cycle.walks)), transient


def judge_floats(policy: Policy, cue: int, states: np.ndarray) -> Conduct:
    """What the agent does in the states of an orbit, one in each column, in floats."""
    walks = policy.decode(policy.corridor, states).argmax(0)
    walks[0] = policy.decode(policy.open(cue)[0], states[:, :1]).argmax(0)[0]
    at_junction = policy.update(policy.junction, states)
    turns = policy.decode(policy.junction, at_junction).argmax(0)
    return Conduct(
        np.where(walks == RIGHT, YES, NO),
        np.where(turns == GOAL_ARMS[cue], YES, NO),
        np.zeros(len(walks)),
    )


def _list_known(tracks: Sequence[Track], most: int = 1_000_000) -> np.ndarray:
    """Success with both cues at all lengths up to where it is not known, or repeats."""
    size = max(len(track.statuses) for track in tracks) + math.lcm(*(t.period for t in tracks))
    size = min(size, most)
    statuses = _both(*(track.unfold(size)[:size] for track in tracks))
    unknown = np.flatnonzero(statuses == UNKNOWN)
    return statuses[: unknown[0] if len(unknown) else size] == YES


def read_weights(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of an agent's safetensors file, and the header that remanence wrote to it."""
    content = Path(path).read_bytes()
    try:
        end = 8 + int.from_bytes(content[:8], "little")
        entries = json.loads(content[8:end])
        header = json.loads(entries.pop("__metadata__")["remanence"])
        arrays = {name: _read_array(content[end:], entry) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CertificateError(f"{path} is not an agent's file: {error!r}") from error
    return arrays, header


def _read_array(data: bytes, entry: Mapping[str, Any]) -> np.ndarray:
    dtype = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
    first, last = entry["data_offsets"]
    return np.frombuffer(data[first:last], dtype).reshape(entry["shape"])


def hash_policy(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the names, types, shapes and numbers of the policy's arrays."""
    digest = hashlib.sha256()
    for name in sorted(name for name in arrays if name.startswith("policy.")):
        array = np.asarray(arrays[name])
        digest.update(f"{name} {array.dtype.name}{list(array.shape)}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def hash_environment(description: Mapping[str, Any]) -> str:
    """SHA-256 over an environment's description as canonical JSON, its own hash left out."""
    described = {key: value for key, value in description.items() if key != "sha256"}
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check(certificate: Mapping[str, Any], weights_path: str | Path) -> dict[str, Any]:
    """Check every claim of a certificate against an agent's weights.

    `holds` is False where a claim is wrong or its evidence does not suffice.
    """
    arrays, header = read_weights(weights_path)
    agent, environment, bitwise, contraction = _read_certificate(certificate)
    claims = {
        "these are the weights": agent["sha256"] == hash_policy(arrays),
        "this is the architecture": agent["architecture"] == header.get("architecture"),
        "the environment is the one described": (
            environment["sha256"] == hash_environment(environment)
        ),
    }
    report: dict[str, Any] = {"claims": claims, "contraction": None, "bitwise": None}
    if all(claims.values()):
        policy = Policy(arrays, agent["architecture"], environment["previous_action"])
        if contraction is not None and contraction["verdict"] == "proved":
            report["contraction"] = proof = verify_contraction(policy, contraction)
            claims["the contraction is proved"] = proof["verified"]
            claims["the proved lengths are those claimed"] = (
                proof["optimal"] == contraction["optimal"]
            )
        if bitwise is not None:
            params = environment.get("params")
            factor = params.get("limit_factor") if isinstance(params, Mapping) else None
            factor = factor if type(factor) is int and factor >= 0 else None
            report["bitwise"] = rerun_bitwise(policy, bitwise, time_limit_factor=factor)
    return {"holds": all(claims.values()), **report}


def _read_certificate(certificate: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    _demand(isinstance(certificate, Mapping), "a certificate is a JSON object")
    kind = (certificate.get("kind"), certificate.get("format"))
    _demand(kind == ("remanence certificate", 1), "this is not a certificate of format 1")
    agent, environment = certificate.get("agent", {}), certificate.get("environment", {})
    _demand_keys("agent", agent, ["sha256", "architecture"])
    _demand_keys("environment", environment, ["name", "previous_action", "sha256"])
    _demand(environment["name"] == "tmaze", "only the T-maze can be checked")
    _demand(isinstance(environment["previous_action"], bool), "previous_action is true or false")
    bitwise, contraction = certificate.get("bitwise"), certificate.get("contraction")
    _demand(bitwise is not None or contraction is not None, "this certificate claims nothing")
    if contraction is not None:
        _demand_keys("contraction", contraction, ["verdict", "optimal", "cues"])
    if bitwise is not None:
        _demand_keys("bitwise", bitwise, ["optimal", "cues"])
        _demand(isinstance(bitwise["cues"], list), "the bitwise claim lists its cues")
        for cue in bitwise["cues"]:
            _demand_keys("bitwise cue", cue, ["cue", "transient", "period"])
        cues = [cue["cue"] for cue in bitwise["cues"]]
        _demand(cues == [-1, 1], "the bitwise claim speaks of the cues -1 and 1")
        for lengths in (bitwise["optimal"], bitwise.get("solved")):
            if lengths is not None:
                _check_lengths(lengths)
    return agent, environment, bitwise, contraction


def _check_evidence(evidence: Mapping[str, Any]) -> None:
    _demand_keys("contraction", evidence, ["cues"])
    _demand(isinstance(evidence["cues"], list), "the evidence lists its cues")
    for cue in evidence["cues"]:
        _demand_keys("cue", cue, ["cue", "steps", "enclosure", "attractor"])
        # Step 0 sees the cue, which the sets of an attractor know nothing of.
        _demand(type(cue["steps"]) is int and cue["steps"] >= 1, "steps are 1 or more")
        kinds = ("boxes", "parallelepipeds")
        _demand(cue["enclosure"] in kinds, f"an enclosure is by one of {kinds}")
        attractor = cue["attractor"]
        _demand(attractor is None or isinstance(attractor, list), "an attractor is a list of sets")
        _demand(attractor is None or len(attractor) > 0, "an attractor has a set or more")
    cues = [cue["cue"] for cue in evidence["cues"]]
    _demand(cues == [-1, 1], "the evidence speaks of the cues -1 and 1")


def _read_region(policy: Policy, region: Any) -> Region:
    _demand_keys("set", region, ["centre", "radius", "basis"])
    moving = int(np.count_nonzero(~policy.discrete))
    basis = region["basis"]
    if basis == "identity":
        basis = np.eye(moving)
    return Region(
        _read_numbers(region["centre"], (len(policy.discrete),)),
        _read_numbers(region["radius"], (moving,)),
        None if basis is None else _read_numbers(basis, (moving, moving)),
    )


def _read_numbers(numbers: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.array(numbers, np.float64)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"not numbers: {error}") from error
    array = array.reshape(shape) if array.size == 0 else array
    _demand(array.shape == shape, f"numbers of shape {array.shape}, not {shape}")
    _demand(bool(np.isfinite(array).all()), "the numbers of the evidence must be finite")
    return array


def _check_lengths(lengths: Any) -> None:
    _demand_keys("set of lengths", lengths, ["listed", "period", "runs"])
    listed, period = lengths["listed"], lengths["period"]
    whole = type(listed) is int and type(period) is int and 1 <= period <= listed <= 10**8
    _demand(whole, "a set of lengths lists at least its period")
    _demand(isinstance(lengths["runs"], list), "runs are pairs of lengths")
    last = 0
    for run in lengths["runs"]:
        pair = isinstance(run, list) and len(run) == 2 and all(type(end) is int for end in run)
        _demand(pair, "runs are pairs of lengths")
        _demand(last < run[0] <= run[1] <= listed, "runs are listed lengths in ascending order")
        last = run[1]


def _demand_keys(name: str, value: Any, keys: Sequence[str]) -> None:
    _demand(isinstance(value, Mapping), f"{name}: this should be a JSON object")
    lacking = [key for key in keys if key not in value]
    _demand(not lacking, f"{name}: it lacks {lacking}")


def _demand(holds: bool, problem: str) -> None:
    if not holds:
        raise CertificateError(problem)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a certificate; 0 if all of it holds, 1 if something does not, 2 if it is none."""
    parser = argparse.ArgumentParser(description="Re-verify a certificate from the weights.")
    parser.add_argument("certificate", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--json", action="store_true", help="print the whole report as JSON")
    options = parser.parse_args(arguments)
    try:
        report = check(json.loads(options.certificate.read_text()), options.weights)
    except (CertificateError, OSError) as error:
        print(f"cannot be checked: {error}", file=sys.stderr)
        return 2
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        problem = f"{options.certificate} is not the JSON of a certificate ({error})"
        print(f"cannot be checked: {problem}; give a file of `certify`", file=sys.stderr)
        return 2
    print(json.dumps(report, indent=2) if options.json else describe(report))
    return 0 if report["holds"] else 1


def describe(report: Mapping[str, Any]) -> str:
    """A report in a few lines."""
    lines = [f"{'yes' if holds else 'NO':>3}  {claim}" for claim, holds in report["claims"].items()]
    contraction, bitwise = report["contraction"], report["bitwise"]
    if contraction is None:
        lines.append("     no contraction is claimed, or it was not looked at")
    elif contraction["reason"]:
        lines.append(f"     {contraction['reason']}")
    if bitwise is not None:
        lines += _describe_bitwise(bitwise)
    return "\n".join(lines)


def _describe_bitwise(bitwise: Mapping[str, Any]) -> list[str]:
    """What running the same claim in NumPy's arithmetic has shown."""
    lines = ["     The claim about the compiled program, run again in NumPy's arithmetic:"]
    odd, compared = bitwise["first_difference"], bitwise["lengths_compared"]
    lines.append(f"     optimal lengths: {_tell_difference(odd)} ({compared} compared)")
    solved = bitwise["solved"]
    if solved is not None:
        found = _tell_difference(solved["first_difference"])
        lines.append(f"     solved lengths: {found} ({solved['lengths_played']} played)")
    for cue in bitwise["cues"]:
        found = "settles in the same way" if cue["same"] else "settles in another way"
        where = f"from step {cue['transient']}, period {cue['period']}"
        lines.append(f"     cue {cue['cue']:+d}: memory {found} ({where})")
    if bitwise["not_checked"]:
        lines.append(f"     not looked at: {', '.join(bitwise['not_checked'])}")
    return lines


def _tell_difference(length: int | None) -> str:
    return "no difference" if length is None else f"the first difference at length {length}"


if __name__ == "__main__":
    sys.exit(main())
