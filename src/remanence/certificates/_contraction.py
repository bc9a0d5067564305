"""Finds evidence that an agent's orbits end in sets that the idle map carries into themselves.

The search is in ordinary floats; `derive_lengths` then makes a proof of what it has found.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from remanence.certificates._attractors import (
    chain,
    differentiate,
    find_cycle,
    find_sets,
    run_floats,
)
from remanence.certificates._enclosures import (
    Evidence,
    Region,
    as_image,
    bursts,
    derive_lengths,
    fits,
    follow_orbit,
    judge_floats,
)
from remanence.certificates._identity import take_policy
from remanence.certificates._interval_policy import GOAL_ARMS, Policy
from remanence.certificates._intervals import UndecidedError
from remanence.certificates._lengths import LengthSet
from remanence.envs import AbstractEnvironment, describe
from remanence.errors import InvalidOptionError
from remanence.networks import Agent

MAX_ENCLOSED = 1200  # steps after which an orbit that is not near its attractor is left
MAX_WAIT = 64  # steps for an enclosure to follow its orbit into a set


@dataclasses.dataclass(frozen=True)
class _Orbit:
    """States of the idle map in floats, one in each column, and where the agent stops walking."""

    cue: int
    states: np.ndarray
    stop: int | None


@dataclasses.dataclass(frozen=True)
class Contraction:
    """The lengths that are proved to be optimal, with the evidence; or why there are none."""

    optimal: LengthSet | None
    evidence: Sequence[Evidence] = ()
    reason: str | None = None

    def to_json(self) -> dict[str, Any] | None:
        """What is claimed, as the checker reads it; nothing if nothing is proved."""
        if self.optimal is None:
            return None
        return {
            "optimal": self.optimal.to_json(),
            "cues": [_write_evidence(part) for part in self.evidence],
        }


def prove_contraction(
    agent: Agent, env: AbstractEnvironment, params: Any, *, max_steps: int = 4000
) -> Contraction:
    """Prove at which lengths of the T-maze the agent is optimal, whatever rounds its numbers.

    The proof is for the map on the real numbers and for every program whose operations are right to
    binary32's precision. `max_steps` bounds how long an orbit is followed.
    """
    described = describe(env, params)
    if described["name"] != "tmaze":
        raise InvalidOptionError("env", described["class"], "contraction is proved in the T-maze")
    arrays, architecture = take_policy(agent)
    with np.errstate(all="ignore"):
        try:
            policy = Policy(arrays, architecture, described["previous_action"])
            return search_proof(policy, max_steps)
        except (UndecidedError, np.linalg.LinAlgError) as error:
            return Contraction(None, reason=str(error))


def search_proof(policy: Policy, max_steps: int) -> Contraction:
    """The same for a policy on intervals."""
    orbits = [_run_orbit(policy, cue, max_steps) for cue in GOAL_ARMS]
    stops = [orbit.stop for orbit in orbits if orbit.stop is not None]
    if stops:
        # Whoever stops in the corridor fails at all longer lengths, wherever the orbits end.
        return _derive(policy, [_cite(policy, orbit, min(stops) + 1) for orbit in orbits])
    found = [_settle(policy, orbit) for orbit in orbits]
    ends = [cited.steps + len(cited.phases) for cited, _ in found if cited.phases]
    reasons = [f"cue {cited.cue}: {reason}" for cited, reason in found if reason]
    if not ends:
        return Contraction(None, reason="; ".join(reasons))
    # An orbit without an attractor is listed for a step, or as far as the other one: that suffices
    # if the agent fails for ever with the other cue.
    proofs = (
        _derive(
            policy,
            [it if it.phases else dataclasses.replace(it, steps=steps) for it, _ in found],
            "; ".join(reasons),
        )
        for steps in (1, min(max(ends), max_steps))
    )
    one = next(proofs)
    return one if one.optimal is not None else next(proofs)


def _derive(policy: Policy, evidence: list[Evidence], doubts: str = "") -> Contraction:
    try:
        return Contraction(derive_lengths(policy, evidence), evidence)
    except (UndecidedError, np.linalg.LinAlgError) as error:
        return Contraction(None, reason=doubts or str(error))


def _run_orbit(policy: Policy, cue: int, max_steps: int) -> _Orbit:
    states = run_floats(policy, cue, max_steps)
    walks = judge_floats(policy, cue, states).walks
    stop = int(np.argmin(walks)) if not walks.all() else None
    return _Orbit(cue, states, stop)


def _cite(policy: Policy, orbit: _Orbit, steps: int, phases: Sequence[Region] = ()) -> Evidence:
    return Evidence(orbit.cue, steps, turning=not policy.feedforward, phases=phases)


def _write_evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "cue": evidence.cue,
        "steps": evidence.steps,
        "enclosure": "parallelepipeds" if evidence.turning else "boxes",
        "attractor": [_write_region(phase) for phase in evidence.phases] or None,
    }


def _write_region(region: Region) -> dict[str, Any]:
    basis = None if region.basis is None else region.basis.tolist()
    if basis == np.eye(len(region.radius)).tolist():
        basis = "identity"
    return {"centre": region.centre.tolist(), "radius": region.radius.tolist(), "basis": basis}


def _settle(policy: Policy, orbit: _Orbit) -> tuple[Evidence, str | None]:
    """Evidence with the attractor of an orbit, or without it and the reason."""
    try:
        step, phases = _find_attractor(policy, orbit)
    except (UndecidedError, np.linalg.LinAlgError) as error:
        return _cite(policy, orbit, 1), str(error)
    return _cite(policy, orbit, step, phases), None


def _find_attractor(policy: Policy, orbit: _Orbit) -> tuple[int, Sequence[Region]]:
    """At which step the orbit enters the first of which sets."""
    length = f"{orbit.states.shape[1] - 1} steps"
    points = find_cycle(policy, orbit.states)
    if points is None:
        raise UndecidedError(f"its orbit does not settle within {length}")
    slopes = [differentiate(policy, point) for point in points]
    radius = max(np.abs(np.linalg.eigvals(chain(slopes))), default=0.0)
    if not radius < 1:
        raise UndecidedError(f"its attractor does not contract (by {radius:.9g} a round)")
    enclosure = _Enclosure(policy, orbit)
    candidates = find_sets(policy, orbit.cue, points, slopes)
    for phases in candidates:
        entry = enclosure.find_entry(phases)
        if entry is not None:
            step, first = entry
            return step, [*phases[first:], *phases[:first]]
    if not candidates:
        raise UndecidedError(
            f"no set around its attractor is mapped into itself with one decision "
            f"(it contracts by {radius:.9g} a round)"
        )
    raise UndecidedError(f"its orbit may not be near its attractor after {length}")


class _Enclosure:
    """Regions around an orbit, computed as far as they are asked for."""

    def __init__(self, policy: Policy, orbit: _Orbit):
        self._policy, self._states = policy, orbit.states
        self._regions = follow_orbit(policy, orbit.cue, turning=not policy.feedforward)
        self._known: list[Region] = []

    def find_entry(self, phases: Sequence[Region]) -> tuple[int, int] | None:
        """A step, from 1 on, that surely finds the orbit in a set, and in which one."""
        near = self._find_near(phases)
        if near is None or (near > MAX_ENCLOSED and not self._policy.feedforward):
            return None
        for step in range(near, near + MAX_WAIT + len(phases)):
            region = self._look_up(step)
            if region is None:
                return None
            for number, phase in enumerate(phases):
                if fits(self._policy, as_image(self._policy, region), phase, room=0.5):
                    return step, number
        return None

    def _find_near(self, phases: Sequence[Region]) -> int | None:
        """The first step, from 1 on, at which the orbit itself is well inside a set."""
        moving, entries = ~self._policy.discrete, []
        for phase in phases:
            offset = self._states - phase.centre[:, None]
            inner = offset[moving]
            if phase.basis is not None:
                inner = np.linalg.solve(phase.basis, inner)
            inside = (np.abs(inner) <= 0.4 * phase.radius[:, None]).all(0)
            inside &= (offset[self._policy.discrete] == 0).all(0)
            inside[0] = False
            entries += [int(inside.argmax())] if inside.any() else []
        return min(entries, default=None)

    def _look_up(self, step: int) -> Region | None:
        """The region at a step; None if it has burst by then."""
        while len(self._known) <= step:
            if self._known and bursts(self._known[-1]):
                return None
            self._known.append(next(self._regions))
        return None if bursts(self._known[step]) else self._known[step]
