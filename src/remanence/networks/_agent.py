"""A trained agent: it acts, it is saved, it is loaded."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from remanence._typing import Action, Key, Observation
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError, RemanenceError, StoreError
from remanence.networks._architecture import Architecture
from remanence.networks._network import Network, make_policy, make_value
from remanence.portable import PortablePolicy
from remanence.store import load_arrays, name_leaves, restore_leaves, save_arrays

_KIND = "agent"
_FORMAT = 1


class Agent(eqx.Module):
    """A policy network, with the value network it was trained beside.

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 1, key=jax.random.key(1))
    >>> agent = networks.Agent(policy, value, architecture)
    >>> action, state = agent.act(jnp.ones(1), agent.initial_state(), first=True)
    >>> int(action) in (0, 1), state.shape
    (True, (2,))
    >>> agent.save("agent.safetensors", origin={"seed": 0})
    >>> loaded = networks.Agent.load("agent.safetensors")
    >>> loaded.make_portable().act([1.0], np.zeros(2), first=True)[0] == int(action)
    True
    """

    policy: Network
    value: Network
    architecture: Architecture = eqx.field(static=True)

    def initial_state(self) -> Float[Array, " state"]:
        """The policy's state before an episode, (state,)."""
        return self.policy.initial_state()

    def act(
        self,
        observation: Observation,
        state: Float[Array, " state"],
        first: Bool[Array, ""] | bool = False,
        key: Key | None = None,
    ) -> tuple[Action, Float[Array, " state"]]:
        """The greedy action, or with a key a sampled one, and the state after the observation.

        From an observation (observation,) and a state (state,) to a whole number () and a state
        (state,). `first` says that the observation opens an episode, whatever the state.
        """
        state = jnp.where(first, self.initial_state(), state)
        logits, state = self.policy.step(observation, state)
        if key is None:
            return jnp.argmax(logits), state
        return jax.random.categorical(key, logits), state

    def make_portable(self) -> PortablePolicy:
        """The policy as the portable program: the same bits everywhere, and no JAX to act."""
        arrays = name_leaves({"policy": eqx.filter(self.policy, eqx.is_array)})
        return PortablePolicy(arrays, json.loads(self.architecture.to_json()))

    def save(self, path: str | Path, origin: Mapping[str, Any] | None = None) -> None:
        """Write the weights as safetensors; `origin` goes to JSON and says where they come from."""
        networks = eqx.filter({"policy": self.policy, "value": self.value}, eqx.is_array)
        header = {
            "kind": _KIND,
            "format": _FORMAT,
            "architecture": json.loads(self.architecture.to_json()),
            "observation_size": self.policy.observation_size,
            "num_actions": len(self.policy.output.weight),
            "origin": dict(origin or {}),
        }
        save_arrays(Path(path), name_leaves(networks), header)

    @staticmethod
    def load(path: str | Path) -> "Agent":
        """The agent that `save` wrote; a cell of your own must be registered before."""
        path = Path(path)
        arrays, header = read_agent(path)
        architecture = _read_architecture(path, header)
        size, num_actions = header["observation_size"], header["num_actions"]

        def build() -> dict[str, Network]:
            key = jax.random.key(0)
            policy = make_policy(architecture, size, num_actions, key=key)
            return {"policy": policy, "value": make_value(architecture, size, key=key)}

        is_shape = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)  # noqa: E731
        shapes, rest = eqx.partition(eqx.filter_eval_shape(build), is_shape)
        restored = jax.tree.map(jnp.asarray, restore_leaves(shapes, arrays, path))
        return Agent(architecture=architecture, **eqx.combine(restored, rest))


def check_fits(agent: Agent, environment: AbstractEnvironment) -> None:
    """Raise unless the agent sees as many numbers as the environment shows, and acts as it may.

    >>> from remanence import envs, networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 1, key=jax.random.key(1))
    >>> environment, _ = envs.make("lookup-tree-maze")
    >>> networks.check_fits(networks.Agent(policy, value, architecture), environment)
    Traceback (most recent call last):
    remanence.errors.InvalidOptionError: agent (observation size, ...) = (1, 2) is not possible: ...
    """
    received = (agent.policy.observation_size, len(agent.policy.output.weight))
    wanted = (environment.observation_size, environment.num_actions)
    if received != wanted:
        remedy = f"use the environment it was trained on; this one has {wanted}"
        raise InvalidOptionError("agent (observation size, number of actions)", received, remedy)
    precision = agent.policy.output.weight.dtype
    if precision not in (np.float32, jax.dtypes.canonicalize_dtype(np.float64)):
        remedy = "use float32; or float64, under jax.enable_x64"
        raise InvalidOptionError("agent's precision", str(precision), remedy)


def read_origin(path: str | Path) -> dict[str, Any]:
    """Where the agent in a file comes from, as `save` was told.

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 1, key=jax.random.key(1))
    >>> agent = networks.Agent(policy, value, architecture)
    >>> agent.save("agent.safetensors", origin={"seed": 0})
    >>> networks.read_origin("agent.safetensors")
    {'seed': 0}
    """
    return read_agent(path)[1]["origin"]


def read_agent(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """An agent's file as it is, its arrays and its header, if it is whole.

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 1, key=jax.random.key(1))
    >>> agent = networks.Agent(policy, value, architecture)
    >>> agent.save("agent.safetensors")
    >>> arrays, header = networks.read_agent("agent.safetensors")
    >>> arrays["policy.cell.inputs.weight"].shape, header["num_actions"]
    ((2, 2, 1), 2)
    """
    path = Path(path)
    arrays, header = load_arrays(path)
    if not _is_ours(header):
        raise StoreError(
            path, "this version cannot read this agent", "use the version that wrote it"
        )
    return arrays, header


def _is_ours(header: Any) -> bool:
    kinds = {"architecture": dict, "observation_size": int, "num_actions": int, "origin": dict}
    return (
        isinstance(header, dict)
        and (header.get("kind"), header.get("format")) == (_KIND, _FORMAT)
        and all(isinstance(header.get(name), kind) for name, kind in kinds.items())
    )


def _read_architecture(path: Path, header: Mapping[str, Any]) -> Architecture:
    try:
        return Architecture.from_json(json.dumps(header["architecture"]))
    except RemanenceError as error:
        problem = f"its architecture cannot be read ({str(error).rstrip('.')})"
        raise StoreError(path, problem, "restore the file from a copy") from error
