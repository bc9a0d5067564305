"""Batches of episodes in any environment, greedy or sampled, each followed to its end.

Not the rollouts of training, which take a number of steps through as many episodes as it takes and
keep every one of them: here nothing is kept but how an episode ends, so that it may be long.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.envs import NO_DECISION, RIGHT_DECISION, AbstractEnvironment
from remanence.evaluation._decisions import space_bins
from remanence.networks import Network

STEPS_PER_CALL = 512


class Episodes(NamedTuple):
    """How each episode went.

    `num_right` has the right decisions in each bin of `space_bins`, (episodes, bins).
    """

    total_reward: np.ndarray
    num_steps: np.ndarray
    terminated: np.ndarray
    num_decisions: np.ndarray
    num_right: np.ndarray


class _Stage(eqx.Module):
    """Where the episodes stand. `kept` is an earlier memory and situation of each episode."""

    env_state: Any
    memory: Float[Array, "episodes state"]
    running: Bool[Array, " episodes"]
    terminated: Bool[Array, " episodes"]
    num_decisions: Int[Array, " episodes"]
    num_right: Int[Array, "episodes bins"]
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
    cues: np.ndarray | int,
    key: Key,
    *,
    sampled: bool = False,
    on_steps: Callable[[int], None] | None = None,
) -> Episodes:
    """One episode for each cue, all in one batch, until every one of them is over.

    Where the environment has no cues, `cues` is the number of episodes. A greedy episode that comes
    back to the same memory in the same situation is over too, if the environment says what a
    situation is: it would go on like that until its time runs out, and earn nothing.
    """
    count = cues if isinstance(cues, int) else len(cues)
    given = None if isinstance(cues, int) else jnp.asarray(cues, jnp.int32)
    stage = _begin(policy, environment, params, count, given, key)
    while np.any(stage.running):
        stage = _advance(policy, environment, params, stage, sampled)
        if on_steps:
            on_steps(int(stage.time))
    parts = (stage.total, stage.num_steps, stage.terminated, stage.num_decisions, stage.num_right)
    return Episodes(*map(np.asarray, parts))


@eqx.filter_jit
def _begin(
    policy: Network,
    environment: AbstractEnvironment,
    params: Any,
    count: int,
    cues: Int[Array, " episodes"] | None,
    key: Key,
) -> _Stage:
    keys = jax.random.split(derive_key(key, "start"), count)
    if cues is None:
        env_state = jax.vmap(environment.start, in_axes=(0, None))(keys, params)
    else:
        env_state = jax.vmap(environment.start_with, in_axes=(0, 0, None))(cues, keys, params)
    memory = jnp.tile(policy.initial_state()[None], (count, 1))
    zeros, none = jnp.zeros(count), jnp.zeros(count, jnp.int32)
    running = jnp.ones(count, bool)
    return _Stage(
        env_state=env_state,
        memory=memory,
        running=running,
        terminated=~running,
        num_decisions=none,
        num_right=jnp.zeros((count, len(space_bins()[0])), jnp.int32),
        total=zeros,
        rounding=zeros,
        num_steps=none,
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
    action = action.astype(jnp.int32)
    verdict = jnp.where(
        stage.running, jax.vmap(environment.judge)(stage.env_state, action), NO_DECISION
    )
    num_decisions = stage.num_decisions + (verdict != NO_DECISION).astype(jnp.int32)
    env_state, reward, terminated, truncated = jax.vmap(
        environment.advance, in_axes=(0, 0, 0, None)
    )(keys[1:], stage.env_state, action, params)
    reward = jnp.where(stage.running, reward, 0.0)
    total, rounding = _add(stage.total, stage.rounding, reward)
    mark = _mark(environment, env_state, memory)
    watched = not sampled and mark is not None
    stalled = _compare(mark, stage.kept) if watched else jnp.zeros_like(stage.running)
    keeps = stage.time + 1 == stage.kept_until
    return _Stage(
        env_state=env_state,
        memory=memory,
        running=stage.running & ~terminated & ~truncated & ~stalled,
        terminated=stage.terminated | (stage.running & terminated),
        num_decisions=num_decisions,
        num_right=stage.num_right + _place(verdict == RIGHT_DECISION, num_decisions),
        total=total,
        rounding=rounding,
        num_steps=stage.num_steps + stage.running.astype(jnp.int32),
        time=stage.time + 1,
        kept=jax.tree.map(lambda now, kept: jnp.where(keeps, now, kept), mark, stage.kept),
        kept_until=jnp.where(keeps, 2 * stage.kept_until, stage.kept_until),
        key=stage.key,
    )


def _place(right: Bool[Array, " episodes"], number: Int[Array, " episodes"]) -> Array:
    """A one in the bin of each right decision, (episodes, bins), by its number in the episode.

    Right ones alone: how many there are in all follows from their number, as bins fill in turn.
    """
    firsts, lasts = (jnp.asarray(edges, jnp.int32)[None] for edges in space_bins())
    within = (firsts <= number[:, None]) & (number[:, None] <= lasts)
    return (within & right[:, None]).astype(jnp.int32)


def _add(total: Array, rounding: Array, reward: Array) -> tuple[Array, Array]:
    """Compensated addition (Kahan 1965): ten thousand small rewards must add up exactly."""
    reward = reward - rounding
    sum_ = total + reward
    return sum_, (sum_ - total) - reward


def _mark(environment: AbstractEnvironment, env_state: Any, memory: Array) -> Any:
    """Memory, as bits, and situation; None where no situation is known."""
    words = jnp.dtype(f"uint{8 * memory.dtype.itemsize}")
    situation = jax.vmap(environment.situation)(env_state)
    if situation is None:
        return None
    return jax.lax.bitcast_convert_type(memory, words), situation


def _compare(mark: Any, kept: Any) -> Bool[Array, " episodes"]:
    """Which episodes stand exactly where they stood when theirs was kept."""
    equal = [
        jnp.all((now == then).reshape(len(now), -1), axis=1)
        for now, then in zip(jax.tree.leaves(mark), jax.tree.leaves(kept), strict=True)
    ]
    return jnp.all(jnp.stack(equal), axis=0)
