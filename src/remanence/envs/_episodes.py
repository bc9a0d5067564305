"""Episodes that follow one another, as compiled functions for Gymnasium's interface.

Who acts is outside and need not be ours, so a call takes one step; agents of ours run in programs
that are compiled with them (`evaluation`, `training`). All are compiled once for an environment's
static options, however many copies are made of it.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from remanence._keys import derive_key
from remanence._typing import Action, Flag, Key, Observation, Scalar
from remanence.envs._environment import AbstractEnvironment

compile_for_environment = functools.partial(jax.jit, static_argnums=0)


class Episode(NamedTuple):
    """Everything random in an episode derives from its key, and so does the next episode's key.

    What an environment with its own steps (`advance`) draws therefore depends on the seed, the
    episode's number and the time alone, never on who else is in the batch.
    """

    key: Key
    time: Int[Array, ""]
    state: Any


class Transition(NamedTuple):
    """What one step returns; `final_observation` is that of the episode the action was taken in."""

    observation: Observation
    reward: Scalar
    terminated: Flag
    truncated: Flag
    final_observation: Observation


Step = Callable[[AbstractEnvironment, Any, Episode, Flag, Action], tuple[Episode, Transition]]


@compile_for_environment
def begin(
    environment: AbstractEnvironment, params: Any, key_data: UInt32[Array, "2"]
) -> tuple[Episode, Observation]:
    """The first episode from a seed, given as the two words of a key."""
    episode = _begin(environment, params, jax.random.wrap_key_data(key_data, impl="threefry2x32"))
    return episode, environment.observe(episode.state)


@compile_for_environment
def begin_next(
    environment: AbstractEnvironment, params: Any, episode: Episode
) -> tuple[Episode, Observation]:
    """The episode after this one, whether or not this one has ended."""
    episode = _begin_after(environment, params, episode)
    return episode, environment.observe(episode.state)


@compile_for_environment
def step_without_reset(
    environment: AbstractEnvironment, params: Any, episode: Episode, ended: Flag, action: Action
) -> tuple[Episode, Transition]:
    """One transition; the caller starts the next episode."""
    del ended
    key = jax.random.fold_in(derive_key(episode.key, "advance"), episode.time)
    state, reward, terminated, truncated = environment.advance(key, episode.state, action, params)
    observation = environment.observe(state)
    return (
        Episode(episode.key, episode.time + 1, state),
        Transition(observation, reward, terminated, truncated, observation),
    )


def step_with_reset(
    environment: AbstractEnvironment, params: Any, episode: Episode, ended: Flag, action: Action
) -> tuple[Episode, Transition]:
    """One transition, and where it ends the episode, the first observation of the next one."""
    episode, transition = step_without_reset(environment, params, episode, ended, action)
    ended = transition.terminated | transition.truncated
    episode = _choose(ended, _begin_after(environment, params, episode), episode)
    return episode, transition._replace(observation=environment.observe(episode.state))


def reset_or_step(
    environment: AbstractEnvironment, params: Any, episode: Episode, ended: Flag, action: Action
) -> tuple[Episode, Transition]:
    """One transition, or in its place the start of the next episode where this one has ended."""
    stepped, transition = step_without_reset(environment, params, episode, ended, action)
    episode = _choose(ended, _begin_after(environment, params, episode), stepped)
    observation = environment.observe(episode.state)
    return episode, Transition(
        observation,
        jnp.where(ended, 0.0, transition.reward),
        ~ended & transition.terminated,
        ~ended & transition.truncated,
        observation,
    )


@compile_for_environment
def begin_batch(
    environment: AbstractEnvironment, params: Any, key_data: UInt32[Array, "batch 2"]
) -> tuple[Episode, Any]:
    """A first episode for each seed."""
    return jax.vmap(functools.partial(begin, environment))(params, key_data)


@compile_for_environment
def restart_batch(
    environment: AbstractEnvironment,
    params: Any,
    episodes: Episode,
    key_data: UInt32[Array, "batch 2"],
    seeded: Bool[Array, " batch"],
    chosen: Bool[Array, " batch"],
) -> tuple[Episode, Any]:
    """Begin anew where `chosen`: from the seed where `seeded`, elsewhere with the next episode."""
    from_seed, _ = jax.vmap(functools.partial(begin, environment))(params, key_data)
    following, _ = jax.vmap(functools.partial(begin_next, environment))(params, episodes)
    fresh = jax.vmap(_choose)(seeded, from_seed, following)
    episodes = jax.vmap(_choose)(chosen, fresh, episodes)
    return episodes, jax.vmap(environment.observe)(episodes.state)


@functools.partial(jax.jit, static_argnums=(0, 1))
def step_batch(
    environment: AbstractEnvironment,
    step: Step,
    params: Any,
    episodes: Episode,
    ended: Bool[Array, " batch"],
    actions: Int[Array, " batch"],
) -> tuple[Episode, Any]:
    """One of the steps above for every member of a batch."""
    return jax.vmap(functools.partial(step, environment))(params, episodes, ended, actions)


def _begin(environment: AbstractEnvironment, params: Any, key: Key) -> Episode:
    state = environment.start(derive_key(key, "start"), params)
    return Episode(key, jnp.zeros((), jnp.int32), state)


def _begin_after(environment: AbstractEnvironment, params: Any, episode: Episode) -> Episode:
    return _begin(environment, params, derive_key(episode.key, "next"))


def _choose(condition: Flag, chosen: Episode, other: Episode) -> Episode:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), chosen, other)
