"""Acting in a batch of environments, and what the value network makes of it afterwards."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from remanence._typing import Key
from remanence.envs import AbstractEnvironment
from remanence.networks import Network


class Stage(eqx.Module):
    """Where acting stands between two rollouts: nothing is reset there, everything is carried."""

    env_state: Any
    observation: Float[Array, "envs observation"]
    first: Bool[Array, " envs"]
    policy_state: Float[Array, "envs state"]
    episode_return: Float[Array, " envs"]
    episode_length: Int[Array, " envs"]


class Rollout(NamedTuple):
    """What happened, step by step.

    `first` says that the observation opens an episode. `final_observation` is what followed the
    action within its own episode. `episode_return` and `episode_length` are those of the episode
    so far, the step included.
    """

    observation: Float[Array, "time envs observation"]
    first: Bool[Array, "time envs"]
    action: Int[Array, "time envs"]
    log_probability: Float[Array, "time envs"]
    reward: Float[Array, "time envs"]
    terminated: Bool[Array, "time envs"]
    truncated: Bool[Array, "time envs"]
    final_observation: Float[Array, "time envs observation"]
    episode_return: Float[Array, "time envs"]
    episode_length: Int[Array, "time envs"]

    def select(self, members: Int[Array, " members"]) -> "Rollout":
        """The whole sequences of some environments."""
        return jax.tree.map(lambda series: series[:, members], self)


class RolloutValues(NamedTuple):
    """Values along a rollout, and the state of the value network after it."""

    value: Float[Array, "time envs"]
    next_value: Float[Array, "time envs"]
    last_state: Float[Array, "envs state"]


def collect_rollout(
    environment: AbstractEnvironment,
    params: Any,
    policy: Network,
    stage: Stage,
    num_steps: int,
    key: Key,
) -> tuple[Stage, Rollout]:
    """Act for `num_steps` steps in every environment, sampling from the policy."""
    initial_state = policy.initial_state()
    step_environments = jax.vmap(environment.step, in_axes=(0, 0, 0, None))

    def act(stage: Stage, key: Key) -> tuple[Stage, Rollout]:
        keys = jax.random.split(key, 1 + len(stage.first))
        state = jnp.where(stage.first[:, None], initial_state[None], stage.policy_state)
        logits, state = jax.vmap(policy.step)(stage.observation, state)
        action = jax.random.categorical(keys[0], logits)
        observation, env_state, reward, terminated, truncated, info = step_environments(
            keys[1:], stage.env_state, action, params
        )
        ended = terminated | truncated
        episode_return = stage.episode_return + reward
        episode_length = stage.episode_length + 1
        record = Rollout(
            observation=stage.observation,
            first=stage.first,
            action=action,
            log_probability=select_action(jax.nn.log_softmax(logits), action),
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            final_observation=info["final_observation"],
            episode_return=episode_return,
            episode_length=episode_length,
        )
        stage = Stage(
            env_state=env_state,
            observation=observation,
            first=ended,
            policy_state=state,
            episode_return=jnp.where(ended, 0.0, episode_return),
            episode_length=jnp.where(ended, 0, episode_length),
        )
        return stage, record

    return jax.lax.scan(act, stage, jax.random.split(key, num_steps))


def evaluate_rollout(
    value: Network, state: Float[Array, "envs state"], rollout: Rollout
) -> RolloutValues:
    """The values of every observation and of what followed it within its episode.

    The value network is not needed to act, so it runs over whole sequences afterwards. What
    followed is one further step from each state, which is looked at and not carried on: where an
    episode was truncated that is its own final observation, not the next episode's first.
    """
    values, states = jax.vmap(value.run, in_axes=(1, 1, 0), out_axes=1)(
        rollout.observation, rollout.first, state
    )
    next_values, _ = jax.vmap(jax.vmap(value.step))(rollout.final_observation, states)
    return RolloutValues(values[..., 0], next_values[..., 0], states[-1])


def select_action(
    table: Float[Array, "*batch actions"], action: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """The entry of the action taken, from a table with one for each action."""
    return jnp.take_along_axis(table, action[..., None], axis=-1)[..., 0]
