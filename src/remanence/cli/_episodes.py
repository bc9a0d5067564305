"""One episode of one agent, step by step, for people to read."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from remanence._keys import derive_key
from remanence.cells import registry as cell_registry
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.networks import Network, count_parameters, make_architecture, make_policy

OPTIMAL = "optimal"

Act = Callable[[Any, Any, Any], tuple[Any, Any]]


@dataclasses.dataclass(frozen=True)
class Agent:
    """Something that acts: `act(memory, observation, key) -> (memory, action)`."""

    name: str
    num_parameters: int
    memory: Any
    act: Act


@dataclasses.dataclass(frozen=True)
class Episode:
    """What an agent saw, did and got; `states` has one more entry than the rest."""

    states: list[Any]
    observations: list[list[float]]
    actions: list[int]
    rewards: list[float]
    terminated: bool
    truncated: bool

    @property
    def total_reward(self) -> float:
        return float(np.sum(self.rewards, dtype=np.float32))


def make_agent(name: str, environment: AbstractEnvironment, seed: int) -> Agent:
    """The scripted optimal agent, or an untrained network with the cell of that name."""
    if name == OPTIMAL:
        return _make_scripted_agent(environment)
    if not 0 <= seed < 2**31:
        raise InvalidOptionError("seed", seed, "use a whole number from 0 to 2**31 - 1")
    if name not in cell_registry:
        raise UnknownNameError("agent", name, [OPTIMAL, *cell_registry])
    # The T-maze network has five units, a hybrid an even number, an LSTM two numbers for each.
    state_size = {"hybrid": 6, "lstm": 10}.get(name, 5)
    architecture = make_architecture("tmaze", cell=name, state_size=state_size)
    policy = make_policy(
        architecture,
        environment.observation_size,
        environment.num_actions,
        key=jax.random.key(seed),
    )
    num_parameters = sum(array.size for array in count_parameters(policy))

    def act(state: Any, observation: Any, key: Any) -> tuple[Any, Any]:
        return _sample(policy, state, observation, key)

    return Agent(name, num_parameters, policy.initial_state(), act)


def play_episode(
    environment: AbstractEnvironment, params: Any, agent: Agent, seed: int, max_steps: int
) -> Episode:
    """Play until the episode ends, or `max_steps` have been taken."""
    key = jax.random.key(seed)
    # Episodes of one seed start alike; what the agents then try does not depend on each other.
    agent_key, step_key = derive_key(key, f"agent {agent.name}"), derive_key(key, "steps")
    observation, state = environment.reset(derive_key(key, "start"), params)
    memory, states, observations, actions, rewards = agent.memory, [state], [], [], []
    terminated = truncated = False
    for time in range(max_steps):
        memory, action = agent.act(memory, observation, jax.random.fold_in(agent_key, time))
        observations.append(np.asarray(observation).tolist())
        observation, state, reward, terminated, truncated = _advance(
            environment, jax.random.fold_in(step_key, time), state, action, params
        )
        states.append(state)
        actions.append(int(action))
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return Episode(states, observations, actions, rewards, bool(terminated), bool(truncated))


def _make_scripted_agent(environment: AbstractEnvironment) -> Agent:
    script = environment.script()
    if script is None:
        raise InvalidOptionError("agent", OPTIMAL, "nobody has written one for this environment")
    act = jax.jit(lambda memory, observation, _: script.act(memory, observation))
    return Agent(OPTIMAL, 0, script.memory, act)


@eqx.filter_jit
def _sample(policy: Network, state: Any, observation: Any, key: Any) -> tuple[Any, Any]:
    logits, state = policy.step(observation, state)
    return state, jax.random.categorical(key, logits)


@eqx.filter_jit
def _advance(
    environment: AbstractEnvironment, key: Any, state: Any, action: Any, params: Any
) -> tuple[Any, ...]:
    state, reward, terminated, truncated = environment.advance(key, state, action, params)
    return environment.observe(state), state, reward, terminated, truncated
