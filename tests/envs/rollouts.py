"""Batches of episodes under random actions, recorded for a replay in plain Python."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
import scipy.stats

from remanence.envs import AbstractEnvironment


class Transition(NamedTuple):
    """One step; `state` and `observation` are those that the action met."""

    state: Any
    observation: Any
    action: Any
    reward: Any
    terminated: Any
    truncated: Any
    next_state: Any
    final_observation: Any


def compile_quickly(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` for what is compiled once and runs for milliseconds: LLVM optimises nothing."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def draw_inputs(seed: int, num_envs: int, num_steps: int, num_actions: int) -> tuple[Any, Any, Any]:
    """Keys to reset, keys to step and actions; drawn apart, since compiling draws takes long."""
    reset_key, step_key, action_key = jax.random.split(jax.random.key(seed), 3)
    shape = num_envs, num_steps
    actions = jax.random.randint(action_key, shape, 0, num_actions)
    return jax.random.split(reset_key, num_envs), jax.random.split(step_key, shape), actions


def roll_out(
    environment: AbstractEnvironment, params: Any, seed: int, num_envs: int, num_steps: int
) -> Transition:
    """Auto-resetting steps under uniform actions, as NumPy arrays of shape (env, step, ...)."""

    def step(carry, inputs):
        observation, state = carry
        key, action = inputs
        seen, next_state, reward, terminated, truncated, info = environment.step(
            key, state, action, params
        )
        final = info["final_observation"]
        return (seen, next_state), Transition(
            state, observation, action, reward, terminated, truncated, next_state, final
        )

    def run(reset_key, *inputs):
        return jax.lax.scan(step, environment.reset(reset_key, params), inputs)[1]

    inputs = draw_inputs(seed, num_envs, num_steps, environment.num_actions)
    return jax.tree.map(np.asarray, compile_quickly(jax.vmap(run))(*inputs))


def keep_whole_episodes(rollout: Transition) -> tuple[Any, Transition, np.ndarray]:
    """The opening state of each, all of their steps in one row, and the row each starts at."""
    done = rollout.terminated | rollout.truncated
    whole = np.flip(np.logical_or.accumulate(np.flip(done, axis=1), axis=1), axis=1)
    steps = jax.tree.map(lambda leaf: leaf[whole], rollout)
    starts = np.flatnonzero(np.concatenate([[True], done[whole][:-1]]))
    return jax.tree.map(lambda leaf: leaf[starts], steps.state), steps, starts


class Reference(Protocol):
    """A plain-Python simulator of one episode."""

    def observe(self) -> list[float]: ...
    def step(self, action: int) -> tuple[float, bool, bool]: ...


def assert_replays(references: list[Any], steps: Transition, starts: np.ndarray) -> None:
    """Every step of every episode is what its reference says."""
    opening = dict(zip(starts.tolist(), references, strict=True))
    reference, expected = references[0], []
    for row, action in enumerate(steps.action.tolist()):
        reference: Reference = opening.get(row, reference)
        expected.append((reference.observe(), *reference.step(action), reference.observe()))
    before, reward, terminated, truncated, after = zip(*expected, strict=True)
    np.testing.assert_array_equal(steps.observation, before)
    np.testing.assert_array_equal(steps.reward, np.array(reward, np.float32))
    np.testing.assert_array_equal(steps.terminated, terminated)
    np.testing.assert_array_equal(steps.truncated, truncated)
    np.testing.assert_array_equal(steps.final_observation, after)


def assert_uniform(values: np.ndarray, num_values: int) -> None:
    """Chi-square against equal probabilities of 0..num_values - 1.

    Seeds are fixed, so a sound generator passes always; one in 100 000 fair ones would not.
    """
    counts = np.bincount(np.asarray(values).ravel(), minlength=num_values)
    assert len(counts) == num_values, "a value is out of range"
    assert scipy.stats.chisquare(counts).pvalue > 1e-5, counts
