"""By what a certificate knows the agent, the environment and the program that it is about."""

import abc
import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from remanence.envs import AbstractEnvironment, describe
from remanence.networks import Agent
from remanence.store import describe_machine, list_versions, name_leaves, write_json

PORTABLE_VERSION = 1


@dataclasses.dataclass(frozen=True)
class AbstractDocument(abc.ABC):
    """What is written down for the independent checker, of an agent in an environment."""

    agent: Mapping[str, Any]
    environment: Mapping[str, Any]

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """All of it as the checker reads it."""

    def describe_subject(self, kind: str, format: int) -> dict[str, Any]:
        """What all documents begin with: what they are, and what they are about."""
        return {
            "kind": kind,
            "format": format,
            "agent": dict(self.agent),
            "environment": dict(self.environment),
        }

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_json(Path(path), self.to_json())


def take_policy(agent: Agent) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of an agent's policy by name, and its architecture, as its file has them."""
    arrays = name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})
    return arrays, json.loads(agent.architecture.to_json())


def identify_agent(agent: Agent) -> dict[str, Any]:
    """By which a certificate knows an agent: the hash of its policy, and its architecture."""
    arrays, architecture = take_policy(agent)
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


def name_compiled_program() -> dict[str, Any]:
    """What may change the bits of a compiled program on this machine."""
    return {
        "name": "compiled",
        **list_versions("jax", "jaxlib"),
        "backend": jax.default_backend(),
        "processor": _name_processor(),
    }


def _name_processor() -> str:
    if jax.default_backend() == "cpu":
        return describe_machine()["cpu"]
    return jax.devices()[0].device_kind
