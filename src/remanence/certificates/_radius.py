"""How robust a memory is: a radius of disturbances that it survives for ever, and one that it does
not.

Every observation may be off by as much as the radius in each of its numbers, each step anew. The
truth lies between a radius that is proved and one at which a disturbance was found.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates._attack import LARGEST, Break, attack
from remanence.certificates._disturbed import DisturbedPolicy
from remanence.certificates._identity import (
    AbstractDocument,
    identify_agent,
    identify_environment,
    take_policy,
)
from remanence.certificates._interval_policy import Policy
from remanence.certificates._intervals import UndecidedError
from remanence.certificates._lasso import Lasso, RoundPlan, find_lasso, plan_rounds
from remanence.certificates._walker import GOALS, check_walkable
from remanence.envs import AbstractEnvironment
from remanence.networks import Agent

KIND, FORMAT = "remanence radius", 1
SMALLEST = 1e-5
NUM_HALVINGS = 8
# Of the radius that sets were found for, so that a coarser arithmetic finds them good as well.
CLAIMED = 0.98


@dataclasses.dataclass(frozen=True)
class Radius(AbstractDocument):
    """What disturbances of observations an agent survives at every length from 2 on, for ever.

    `certified` is 0 where nothing is proved. `broken` is a disturbance that makes it act wrong; its
    radius is 0 if it does so without any, and None means that none was found.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> radius = certificates.find_radius(agent, envs.make("tmaze"))
    >>> radius.certified, radius.broken.radius, len(radius.broken.observations)
    (0.0, 0.0, 14)
    >>> radius.save("radius.json")
    >>> sorted(radius.to_json())
    ['agent', 'broken', 'certified', 'environment', 'format', 'kind']
    """

    certified: float
    lassos: Sequence[Lasso]
    broken: Break | None

    def to_json(self) -> dict[str, Any]:
        cues = [_write_lasso(lasso) for lasso in self.lassos]
        return {
            **self.describe_subject(KIND, FORMAT),
            "certified": {"radius": self.certified, "cues": cues} if cues else None,
            "broken": None if self.broken is None else _write_break(self.broken),
        }


def find_radius(agent: Agent, env: tuple[AbstractEnvironment, Any]) -> Radius:
    """Prove a radius for a greedy agent in a T-maze, and look for a disturbance that breaks it.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificates.find_radius(agent, envs.make("tmaze")).broken.at_junction
    True
    """
    environment, params = env
    check_walkable(agent, environment)
    identity = identify_environment(environment, params)
    broken = attack(agent, identity["previous_action"])
    with np.errstate(all="ignore"):
        prover = _Prover(*take_policy(agent), identity["previous_action"])
        certified, lassos = prover.search(LARGEST if broken is None else broken.radius)
    return Radius(identify_agent(agent), identity, certified, lassos, broken)


class _Prover:
    """Looks for the largest radius for which there is a lasso after each cue."""

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        architecture: Mapping[str, Any],
        previous_action: bool,
    ):
        self._network = arrays, architecture, previous_action

    def search(self, largest: float) -> tuple[float, Sequence[Lasso]]:
        """By halving, in logarithms."""
        try:
            policy = Policy(*self._network)
            plans = [plan_rounds(policy, cue) for cue in GOALS]
        except (UndecidedError, np.linalg.LinAlgError):
            return 0.0, ()
        low, high, found = SMALLEST, largest, ()
        for number in range(1 + NUM_HALVINGS if low < high else 0):
            middle = low if number == 0 else float(np.sqrt(low * high))
            lassos = self._try(plans, middle)
            if number == 0 and not lassos:
                break
            low, high, found = (middle, high, lassos) if lassos else (low, middle, found)
        return (CLAIMED * low if found else 0.0), found

    def _try(self, plans: Sequence[RoundPlan], radius: float) -> Sequence[Lasso]:
        policy = DisturbedPolicy(*self._network, radius)
        lassos = []
        for plan in plans:
            lasso = find_lasso(policy, plan)
            if lasso is None:
                return ()
            lassos.append(lasso)
        return tuple(lassos)


def _write_lasso(lasso: Lasso) -> dict[str, Any]:
    region = lasso.region
    assert region.basis is not None
    is_box = np.array_equal(region.basis, np.eye(len(region.radius)))
    return {
        "cue": lasso.cue,
        "steps": lasso.steps,
        "round": lasso.round,
        "centre": region.centre.tolist(),
        "radius": region.radius.tolist(),
        "basis": None if is_box else region.basis.tolist(),
    }


def _write_break(broken: Break) -> dict[str, Any]:
    return {
        "radius": broken.radius,
        "cue": broken.cue,
        "at_junction": broken.at_junction,
        "observations": broken.observations.tolist(),
    }


def make_radius_row(found: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table of radii, from what `Radius.to_json` wrote.

    >>> from remanence import certificates
    >>> certificates.make_radius_row({"certified": {"radius": 0.5}, "broken": None})
    {'radius_certified': 0.5, 'radius_broken': None}
    """
    certified, broken = found["certified"], found["broken"]
    return {
        "radius_certified": certified["radius"] if certified else 0.0,
        "radius_broken": broken["radius"] if broken else None,
    }
