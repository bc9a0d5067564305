"""Whether an agent and an environment belong together."""

import jax
import numpy as np

from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError
from remanence.networks._agent import Agent


def check_fits(agent: Agent, environment: AbstractEnvironment) -> None:
    """Raise unless the agent sees as many numbers as the environment shows, and acts as it may."""
    received = (agent.policy.observation_size, len(agent.policy.output.weight))
    wanted = (environment.observation_size, environment.num_actions)
    if received != wanted:
        remedy = f"use the environment it was trained on; this one has {wanted}"
        raise InvalidOptionError("agent (observation size, number of actions)", received, remedy)
    precision = agent.policy.output.weight.dtype
    if precision not in (np.float32, jax.dtypes.canonicalize_dtype(np.float64)):
        remedy = "use float32; or float64, under jax.enable_x64"
        raise InvalidOptionError("agent's precision", str(precision), remedy)
