"""The tables of decisions: when they are written, and that they are looked after."""

import jax
import numpy as np
import pytest

from remanence import envs, networks
from remanence.evaluation import summarize_episodes
from remanence.study import AgentGroup, AgentRecords, Job, evaluate_agents
from remanence.study._inspection import _find_table_flaws
from remanence.study._results import _name_maker
from tests.certificates.agents import solve_by_hand

MAZE = envs.make("lookup-tree-maze", table_size=2, num_mazes=(1, 2), length=1)
WEIGHTS = {1: "one", 2: "two"}


@pytest.fixture
def group(tmp_path):
    architecture = networks.Architecture(cell="mingru", state_size=2, head=())
    agents = {
        seed: networks.Agent(
            networks.make_policy(architecture, 4, 4, key=jax.random.key(seed)),
            networks.make_value(architecture, 4, key=jax.random.key(seed)),
            architecture,
        )
        for seed in WEIGHTS
    }
    return AgentGroup(agents, MAZE, WEIGHTS, AgentRecords(tmp_path))


def test_decisions_are_written_where_there_are_several(group):
    evaluate_agents(group, [1], sampled=True, num_episodes=2)
    assert not group.records.has("sampled_decisions")
    evaluate_agents(group, [1, 12], sampled=True, num_episodes=4)
    assert not group.records.has("decisions")
    decisions, episodes = (
        group.records.read(f"sampled_{table}") for table in ("decisions", "evaluations")
    )
    names = ["seed", "num_mazes", "cue", "first", "last", "num_right", "num_decisions"]
    assert list(decisions) == names
    assert set(decisions["seed"]) == {1, 2}
    for name in ("num_right", "num_decisions"):
        assert decisions[name].sum() == episodes[name].sum() > 0
    # Of decisions that were written before, none is left.
    evaluate_agents(group, [1], sampled=True, num_episodes=2)
    assert set(group.records.read("sampled_decisions")["num_mazes"]) == {1}


def test_a_t_maze_has_none(tmp_path):
    group = AgentGroup({1: solve_by_hand()}, envs.make("tmaze"), WEIGHTS, AgentRecords(tmp_path))
    evaluate_agents(group, [2])
    evaluate_agents(group, [2], sampled=True)
    assert not group.records.has("decisions")
    assert not group.records.has("sampled_decisions")


def test_outcomes_are_those_of_the_episodes_in_the_table(group):
    evaluate_agents(group, [12], sampled=True, num_episodes=4)
    episodes = group.records.read("sampled_evaluations")
    expected = summarize_episodes(episodes, "num_mazes", exact=False)
    for name, column in group.records.read("sampled_outcomes").items():
        np.testing.assert_array_equal(column, expected[name])


def test_with_damaged_decisions_the_evaluation_is_made_again(group):
    evaluate_agents(group, [12], sampled=True, num_episodes=2)
    job = Job("trees", "lookup-tree", "wide", "mingru", [1, 2], 1, [12], stages=["sample"])
    assert not list(_find_table_flaws(group.records, job, WEIGHTS))
    group.records.table_path("sampled_decisions").write_bytes(b"nothing")
    flaws = dict(_find_table_flaws(group.records, job, WEIGHTS))
    assert {path.stem for path in flaws} == {"sampled_evaluations", "sampled_decisions"}


def test_who_made_a_table_is_told():
    told = {table: _name_maker(table) for table in ("curves", "decisions", "orbits", "losses")}
    assert told["curves"] == "`remanence train`"
    assert told["decisions"] == told["orbits"] == "`remanence evaluate`"
    assert told["losses"] == "a study whose stages include 'losses'"
    assert _name_maker("sampled_decisions") == "`remanence evaluate --sampled`"
