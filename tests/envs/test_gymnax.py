import subprocess
import sys

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnax.environments import spaces
from gymnax.environments.environment import Environment
from gymnax.wrappers import (
    FlattenObservationWrapper,
    GymnaxToGymWrapper,
    GymnaxToVectorGymWrapper,
    LogWrapper,
    StickyActionWrapper,
)

from remanence.envs import FromGymnax, PreviousAction, ToGymnax, make
from remanence.errors import InvalidOptionError
from tests.envs.rollouts import compile_quickly, draw_inputs

NAMES = ["tmaze", "lookup-tree-maze"]
SHORT = {"tmaze": {}, "lookup-tree-maze": {"num_mazes": (1, 2)}}


@pytest.fixture(autouse=True)
def gymnax_promotes_dtypes():
    """gymnax adds integers to floats, which the strictness of our own tests forbids."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def roll_out(environment, params, num_actions: int, step=None, num_steps: int = 60):
    """First observations, actions, and the results of `step`, from the same keys for all."""
    take_step = environment.step if step is None else step

    def step_once(state, inputs):
        key, action = inputs
        observation, state, *outcome = take_step(key, state, action, params)
        return state, (action, observation, *outcome)

    def run(reset_key, *inputs):
        observation, state = environment.reset(reset_key, params)
        return observation, jax.lax.scan(step_once, state, inputs)[1]

    inputs = draw_inputs(0, 30, num_steps, num_actions)
    return jax.tree.map(np.asarray, compile_quickly(jax.vmap(run))(*inputs))


def assert_same_numbers(left, right):
    """Types may differ: gymnax's rewards may be integers, and its flags may be weakly typed."""
    jax.tree.map(np.testing.assert_array_equal, left, right)


@pytest.mark.parametrize("name", NAMES)
def test_ours_runs_the_same_as_a_gymnax_environment(name):
    environment, params = make(name)
    adapted = ToGymnax(environment)
    assert isinstance(adapted, Environment)
    ours = roll_out(environment, params, environment.num_actions)
    assert ours[1][3].any(), "no episode ended, so nothing was compared"
    assert_same_numbers(roll_out(adapted, params, environment.num_actions), ours)
    assert_same_numbers(roll_out(FromGymnax(adapted), params, environment.num_actions), ours)


@pytest.mark.parametrize("name", ["MemoryChain-bsuite", "CartPole-v1"])
def test_a_gymnax_environment_runs_the_same_as_ours(name):
    environment, params = gymnax.make(name)
    adapted = FromGymnax(environment)
    theirs = roll_out(environment, params, adapted.num_actions, num_steps=220)
    assert (theirs[1][3] | theirs[1][4]).any(), "no episode ended, so nothing was compared"
    assert_same_numbers(roll_out(adapted, params, adapted.num_actions, num_steps=220), theirs)
    back = ToGymnax(adapted)
    assert_same_numbers(roll_out(back, params, adapted.num_actions, num_steps=220), theirs)


@pytest.mark.parametrize("name", NAMES)
def test_gymnaxs_own_step_makes_our_transitions(name):
    environment, params = make(name, time_limit_factor=2, **SHORT[name])
    adapted = ToGymnax(environment)

    def step_both(key, state, action, params):
        ours = environment.step(key, state.inner, action, params)
        theirs = Environment.step(adapted, key, state, action, params)
        return *theirs[:5], {"ours": ours, "theirs": theirs}

    rollout = roll_out(adapted, params, environment.num_actions, step=step_both)
    observation, state, *outcome, info = rollout[1][-1]["theirs"]
    our_observation, our_state, *our_outcome, our_info = rollout[1][-1]["ours"]
    assert_same_numbers((outcome, info), (our_outcome, our_info))
    terminated, truncated = outcome[1:]
    for kind in (terminated & ~truncated, ~terminated & truncated, terminated & truncated):
        assert kind.any()
    going = ~(terminated | truncated)
    assert_same_numbers(observation[going], our_observation[going])
    pick = lambda tree, mask: jax.tree.map(lambda leaf: leaf[mask], tree)  # noqa: E731
    assert_same_numbers(pick(state.inner, going), pick(our_state, going))
    assert not pick(state.inner.time, ~going).any()
    assert not state.terminated.any()
    assert not state.truncated.any()
    assert len(np.unique(observation[~going], axis=0)) > 2


def test_the_hooks_of_gymnax_tell_how_a_step_ended():
    environment, params = make("tmaze", length=1, time_limit_factor=1)
    adapted = ToGymnax(environment)
    key = jax.random.key(0)
    observation, state = adapted.reset_env(key, params)
    np.testing.assert_array_equal(adapted.get_obs(state, params), observation)
    assert (adapted.is_terminated(state, params), adapted.is_truncated(state, params)) == (0, 0)
    for action, terminated in [(0, False), (1, True)]:
        last, final, _, ended, _ = adapted.step_env(key, state, action, params)
        assert ended == adapted.is_terminated(final, params) == terminated
        assert adapted.is_truncated(final, params)
        assert adapted.discount(final, params) == 1 - terminated
        np.testing.assert_array_equal(adapted.observe(key, final, action, params), last)


@pytest.mark.parametrize("name", NAMES)
def test_spaces_hold_what_they_describe(name):
    environment, params = make(name)
    adapted = ToGymnax(environment)
    assert adapted.name == type(environment).__name__
    assert adapted.action_space(params).n == adapted.num_actions == 4
    space = adapted.observation_space(params)
    first, (_, observation, *_) = roll_out(adapted, params, 4)
    assert space.shape == first.shape[1:]
    assert all(space.contains(row) for row in [*first[:5], *observation[:2].reshape(120, -1)])
    assert not space.contains(first[0] + 9)


def test_a_log_wrapper_counts_our_returns():
    environment, params = make("tmaze", length=2)
    rollout = roll_out(LogWrapper(ToGymnax(environment)), params, 4)
    _, _, reward, terminated, truncated, info = rollout[1]
    done = terminated | truncated
    np.testing.assert_array_equal(info["returned_episode"], done)
    for rewards, ends, logged, lengths in zip(
        reward,
        done,
        info["returned_episode_returns"],
        info["returned_episode_lengths"],
        strict=True,
    ):
        ends = np.flatnonzero(ends)
        starts = [0, *ends[:-1] + 1]
        assert logged[ends].tolist() == [
            rewards[a : b + 1].sum() for a, b in zip(starts, ends, strict=True)
        ]
        assert lengths[ends].tolist() == [b + 1 - a for a, b in zip(starts, ends, strict=True)]
    assert done.any()


def test_other_wrappers_run_on_ours():
    environment, params = make("tmaze")
    adapted = ToGymnax(environment)
    plain = roll_out(adapted, params, 4)
    assert_same_numbers(roll_out(FlattenObservationWrapper(adapted), params, 4), plain)
    assert_same_numbers(roll_out(StickyActionWrapper(adapted, 0.0), params, 4), plain)
    _, (_, observation, *_) = roll_out(StickyActionWrapper(adapted, 0.5), params, 4)
    assert (observation != plain[1][1]).any()


def test_wrappers_for_gymnasium_run_on_ours():
    adapted = ToGymnax(make("tmaze", length=1)[0])
    single = GymnaxToGymWrapper(adapted)
    observation, _ = single.reset(seed=0)
    assert single.observation_space.contains(np.asarray(observation))
    assert len(single.step(0)) == 5
    batch = GymnaxToVectorGymWrapper(adapted, num_envs=3)
    assert np.shape(batch.reset(seed=0)[0]) == (3, 2)


def test_a_wrapped_gymnax_environment_becomes_ours():
    environment, params = gymnax.make("Catch-bsuite")
    adapted = FromGymnax(LogWrapper(FlattenObservationWrapper(environment)))
    assert adapted.observation_size == 50
    low, high = adapted.observation_bounds
    assert (low == 0).all()
    assert (high == 1).all()
    first, (_, observation, reward, _, _, info) = roll_out(adapted, params, 3)
    assert first.dtype == observation.dtype == reward.dtype == np.float32
    assert info["final_observation"].dtype == np.float32
    assert info["returned_episode"].any()


def test_an_end_keeps_its_observation_when_ours_wraps_gymnax():
    environment, params = gymnax.make("MemoryChain-bsuite")
    adapted = PreviousAction(FromGymnax(environment))
    _, (action, observation, _, terminated, truncated, info) = roll_out(adapted, params, 2)
    done = terminated | truncated
    assert done.any()
    # The chain's first component is the time that remains: 1 where an episode opens, and not
    # above 0 where it ends.
    np.testing.assert_array_equal(observation[done][:, 0], 1)
    assert (info["final_observation"][done][:, 0] <= 0).all()
    np.testing.assert_array_equal(info["final_observation"][..., 3:], np.eye(2)[action])
    np.testing.assert_array_equal(observation[done][:, 3:], 0)


def test_adapters_keep_the_rules_of_an_environment():
    environment, params = gymnax.make("CartPole-v1")
    adapted = FromGymnax(environment)
    assert hash(adapted) == hash(FromGymnax(environment))
    key = jax.random.key(0)
    observation, state = adapted.reset(key)
    assert_same_numbers(observation, adapted.reset(key, params)[0])
    stepped = adapted.step(key, state, jnp.int32(0))[1]
    advanced = adapted.advance(key, state, jnp.int32(0), params)[0]
    shapes = [jax.tree.map(jnp.shape, tree) for tree in (state, stepped, advanced)]
    assert shapes[0] == shapes[1] == shapes[2]


def test_what_cannot_be_adapted_is_refused():
    with pytest.raises(InvalidOptionError, match=r"action space of Pendulum-v1 = Box.*discrete"):
        FromGymnax(gymnax.make("Pendulum-v1")[0])
    with pytest.raises(InvalidOptionError, match=r"Catch-bsuite = Box.*FlattenObservationWrapper"):
        FromGymnax(gymnax.make("Catch-bsuite")[0])
    with pytest.raises(InvalidOptionError, match="observation space of FrozenLake-misc = Discrete"):
        FromGymnax(gymnax.make("FrozenLake-misc")[0])
    assert isinstance(gymnax.make("FrozenLake-misc")[0].action_space(None), spaces.Discrete)


def test_a_missing_gymnax_is_named_with_its_remedy():
    program = """
import sys
sys.modules["gymnax"] = None
import remanence.envs
from remanence.errors import MissingDependencyError
try:
    remanence.envs.ToGymnax
except MissingDependencyError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "'gymnax'" in run.stdout
    assert "pip install '.[gymnax]'" in run.stdout
