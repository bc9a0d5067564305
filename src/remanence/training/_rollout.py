"""Acting in a batch of environments, and what the value network makes of it afterwards.

Not the episodes of `evaluation`, each of which is followed to its end: a rollout is a number of
steps with all that updates need of each, through as many episodes as they take.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.envs import AbstractEnvironment
from remanence.networks import Network

# An environment of the user's own may have a large state, of which each step draws a fresh one.
MOST_BYTES_DRAWN = 2**26


class ActorState(eqx.Module):
    """Where acting stands between two rollouts: nothing is reset there, everything is carried."""

    env_state: Any
    observation: Float[Array, "envs observation"]
    first: Bool[Array, " envs"]
    policy_state: Float[Array, "envs state"]
    episode_return: Float[Array, " envs"]
    episode_length: Int[Array, " envs"]


class Rollout(NamedTuple):
    """What happened, step by step.

    `first` says that the observation opens an episode, and that states are reset before it.
    `final_observation` is what followed the action within its own episode. `episode_return` and
    `episode_length` are those of the episode so far, the step included.
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
    actor: ActorState,
    num_steps: int,
    key: Key,
    state_passing: float = 0.0,
) -> tuple[ActorState, Rollout]:
    """Act for `num_steps` steps in every environment, sampling from the policy.

    Whatever does not depend on what happens is computed before or after the loop, for all steps
    at once, unless that would take too much room. Of the episodes that follow another one, a share
    of `state_passing` goes on with its state, and does not count as `first`.
    """
    draw, act = _make_act(environment, params, policy, len(actor.first), state_passing)
    keys = jax.random.split(key, num_steps)
    if _count_bytes(jax.eval_shape(jax.vmap(draw), keys)) <= MOST_BYTES_DRAWN:
        actor, (record, logits) = jax.lax.scan(act, actor, jax.vmap(draw)(keys))
    else:
        actor, (record, logits) = jax.lax.scan(
            lambda actor, key: act(actor, draw(key)), actor, keys
        )
    log_probability = select_action(jax.nn.log_softmax(logits), record["action"])
    return actor, Rollout(log_probability=log_probability, **record)


def _make_act(
    environment: AbstractEnvironment,
    params: Any,
    policy: Network,
    num_envs: int,
    state_passing: float,
) -> tuple[Callable[[Key], Any], Callable[[ActorState, Any], Any]]:
    """What a step of all environments draws, and the step from there."""
    initial_state = policy.initial_state()
    num_actions = len(policy.output.weight)
    draw, step_from = _separate_draws(environment, params)

    def draw_step(key: Key) -> tuple[Any, Float[Array, "envs actions"], Bool[Array, " envs"]]:
        keys = jax.random.split(key, 1 + num_envs)
        noise = jax.random.gumbel(keys[0], (num_envs, num_actions))
        passing = jnp.zeros(num_envs, bool)
        if state_passing:
            passing = jax.random.bernoulli(derive_key(key, "passing"), state_passing, (num_envs,))
        return jax.vmap(draw)(keys[1:]), noise, passing

    def act(actor: ActorState, now: Any) -> tuple[ActorState, tuple[dict[str, Array], Array]]:
        drawn, noise, passing = now
        state = jnp.where(actor.first[:, None], initial_state[None], actor.policy_state)
        logits, state = jax.vmap(policy.step)(actor.observation, state)
        # With Gumbel's noise, the largest of the logits is a sample of the policy.
        action = jnp.argmax(logits + noise.astype(logits.dtype), axis=-1)
        stepped = jax.vmap(step_from)(drawn, actor.env_state, action)
        actor, record = _move_on(actor, state, action, stepped, passing)
        return actor, (record, logits)

    return draw_step, act


def _move_on(
    actor: ActorState, state: Array, action: Array, stepped: Any, passing: Bool[Array, " envs"]
) -> tuple[ActorState, dict[str, Array]]:
    """Where acting stands after a step of all environments, and what is recorded of the step."""
    observation, env_state, reward, terminated, truncated, info = stepped
    ended = terminated | truncated
    episode_return = actor.episode_return + reward
    episode_length = actor.episode_length + 1
    record = {
        "observation": actor.observation,
        "first": actor.first,
        "action": action,
        "reward": reward,
        "terminated": terminated,
        "truncated": truncated,
        "final_observation": info["final_observation"],
        "episode_return": episode_return,
        "episode_length": episode_length,
    }
    actor = ActorState(
        env_state=env_state,
        observation=observation,
        first=ended & ~passing,
        policy_state=state,
        episode_return=jnp.where(ended, 0.0, episode_return),
        episode_length=jnp.where(ended, 0, episode_length),
    )
    return actor, record


def _count_bytes(shapes: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))


def _separate_draws(
    environment: AbstractEnvironment, params: Any
) -> tuple[Callable[[Key], Any], Callable[..., Any]]:
    """What a step draws, and the step from there; all of it where an environment has its own."""
    if type(environment).step is AbstractEnvironment.step:
        return (
            lambda key: environment.draw(key, params),
            lambda drawn, state, action: environment.step_from(drawn, state, action, params),
        )
    return (
        lambda key: key,
        lambda key, state, action: environment.step(key, state, action, params),
    )


def evaluate_rollout(
    value: Network, rollout: Rollout, state: Float[Array, "envs state"]
) -> RolloutValues:
    """The values of every observation and of what followed it within its episode.

    The value network is not needed to act, so it runs over whole sequences afterwards. What
    followed is one further step from each state, which is looked at and not carried on: where an
    episode was truncated that is its own final observation, not the next episode's first.
    """
    values, states = value.run(rollout.observation, rollout.first, state)
    next_values, _ = jax.vmap(jax.vmap(value.step))(rollout.final_observation, states)
    return RolloutValues(values[..., 0], next_values[..., 0], states[-1])


def select_action(
    table: Float[Array, "*batch actions"], action: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """The entry of the action taken, from a table with one for each action."""
    return jnp.take_along_axis(table, action[..., None], axis=-1)[..., 0]
