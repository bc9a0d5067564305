"""Decisions by their number within an episode, against episodes that are played one by one."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs, networks
from remanence._keys import derive_key
from remanence.evaluation import evaluate, space_bins
from tests.certificates.agents import make_agent
from tests.evaluation.quiz import Quiz, QuizParams


@pytest.fixture(scope="module")
def agent():
    architecture = networks.Architecture(cell="gru", state_size=3, head=(4,))
    policy = networks.make_policy(architecture, 2, 2, key=jax.random.key(0))
    return networks.Agent(
        policy, networks.make_value(architecture, 2, key=jax.random.key(0)), architecture
    )


def play(agent, quiz, params, state) -> list[bool]:
    """Which decisions are right, in their order, step by step."""
    memory, verdicts, over = agent.initial_state(), [], False
    while not over:
        action, memory = agent.act(quiz.observe(state), memory)
        verdicts.append(int(quiz.judge(state, action)))
        state, _, terminated, truncated = quiz.advance(None, state, action, params)
        over = bool(terminated | truncated)
    return [verdict > 0 for verdict in verdicts if verdict]


def test_bins_take_every_decision_once_and_five_a_decade():
    firsts, lasts = space_bins()
    np.testing.assert_array_equal(firsts[1:], lasts[:-1] + 1)
    assert firsts[0] == 1
    assert lasts[-1] >= 10**9
    for power in range(1, 9):
        within = (firsts >= 10**power) & (firsts < 10 ** (power + 1))
        assert within.sum() == 5
        assert 10**power in firsts


@pytest.mark.parametrize("most", [1, 2, 9, 10, 11, 1000, 10_000])
def test_bins_end_with_the_one_that_the_last_decision_is_in(most):
    firsts, lasts = space_bins(most)
    assert firsts[-1] <= most <= lasts[-1]
    every = space_bins()
    np.testing.assert_array_equal(firsts, every[0][: len(firsts)])
    np.testing.assert_array_equal(lasts, every[1][: len(lasts)])


@pytest.mark.parametrize("limit", [1000, 14], ids=["to the end", "out of time"])
def test_decisions_are_counted_as_they_are_taken(agent, limit):
    quiz, params = Quiz(), QuizParams(limit=limit)
    found = evaluate({7: agent}, (quiz, params), [1, 20], num_episodes=6, seed=3)
    key = derive_key(jax.random.key(3), "evaluation")
    expected, cues = {}, np.tile(np.arange(3), 2)
    for number in (1, 20):
        starts = jax.random.split(derive_key(jax.random.fold_in(key, number), "start"), 6)
        grown = quiz.grow(params, number)
        for row, (cue, start) in enumerate(zip(cues, starts, strict=True)):
            right = play(agent, quiz, grown, quiz.start_with(jnp.int32(cue), start, grown))
            episode = row if number == 1 else 6 + row
            assert found.episodes["num_right"][episode] == sum(right)
            assert found.episodes["num_decisions"][episode] == len(right)
            for place, verdict in enumerate(right, start=1):
                counts = expected.setdefault((number, int(cue), find_bin(place)), [0, 0])
                counts[0] += verdict
                counts[1] += 1
    assert found.decisions is not None
    assert set(found.decisions["agent"]) == {7}
    names = ("num_questions", "cue", "first", "last", "num_right", "num_decisions")
    rows = zip(*(found.decisions[name].tolist() for name in names), strict=True)
    assert {(a, b, (c, d)): [e, f] for a, b, c, d, e, f in rows} == expected
    assert 0 < sum(right for right, _ in expected.values()) < sum(n for _, n in expected.values())
    assert found.decides_often
    assert ("timeout" in found.episodes["end"]) == (limit == 14)


def find_bin(place: int) -> tuple[int, int]:
    """By looking at every bin that there is."""
    ((first, last),) = [
        (first, last)
        for first, last in zip(*(edges.tolist() for edges in space_bins(100)), strict=True)
        if first <= place <= last
    ]
    return first, last


def test_who_decides_nothing_has_a_row_that_says_so():
    maze = envs.make("lookup-tree-maze", table_size=2)
    idle = stand_still(maze[0].observation_size)
    found = evaluate(idle, maze, [3], num_episodes=2)
    assert found.decisions is not None
    assert {name: column.tolist() for name, column in found.decisions.items()} == {
        **{"agent": [0, 0], "num_mazes": [3, 3], "cue": [0, 1], "first": [1, 1], "last": [1, 1]},
        **{"num_right": [0, 0], "num_decisions": [0, 0]},
    }
    assert not found.decides_often
    summary = found.summarize()
    assert np.isnan(summary["share_right"][0])
    assert (summary["num_decisions"][0], summary["timeouts"][0]) == (0, 1)


def test_who_decides_once_and_stalls_could_have_decided_more():
    maze = envs.make("lookup-tree-maze", table_size=2)
    found = evaluate(stand_still(maze[0].observation_size), maze, [3], num_episodes=2)
    for taken, end, often in [(1, "timeout", True), (1, "right", False), (0, "timeout", False)]:
        columns = {"num_decisions": np.full(2, taken), "end": np.full(2, end)}
        changed = dataclasses.replace(found, episodes={**found.episodes, **columns})
        assert changed.decides_often == often


def stand_still(size: int) -> networks.Agent:
    """An agent that goes left whatever it sees."""
    architecture = networks.Architecture(cell="bmru", state_size=2, head=())
    policy = networks.make_policy(architecture, size, 4, key=jax.random.key(0))
    policy = jax.tree.map(jnp.zeros_like, policy)
    bias = jnp.asarray([0.0, 0.0, 1.0, 0.0])
    value = networks.make_value(architecture, size, key=jax.random.key(0))
    return networks.Agent(eqx.tree_at(lambda it: it.output.bias, policy, bias), value, architecture)


def test_a_t_maze_has_one_decision_at_most():
    agents = {seed: make_agent("mingru", seed) for seed in range(8)}
    found = evaluate(agents, envs.make("tmaze"), [1, 4, 50])
    ends = found.episodes["end"]
    assert set(ends) == {"right", "wrong", "timeout"}
    np.testing.assert_array_equal(found.episodes["num_right"], ends == "right")
    np.testing.assert_array_equal(found.episodes["num_decisions"], ends != "timeout")
    assert found.decisions is None
    assert not found.decides_often
