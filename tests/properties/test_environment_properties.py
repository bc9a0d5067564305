"""Whatever an agent does: every sequence of actions in every maze."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.envs import LookupTreeMaze, LookupTreeMazeParams, TMaze, TMazeParams

NUM_STEPS = 60
UP, DOWN = 1, 3

actions = st.lists(st.sampled_from([0, 1, 2, 3, 0, 0]), min_size=NUM_STEPS, max_size=NUM_STEPS)
seeds = st.integers(0, 2**31 - 1)
factors = st.sampled_from([None, 1, 2, 10])


def ranges(highest: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(1, highest), st.integers(1, highest)).map(
        lambda ends: (min(ends), max(ends))
    )


def compile_run(environment):
    """States before and after, and outcomes, of auto-resetting steps; compiled once for all."""

    @jax.jit
    def run(key, params, actions):
        def step(state, inputs):
            key, action = inputs
            _, next_state, *outcome, info = environment.step(key, state, action, params)
            final = environment.advance(key, state, action, params)[0]
            return next_state, (state, final, next_state, outcome, info["final_observation"])

        _, state = environment.reset(key, params)
        keys = jax.random.split(key, NUM_STEPS)
        return jax.lax.scan(step, state, (keys, actions))[1]

    return lambda seed, params, chosen: jax.tree.map(
        np.asarray, run(jax.random.key(seed), params, jnp.array(chosen))
    )


run_tmaze = compile_run(TMaze())
run_tree = compile_run(LookupTreeMaze())


def assert_lawful(actions, run, limit, total):
    """What a T-maze and a row of them have in common."""
    before, final, after, (reward, terminated, truncated), final_observation = run
    done = terminated | truncated
    assert (before.position >= 0).all()
    assert (before.position <= before.length - 1).all()
    np.testing.assert_array_equal(final.time, before.time + 1)
    np.testing.assert_array_equal(after.time, np.where(done, 0, before.time + 1))
    decides = (before.position == before.length - 1) & np.isin(actions, [UP, DOWN])
    np.testing.assert_array_equal(reward != 0, decides)
    arm = np.where(np.array(actions) == DOWN, 1, -1)
    np.testing.assert_array_equal(reward > 0, decides & (arm == before.goal))
    assert not final_observation[terminated].any()
    if limit is None:
        assert not truncated.any()
    else:
        np.testing.assert_array_equal(truncated, final.time >= limit * total)


@settings(max_examples=60, deadline=None)
@given(seeds, ranges(8), factors, actions)
def test_a_tmaze_is_lawful(seed, length, factor, actions):
    run = run_tmaze(seed, TMazeParams(length, factor), actions)
    before, final, after, outcome, final_observation = run
    assert_lawful(actions, run, factor, before.length)
    reward, terminated, _ = outcome
    assert (before.length >= length[0]).all()
    assert (before.length <= length[1]).all()
    np.testing.assert_array_equal(terminated, reward != 0)
    assert set(np.round(reward, 6).tolist()) <= {0.0, 4.0, np.float32(-0.1).round(6)}
    same = after.time > 0
    for field in ("length", "goal"):
        np.testing.assert_array_equal(
            getattr(after, field)[same], getattr(before, field)[same], err_msg=field
        )
    assert not final_observation[:, 0].any(), "the cue is shown at the first step alone"
    assert (np.abs(final.position - before.position) <= 1).all()


@settings(max_examples=60, deadline=None)
@given(seeds, ranges(4), ranges(4), factors, actions)
def test_a_lookup_tree_maze_is_lawful(seed, num_mazes, length, factor, actions):
    run = run_tree(seed, LookupTreeMazeParams(num_mazes, length, factor), actions)
    before, final, after, outcome, final_observation = run
    assert_lawful(actions, run, factor, final.total_length)
    reward, terminated, _ = outcome
    for numbers, (low, high) in [(before.num_mazes, num_mazes), (before.length, length)]:
        assert (numbers >= low).all()
        assert (numbers <= high).all()
    same = after.time > 0
    for field in ("table", "num_mazes"):
        np.testing.assert_array_equal(
            getattr(after, field)[same], getattr(before, field)[same], err_msg=field
        )
    decides = reward != 0
    np.testing.assert_array_equal(final.maze, before.maze + decides)
    np.testing.assert_array_equal(terminated, final.maze == before.num_mazes)
    np.testing.assert_array_equal(final.entered, decides & ~terminated)
    assert not final.position[decides].any()
    staying = ~decides
    for field in ("length", "goal", "index"):
        np.testing.assert_array_equal(
            getattr(final, field)[staying], getattr(before, field)[staying], err_msg=field
        )
    signs = 2 * ((before.table >> before.index) & 1) - 1
    np.testing.assert_array_equal(signs, before.goal)
    assert (before.table > 0).all()
    assert (before.table < 15).all()
    assert not final_observation[:, :4].any(), "the table is shown at the first step alone"
    assert reward[decides] * before.num_mazes[decides] == pytest.approx(
        np.where(reward[decides] > 0, 4.0, -0.1), rel=1e-6
    )
