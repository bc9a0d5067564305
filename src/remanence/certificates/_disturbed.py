"""Sets of states under observations that are disturbed, each step anew, by no more than a radius.

A step is enclosed to first order in the state and in the disturbance: what remains is bounded over
the whole set. So it is for cells that are smooth; units of a BMRU have every value that they may
have. A look may be any observation, whatever the environment.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates._enclosures import Image, Region, as_image, enclose, measure
from remanence.certificates._interval_policy import (
    BMRU,
    Composition,
    Policy,
    Stack,
)
from remanence.certificates._intervals import Dual, Interval, affine, relu, round_up
from remanence.certificates._walker import NUM_ACTIONS

ROOM = 1.001  # for an arithmetic that is coarser, as the checker's is
TINY = 1e-9
MOST_SEGMENTS = 5  # for each component of the state


class LooseBMRU(BMRU):
    """A BMRU that may be near its threshold: then a unit has all values that it may have."""

    discrete = False

    def update(self, x: Any, h: Any) -> Any:
        if isinstance(h, np.ndarray):
            return super().update(x, h)
        n, beta = (it.value if isinstance(it, Dual) else it for it in x)
        held = h.value if isinstance(h, Dual) else h
        value = _switch_loosely(n, beta.abs(), self.alpha[:, None], held)
        return Dual(value, Interval(np.zeros_like(h.slope.lower))) if isinstance(h, Dual) else value


def _switch_loosely(n: Interval, threshold: Interval, alpha: np.ndarray, held: Interval) -> Any:
    size, tiny = n.abs(), 1e-30
    doubt = size.error + threshold.error + tiny
    may_hold = size.lower <= threshold.upper + doubt
    may_set = size.upper + doubt > threshold.lower
    up, down = n.upper + n.error >= 0, n.lower - n.error < 0
    values = [(may_hold, *_snap(held, np.abs(alpha)))]
    values += [(may_set & up, alpha, alpha), (may_set & down, -alpha, -alpha)]
    lower = np.min([np.where(may, low, np.inf) for may, low, _ in values], axis=0)
    upper = np.max([np.where(may, high, -np.inf) for may, _, high in values], axis=0)
    return Interval(lower, upper)


def _snap(held: Interval, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A unit has been set to α or -α, exactly, or is 0 still; other numbers need not be held."""
    known = [-alpha, 0 * alpha, alpha]
    lower = np.min([np.where(value >= held.lower, value, np.inf) for value in known], axis=0)
    upper = np.max([np.where(value <= held.upper, value, -np.inf) for value in known], axis=0)
    held_none = lower > upper
    return np.where(held_none, held.lower, lower), np.where(held_none, held.upper, upper)


@dataclasses.dataclass(frozen=True)
class Look:
    """A disturbed observation: features and what the cell makes of them, in boxes; its middle.

    `slopes` are those of the features in the numbers of the observation. Behind an encoder there
    are none, and the middle is the whole.
    """

    whole: Any
    middle: Any
    slopes: np.ndarray | None
    # What the cell sees, with slopes, by the number of directions of the state before them.
    padded: dict[int, Any] = dataclasses.field(default_factory=dict)


class DisturbedPolicy(Policy):
    """A policy whose observations are disturbed by no more than `disturbance` in each number."""

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        architecture: Mapping[str, Any],
        previous_action: bool,
        disturbance: float,
    ):
        super().__init__(arrays, architecture, previous_action)
        self.disturbance = disturbance
        self.cell = _loosen(self.cell)
        self.discrete = self.cell.mask()
        self.sharp = _find_sharp(self.cell)

    def look(self, seen: Sequence[int], previous: int | None = None) -> Look:
        """What the network makes of an observation and of all that are near it."""
        action = [float(number == previous) for number in range(NUM_ACTIONS)]
        exact = np.array([*seen, *(action if self.previous_action else [])], np.float64)[:, None]
        spread = round_up(np.full_like(exact, self.disturbance))
        box = Interval(exact) + Interval(-spread, spread)
        features = box
        for weight, bias in self.encoder:
            features = relu(affine(weight, features, bias))
        whole = features, self.cell.project(features)
        if self.encoder:
            return Look(whole, whole[1], None)
        return Look(whole, self.cell.project(Interval(exact)), np.eye(len(exact)))

    def _slope(self, look: Look, size: int) -> Any:
        """What the cell sees, with slopes: those in so many directions of the state are 0."""
        if size not in look.padded:
            assert look.slopes is not None
            slopes = Interval(np.pad(look.slopes, [(0, 0), (size, 0)]))
            look.padded[size] = self.cell.project(Dual(look.whole[0], slopes))
        return look.padded[size]

    def advance(self, look: Look, region: Region) -> Image:
        """What a look makes of a set of states, with a basis, to first order."""
        size, inputs = len(region.radius), 0 if look.slopes is None else len(look.slopes)
        seeds = np.zeros((self.cell.state_size, size + inputs))
        assert region.basis is not None
        seeds[:, :size] = region.basis
        seen = look.whole[1] if look.slopes is None else self._slope(look, size)
        moved = self.cell.update(seen, Dual(enclose(self, region), Interval(seeds)))
        middle = self.cell.update(look.middle, Interval(region.centre[:, None]))
        nothing = Interval(np.zeros_like(seeds))
        offset, slope = self._choose(moved.value, middle), self._choose(nothing, moved.slope)
        radius = np.concatenate([region.radius, np.full(inputs, self.disturbance)])
        return Image(Interval(offset.lower, offset.upper, moved.value.error), radius, slope)

    def _choose(self, sharp: Interval, smooth: Interval) -> Interval:
        """Rows of one for components that jump, and of the other for the rest."""
        rows = self.sharp[:, None]
        return Interval(
            np.where(rows, sharp.lower, smooth.lower), np.where(rows, sharp.upper, smooth.upper)
        )

    def begin(self, look: Look) -> Image:
        """What the first look makes of the state before an episode."""
        size = self.cell.state_size
        return self.advance(look, Region(np.zeros(size), np.zeros(size), np.eye(size)))

    def decide(self, look: Look, box: Interval) -> Interval:
        """The logits, from a look and the states after it."""
        return self.decode({"intervals": look.whole}, box)

    def wrap(self, image: Image) -> Region:
        """A zonotope around an image: the sum of some segments, of which short ones make a box."""
        centre = image.offset.middle[:, 0]
        assert image.slope is not None
        segments = image.slope * image.radius[None]
        order = np.argsort(-np.abs(segments.middle).sum(0), kind="stable")
        kept = np.isin(np.arange(len(order)), order[: MOST_SEGMENTS * len(centre)])
        offset = image.offset - centre[:, None]
        spare = np.where(kept, segments.radius, segments.magnitude)
        sides = ROOM * (round_up(offset.magnitude + offset.error)[:, 0] + spare.sum(1))
        basis = np.hstack([segments.middle[:, kept], np.diag(sides)])
        return Region(centre, np.ones(basis.shape[1]), basis)

    def frame(self, region: Region, basis: np.ndarray, swelling: float) -> Region:
        """A parallelepiped with that basis around a set, with room to spare."""
        radius = measure(self, as_image(self, region), region.centre, basis)
        return Region(region.centre, swelling * radius + TINY, basis)


def _loosen(cell: Any) -> Any:
    """The same cell, with BMRUs that may be near their thresholds."""
    if isinstance(cell, Composition):
        return type(cell)([_loosen(part) for part in cell.cells])
    if not isinstance(cell, BMRU):
        return cell
    loose = LooseBMRU.__new__(LooseBMRU)
    loose.__dict__.update(vars(cell))
    return loose


def _find_sharp(cell: Any) -> np.ndarray:
    """Which components of the state jump, or see what jumps, so that they have no slopes."""
    if not isinstance(cell, Composition):
        return np.full(cell.state_size, isinstance(cell, LooseBMRU))
    sharp = np.concatenate([_find_sharp(part) for part in cell.cells])
    return np.full_like(sharp, sharp.any()) if isinstance(cell, Stack) else sharp
