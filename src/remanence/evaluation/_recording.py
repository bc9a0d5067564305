"""One episode with all that happens in it, step by step on the host, for people to look at.

Not `run_episodes`, which follows whole batches to their ends and keeps nothing but how they end.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from remanence._keys import derive_key
from remanence._typing import Action, Key, Observation
from remanence.envs import AbstractEnvironment, Script
from remanence.networks import Agent, check_fits

Act = Callable[[Observation, Any, Any], tuple[Action, Any]]


@dataclasses.dataclass(frozen=True)
class Recording:
    """What an agent saw, did and got; `states` has one more entry than the rest.

    >>> from remanence import evaluation
    >>> recording = evaluation.Recording(
    ...     states=[None] * 3,
    ...     observations=[[1.0, 0.0], [0.0, 1.0]],
    ...     actions=[0, 3],
    ...     rewards=[0.0, 4.0],
    ...     terminated=True,
    ...     truncated=False,
    ... )
    >>> recording.total_reward
    4.0
    """

    states: list[Any]
    observations: list[list[float]]
    actions: list[int]
    rewards: list[float]
    terminated: bool
    truncated: bool

    @property
    def total_reward(self) -> float:
        return float(np.sum(self.rewards, dtype=np.float32))


def record_episode(
    env: tuple[AbstractEnvironment, Any],
    agent: Agent | Script,
    key: Key,
    *,
    sampling_key: Key | None = None,
    max_steps: int = 1000,
) -> Recording:
    """Run one episode until it ends, or `max_steps` have been taken.

    The agent acts greedily, or samples its actions if there is a `sampling_key`. What the
    environment draws depends on `key` alone, so all agents meet the same episode.

    >>> from remanence import envs, evaluation
    >>> maze, params = envs.make("lookup-tree-maze", num_mazes=1, length=3)
    >>> recording = evaluation.record_episode((maze, params), maze.script(), jax.random.key(0))
    >>> recording.rewards, recording.terminated, len(recording.states)
    ([0.0, 0.0, 4.0], True, 4)
    """
    environment, params = env
    memory, act = _prepare(agent, environment)
    step_key = derive_key(key, "steps")
    observation, state = environment.reset(derive_key(key, "start"), params)
    states, observations, actions, rewards = [state], [], [], []
    terminated = truncated = False
    for time in range(max_steps):
        now = None if sampling_key is None else jax.random.fold_in(sampling_key, time)
        action, memory = act(observation, memory, now)
        observations.append(np.asarray(observation).tolist())
        observation, state, reward, terminated, truncated = _advance(
            environment, jax.random.fold_in(step_key, time), state, action, params
        )
        states.append(state)
        actions.append(int(action))
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return Recording(states, observations, actions, rewards, bool(terminated), bool(truncated))


def _prepare(agent: Agent | Script, environment: AbstractEnvironment) -> tuple[Any, Act]:
    """The memory that an episode begins with, and a step of the agent."""
    if isinstance(agent, Script):
        follow = jax.jit(agent.act)
        return agent.memory, lambda observation, memory, _: follow(observation, memory)
    check_fits(agent, environment)
    return agent.initial_state(), lambda seen, memory, key: _act(agent, seen, memory, key)


@eqx.filter_jit
def _act(agent: Agent, observation: Any, memory: Any, key: Key | None) -> tuple[Any, Any]:
    action, memory = agent.act(observation, memory, key=key)
    return action.astype(jnp.int32), memory


@eqx.filter_jit
def _advance(
    environment: AbstractEnvironment, key: Any, state: Any, action: Any, params: Any
) -> tuple[Any, ...]:
    state, reward, terminated, truncated = environment.advance(key, state, action, params)
    return environment.observe(state), state, reward, terminated, truncated
