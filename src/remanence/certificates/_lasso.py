"""Sets that a memory never leaves, however it is disturbed: a way in, then a round that closes.

A lasso is a list of sets. The cue leads into the first, each set into the next, and the last back
into one of them. If the agent acts right in every set, it does so at every length from 2 on.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from remanence.certificates._attractors import differentiate, find_cycle, propose_bases
from remanence.certificates._disturbed import DisturbedPolicy, Look
from remanence.certificates._enclosures import YES, Region, enclose, fits, judge
from remanence.certificates._interval_policy import GOAL_ARMS, RIGHT, Policy
from remanence.certificates._intervals import UndecidedError

MOST_STEPS = 400
MOST_SETS = 512
MOST_BASES = 4
WIDEST = 1e3
NEAR = 1e-4  # of the attractor, so that sets around an orbit can be compared
SETTLED = 1.01  # sets that have grown by no more in a round
SWELLINGS = (1.02, 1.1, 1.5, 3.0)


@dataclasses.dataclass(frozen=True)
class Lasso:
    """Sets, each of which leads into the next, and the last into that number `back`."""

    cue: int
    regions: Sequence[Region]
    back: int


@dataclasses.dataclass(frozen=True)
class Course:
    """What is known of a cue's orbit without disturbance: bases to try, and when it has settled.

    The bases are those of the sets after the cue, one step after the other, again and again.
    """

    cue: int
    settled: int
    bases: Sequence[Sequence[np.ndarray]]


def find_course(policy: Policy, cue: int, max_steps: int = 4000) -> Course:
    """Follow a cue's orbit in floats to the cycle that it ends in."""
    prepared, initial = policy.open(cue)
    states = [policy.update(prepared, initial)]
    for _ in range(max_steps):
        states.append(policy.update(policy.corridor, states[-1]))
        if np.array_equal(states[-1], states[-2]):
            break
    orbit = np.hstack(states)
    points = find_cycle(policy, orbit)
    if points is None:
        raise UndecidedError(f"its orbit does not settle within {max_steps} steps")
    gaps = np.min([np.abs(orbit - point[:, None]).max(0) for point in points], axis=0)
    settled = int(np.argmax(gaps <= NEAR * (1 + np.abs(orbit[:, -1]).max())))
    identity = np.eye(len(orbit))
    if policy.feedforward:
        return Course(cue, settled, [[identity] * len(points)])
    slopes = [differentiate(policy, point) for point in points]
    found = [bases for bases in propose_bases(policy, slopes) if bases[0] is not None]
    # The first point of the cycle is where the orbit ends, and the first set where it begins.
    turns = [-(orbit.shape[1] - 1) % len(bases) for bases in found]
    bases = [[*it[turn:], *it[:turn]] for it, turn in zip(found, turns, strict=True)]
    return Course(cue, settled, bases[:MOST_BASES])


def find_lasso(policy: DisturbedPolicy, course: Course) -> Lasso | None:
    """Sets for a cue whose observations are disturbed as the policy says, if they are found."""
    for bases in course.bases:
        try:
            return _throw(policy, course, bases)
        except (UndecidedError, np.linalg.LinAlgError):
            continue
    return None


def _throw(policy: DisturbedPolicy, course: Course, bases: Sequence[np.ndarray]) -> Lasso:
    judge_region = _Judge(policy, course.cue)
    way = [policy.wrap(policy.begin(judge_region.opening), bases[0])]
    judge_region(way[0], first=True)
    for region in itertools.islice(_follow(policy, way[0], bases, 0), MOST_STEPS):
        judge_region(region)
        way.append(region)
        if _has_settled(way, course.settled, len(bases)):
            break
    number = len(way) - 1
    for swelling in SWELLINGS:
        loop = _close(policy, way[-1], bases, number, swelling)
        if loop is not None:
            for region in loop:
                judge_region(region)
            return Lasso(course.cue, [*way[:-1], *loop], number)
    raise UndecidedError("no set around its attractor is mapped into itself")


def _follow(
    policy: DisturbedPolicy, region: Region, bases: Sequence[np.ndarray], number: int
) -> Iterator[Region]:
    """The sets after a set that has this number."""
    corridor = policy.look([0, 0], RIGHT)
    while True:
        number += 1
        region = policy.wrap(policy.advance(corridor, region), bases[number % len(bases)])
        if not np.all(region.radius <= WIDEST):
            raise UndecidedError("a set bursts")
        yield region


def _has_settled(way: Sequence[Region], settled: int, period: int) -> bool:
    if len(way) <= settled + period:
        return False
    now, before = way[-1], way[-1 - period]
    return bool(np.all(now.radius <= SETTLED * before.radius))


def _close(
    policy: DisturbedPolicy,
    region: Region,
    bases: Sequence[np.ndarray],
    number: int,
    swelling: float,
) -> list[Region] | None:
    """Sets from a swollen one on that lead back into it."""
    swollen = dataclasses.replace(region, radius=swelling * region.radius + 1e-12)
    corridor = policy.look([0, 0], RIGHT)
    loop = [swollen]
    try:
        for after in itertools.islice(_follow(policy, swollen, bases, number), MOST_SETS):
            if len(loop) % len(bases) == 0:
                if fits(policy, policy.advance(corridor, loop[-1]), swollen):
                    return loop
                if len(loop) >= 8 * len(bases):
                    return None
            loop.append(after)
    except UndecidedError:
        return None
    return None


class _Judge:
    """Raises unless the agent surely walks on in a set, and would surely take the goal's arm."""

    def __init__(self, policy: DisturbedPolicy, cue: int):
        self._policy, self._arm = policy, GOAL_ARMS[cue]
        self.opening = policy.look([cue, 0])
        self._corridor, self._junction = (policy.look([0, flag], RIGHT) for flag in (0, 1))

    def __call__(self, region: Region, first: bool = False) -> None:
        seen = self.opening if first else self._corridor
        self._demand(seen, enclose(self._policy, region), RIGHT)
        turned = self._policy.box(self._policy.advance(self._junction, region))
        self._demand(self._junction, turned, self._arm)

    def _demand(self, look: Look, box: object, action: int) -> None:
        if judge(self._policy.decide(look, box), action)[0] != YES:
            raise UndecidedError("it may act otherwise in a set")
