"""What is reset between episodes of a rollout, and what is passed on."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs
from remanence.networks import make_architecture
from remanence.training import PPOConfig
from remanence.training._learner import Learner

ENV, PARAMS = envs.make("tmaze", length=(1, 3))
CONFIG = PPOConfig(num_envs=8, num_steps=120)


@pytest.fixture(scope="module", params=[0.0, 0.5, 1.0])
def played(request):
    """A state before a rollout, its policy, how much is passed on, and the experience."""
    config = dataclasses.replace(CONFIG, state_passing=request.param)
    learner = Learner(ENV, make_architecture("small", cell="gru"), config)
    state = eqx.filter_jit(learner.begin)(jnp.int32(3), PARAMS)
    _, experience, _ = eqx.filter_jit(learner.play)(state, PARAMS)
    return learner.assemble(state.policy, state.value)[0], state, request.param, experience


def test_so_many_episodes_begin_without_a_reset(played):
    _, _, share, experience = played
    rollout = experience.rollout
    ended = np.asarray(rollout.terminated | rollout.truncated)[:-1]
    first = np.asarray(rollout.first)
    assert first[0].all(), "of the first episodes, nothing is there to be passed on"
    assert not first[1:][~ended].any()
    # The standard error of a share of some hundred episodes is 0.05 at most.
    assert ended.sum() > 100
    assert abs(first[1:][ended].mean() - (1 - share)) < 0.15


def test_acting_goes_on_with_the_state_that_is_passed(played):
    """Step by step, as the equations say; the policy's probabilities tell what it was in."""
    policy, state, _, experience = played
    rollout = jax.tree.map(np.asarray, experience.rollout)
    step = eqx.filter_jit(policy.step)
    for member in range(2):
        memory = state.stage.policy_state[member]
        for time in range(60):
            memory = policy.initial_state() if rollout.first[time, member] else memory
            logits, memory = step(rollout.observation[time, member], memory)
            chosen = np.log(np.exp(logits) / np.exp(logits).sum())[rollout.action[time, member]]
            np.testing.assert_allclose(
                chosen, rollout.log_probability[time, member], rtol=1e-5, atol=1e-6
            )
