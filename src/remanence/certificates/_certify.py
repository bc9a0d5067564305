"""Certificates: on which lengths of the T-maze an agent acts right, for all lengths there are.

Of the compiled program and of the portable one, bit for bit: their states are finitely many, every
orbit closes, and what has been seen of it is all there is. And by contraction of the network
itself, however numbers are rounded.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from remanence import __version__
from remanence._numbers import check_whole
from remanence.certificates._arrivals import Undecided
from remanence.certificates._contraction import Contraction, prove_contraction
from remanence.certificates._course import chart_course, find_optimal, find_solved
from remanence.certificates._failures import Failure, explain_loss, explain_waste
from remanence.certificates._itinerary import Itinerary
from remanence.certificates._lengths import LengthSet
from remanence.certificates._orbit import Closure
from remanence.certificates._portable_walker import PortableWalker
from remanence.certificates._theory import (
    Condition,
    Multistability,
    check_compatible,
    check_multistability,
    check_separating,
    find_merge,
    measure_distance,
)
from remanence.certificates._walker import GOALS, AbstractWalker, Walker
from remanence.envs import AbstractEnvironment, describe
from remanence.networks import Agent
from remanence.portable import UnportableError
from remanence.store import describe_machine, name_leaves, write_json

KIND, FORMAT = "remanence certificate", 2
BUDGET = 1_000_000
PORTABLE_BUDGET = 100_000  # NumPy takes a hundred times as long for a step
PORTABLE_VERSION = 1
# Where a memory takes thousands of steps to settle, so may lingering at each of thousands of
# junctions. A small network's steps are cheap, so that it is given so many times the budget for
# that; a larger one less, in proportion to its weights.
MOST_LINGERING, CHEAP_WEIGHTS = 50, 1_000


@dataclasses.dataclass(frozen=True)
class Horizons:
    """The lengths on which something holds; None where that is undecided, and then why.

    >>> from remanence import certificates
    >>> certificates.Horizons(certificates.LengthSet(np.array([True, True, False]), 1)).verdict
    'some lengths'
    >>> certificates.Horizons(None, "its orbit did not close").verdict
    'undecided'
    """

    lengths: LengthSet | None
    reason: str | None = None
    failure: Failure | None = None

    @property
    def verdict(self) -> str:
        """ "every length", "some lengths", "no length" or "undecided"."""
        if self.lengths is None:
            return "undecided"
        if self.lengths.complete:
            return "every length"
        return "some lengths" if self.lengths.listed.any() else "no length"


@dataclasses.dataclass(frozen=True)
class Findings:
    """What is known of all lengths, for one program that acts in one T-maze.

    `optimal`: the right arm in the fewest steps. `solved`: the right arm within the time limit.
    `closures`: transient and period of each cue's orbit, None where it did not close within
    `budget` steps. `merge`: the step from which on the cues have left the same memory, the exact
    memory span; None if they never do, or not within the budget. `distance`: how far apart the
    states are that the cues end in.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> findings = certificates.find_portable(agent, envs.make("tmaze"))
    >>> findings.program["name"], findings.solved.verdict, findings.decided
    ('portable', 'some lengths', True)
    """

    program: Mapping[str, Any]
    budget: int
    optimal: Horizons
    solved: Horizons
    closures: Mapping[int, Closure | None]
    compatible: Condition
    separating: Condition
    multistability: Multistability
    merge: int | None
    distance: float | None

    @property
    def decided(self) -> bool:
        """Whether a larger budget would add nothing."""
        lengths = (self.optimal.lengths, self.solved.lengths)
        return None not in lengths and None not in self.closures.values()

    def to_json(self) -> dict[str, Any]:
        """As a certificate has it; a budget is told only where it did not suffice.

        >>> from remanence import certificates, envs, networks
        >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
        >>> found = certificates.find_portable(agent, envs.make("tmaze")).to_json()
        >>> found["solved"], found["failures"]["solved"]["kind"]
        ({'listed': 14, 'period': 1, 'runs': [[1, 13]]}, 'forgets')
        """
        horizons = {"optimal": self.optimal, "solved": self.solved}
        closures = [(cue, closure or (None, None)) for cue, closure in self.closures.items()]
        return _drop_infinities(
            {
                "program": dict(self.program),
                "budget": None if self.decided else self.budget,
                **{
                    name: None if found.lengths is None else found.lengths.to_json()
                    for name, found in horizons.items()
                },
                "failures": {
                    name: None if found.failure is None else dataclasses.asdict(found.failure)
                    for name, found in horizons.items()
                },
                "cues": [
                    {"cue": cue, "transient": transient, "period": period}
                    for cue, (transient, period) in closures
                ],
                "merge": self.merge,
                "distance": self.distance,
                "compatible": dataclasses.asdict(self.compatible),
                "separating": dataclasses.asdict(self.separating),
                "multistability": dataclasses.asdict(self.multistability),
            }
        )


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What is known of all lengths, for one agent in one T-maze.

    `portable` is None where there is no portable program, and `unportable` then says why.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificate = certificates.certify(agent, envs.make("tmaze"))
    >>> certificate.compiled.solved.verdict, str(certificate.contraction.optimal)
    ('some lengths', 'lengths 1 to 13')
    >>> sorted(certificate.to_json())
    ['agent', 'compiled', 'contraction', 'environment', 'format', 'kind', 'portable']
    >>> certificate.save("certificate.json")
    """

    agent: Mapping[str, Any]
    environment: Mapping[str, Any]
    compiled: Findings
    portable: Findings | None
    contraction: Contraction
    unportable: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The certificate as the independent checker reads it."""
        return {
            "kind": KIND,
            "format": FORMAT,
            "agent": dict(self.agent),
            "environment": dict(self.environment),
            "compiled": self.compiled.to_json(),
            "portable": None if self.portable is None else self.portable.to_json(),
            "contraction": self.contraction.to_json(),
        }

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_json(Path(path), self.to_json())


def certify(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = BUDGET
) -> Certificate:
    """Settle how a greedy agent does on every length of the T-maze.

    `budget` bounds the steps for which an orbit is followed, and, times 50 for a small network,
    those of all lingering at junctions; where that is not enough, the verdict is "undecided", never
    a guess. Of the parameters of `env`, only the time limit matters.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificate = certificates.certify(agent, envs.make("tmaze"))
    >>> print(certificate.compiled.solved.lengths)
    lengths 1 to 13
    """
    environment, params = env
    compiled = find_compiled(agent, env, budget=budget)
    try:
        portable, unportable = find_portable(agent, env, budget=budget), None
    except (Undecided, UnportableError) as reason:
        portable, unportable = None, str(reason).rstrip(".")
    return Certificate(
        agent=identify_agent(agent),
        environment=identify_environment(environment, params),
        compiled=compiled,
        portable=portable,
        contraction=prove_contraction(agent, environment, params),
        unportable=unportable,
    )


def find_compiled(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = BUDGET
) -> Findings:
    """What the program does that JAX compiles on this machine.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> findings = certificates.find_compiled(agent, envs.make("tmaze"))
    >>> str(findings.solved.lengths), findings.solved.failure.kind
    ('lengths 1 to 13', 'forgets')
    """
    check_whole("budget", budget, 1)
    lingering = budget * _afford_lingering(agent)
    return _find(Walker(agent, env[0]), env, name_compiled_program(), budget, lingering)


def _afford_lingering(agent: Agent) -> int:
    """How many times the budget of an orbit all lingering at junctions may take."""
    weights = jax.tree.leaves(eqx.filter(agent.policy, eqx.is_inexact_array))
    num_weights = sum(leaf.size for leaf in weights)
    return max(1, MOST_LINGERING * CHEAP_WEIGHTS // max(CHEAP_WEIGHTS, num_weights))


def name_compiled_program() -> dict[str, Any]:
    """What may change the bits of a compiled program on this machine."""
    return {
        "name": "compiled",
        "remanence": __version__,
        **{name: version(name) for name in ("jax", "jaxlib")},
        "backend": jax.default_backend(),
        "processor": _name_processor(),
    }


def _name_processor() -> str:
    if jax.default_backend() == "cpu":
        return describe_machine()["cpu"]
    return jax.devices()[0].device_kind


def find_portable(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = PORTABLE_BUDGET
) -> Findings:
    """What the portable program does, on this machine and on every other.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> findings = certificates.find_portable(agent, envs.make("tmaze"))
    >>> findings.closures
    {-1: Closure(transient=54, period=1), 1: Closure(transient=52, period=1)}
    """
    walker = PortableWalker(agent, env[0])
    name = {"name": "portable", "version": PORTABLE_VERSION, "precision": walker.precision}
    budget = min(budget, PORTABLE_BUDGET)
    return _find(walker, env, name, budget, lingering=budget, at_once=True)


def _find(
    walker: AbstractWalker,
    env: tuple[AbstractEnvironment, Any],
    program: Mapping[str, Any],
    budget: int,
    lingering: int,
    at_once: bool = False,
) -> Findings:
    itineraries = {goal: Itinerary(walker, goal, lingering, at_once) for goal in GOALS}
    for itinerary in itineraries.values():
        itinerary.orbit.extend(budget)
    names = env[0].action_names
    return Findings(
        program=program,
        budget=budget,
        optimal=_find_optimal(itineraries, budget),
        solved=_find_solved(itineraries, int(np.max(env[1].limit_factor)), budget),
        closures={goal: itinerary.orbit.closure for goal, itinerary in itineraries.items()},
        compatible=check_compatible(itineraries, names),
        separating=check_separating(itineraries, names),
        multistability=check_multistability(itineraries),
        merge=find_merge(*itineraries.values()),
        distance=measure_distance(*itineraries.values()),
    )


def _find_optimal(itineraries: Mapping[int, Itinerary], budget: int) -> Horizons:
    try:
        sets = {goal: find_optimal(itinerary, budget) for goal, itinerary in itineraries.items()}
        lengths = _intersect(sets)
    except Undecided as reason:
        return Horizons(None, str(reason))
    if lengths.first_missing is None:
        return Horizons(lengths)
    goal = _find_culprit(sets, lengths.first_missing)
    return Horizons(lengths, None, explain_waste(itineraries, goal, lengths.first_missing))


def _find_solved(itineraries: Mapping[int, Itinerary], limit_factor: int, budget: int) -> Horizons:
    try:
        sets = {
            goal: find_solved(chart_course(itinerary, budget), goal, limit_factor)
            for goal, itinerary in itineraries.items()
        }
        lengths = _intersect(sets)
    except Undecided as reason:
        return Horizons(None, str(reason))
    if lengths.first_missing is None:
        return Horizons(lengths)
    goal, limit = _find_culprit(sets, lengths.first_missing), limit_factor * lengths.first_missing
    failure = explain_loss(itineraries, goal, lengths.first_missing, limit, budget)
    return Horizons(lengths, None, failure)


def _intersect(sets: Mapping[int, LengthSet]) -> LengthSet:
    one, other = sets.values()
    return one & other


def _find_culprit(sets: Mapping[int, LengthSet], length: int) -> int:
    return next(goal for goal, lengths in sets.items() if length not in lengths)


def identify_agent(agent: Agent) -> dict[str, Any]:
    """By which a certificate knows an agent: the hash of its policy, and its architecture."""
    arrays = name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})
    architecture = json.loads(agent.architecture.to_json())
    return {"sha256": hash_policy(arrays), "architecture": architecture}


def hash_policy(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the names, types, shapes and numbers of the policy's arrays, in hexadecimal.

    Arrays whose names do not begin with "policy." do not count.

    >>> from remanence import certificates
    >>> weights = np.array([0.5, -1.0], np.float32)
    >>> certificates.hash_policy({"policy.weight": weights})[:16]
    '5a350a92cdb61bb1'
    """
    digest = hashlib.sha256()
    for name in sorted(name for name in arrays if name.startswith("policy.")):
        array = np.asarray(arrays[name])
        digest.update(f"{name} {array.dtype.name}{list(array.shape)}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def identify_environment(environment: AbstractEnvironment, params: Any) -> dict[str, Any]:
    """What matters of a T-maze; of its time limit None means that there is none.

    >>> from remanence import certificates, envs
    >>> certificates.identify_environment(*envs.make("tmaze", time_limit_factor=None))
    {'name': 'tmaze', 'previous_action': False, 'time_limit_factor': None}
    """
    described = describe(environment, params)
    return {
        "name": described["name"],
        "previous_action": described["previous_action"],
        "time_limit_factor": int(np.max(params.limit_factor)) or None,
    }


def _drop_infinities(value: Any) -> Any:
    """The same with None for every number that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _drop_infinities(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_drop_infinities(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
