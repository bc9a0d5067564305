"""Finds evidence that an agent's orbits end in sets that the idle map carries into themselves.

The search is in ordinary floats; `derive_lengths` then makes a proof of what it has found.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import numpy as np
import scipy.linalg
from jaxtyping import Float

from remanence.certificates._enclosures import (
    UNKNOWN,
    Evidence,
    Region,
    as_image,
    bursts,
    derive_lengths,
    fits,
    follow_orbit,
    judge_attractor,
    judge_floats,
    map_region,
)
from remanence.certificates._interval_policy import GOAL_ARMS, Policy
from remanence.certificates._intervals import UndecidedError
from remanence.certificates._lengths import LengthSet
from remanence.envs import AbstractEnvironment, describe
from remanence.errors import InvalidOptionError
from remanence.networks import Agent
from remanence.store import name_leaves

Matrix = Float[np.ndarray, "size size"]

MAX_PERIOD = 64
MAX_ENCLOSED = 1200  # steps after which an orbit that is not near its attractor is left
MAX_WAIT = 64  # steps for an enclosure to follow its orbit into a set
MAX_PHASES = 512
MOST_SHRINKING = 12  # times by 4; smaller sets are lost in binary32's rounding


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
    arrays = name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})
    architecture = json.loads(agent.architecture.to_json())
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
    prepared, initial = policy.open(cue)
    states = [policy.update(prepared, initial)]
    for _ in range(max_steps):
        states.append(policy.update(policy.corridor, states[-1]))
        if np.array_equal(states[-1], states[-2]):
            break
    joined = np.hstack(states)
    walks = judge_floats(policy, cue, joined).walks
    stop = int(np.argmin(walks)) if not walks.all() else None
    return _Orbit(cue, joined, stop)


def _cite(policy: Policy, orbit: _Orbit, steps: int, phases: Sequence[Region] = ()) -> Evidence:
    return Evidence(orbit.cue, steps, turning=not _is_feedforward(policy), phases=phases)


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


def _is_feedforward(policy: Policy) -> bool:
    """Whether units see only themselves and layers below, so that boxes do not wrap."""
    return policy.architecture["cell"] in ("mingru", "bmru", "hybrid")


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
    points = _find_cycle(policy, orbit)
    if points is None:
        raise UndecidedError(f"its orbit does not settle within {length}")
    slopes = [_differentiate(policy, point) for point in points]
    radius = max(np.abs(np.linalg.eigvals(_chain(slopes))), default=0.0)
    if not radius < 1:
        raise UndecidedError(f"its attractor does not contract (by {radius:.9g} a round)")
    enclosure = _Enclosure(policy, orbit)
    candidates = _find_sets(policy, orbit.cue, points, slopes)
    for phases in candidates:
        entry = enclosure.find_entry(phases)
        if entry is not None:
            step, first = entry
            return step, [*phases[first:], *phases[:first]]
    if not candidates:
        raise UndecidedError(
            f"no set around its attractor is mapped into itself and decides alike "
            f"(it contracts by {radius:.9g} a round)"
        )
    raise UndecidedError(f"its orbit is not surely near its attractor after {length}")


def _find_cycle(policy: Policy, orbit: _Orbit) -> list[np.ndarray] | None:
    """The points of the cycle that the orbit's end is near to, polished by Newton's method."""
    states = orbit.states.T
    last = states[-1]
    if np.array_equal(last, states[-2]):
        return [last]
    gaps = np.abs(states[:-1][: -MAX_PERIOD - 1 : -1] - last).max(1)
    near = np.flatnonzero(gaps <= 1e-6 * (1 + np.abs(last).max()))
    if not len(near):
        return None
    period = int(near[0]) + 1
    points = _unroll(policy, last, period)
    for _ in range(10):
        change = _unroll(policy, points[-1], 2)[-1] - points[0]
        if np.abs(change).max() <= 1e-14 * (1 + np.abs(points[0]).max()):
            break
        moving = ~policy.discrete
        chain = _chain([_differentiate(policy, point) for point in points])
        step = np.linalg.solve(np.eye(len(chain)) - chain, change[moving])
        first = points[0].copy()
        first[moving] += step
        points = _unroll(policy, first, period)
    return points if np.isfinite(points).all() else None


def _unroll(policy: Policy, state: np.ndarray, num_states: int) -> list[np.ndarray]:
    states = [state[:, None]]
    while len(states) < num_states:
        states.append(policy.update(policy.corridor, states[-1]))
    return [column[:, 0] for column in states]


def _differentiate(policy: Policy, point: np.ndarray) -> Matrix:
    """The Jacobian of the idle map in the continuous components of the state."""
    size = int(np.count_nonzero(~policy.discrete))
    region = Region(point, np.zeros(size), np.eye(size))
    slope = map_region(policy, region).slope
    assert slope is not None
    return slope.middle


def _chain(slopes: Sequence[Matrix]) -> Matrix:
    product = np.eye(len(slopes[0]))
    for slope in slopes:
        product = slope @ product
    return product


def _find_sets(
    policy: Policy, cue: int, points: Sequence[np.ndarray], slopes: Sequence[Matrix]
) -> list[list[Region]]:
    """Sets around a cycle that are mapped one into the next; the best first, none if none are."""
    for bases in _propose_bases(policy, slopes):
        turns = [slopes[number % len(slopes)] for number in range(len(bases))]
        radii = _balance_radii(bases, turns)
        if radii is None:
            continue
        proposals = [
            [
                Region(points[number % len(points)], scale * radius, basis)
                for number, (basis, radius) in enumerate(zip(bases, radii, strict=True))
            ]
            for scale in 0.25 ** np.arange(MOST_SHRINKING)
        ]
        accepted = [phases for phases in proposals if _accept(policy, cue, phases)]
        # The largest are bent most by the map, the smallest moved most by rounding: those between
        # suit an arithmetic that is coarser than this one, as the checker's is.
        if accepted:
            return accepted[len(accepted) // 2 :: -1]
    return []


def _accept(policy: Policy, cue: int, phases: Sequence[Region]) -> bool:
    try:
        conduct = judge_attractor(policy, cue, phases)
    except (UndecidedError, np.linalg.LinAlgError):
        return False
    return UNKNOWN not in (*conduct.walks, *conduct.turns)


def _balance_radii(
    bases: Sequence[Matrix | None], slopes: Sequence[Matrix]
) -> list[np.ndarray] | None:
    """Radii with r_(j+1) = |W_(j+1) J_j V_j| r_j + 1 around the cycle, the largest scaled to 1."""
    size = len(slopes[0])
    try:
        shares = list(_share_slopes(bases, slopes))
    except np.linalg.LinAlgError:
        return None
    slack = np.zeros(size)
    for share in shares:
        slack = share @ slack + 1
    radii = [np.linalg.solve(np.eye(size) - _chain(shares), slack)]
    # With shares of 0 or more, a solution above 0 is there only if their product contracts.
    if not (radii[0] > 0).all():
        return None
    for share in shares[:-1]:
        radii.append(share @ radii[-1] + 1)
    largest = max(radius.max(initial=1.0) for radius in radii)
    return [radius / largest for radius in radii]


def _share_slopes(
    bases: Sequence[Matrix | None], slopes: Sequence[Matrix]
) -> Iterator[Float[np.ndarray, "size size"]]:
    """How much of each coordinate of a set goes into each coordinate of the next, at most."""
    for number, (basis, slope) in enumerate(zip(bases, slopes, strict=True)):
        target = bases[(number + 1) % len(bases)]
        turned = slope if basis is None else slope @ basis
        yield np.abs(turned if target is None else np.linalg.solve(target, turned))


def _propose_bases(policy: Policy, slopes: Sequence[Matrix]) -> Iterator[Sequence[Matrix | None]]:
    """Bases for each point of a cycle, gone round once or more, in which it may contract."""
    if not _is_feedforward(policy):
        rounds = 1
        while rounds * len(slopes) <= MAX_PHASES:
            bases = _follow_eigenvectors(slopes, rounds)
            if _balance_radii(bases, list(slopes) * rounds) is not None:
                yield bases
                break
            rounds *= 2
        if len(slopes) == 1:
            yield from ([_scale_schur(slopes[0], decay)] for decay in (1e-1, 1e-2, 1e-3))
    yield [None] * len(slopes)
    yield [np.eye(len(slopes[0]))] * len(slopes)


def _follow_eigenvectors(slopes: Sequence[Matrix], rounds: int) -> list[Matrix]:
    """Real bases of eigenvectors, those of complex pairs turned along with the map.

    A pair that turns in its plane fits a square only when it has contracted by the square root of
    2, which may take several rounds.
    """
    frames = [_find_eigenvectors([*slopes[n:], *slopes[:n]]) for n in range(len(slopes))]
    if len({frame.shape for frame in frames}) > 1:
        # Eigenvalues that are 0 up to rounding came out real at one point, as a pair at another.
        return [np.eye(len(slopes[0]))] * (rounds * len(slopes))
    vectors, bases = frames[0], []
    for number in range(rounds * len(slopes)):
        pairs = np.abs(np.imag(vectors)).max(0, initial=0) > 0
        bases.append(np.hstack([np.real(vectors), np.imag(vectors[:, pairs])]))
        moved = slopes[number % len(slopes)] @ vectors
        vectors = frames[(number + 1) % len(slopes)]
        overlap = (vectors.conj() * moved).sum(0)
        turns = pairs & (overlap != 0)
        vectors = vectors * np.where(turns, overlap / np.where(turns, np.abs(overlap), 1), 1)
    return bases


def _find_eigenvectors(slopes: Sequence[Matrix]) -> np.ndarray:
    """Eigenvectors of a round trip, largest eigenvalue first, one of each complex pair."""
    values, vectors = np.linalg.eig(_chain(slopes))
    order = np.lexsort([-np.real(values), -np.abs(values).round(12)])
    return vectors[:, [n for n in order if np.imag(values[n]) >= 0]].astype(complex)


def _scale_schur(slope: Matrix, decay: float) -> Matrix:
    """A Schur basis scaled until what is above the diagonal counts little, for defective maps."""
    form, basis = scipy.linalg.schur(slope, sort=None)[:2]
    joined = np.concatenate([[0], np.abs(np.diag(form, -1)) > 0])
    return basis * decay ** np.cumsum(1 - joined)


class _Enclosure:
    """Regions around an orbit, computed as far as they are asked for."""

    def __init__(self, policy: Policy, orbit: _Orbit):
        self._policy, self._states = policy, orbit.states
        self._regions = follow_orbit(policy, orbit.cue, turning=not _is_feedforward(policy))
        self._known: list[Region] = []

    def find_entry(self, phases: Sequence[Region]) -> tuple[int, int] | None:
        """A step, from 1 on, that surely finds the orbit in a set, and in which one."""
        near = self._find_near(phases)
        if near is None or (near > MAX_ENCLOSED and not _is_feedforward(self._policy)):
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
