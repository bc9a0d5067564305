"""A memory that is never lost, however it is disturbed: a way into a set, and a round back into it.

After the cue and some steps the memory is in a set, and after a round of some steps more it is in
that set again. If the agent acts right all the way, it does so at every length from 2 on. On the
way sets are zonotopes, which follow from the set that they begin with.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from remanence.certificates._attractors import (
    differentiate,
    find_cycle,
    propose_bases,
    run_floats,
)
from remanence.certificates._disturbed import DisturbedPolicy, Look
from remanence.certificates._enclosures import YES, Region, as_image, enclose, fits, judge
from remanence.certificates._interval_policy import GOAL_ARMS, Policy
from remanence.certificates._intervals import Interval, UndecidedError
from remanence.certificates._walker import RIGHT

MOST_ROUND = 48
MOST_BASES = 2
WIDEST = 1e3
NEAR = (0.1, 1e-2, 1e-3, 1e-5)  # to the attractor: where a round may begin
SWELLINGS = (1.05, 2.0)


@dataclasses.dataclass(frozen=True)
class Lasso:
    """After so many steps from the cue on, the memory is in a set, and so it is in every round."""

    cue: int
    steps: int
    round: int
    region: Region


@dataclasses.dataclass(frozen=True)
class RoundPlan:
    """Of a cue's orbit without disturbance: when to try a round, and in which bases."""

    cue: int
    times: Sequence[int]
    period: int
    bases: Sequence[np.ndarray]


def plan_rounds(policy: Policy, cue: int, max_steps: int = 4000) -> RoundPlan:
    """Follow a cue's orbit in floats to the cycle that it ends in."""
    orbit = run_floats(policy, cue, max_steps)
    points = find_cycle(policy, orbit)
    if points is None:
        raise UndecidedError(f"its orbit does not settle within {max_steps} steps")
    gap = np.abs(orbit - points[0][:, None]).max(0)
    near = [int(np.argmax(gap <= share * (1 + np.abs(points[0]).max()))) for share in NEAR]
    bases = [np.eye(len(orbit))]
    if not policy.feedforward:
        slopes = [differentiate(policy, point) for point in points]
        found = [proposed[0] for proposed in propose_bases(policy, slopes)]
        bases = [basis for basis in found if basis is not None] + bases
    return RoundPlan(cue, sorted({*near, near[-1] + 2}), len(points), bases[:MOST_BASES])


def find_lasso(policy: DisturbedPolicy, plan: RoundPlan) -> Lasso | None:
    """A lasso for a cue whose observations are disturbed as the policy says, if one is found."""
    follower = Follower(policy, plan.cue)
    try:
        region = follower.begin()
        for time in range(plan.times[-1] + 1):
            found = _close(follower, region, plan) if time in plan.times else None
            if found is not None:
                return Lasso(plan.cue, time, *found)
            region = follower.advance(region)
    except UndecidedError:
        pass
    return None


def _close(follower: "Follower", region: Region, plan: RoundPlan) -> tuple[int, Region] | None:
    """A set around another one, and after how many steps all that begins in it is in it again."""
    for basis, swelling in itertools.product(plan.bases, SWELLINGS):
        try:
            frame = follower.policy.frame(region, basis, swelling)
            return _go_round(follower, frame, plan.period), frame
        except (UndecidedError, np.linalg.LinAlgError):
            continue
    return None


def _go_round(follower: "Follower", frame: Region, period: int) -> int:
    follower.judge(frame)
    region = frame
    for number in range(1, MOST_ROUND + period):
        region = follower.advance(region)
        image = as_image(follower.policy, region)
        if number % period == 0 and fits(follower.policy, image, frame):
            return number
    raise UndecidedError("what begins in a set does not come back into it")


class Follower:
    """Sets of memories step by step; raises `UndecidedError` unless the agent acts right in each.

    Right is to walk on, and to take the goal's arm if the junction were seen next.
    """

    def __init__(self, policy: DisturbedPolicy, cue: int):
        self.policy, self._arm = policy, GOAL_ARMS[cue]
        self._opening = policy.look([cue, 0])
        self._corridor, self._junction = (policy.look([0, flag], RIGHT) for flag in (0, 1))

    def begin(self) -> Region:
        """The memories after the cue."""
        region = self.policy.wrap(self.policy.begin(self._opening))
        self.judge(region, self._opening)
        return region

    def advance(self, region: Region) -> Region:
        """The memories one step down the corridor."""
        region = self.policy.wrap(self.policy.advance(self._corridor, region))
        if not np.all(enclose(self.policy, region).magnitude <= WIDEST):
            raise UndecidedError("a set bursts")
        self.judge(region)
        return region

    def judge(self, region: Region, look: Look | None = None) -> None:
        """Raise unless the agent surely acts right after that look, else the corridor's."""
        self._demand(look or self._corridor, enclose(self.policy, region), RIGHT)
        turned = self.policy.wrap(self.policy.advance(self._junction, region))
        self._demand(self._junction, enclose(self.policy, turned), self._arm)

    def _demand(self, look: Look, box: Interval, action: int) -> None:
        if judge(self.policy.decide(look, box), action)[0] != YES:
            raise UndecidedError("it may act otherwise in a set")
