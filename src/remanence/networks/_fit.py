"""Whether an agent and an environment belong together."""

import jax
import numpy as np

from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError
from remanence.networks._agent import Agent


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
