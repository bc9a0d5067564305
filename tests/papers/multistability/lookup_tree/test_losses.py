"""What agents lose, against agents that are led step by step, and some that lose it on purpose."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs, networks
from remanence.errors import InvalidOptionError
from remanence.evaluation import space_bins
from remanence.papers.multistability.lookup_tree._losses import (
    SHOWN,
    Decisions,
    find_losses,
    lead_agent,
    tabulate_losses,
)
from remanence.study import AgentGroup, AgentRecords, stages
from tests.certificates.agents import make_agent

RIGHT, UP, LEFT, DOWN = range(4)
KEY = jax.random.key(4)


def make_policy(environment, seed=2):
    architecture = networks.Architecture(cell="gru", state_size=4, encoder=[6], head=[])
    policy = networks.make_policy(
        architecture, environment.observation_size, 4, key=jax.random.key(seed)
    )
    return jax.tree.map(lambda leaf: 3 * leaf if eqx.is_array(leaf) else leaf, policy)


def lead_slowly(policy, environment, cue, num_mazes, key):
    """One episode, one step after the other; observations are put together by hand."""
    maze = environment.unwrapped
    params = envs.LookupTreeMazeParams(num_mazes, 3, None)
    state = environment.start_with(jnp.int32(cue), key, params)
    previous = [0.0] * 4 if environment is not maze else []
    right = [1.0, 0.0, 0.0, 0.0] if environment is not maze else []
    memory, rows = policy.initial_state(), []

    advance, look = eqx.filter_jit(environment.advance), eqx.filter_jit(policy.step)

    def step(memory, table, index, flag, previous):
        return look(jnp.asarray([*table, *index, flag, *previous], jnp.float32), memory)

    def decide(logits):
        return DOWN if logits[DOWN] > logits[UP] else UP

    for number in range(num_mazes):
        inner = state.inner if environment is not maze else state
        signs = [1.0 if int(inner.table) >> place & 1 else -1.0 for place in range(maze.table_size)]
        place, goal = int(inner.index), DOWN if signs[int(inner.index)] > 0 else UP
        index = [float(place)]
        if maze.index_encoding == "one-hot":
            index = [float(place == it) for it in range(maze.table_size)]
        none, nothing = [0.0] * len(index), [0.0] * maze.table_size
        table = signs if number == 0 else nothing

        _, memory = step(memory, table, index, 0.0, previous)
        _, memory = step(memory, nothing, none, 0.0, right)
        by_index, _ = step(memory, nothing, index, 1.0, right)
        logits, memory = step(memory, nothing, none, 1.0, right)
        by_flag, _ = step(memory, nothing, none, 1.0, right)

        _, fresh = step(policy.initial_state(), signs, index, 0.0, [0.0] * len(previous))
        _, fresh = step(fresh, nothing, none, 0.0, right)
        by_table, _ = step(fresh, nothing, none, 1.0, right)

        rows.append([decide(it) == goal for it in (logits, by_table, by_index, by_flag)])
        action = decide(logits)
        for forced in (RIGHT, RIGHT, action):
            state, *_ = advance(key, state, jnp.int32(forced), params)
        previous = [float(action == it) for it in range(4)] if previous else []
    return rows


@pytest.mark.parametrize(
    ("encoding", "wrapped"), [("scalar", False), ("one-hot", False), ("scalar", True)]
)
def test_a_batch_is_each_episode_led_alone(encoding, wrapped):
    environment, _ = envs.make(
        "lookup-tree-maze", table_size=3, index_encoding=encoding, previous_action=wrapped
    )
    policy = make_policy(environment)
    cues = np.array([0, 5, 2])
    found = lead_agent(policy, environment, cues, 6, KEY)
    stacked = np.stack(found, axis=-1)  # (mazes, episodes, kinds)
    keys = jax.random.split(KEY, 3)
    for episode, cue in enumerate(cues):
        expected = lead_slowly(policy, environment, cue, 6, keys[episode])
        np.testing.assert_array_equal(stacked[:, episode], expected)
    # It matters what is shown again.
    assert all(np.any(stacked[..., 0] != stacked[..., kind]) for kind in (1, 2, 3))


class Notes(NamedTuple):
    """A scripted memory: the table, the index, the time, and how often the flag has been seen."""

    table: Any
    index: Any
    time: Any
    looked: Any


class Scripted(eqx.Module):
    """Solves every maze, but for one fault.

    It forgets the table after four mazes; or it takes an odd index for the next one, one step after
    it was shown; or, with an odd index, it decides the wrong way when it first sees the flag.
    """

    fault: str = eqx.field(static=True)

    def initial_state(self):
        zero = jnp.zeros((), jnp.int32)
        return Notes(jnp.zeros(4), zero, zero, zero)

    def step(self, seen, memory):
        shown, index, flag = seen[:4], seen[4:8], seen[8] > 0
        # It takes no table from who has acted before.
        begins = jnp.any(shown != 0) & ~jnp.any(seen[9:] > 0)
        table = jnp.where(begins, shown, memory.table)
        indexed = jnp.any(index > 0)
        entry = jnp.where(indexed, jnp.argmax(index), memory.index).astype(jnp.int32)
        time = jnp.where(begins, 0, memory.time + 1).astype(jnp.int32)
        odd = entry % 2 == 1
        if self.fault == "table":
            table = jnp.where(time > 3 * 4, 1.0, table)
        if self.fault == "index":
            entry = jnp.where(odd & (time % 3 == 1), (entry + 1) % 4, entry)
        goal = table[entry]
        looked = jnp.where(flag, memory.looked + 1, 0)
        if self.fault == "flag":
            goal = jnp.where(odd & (looked == 1), -goal, goal)
        logits = jnp.stack([1.0, -goal, 0.0, goal])
        return logits, Notes(table, entry, time, looked)


def diagnose(fault: str, wrapped: bool = False):
    environment, _ = envs.make(
        "lookup-tree-maze", index_encoding="one-hot", previous_action=wrapped
    )
    cues = np.tile(np.arange(14), 2)
    decisions = lead_agent(Scripted(fault), environment, cues, 12, KEY)
    return tabulate_losses(3, cues, decisions), decisions


@pytest.mark.parametrize(
    ("fault", "wrapped"), [("table", False), ("index", False), ("flag", False), ("table", True)]
)
def test_what_is_lost_is_what_cures(fault, wrapped):
    losses, decisions = diagnose(fault, wrapped)
    total = {name: int(column.sum()) for name, column in losses.items()}
    assert total["num_decisions"] == 12 * 28
    assert total["num_wrong"] > 50
    assert total[f"cured_by_{fault}"] == total["num_wrong"]
    assert total["cured_by_none"] == 0
    assert all(total[f"cured_by_{name}"] == 0 for name in SHOWN if name != fault)
    assert all(total[f"spoiled_by_{name}"] == 0 for name in SHOWN)
    wrong_mazes = np.any(~decisions.plain, axis=1)
    np.testing.assert_array_equal(wrong_mazes, np.arange(12) >= (4 if fault == "table" else 0))


def test_nothing_is_lost_by_who_solves_everything():
    losses, _ = diagnose("none")
    for name, column in losses.items():
        if name.startswith(("num_wrong", "cured", "spoiled")):
            assert not column.any()


def test_counts_are_those_of_each_table_and_bin():
    generator = np.random.default_rng(0)
    cues = np.array([2, 0, 2, 5])
    decisions = tuple(generator.integers(0, 2, (4, 30, 4)).astype(bool))
    losses = tabulate_losses(7, cues, Decisions(*decisions))
    plain, by_table, by_index, by_flag = decisions
    rows = {name: column.tolist() for name, column in losses.items()}
    firsts, lasts = space_bins(30)
    assert list(zip(rows["cue"], rows["first"], rows["last"], strict=True)) == [
        (cue, first, last) for cue in (0, 2, 5) for first, last in zip(firsts, lasts, strict=True)
    ]
    for row, (cue, first, last) in enumerate(
        zip(rows["cue"], rows["first"], rows["last"], strict=True)
    ):
        counts = dict.fromkeys(list(rows)[4:], 0)
        for maze in range(first - 1, min(last, 30)):
            for episode in np.flatnonzero(cues == cue):
                right = plain[maze, episode]
                shown = [it[maze, episode] for it in (by_table, by_index, by_flag)]
                counts["num_decisions"] += 1
                counts["num_wrong"] += not right
                counts["cured_by_none"] += not right and not any(shown)
                for name, changed in zip(SHOWN, shown, strict=True):
                    counts[f"cured_by_{name}"] += not right and changed
                    counts[f"spoiled_by_{name}"] += right and not changed
        assert {name: rows[name][row] for name in counts} == counts
    assert set(rows["seed"]) == {7}


def test_a_stage_writes_them_and_is_for_this_maze_alone(tmp_path):
    stage = stages["losses"]
    assert stage.tables == ("losses",)
    for name in ("lookup-tree-maze", "tmaze"):
        for wrapped in (False, True):
            environment, _ = envs.make(name, previous_action=wrapped)
            assert stage.supports(environment) == (name == "lookup-tree-maze")
    env = envs.make("lookup-tree-maze", table_size=2)
    architecture = networks.Architecture(cell="gru", state_size=4, encoder=[6], head=[])
    value = networks.make_value(architecture, 4, key=KEY)
    agents = {
        seed: networks.Agent(make_policy(env[0], seed), value, architecture) for seed in (1, 4)
    }
    weights = {1: "one", 4: "four"}
    records = AgentRecords(tmp_path)
    told = []
    find_losses(
        AgentGroup(agents, env, weights, records),
        num_mazes=5,
        num_episodes=3,
        on_agent=lambda *counts: told.append(counts),
    )
    losses = records.read("losses")
    assert told == [(1, 2), (2, 2)]
    assert records.read_weights("losses") == weights
    assert losses["num_decisions"].sum() == 2 * 4 * 5  # two agents, two tables twice, five mazes
    with pytest.raises(InvalidOptionError, match=r"TMaze.*in a LookupTreeMaze alone"):
        find_losses(AgentGroup({1: make_agent()}, envs.make("tmaze"), {1: "one"}, records))
