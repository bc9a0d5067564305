"""Batches of episodes in any environment, greedy or sampled, each followed to its end."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.envs import AbstractEnvironment
from remanence.networks import Network

STEPS_PER_CALL = 512


class Episodes(NamedTuple):
    """How each episode went; `flawless` says that no reward of it was below 0."""

    total_reward: np.ndarray
    num_steps: np.ndarray
    terminated: np.ndarray
    flawless: np.ndarray


class _Stage(eqx.Module):
    """Where the episodes stand. `kept` is an earlier memory and situation of each episode."""

    env_state: Any
    memory: Float[Array, "episodes state"]
    running: Bool[Array, " episodes"]
    terminated: Bool[Array, " episodes"]
    flawless: Bool[Array, " episodes"]
    total: Float[Array, " episodes"]
    rounding: Float[Array, " episodes"]
    num_steps: Int[Array, " episodes"]
    time: Int[Array, ""]
    kept: Any
    kept_until: Int[Array, ""]
    key: Key


def run_episodes(
    policy: Network,
    environment: AbstractEnvironment,
    params: Any,
    cues: np.ndarray,
    key: Key,
    *,
    sampled: bool = False,
    on_steps: Callable[[int], None] | None = None,
) -> Episodes:
    """One episode for each cue, all in one batch, until every one of them is over.

    A greedy episode that comes back to the same memory in the same situation is over too: it would
    go on like that until its time runs out, and earn nothing.
    """
    stage = _begin(policy, environment, params, jnp.asarray(cues, jnp.int32), key)
    while np.any(stage.running):
        stage = _advance(policy, environment, params, stage, sampled)
        if on_steps:
            on_steps(int(stage.time))
    parts = (stage.total, stage.num_steps, stage.terminated, stage.flawless)
    return Episodes(*map(np.asarray, parts))


@eqx.filter_jit
def _begin(
    policy: Network,
    environment: AbstractEnvironment,
    params: Any,
    cues: Int[Array, " episodes"],
    key: Key,
) -> _Stage:
    keys = jax.random.split(derive_key(key, "start"), len(cues))
    env_state = jax.vmap(environment.start_with, in_axes=(0, 0, None))(cues, keys, params)
    memory = jnp.tile(policy.initial_state()[None], (len(cues), 1))
    zeros = jnp.zeros(len(cues))
    running = jnp.ones(len(cues), bool)
    return _Stage(
        env_state=env_state,
        memory=memory,
        running=running,
        terminated=~running,
        flawless=running,
        total=zeros,
        rounding=zeros,
        num_steps=jnp.zeros(len(cues), jnp.int32),
        time=jnp.zeros((), jnp.int32),
        kept=_mark(environment, env_state, memory),
        kept_until=jnp.ones((), jnp.int32),
        key=derive_key(key, "act"),
    )


@eqx.filter_jit
def _advance(
    policy: Network, environment: AbstractEnvironment, params: Any, stage: _Stage, sampled: bool
) -> _Stage:
    """Some steps of every episode that is still running."""
    end = stage.time + STEPS_PER_CALL

    def goes_on(stage: _Stage) -> Bool[Array, ""]:
        return jnp.any(stage.running) & (stage.time < end)

    def step(stage: _Stage) -> _Stage:
        return _step(policy, environment, params, stage, sampled)

    return jax.lax.while_loop(goes_on, step, stage)


def _step(
    policy: Network, environment: AbstractEnvironment, params: Any, stage: _Stage, sampled: bool
) -> _Stage:
    keys = jax.random.split(jax.random.fold_in(stage.key, stage.time), 1 + len(stage.running))
    observation = jax.vmap(environment.observe)(stage.env_state)
    logits, memory = jax.vmap(policy.step)(observation, stage.memory)
    action = jax.random.categorical(keys[0], logits) if sampled else jnp.argmax(logits, axis=-1)
    env_state, reward, terminated, truncated = jax.vmap(
        environment.advance, in_axes=(0, 0, 0, None)
    )(keys[1:], stage.env_state, action.astype(jnp.int32), params)
    reward = jnp.where(stage.running, reward, 0.0)
    total, rounding = _add(stage.total, stage.rounding, reward)
    mark = _mark(environment, env_state, memory)
    stalled = jnp.zeros_like(stage.running) if sampled else _compare(mark, stage.kept)
    keeps = stage.time + 1 == stage.kept_until
    return _Stage(
        env_state=env_state,
        memory=memory,
        running=stage.running & ~terminated & ~truncated & ~stalled,
        terminated=stage.terminated | (stage.running & terminated),
        flawless=stage.flawless & (reward >= 0),
        total=total,
        rounding=rounding,
        num_steps=stage.num_steps + stage.running.astype(jnp.int32),
        time=stage.time + 1,
        kept=jax.tree.map(lambda now, kept: jnp.where(keeps, now, kept), mark, stage.kept),
        kept_until=jnp.where(keeps, 2 * stage.kept_until, stage.kept_until),
        key=stage.key,
    )


def _add(total: Array, rounding: Array, reward: Array) -> tuple[Array, Array]:
    """Compensated addition (Kahan 1965): ten thousand small rewards must add up to 4."""
    reward = reward - rounding
    sum_ = total + reward
    return sum_, (sum_ - total) - reward


def _mark(environment: AbstractEnvironment, env_state: Any, memory: Array) -> Any:
    """Memory, as bits, and situation."""
    words = jnp.dtype(f"uint{8 * memory.dtype.itemsize}")
    situation = jax.vmap(environment.situation)(env_state)
    return jax.lax.bitcast_convert_type(memory, words), situation


def _compare(mark: Any, kept: Any) -> Bool[Array, " episodes"]:
    """Which episodes stand exactly where they stood when theirs was kept."""
    equal = [
        jnp.all((now == then).reshape(len(now), -1), axis=1)
        for now, then in zip(jax.tree.leaves(mark), jax.tree.leaves(kept), strict=True)
    ]
    return jnp.all(jnp.stack(equal), axis=0)
