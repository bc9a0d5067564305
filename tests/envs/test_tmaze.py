import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.envs import TMaze, TMazeParams, TMazeState, make
from tests.envs.reference import DOWN, LEFT, RIGHT, UP, TMazeReference
from tests.envs.rollouts import assert_replays, assert_uniform, keep_whole_episodes, roll_out

MAZE = TMaze()


def start_at(length: int, goal: int, position: int = 0, time: int = 0) -> TMazeState:
    return TMazeState(*(jnp.int32(number) for number in (time, length, position, goal, 0)))


def walk(state: TMazeState, actions: list[int], params: TMazeParams):
    """Rewards, terminations and truncations of each action, without auto-reset."""
    outcomes = []
    for action in actions:
        state, *outcome = MAZE.advance(jax.random.key(0), state, jnp.int32(action), params)
        outcomes.append([value.item() for value in outcome])
    return state, outcomes


def test_every_transition_is_the_papers():
    cases = [
        (time, length, position, goal, action)
        for length in range(1, 6)
        for position in range(length)
        for time, goal, action in itertools.product((0, 3, 9), (-1, 1), range(4))
    ]
    time, length, position, goal, action = jnp.array(cases, jnp.int32).T
    before = jax.vmap(TMazeState)(time, length, position, goal, jnp.zeros_like(time))
    params = TMazeParams(length=(1, 5))
    after, reward, terminated, truncated = jax.jit(
        jax.vmap(lambda state, action: MAZE.advance(jax.random.key(0), state, action, params))
    )(before, action)
    seen_before, seen_after = jax.vmap(MAZE.observe)(before), jax.vmap(MAZE.observe)(after)
    recorded = (seen_before, reward, terminated, truncated, seen_after, after)
    for case, *row in zip(cases, *map(np.asarray, jax.tree.leaves(recorded)), strict=True):
        time, length, position, goal, action = case
        expected = TMazeReference(length, goal, position=(position, 0), time=time)
        seen, reward, terminated, truncated, seen_after, *state = (leaf.tolist() for leaf in row)
        assert seen == expected.observe()
        assert (reward, terminated, truncated) == pytest.approx(expected.step(action)), case
        assert seen_after == expected.observe(), case
        x, y = expected.position
        assert state == [time + 1, length, x, goal, y], case


@pytest.mark.parametrize("limit_factor", [2, 10, None])
def test_random_episodes_agree_with_the_reference(limit_factor):
    params = TMazeParams(length=(1, 6), time_limit_factor=limit_factor)
    rollout = roll_out(MAZE, params, seed=1, num_envs=200, num_steps=300)
    opening, steps, starts = keep_whole_episodes(rollout)
    assert len(starts) > 1000
    drawn = zip(opening.length.tolist(), opening.goal.tolist(), strict=True)
    references = [TMazeReference(length, goal, limit_factor) for length, goal in drawn]
    assert_replays(references, steps, starts)


@pytest.mark.parametrize(("low", "high"), [(1, 3), (4, 14), (7, 7)])
def test_a_reset_draws_length_and_goal_uniformly_and_independently(low, high):
    keys = jax.random.split(jax.random.key(2), 100_000)
    params = TMazeParams(length=(low, high))
    state = jax.jit(jax.vmap(lambda key: MAZE.start(key, params)))(keys)
    lengths, goals = np.asarray(state.length) - low, (np.asarray(state.goal) + 1) // 2
    assert set(np.unique(state.goal)) == {-1, 1}
    assert_uniform(2 * lengths + goals, 2 * (high - low + 1))


def test_an_auto_reset_draws_uniformly_whatever_the_last_episode_was():
    rollout = roll_out(MAZE, TMazeParams(length=(1, 3)), seed=3, num_envs=4000, num_steps=60)
    done = rollout.terminated | rollout.truncated
    assert done.sum() > 20_000
    old, new = (
        2 * (state.length[done] - 1) + (state.goal[done] + 1) // 2
        for state in (rollout.state, rollout.next_state)
    )
    for kind in range(6):
        assert_uniform(new[old == kind], 6)


def test_an_auto_reset_leaves_the_episode_that_ended_in_final_observation():
    rollout = roll_out(MAZE, TMazeParams(length=(1, 3)), seed=4, num_envs=300, num_steps=60)
    done = rollout.terminated | rollout.truncated
    observed = jax.vmap(jax.vmap(MAZE.observe))(rollout.next_state)
    opens = np.asarray(observed)[done]
    np.testing.assert_array_equal(rollout.next_state.time == 0, done)
    np.testing.assert_array_equal(opens[:, 0], rollout.next_state.goal[done])
    assert not rollout.final_observation[rollout.terminated].any()
    np.testing.assert_array_equal(rollout.final_observation[~done], np.asarray(observed)[~done])


def test_a_corridor_of_one_cell_shows_cue_and_junction_together():
    for goal in (-1, 1):
        state = start_at(length=1, goal=goal)
        assert MAZE.observe(state).tolist() == [goal, 1]
        arm, other = (DOWN, UP) if goal == 1 else (UP, DOWN)
        params = TMazeParams(length=1)
        assert walk(state, [arm], params)[1] == [[4, True, False]]
        assert walk(state, [other], params)[1] == [[pytest.approx(-0.1), True, False]]


@pytest.mark.parametrize("length", [1, 4])
def test_the_limit_truncates_at_ten_times_the_length(length):
    outcomes = walk(start_at(length, 1), [LEFT] * 10 * length, TMazeParams(length=length))[1]
    assert outcomes == [[0, False, False]] * (10 * length - 1) + [[0, False, True]]


def test_no_limit_never_truncates():
    state = start_at(length=2, goal=1, time=10_000_000)
    params = TMazeParams(length=2, time_limit_factor=None)
    assert walk(state, [LEFT] * 3, params)[1] == [[0, False, False]] * 3


def test_an_arm_entered_on_the_last_step_both_terminates_and_truncates():
    state = start_at(length=3, goal=1, position=2, time=29)
    params = TMazeParams(length=3)
    assert walk(state, [DOWN], params)[1] == [[4, True, True]]
    assert walk(state, [RIGHT], params)[1] == [[0, False, True]]


def test_one_batch_mixes_lengths():
    params = jax.vmap(TMazeParams)(jnp.array([1, 7, 1_000_000]))
    keys = jax.random.split(jax.random.key(5), 3)

    def walk_right(key, params):
        def step(_, state):
            return MAZE.advance(key, state, jnp.int32(RIGHT), params)[0]

        return jax.lax.fori_loop(0, 8, step, MAZE.start(key, params))

    state = jax.vmap(walk_right)(keys, params)
    assert state.length.tolist() == [1, 7, 1_000_000]
    assert state.position.tolist() == [0, 6, 8]
    assert jax.vmap(MAZE.observe)(state)[:, 1].tolist() == [1, 1, 0]


def test_one_compilation_serves_every_length():
    num_traces = 0

    @jax.jit
    def reset_and_step(key, params):
        nonlocal num_traces
        num_traces += 1
        _, state = MAZE.reset(key, params)
        return MAZE.step(key, state, jnp.int32(RIGHT), params)

    for length in (1, 1_000_000, (1, 3)):
        reset_and_step(jax.random.key(0), TMazeParams(length=length))
    reset_and_step(jax.random.key(0), TMazeParams(length=5, time_limit_factor=None))
    assert num_traces == 1


def test_a_million_steps_run_in_one_compiled_loop():
    environment, params = make("tmaze", length=1_000_000)
    script = environment.script()
    assert script is not None

    @jax.jit
    def play(key):
        def step(carry):
            state, memory, total, _ = carry
            action, memory = script.act(environment.observe(state), memory)
            state, reward, terminated, truncated = environment.advance(key, state, action, params)
            return state, memory, total + reward, terminated | truncated

        start = (environment.start(key, params), script.memory, jnp.float32(0), jnp.array(False))
        state, _, total, _ = jax.lax.while_loop(lambda carry: ~carry[3], step, start)
        return state.time, total

    time, total = play(jax.random.key(6))
    assert (time, total) == (1_000_000, 4)


def test_growth_is_the_length_and_keeps_the_limit():
    _, params = make("tmaze", time_limit_factor=7)
    assert MAZE.growth.name == "length"
    assert (MAZE.growth.usual[0], MAZE.growth.usual[-1]) == (2, 1_000_000)
    assert MAZE.read_growth(params) == (1, 3)
    grown = MAZE.grow(params, 50)
    assert (MAZE.read_growth(grown), MAZE.time_limit(grown)) == ((50, 50), 350)
    endless = MAZE.grow(TMazeParams(time_limit_factor=None), 50)
    assert MAZE.time_limit(endless) is None


def test_arms_are_decisions_and_all_else_is_none():
    for goal, position, action in itertools.product((-1, 1), (1, 2), range(4)):
        arm = {UP: -1, DOWN: 1}.get(action, 0) if position == 2 else 0
        expected = 0 if arm == 0 else 1 if arm == goal else -1
        assert MAZE.judge(start_at(3, goal, position), jnp.int32(action)) == expected


def test_figures_mark_what_the_paper_does():
    levels = {"optimal": 4.0, "coin flip": 1.95, "no arm in time": 0.0}
    assert MAZE.levels(TMazeParams()) == pytest.approx(levels)
