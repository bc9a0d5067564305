import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs, networks
from remanence._keys import derive_key
from remanence.errors import InvalidOptionError
from remanence.evaluation import evaluate
from remanence.evaluation._episodes import _add, run_episodes
from tests.certificates.agents import make_agent, solve_by_hand

TREE = envs.make("lookup-tree-maze", num_mazes=(1, 3), length=(1, 2))


@pytest.fixture(scope="module")
def tree_agent():
    architecture = networks.make_architecture(
        "lookup-tree", cell="hybrid", encoder=(8,), state_size=8, head=(8,)
    )
    key = jax.random.key(49)  # of four episodes two end, one of them with a wrong decision
    size = TREE[0].observation_size
    policy = networks.make_policy(architecture, size, 4, key=key)
    bias = jnp.asarray([0.0, 0.0, -1.0, 0.0])
    policy = eqx.tree_at(lambda it: it.output.bias, policy, bias)
    return networks.Agent(policy, networks.make_value(architecture, size, key=key), architecture)


def play(agent, environment, params, cue, key):
    """Return, steps, whether it ended, and right and wrong decisions, step by step."""
    state = environment.start_with(jnp.int32(cue), key, params)
    memory, rewards = agent.initial_state(), []
    while True:
        action, memory = agent.act(environment.observe(state), memory)
        state, reward, terminated, truncated = environment.advance(
            key, state, action.astype(jnp.int32), params
        )
        rewards.append(float(reward))
        if terminated or truncated:
            decisions = sum(it > 0 for it in rewards), sum(it < 0 for it in rewards)
            return sum(rewards), len(rewards), bool(terminated), decisions


def test_a_batch_of_episodes_is_each_of_them_alone(tree_agent):
    environment, _ = TREE
    params = envs.LookupTreeMazeParams(num_mazes=2, length=2)
    cues, key = np.arange(4), jax.random.key(5)
    episodes = run_episodes(tree_agent.policy, environment, params, cues, key)
    keys = jax.random.split(derive_key(key, "start"), 4)
    assert 0 < episodes.terminated.sum() < len(cues)
    for i, cue in enumerate(cues):
        total, num_steps, terminated, decisions = play(
            tree_agent, environment, params, cue, keys[i]
        )
        np.testing.assert_allclose(episodes.total_reward[i], total, rtol=1e-5, atol=1e-6)
        assert episodes.terminated[i] == terminated
        num_right = episodes.num_right[i].sum()
        assert (num_right, episodes.num_decisions[i] - num_right) == decisions
        if terminated:
            assert episodes.num_steps[i] == num_steps


def test_tables_are_balanced_and_agents_meet_the_same_episodes(tree_agent):
    evaluation = evaluate({1: tree_agent, 2: tree_agent}, TREE, [1, 3], num_episodes=30)
    episodes = evaluation.episodes
    for agent in (1, 2):
        for num_mazes in (1, 3):
            mine = (episodes["agent"] == agent) & (episodes["num_mazes"] == num_mazes)
            assert np.bincount(episodes["cue"][mine]).tolist() == [3] * 14
    one, two = (episodes["return"][episodes["agent"] == agent] for agent in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert not evaluation.exact


def test_ten_thousand_rewards_add_up_to_four():
    total, rounding = jnp.zeros(1), jnp.zeros(1)
    add = jax.jit(_add)
    for _ in range(10_000):
        total, rounding = add(total, rounding, jnp.full(1, 4 / 10_000))
    np.testing.assert_allclose(total, 4.0, rtol=1e-6)


def test_an_agent_that_stalls_is_left_before_its_time_is_over():
    # Every memory of a BMRU that holds is a fixed point; with "left" as its only action it stays
    # at the wall.
    agent = solve_by_hand()
    policy = eqx.tree_at(
        lambda it: (it.output.weight, it.output.bias),
        agent.policy,
        (jnp.zeros((4, 4)), jnp.asarray([0.0, 0, 1, 0])),
    )
    params = envs.TMazeParams(length=1_000_000)
    episodes = run_episodes(policy, envs.TMaze(), params, np.arange(2), jax.random.key(0))
    assert not episodes.terminated.any()
    assert np.all(episodes.num_steps < 20)


def test_sampled_episodes_of_a_sure_agent_are_greedy_ones():
    agent = solve_by_hand()
    sure = eqx.tree_at(lambda it: it.policy.output.weight, agent, 100 * agent.policy.output.weight)
    for plain in (False, True):
        found = evaluate(sure, envs.make("tmaze"), [1, 2, 20], sampled=True, plain=plain)
        assert found.exact is not plain
        assert set(found.summarize()["outcome"]) == {"solved"}
        np.testing.assert_allclose(found.summarize()["return"], 4.0, rtol=1e-6)


def test_sampling_depends_on_the_seed_and_on_nothing_else():
    env, agent = envs.make("tmaze"), make_agent("mingru", 1)
    agent = eqx.tree_at(lambda it: it.policy.output.weight, agent, jnp.zeros((4, 10)))

    def sample(seed):
        found = evaluate(agent, env, [5], sampled=True, plain=True, seed=seed, num_episodes=20)
        return found.episodes

    np.testing.assert_array_equal(sample(1)["num_steps"], sample(1)["num_steps"])
    assert np.any(sample(1)["num_steps"] != sample(2)["num_steps"])


def test_plain_stepping_is_not_offered_where_nothing_is_fast_forwarded(tree_agent):
    with pytest.raises(InvalidOptionError, match="steps through everything anyway"):
        evaluate(tree_agent, TREE, [1], plain=True)
