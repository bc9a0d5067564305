"""Sets of states and where the corridor leads them: what makes a proof of a search's guess.

Evidence says where the orbit of a cue goes; what follows from it for all lengths is derived here,
in interval arithmetic. Nobody needs to believe it: `remanence.checker` derives it again.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from remanence.certificates._interval_policy import GOAL_ARMS, Policy
from remanence.certificates._intervals import Dual, Interval, UndecidedError, round_up
from remanence.certificates._lengths import LengthSet
from remanence.certificates._walker import RIGHT

NO, YES, UNKNOWN = 0, 1, -1
ROOM = 0.999
WIDEST_BOX, WIDEST_TURNING = 2.0**60, 2.0**-5


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
    middle = policy.update(policy.corridor, Interval(region.centre[:, None]))
    offset = Interval(middle.lower, middle.upper, moved.value.error)
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
    reach = round_up(offset.magnitude + offset.error)[:, 0]
    if slope is None:
        return reach
    return (slope.magnitude @ Interval(radius[:, None]) + reach[:, None]).upper[:, 0]


def follow_orbit(policy: Policy, cue: int, turning: bool) -> Iterator[Region]:
    """Regions around h_0, h_1, ... in the corridor, h_0 being the state after the cue.

    Parallelepipeds turn with the flow, by QR decomposition (Lohner 1987). The search follows an
    orbit and the proof does so again, so what is known of it is kept with the policy.
    """
    key = (cue, turning)
    known, more = policy.followed.setdefault(key, ([], _follow_orbit(policy, cue, turning)))
    for step in itertools.count():
        if step == len(known):
            try:
                known.append(next(more))
            except Exception:
                policy.followed.pop(key, None)  # nothing comes of a generator that has failed
                raise
        yield known[step]


def _follow_orbit(policy: Policy, cue: int, turning: bool) -> Iterator[Region]:
    prepared, initial = policy.open(cue)
    image = Image(policy.update(prepared, Interval(initial)), np.zeros(0))
    identity = np.eye(int(np.count_nonzero(~policy.discrete)))
    while True:
        offset = _check_discrete(policy, image.offset)
        basis = _turn_basis(image, identity) if turning else None
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


def bursts(region: Region) -> bool:
    """Whether a region is too wide to say much, or for a coarser arithmetic to say the same.

    Boxes are for cells that are linear in their states, where every arithmetic agrees.
    """
    widest = WIDEST_BOX if region.basis is None else WIDEST_TURNING
    return not np.all(region.radius <= widest)


def judge(logits: Interval, action: int) -> np.ndarray:
    """Whether each column's greatest logit is that action's: YES, NO or UNKNOWN."""
    others = np.delete(np.arange(len(logits.lower)), action)
    low, high = logits.lower - 2 * logits.error, logits.upper + 2 * logits.error
    lead, lag = low[action] - high[others].max(0), low[others].max(0) - high[action]
    return np.where(lead > 0, YES, np.where(lag > 0, NO, UNKNOWN))


@dataclasses.dataclass
class Conduct:
    """For corridor states in a row: does the agent walk on, and would it take the goal's arm."""

    walks: np.ndarray
    turns: np.ndarray


def judge_conduct(policy: Policy, cue: int, boxes: Sequence[Interval], start: bool) -> Conduct:
    """What the agent does in each box; at the `start` of an orbit it still sees the cue."""
    if not boxes:
        return Conduct(*np.zeros((2, 0)))
    states = Interval(
        np.hstack([box.lower for box in boxes]), np.hstack([box.upper for box in boxes])
    )
    walks = judge(policy.decode(policy.corridor, states), RIGHT)
    if start:
        walks[0] = judge(policy.decode(policy.open(cue)[0], boxes[0]), RIGHT)[0]
    at_junction = policy.update(policy.junction, states)
    return Conduct(walks, judge(policy.decode(policy.junction, at_junction), GOAL_ARMS[cue]))


def judge_floats(policy: Policy, cue: int, states: np.ndarray) -> Conduct:
    """What the agent does in the states of an orbit, one in each column, in floats."""
    walks = policy.decode(policy.corridor, states).argmax(0)
    walks[0] = policy.decode(policy.open(cue)[0], states[:, :1]).argmax(0)[0]
    at_junction = policy.update(policy.junction, states)
    turns = policy.decode(policy.junction, at_junction).argmax(0)
    return Conduct(np.where(walks == RIGHT, YES, NO), np.where(turns == GOAL_ARMS[cue], YES, NO))


def judge_length_one(policy: Policy, cue: int) -> np.ndarray:
    """Whether the agent takes the goal's arm where the cue is seen at the junction."""
    prepared, initial = policy.open(cue, at_junction=1)
    state = policy.update(prepared, Interval(initial))
    return judge(policy.decode(prepared, state), GOAL_ARMS[cue])


def list_lengths(at_once: np.ndarray, orbit: Conduct, cycle: Conduct | None) -> np.ndarray:
    """Whether the agent succeeds at lengths 1, 2, ...; the cycle is gone through twice."""
    if cycle is None:
        cycle = Conduct(*np.full((2, 1), UNKNOWN))
    walks = np.concatenate([orbit.walks, cycle.walks, cycle.walks])
    turns = np.concatenate([orbit.turns, cycle.turns, cycle.turns])
    stops = np.logical_or.accumulate(walks == NO)
    doubtful = np.logical_or.accumulate(walks == UNKNOWN)
    walked = np.where(stops, NO, np.where(doubtful, UNKNOWN, YES))
    return np.concatenate([at_once, _both(walked, turns)])


def _both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    known = np.where((one == YES) & (other == YES), YES, UNKNOWN)
    return np.where((one == NO) | (other == NO), NO, known)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Where the orbit of a cue goes: into the first of some sets, after some steps.

    Without sets nothing is said of what comes after the steps. `turning` says that the orbit is
    enclosed in parallelepipeds, and not in boxes.
    """

    cue: int
    steps: int
    turning: bool
    phases: Sequence[Region] = ()

    @property
    def period(self) -> int:
        """After how many lengths what is known repeats itself."""
        return max(1, len(self.phases))


def derive_lengths(policy: Policy, evidence: Sequence[Evidence]) -> LengthSet:
    """At which lengths the agent is optimal, from the evidence for both cues and nothing else.

    Raises `UndecidedError` where it does not suffice.
    """
    tracks = [_follow_cue(policy, part) for part in evidence]
    period = math.lcm(*(part.period for part in evidence))
    size = max(map(len, tracks)) + period
    unfolded = [
        np.concatenate([track, np.resize(track[-part.period :], size - len(track))])
        for track, part in zip(tracks, evidence, strict=True)
    ]
    statuses = _both(*unfolded)
    if np.any(statuses == UNKNOWN):
        length = int(np.argmax(statuses == UNKNOWN)) + 1
        raise UndecidedError(f"it is undecided whether the agent succeeds at length {length}")
    return LengthSet(statuses == YES, period)


def _follow_cue(policy: Policy, evidence: Evidence) -> np.ndarray:
    """Whether the agent succeeds at lengths 1, 2, ... after one cue."""
    cue, steps = evidence.cue, evidence.steps
    regions = []
    orbit = follow_orbit(policy, cue, evidence.turning)
    for step, region in enumerate(itertools.islice(orbit, steps + 1)):
        if bursts(region):
            raise UndecidedError(f"the enclosure of the orbit bursts at step {step}")
        regions.append(region)
    boxes = [enclose(policy, region) for region in regions]
    before = judge_conduct(policy, cue, boxes[:steps], start=True)
    if not evidence.phases:
        return list_lengths(judge_length_one(policy, cue), before, None)
    if not fits(policy, as_image(policy, regions[-1]), evidence.phases[0]):
        raise UndecidedError(f"the orbit is not in the attractor's set at step {steps}")
    within = judge_attractor(policy, cue, evidence.phases)
    return list_lengths(judge_length_one(policy, cue), before, within)


def judge_attractor(policy: Policy, cue: int, phases: Sequence[Region]) -> Conduct:
    """What the agent does in sets, if each is mapped into the next, and the last into the first."""
    for number, phase in enumerate(phases):
        target = phases[(number + 1) % len(phases)]
        if not fits(policy, map_region(policy, phase), target):
            raise UndecidedError(f"set {number} of the attractor is not mapped into the next")
    boxes = [enclose(policy, phase) for phase in phases]
    return judge_conduct(policy, cue, boxes, start=False)


def fits(policy: Policy, image: Image, target: Region, room: float = ROOM) -> bool:
    """Whether a set contains an image, with room to spare for an arithmetic that is coarser."""
    exact = image.offset[policy.discrete]
    wanted = target.centre[policy.discrete][:, None]
    if not (np.all(exact.lower == wanted) and np.all(exact.upper == wanted)):
        return False
    radius = measure(policy, image, target.centre, target.basis)
    return bool(np.all(radius <= room * target.radius))
