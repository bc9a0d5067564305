"""Certificates: on which lengths of the T-maze an agent acts right, for all lengths there are.

Two certificates in one. The bitwise one is about the compiled program that acts: its states are
finitely many, every orbit closes, and what has been seen of it is all there is. The one by
contraction is about the map on the real numbers, and so about any hardware's rounding.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from remanence.envs import AbstractEnvironment, describe
from remanence.errors import InvalidOptionError, StoreError
from remanence.evaluation._arrivals import Undecided
from remanence.evaluation._contraction import prove_contraction
from remanence.evaluation._course import chart_course, find_optimal, find_solved
from remanence.evaluation._failures import Failure, explain_loss, explain_waste
from remanence.evaluation._itinerary import Itinerary
from remanence.evaluation._lengths import LengthSet
from remanence.evaluation._orbit import Closure
from remanence.evaluation._theory import (
    Condition,
    check_compatible,
    check_multistability,
    check_separating,
    find_merge,
    measure_distance,
)
from remanence.evaluation._walker import GOALS, Walker
from remanence.evaluation.check_certificate import hash_environment, hash_policy
from remanence.networks import Agent
from remanence.store import name_leaves, read_json, write_json

KIND, FORMAT = "remanence certificate", 1
BUDGET = 1_000_000
_VERSIONED = ("remanence", "jax", "jaxlib", "numpy")


def read_certificate(path: Path) -> dict[str, Any]:
    """A certificate as JSON has it, if it is one that this version reads."""
    found = read_json(path)
    if not isinstance(found, dict) or (found.get("kind"), found.get("format")) != (KIND, FORMAT):
        raise StoreError(path, "not a certificate that this version reads", "make it anew")
    return found


@dataclasses.dataclass(frozen=True)
class Horizons:
    """The lengths on which something holds; None where that is undecided, and then why."""

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
class Certificate:
    """What is known of all lengths, for one agent in one T-maze.

    `optimal`: the right arm in the fewest steps. `solved`: the right arm within the time limit.
    `closures`: transient and period of each goal's orbit, None where it did not close within
    `budget` steps. `merge`: the step from which on the cues have left the same memory, the exact
    memory span; None if they never do, or not within the budget. `distance`: how far apart the
    states are that the cues end in. `contraction`: verdict and evidence for the map on the real
    numbers.
    """

    agent: Mapping[str, Any]
    environment: Mapping[str, Any]
    budget: int
    optimal: Horizons
    solved: Horizons
    closures: Mapping[int, Closure | None]
    compatible: Condition
    separating: Condition
    merge: int | None
    distance: float | None
    multistability: tuple[Condition, ...]
    contraction: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The certificate as the independent checker reads it."""
        return _drop_infinities(
            {
                "kind": KIND,
                "format": FORMAT,
                "agent": dict(self.agent),
                "environment": dict(self.environment),
                "bitwise": {
                    "budget": self.budget,
                    "optimal": _write_lengths(self.optimal),
                    "solved": _write_lengths(self.solved),
                    "reasons": {"optimal": self.optimal.reason, "solved": self.solved.reason},
                    "failures": {
                        "optimal": _write_failure(self.optimal),
                        "solved": _write_failure(self.solved),
                    },
                    "cues": [
                        {"cue": goal, "transient": transient, "period": period}
                        for goal, (transient, period) in (
                            (goal, closure or (None, None))
                            for goal, closure in self.closures.items()
                        )
                    ],
                    "merge": self.merge,
                    "distance": self.distance,
                    "compatible": dataclasses.asdict(self.compatible),
                    "separating": dataclasses.asdict(self.separating),
                    "multistability": [dataclasses.asdict(part) for part in self.multistability],
                    "backend": jax.default_backend(),
                },
                "contraction": dict(self.contraction),
                "versions": {name: version(name) for name in _VERSIONED},
            }
        )

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_json(Path(path), self.to_json())


def certify(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = BUDGET
) -> Certificate:
    """Settle how a greedy agent does on every length of the T-maze.

    `budget` bounds the steps for which an orbit is followed, and those for which all lingering at
    junctions is; where that is not enough, the verdict is "undecided", never a guess. Of the
    parameters of `env`, only the time limit matters.
    """
    if budget < 1:
        raise InvalidOptionError("budget", budget, "use 1 step or more")
    environment, params = env
    walker = Walker(agent, environment)
    itineraries = {goal: Itinerary(walker, goal, lingering_budget=budget) for goal in GOALS}
    limit_factor = int(np.max(params.limit_factor))
    optimal = _find_optimal(itineraries, budget)
    solved = _find_solved(itineraries, limit_factor, budget)
    names = environment.action_names
    return Certificate(
        agent=_identify(agent),
        environment=_identify_environment(environment, params),
        budget=budget,
        optimal=optimal,
        solved=solved,
        closures={goal: itinerary.orbit.closure for goal, itinerary in itineraries.items()},
        compatible=check_compatible(itineraries, names),
        separating=check_separating(itineraries, names),
        merge=find_merge(*itineraries.values()),
        distance=measure_distance(*itineraries.values()),
        multistability=check_multistability(itineraries),
        contraction=prove_contraction(agent, environment, params),
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


def _identify(agent: Agent) -> dict[str, Any]:
    arrays = name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})
    architecture = json.loads(agent.architecture.to_json())
    return {"sha256": hash_policy(arrays), "architecture": architecture}


def _identify_environment(environment: AbstractEnvironment, params: Any) -> dict[str, Any]:
    described = describe(environment, params)
    return {**described, "sha256": hash_environment(described)}


def _drop_infinities(value: Any) -> Any:
    """The same with None for every number that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _drop_infinities(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_drop_infinities(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_lengths(horizons: Horizons) -> dict[str, Any] | None:
    return None if horizons.lengths is None else horizons.lengths.to_json()


def _write_failure(horizons: Horizons) -> dict[str, Any] | None:
    return None if horizons.failure is None else dataclasses.asdict(horizons.failure)
