import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from remanence import envs
from remanence.errors import InvalidOptionError
from remanence.evaluation import record_episode
from tests.certificates.agents import make_agent, solve_by_hand

ENV = envs.make("tmaze", length=5)
KEY = jax.random.key(4)


def test_an_agent_and_a_script_are_recorded_alike():
    environment, _ = ENV
    for agent in (solve_by_hand(), envs.TMaze().script()):
        episode = record_episode(ENV, agent, KEY)
        assert episode.actions[:4] == [0] * 4
        assert episode.rewards == [0, 0, 0, 0, 4]
        assert (episode.total_reward, episode.terminated, episode.truncated) == (4, True, False)
        assert len(episode.states) == 6
        for state, seen in zip(episode.states, episode.observations, strict=False):
            assert environment.observe(state).tolist() == seen


def test_an_episode_is_stopped_after_the_most_steps():
    episode = record_episode(ENV, solve_by_hand(), KEY, max_steps=3)
    assert len(episode.actions) == 3
    assert not episode.terminated
    assert not episode.truncated


def test_actions_are_greedy_or_drawn_by_the_key():
    agent = make_agent("gru", 1)
    weight = 0.01 * agent.policy.output.weight  # else it is all but sure of what it does
    agent = eqx.tree_at(lambda it: it.policy.output.weight, agent, weight)
    greedy, sampled, again, other = (
        record_episode(ENV, agent, KEY, sampling_key=key).actions
        for key in (None, jax.random.key(1), jax.random.key(1), jax.random.key(2))
    )
    assert sampled == again != other
    assert greedy != sampled
    memory = agent.initial_state()
    for action, seen in zip(greedy, record_episode(ENV, agent, KEY).observations, strict=True):
        expected, memory = agent.act(jnp.asarray(seen), memory)
        assert action == int(expected)


def test_an_agent_of_another_environment_is_refused():
    with pytest.raises(InvalidOptionError, match="the environment it was trained on"):
        record_episode(envs.make("lookup-tree-maze"), solve_by_hand(), KEY)
