import itertools
from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from remanence.envs import (
    LookupTreeMaze,
    LookupTreeMazeParams,
    LookupTreeMazeState,
    describe,
    make,
    restore,
)
from remanence.errors import InvalidOptionError
from tests.envs.reference import DOWN, LEFT, RIGHT, UP, LookupTreeMazeReference, Maze
from tests.envs.rollouts import (
    assert_replays,
    assert_uniform,
    compile_quickly,
    keep_whole_episodes,
    roll_out,
)

MAZE = LookupTreeMaze()
KEY = jax.random.key(0)


def list_tables(size: int) -> list[tuple[int, ...]]:
    return [table for table in itertools.product((-1, 1), repeat=size) if len(set(table)) == 2]


def start_many(environment, params, seed: int, num_episodes: int) -> LookupTreeMazeState:
    keys = jax.random.split(jax.random.key(seed), num_episodes)
    return compile_quickly(jax.vmap(lambda key: environment.start(key, params)))(keys)


def visit_every_maze(environment, params, states) -> tuple[np.ndarray, ...]:
    """Lengths, goals and indices of a batch of fresh episodes, each of shape (episode, maze).

    They are read off the state on a walk through all mazes, so that nothing is assumed of how
    they are drawn. Mazes beyond an episode's number are 0.
    """
    num_mazes, max_length = params.num_mazes_high.item(), params.length_high.item()

    def step(state, _):
        maze = jnp.where(state.maze < state.num_mazes, state.maze, num_mazes)
        action = jnp.where(state.position == state.length - 1, DOWN, RIGHT)
        next_state = environment.advance(KEY, state, action, params)[0]
        return next_state, (maze, state.length, state.goal, state.index)

    def visit(state):
        _, (maze, *drawn) = jax.lax.scan(step, state, length=num_mazes * max_length)
        return tuple(jnp.zeros(num_mazes + 1, jnp.int32).at[maze].set(x)[:-1] for x in drawn)

    return tuple(np.asarray(drawn) for drawn in compile_quickly(jax.vmap(visit))(states))


def read_mazes(environment, params, states) -> list[list[Maze]]:
    """The mazes of each of a batch of fresh episodes."""
    drawn = np.stack(visit_every_maze(environment, params, states), axis=-1)
    return [
        [Maze(*maze) for maze in mazes[:number].tolist()]
        for mazes, number in zip(drawn, np.asarray(states.num_mazes), strict=True)
    ]


class Place(NamedTuple):
    table: tuple[int, ...]
    num_mazes: int
    maze: int
    position: int
    here: Maze
    entered: bool
    time: int

    def to_numbers(self) -> list[int]:
        bits = sum(1 << place for place, sign in enumerate(self.table) if sign == 1)
        here = self.here
        numbers = [self.time, self.num_mazes, self.maze, here.length, self.position]
        return [*numbers, here.goal, here.index, bits]


def list_places(table_size: int) -> Iterator[Place]:
    """All of small trees, first steps of a maze and of an episode included."""
    for table in list_tables(table_size):
        for num_mazes, length in itertools.product((1, 2, 3), (1, 2, 3)):
            for maze, position, index in itertools.product(
                range(num_mazes), range(length), range(table_size)
            ):
                here = Maze(length, table[index], index)
                yield Place(table, num_mazes, maze, position, here, False, 5)
                if position == 0:
                    yield Place(table, num_mazes, maze, position, here, True, 5)
                if (maze, position) == (0, 0):
                    yield Place(table, num_mazes, maze, position, here, True, 0)


@pytest.mark.parametrize("encoding", ["scalar", "one-hot"])
@pytest.mark.parametrize("table_size", [2, 3])
def test_every_transition_is_the_papers(table_size, encoding):
    environment = LookupTreeMaze(table_size, encoding)
    params = LookupTreeMazeParams(num_mazes=(1, 3), length=(1, 3), time_limit_factor=None)
    seed = environment.start(KEY, params).seed

    def advance(numbers, entered, action):
        time, num_mazes, maze, length, position, goal, index, table = numbers
        state = LookupTreeMazeState(
            time=time,
            num_mazes=num_mazes,
            maze=maze,
            length=length,
            position=position,
            goal=goal,
            index=index,
            entered=entered,
            table=table,
            total_length=length,
            seed=seed,
        )
        after, *outcome = environment.advance(KEY, state, action, params)
        entries = environment.table_entries(after)
        return environment.observe(state), outcome, environment.observe(after), entries, after

    cases = list(itertools.product(list_places(table_size), range(4)))
    recorded = jax.jit(jax.vmap(advance))(
        jnp.array([place.to_numbers() for place, _ in cases]),
        jnp.array([place.entered for place, _ in cases]),
        jnp.array([action for _, action in cases]),
    )
    rows = zip(*(np.asarray(leaf).tolist() for leaf in jax.tree.leaves(recorded)), strict=True)
    for (place, action), row in zip(cases, rows, strict=True):
        seen, *outcome, seen_after, entries = row[:6]
        time, num_mazes, maze, length, position, goal, index, entered = row[6:14]
        following = Maze(length, goal, index)
        assert 1 <= length <= 3
        assert place.table[index] == goal
        unseen = Maze(1, 1, 0)  # one step cannot come back to an earlier maze
        later = [following] * (place.num_mazes - place.maze - 1)
        expected = LookupTreeMazeReference(
            table=place.table,
            mazes=[unseen] * place.maze + [place.here] + later,
            one_hot=encoding == "one-hot",
            limit_factor=None,
            position=place.position,
            maze=place.maze,
            entered=place.entered,
            time=place.time,
        )
        assert seen == expected.observe()
        assert outcome == pytest.approx(expected.step(action))
        assert seen_after == expected.observe()
        assert (position, maze, entered) == (expected.position, expected.maze, expected.entered)
        assert (time, num_mazes) == (place.time + 1, place.num_mazes)
        assert entries == list(place.table)
        if not expected.entered:
            assert following == place.here


@pytest.mark.parametrize(
    ("table_size", "encoding", "limit_factor"),
    [(4, "scalar", 10), (4, "one-hot", 2), (7, "scalar", None)],
)
def test_random_episodes_agree_with_the_reference(table_size, encoding, limit_factor):
    environment = LookupTreeMaze(table_size, encoding)
    params = LookupTreeMazeParams((1, 4), (1, 4), limit_factor)
    rollout = roll_out(environment, params, seed=1, num_envs=200, num_steps=250)
    opening, steps, starts = keep_whole_episodes(rollout)
    assert len(starts) > 1000
    tables = np.asarray(jax.vmap(environment.table_entries)(opening)).tolist()
    references = []
    for table, mazes in zip(tables, read_mazes(environment, params, opening), strict=True):
        assert 1 <= len(mazes) <= 4
        assert all(table[maze.index] == maze.goal for maze in mazes)
        one_hot = encoding == "one-hot"
        references.append(LookupTreeMazeReference(table, mazes, one_hot, limit_factor))
    assert_replays(references, steps, starts)


@pytest.mark.parametrize("table_size", [2, 4, 5])
def test_every_table_is_equally_likely(table_size):
    environment = LookupTreeMaze(table_size)
    states = start_many(environment, LookupTreeMazeParams(), seed=2, num_episodes=100_000)
    entries = np.asarray(jax.vmap(environment.table_entries)(states))
    tables, which = np.unique(entries, axis=0, return_inverse=True)
    assert sorted(map(tuple, tables.tolist())) == list_tables(table_size)
    assert_uniform(which, 2**table_size - 2)


def test_the_number_of_mazes_takes_every_integer_of_its_range():
    params = LookupTreeMazeParams(num_mazes=(3, 20))
    states = start_many(MAZE, params, seed=3, num_episodes=100_000)
    assert_uniform(np.asarray(states.num_mazes) - 3, 18)


def test_what_an_episode_draws_is_pairwise_independent():
    params = LookupTreeMazeParams(num_mazes=(6, 8), length=(1, 3))
    states = start_many(MAZE, params, seed=4, num_episodes=60_000)
    lengths, goals, _ = visit_every_maze(MAZE, params, states)
    drawn = {
        "number": (np.asarray(states.num_mazes) - 6, 3),
        "table": (np.asarray(states.table) - 1, 14),
    }
    for maze in range(6):
        drawn[f"length {maze}"] = lengths[:, maze] - 1, 3
        drawn[f"goal {maze}"] = (goals[:, maze] + 1) // 2, 2
    for (name, (values, size)), (other, (others, width)) in itertools.combinations(
        drawn.items(), 2
    ):
        print(name, "and", other)  # shown by pytest where the next line fails
        assert_uniform(values * width + others, size * width)


def test_the_mazes_of_an_episode_are_jointly_independent():
    # Words in arithmetic progression would be independent in pairs, but not beyond.
    params = LookupTreeMazeParams(num_mazes=8, length=(1, 3))
    states = start_many(MAZE, params, seed=13, num_episodes=60_000)
    lengths, goals, _ = visit_every_maze(MAZE, params, states)
    assert_uniform((goals > 0) @ (2 ** np.arange(8)), 2**8)
    assert_uniform((lengths[:, :5] - 1) @ (3 ** np.arange(5)), 3**5)


def test_an_index_is_uniform_among_the_entries_that_equal_the_goal():
    params = LookupTreeMazeParams(num_mazes=6, length=(1, 2))
    states = start_many(MAZE, params, seed=5, num_episodes=100_000)
    drawn = visit_every_maze(MAZE, params, states)
    for maze, table in itertools.product((0, 1, 5), range(1, 15)):
        rows = np.asarray(states.table) == table
        lengths, goals, indices = (values[rows, maze] for values in drawn)
        entries = 2 * ((table >> np.arange(4)) & 1) - 1
        for goal, length in itertools.product((-1, 1), (1, 2)):
            counts = np.bincount(indices[(goals == goal) & (lengths == length)], minlength=4)
            assert not counts[entries != goal].any()
            likely = counts[entries == goal]
            assert len(likely) == 1 or scipy.stats.chisquare(likely).pvalue > 1e-5


def test_indices_are_independent_of_each_other_and_of_lengths():
    params = LookupTreeMazeParams(num_mazes=4, length=(1, 2))
    states = start_many(MAZE, params, seed=6, num_episodes=60_000)
    lengths, goals, indices = visit_every_maze(MAZE, params, states)
    entries = np.asarray(jax.vmap(MAZE.table_entries)(states))
    np.testing.assert_array_equal(np.take_along_axis(entries, indices, axis=1), goals)
    # With two entries of each sign, the four indices of a table are equally likely.
    halves = entries.sum(axis=1) == 0
    lengths, indices = lengths[halves], indices[halves]
    for first, second in itertools.product(range(4), repeat=2):
        assert_uniform(2 * indices[:, first] + lengths[:, second] - 1, 8)
        if first < second:
            assert_uniform(4 * indices[:, first] + indices[:, second], 16)


def test_an_auto_reset_draws_uniformly_whatever_the_last_episode_was():
    params = LookupTreeMazeParams(num_mazes=(1, 2), length=(1, 2))
    rollout = roll_out(MAZE, params, seed=7, num_envs=2000, num_steps=150)
    done = rollout.terminated | rollout.truncated
    assert done.sum() > 20_000

    def read(state):
        goals, lengths = (state.goal[done] + 1) // 2, state.length[done] - 1
        return 4 * (state.num_mazes[done] - 1) + 2 * lengths + goals, state.table[done] - 1

    (old, old_table), (new, new_table) = read(rollout.state), read(rollout.next_state)
    assert_uniform(14 * new + new_table, 8 * 14)
    for kind in range(8):
        assert_uniform(new[old == kind], 8)
        assert_uniform(new_table[old == kind], 14)
    for table in range(14):
        assert_uniform(new_table[old_table == table], 14)
    np.testing.assert_array_equal(rollout.next_state.time == 0, done)
    assert not rollout.final_observation[rollout.terminated].any()


@pytest.mark.parametrize("num_mazes", [1, 3, 20])
def test_the_limit_truncates_at_ten_times_the_sum_of_the_lengths(num_mazes):
    params = LookupTreeMazeParams(num_mazes, length=(1, 4))
    state = MAZE.start(jax.random.key(8), params)
    (mazes,) = read_mazes(MAZE, params, jax.tree.map(lambda leaf: leaf[None], state))
    total_length = sum(maze.length for maze in mazes)
    assert len(mazes) == num_mazes

    def bump(state, _):
        state, *outcome = MAZE.advance(KEY, state, jnp.int32(LEFT), params)
        return state, outcome

    _, (reward, terminated, truncated) = jax.lax.scan(bump, state, length=10 * total_length)
    assert not reward.any()
    assert not terminated.any()
    assert np.flatnonzero(truncated).tolist() == [10 * total_length - 1]


@pytest.mark.parametrize("limit_factor", [1, 10])
def test_all_lengths_are_added_up_before_the_limit_can_bind(limit_factor):
    params = LookupTreeMazeParams((1, 9), (1, 3), limit_factor)
    states = start_many(MAZE, params, seed=9, num_episodes=300)
    lengths, *_ = visit_every_maze(MAZE, params, states)
    true = lengths.sum(axis=1)

    def bump(state, _):
        state, *_, truncated = MAZE.advance(KEY, state, jnp.int32(LEFT), params)
        return state, (state.time, state.total_length, truncated)

    scan = jax.vmap(lambda state: jax.lax.scan(bump, state, length=10 * 27)[1])
    time, total_length, truncated = map(np.asarray, compile_quickly(scan)(states))
    # The sum is over the first `time + 1` mazes, and 0 for mazes that the episode does not have.
    for step in range(9):
        np.testing.assert_array_equal(
            total_length[:, step], lengths[:, : step + 2].sum(axis=1), err_msg=f"step {step}"
        )
    np.testing.assert_array_equal(total_length[:, 9:], np.broadcast_to(true[:, None], (300, 261)))
    np.testing.assert_array_equal(truncated, time >= limit_factor * true[:, None])


def test_no_limit_never_truncates():
    params = LookupTreeMazeParams(1, 1, None)
    state = eqx.tree_at(lambda s: s.time, MAZE.start(KEY, params), jnp.int32(10_000_000))
    assert not MAZE.advance(KEY, state, jnp.int32(LEFT), params)[3]


def test_an_arm_entered_on_the_last_step_both_terminates_and_truncates():
    params = LookupTreeMazeParams(num_mazes=1, length=1, time_limit_factor=1)
    state = MAZE.start(KEY, params)
    _, reward, terminated, truncated = MAZE.advance(KEY, state, jnp.int32(DOWN), params)
    assert reward == pytest.approx(4.0 if state.goal == 1 else -0.1)
    assert (terminated, truncated) == (True, True)


@pytest.mark.parametrize(("encoding", "shown"), [("scalar", 1), ("one-hot", 4)])
def test_a_first_maze_of_one_cell_shows_everything_at_once(encoding, shown):
    environment, params = make("lookup-tree-maze", length=1, index_encoding=encoding)
    observation, state = environment.reset(jax.random.key(10), params)
    assert isinstance(environment, LookupTreeMaze)
    table = environment.table_entries(state)
    index = state.index.item()
    expected = [index] if shown == 1 else [float(place == index) for place in range(4)]
    assert observation.tolist() == [*table.tolist(), *expected, 1]
    assert table[index] == state.goal


@pytest.mark.parametrize("num_mazes", [1, 3, 7, 1000])
@pytest.mark.parametrize("right", [True, False])
def test_the_rewards_of_an_episode_add_up(num_mazes, right):
    params = LookupTreeMazeParams(num_mazes, length=1)

    def decide(state, _):
        arm = state.goal if right else -state.goal
        action = jnp.where(arm > 0, DOWN, UP)
        state, reward, terminated, _ = MAZE.advance(KEY, state, action, params)
        return state, (reward, terminated)

    start = MAZE.start(jax.random.key(11), params)
    _, (reward, terminated) = jax.lax.scan(decide, start, length=num_mazes)
    assert np.flatnonzero(terminated).tolist() == [num_mazes - 1]
    assert reward.dtype == jnp.float32
    each = np.float32(4.0 if right else -0.1) / np.float32(num_mazes)
    np.testing.assert_array_equal(reward, np.full(num_mazes, each))
    # A sequential float32 sum of n equal terms is off by at most n roundings of 2^-24.
    total = 4.0 if right else -0.1
    assert float(np.cumsum(reward)[-1]) == pytest.approx(total, rel=num_mazes * 2**-24)


def test_one_batch_mixes_lengths_and_numbers_of_mazes():
    numbers, lengths = jnp.array([1, 2, 10_000]), jnp.array([1, 7, 1000])
    params = jax.vmap(LookupTreeMazeParams)(numbers, lengths)

    def walk_right(key, params):
        def step(_, state):
            return MAZE.advance(key, state, jnp.int32(RIGHT), params)[0]

        return jax.lax.fori_loop(0, 8, step, MAZE.start(key, params))

    state = jax.vmap(walk_right)(jax.random.split(KEY, 3), params)
    assert state.num_mazes.tolist() == [1, 2, 10_000]
    assert state.position.tolist() == [0, 6, 8]
    assert jax.vmap(MAZE.observe)(state)[:, -1].tolist() == [1, 1, 0]


def test_one_compilation_serves_every_length_and_number_of_mazes():
    num_traces = 0

    @jax.jit
    def reset_and_step(key, params):
        nonlocal num_traces
        num_traces += 1
        _, state = MAZE.reset(key, params)
        return MAZE.step(key, state, jnp.int32(RIGHT), params)

    for options in [(1, 1), ((1, 20), (1, 3)), (10_000, 3), (1, 1_000_000, None)]:
        reset_and_step(KEY, LookupTreeMazeParams(*options))
    assert num_traces == 1


def test_a_script_passes_ten_thousand_mazes_in_one_compiled_loop():
    environment, params = make("lookup-tree-maze", num_mazes=10_000, length=3)
    script = environment.script()
    assert script is not None

    @jax.jit
    def play(key):
        def step(carry):
            state, memory, right, _ = carry
            action, memory = script.act(environment.observe(state), memory)
            state, reward, terminated, truncated = environment.advance(key, state, action, params)
            return state, memory, right + (reward > 0).astype(jnp.int32), terminated | truncated

        start = (environment.start(key, params), script.memory, jnp.int32(0), jnp.array(False))
        state, _, right, _ = jax.lax.while_loop(lambda carry: ~carry[3], step, start)
        return state.time, right

    assert play(jax.random.key(12)) == (30_000, 10_000)


def test_growth_is_the_number_of_mazes_each_as_long_as_the_longest():
    params = LookupTreeMazeParams(num_mazes=(2, 20), length=(1, 3), time_limit_factor=7)
    assert MAZE.growth.name == "num_mazes"
    assert MAZE.growth.usual == (10, 100, 1_000, 10_000)
    assert MAZE.read_growth(params) == (2, 20)
    grown = MAZE.grow(params, 50)
    assert (grown.length_low, grown.length_high) == (3, 3)
    assert (MAZE.read_growth(grown), MAZE.time_limit(grown)) == ((50, 50), 7 * 50 * 3)
    endless = MAZE.grow(LookupTreeMazeParams(time_limit_factor=None), 50)
    assert MAZE.time_limit(endless) is None


@pytest.mark.parametrize("slip", [0.5, 1.0])
def test_waits_in_slippery_mazes_have_the_distribution_that_is_said(slip):
    """Who wants up at once waits n steps or more with s^n / (n + 1), the mean of (s u)^n over u."""
    params = LookupTreeMazeParams(num_mazes=1, length=1, time_limit_factor=None, slip=slip)
    longest = 12

    def wait(key):
        def step(state, _):
            after, *_ = MAZE.advance(KEY, state, jnp.int32(UP), params)
            return after, after.maze == 0

        _, waits = jax.lax.scan(step, MAZE.start(key, params), length=longest)
        return jnp.sum(waits)

    waits = compile_quickly(jax.vmap(wait))(jax.random.split(jax.random.key(21), 20_000))
    at_least = np.array([slip**n / (n + 1) for n in range(longest + 1)])
    expected = 20_000 * (at_least - np.append(at_least[1:], 0))
    found = np.bincount(waits, minlength=longest + 1)
    assert scipy.stats.chisquare(found, expected).pvalue > 1e-3


def test_slips_go_right_or_left_by_a_coin_and_never_into_an_arm():
    params = LookupTreeMazeParams(num_mazes=1, length=3, time_limit_factor=None, slip=1.0)

    def move(key):
        state = eqx.tree_at(lambda state: state.position, MAZE.start(key, params), jnp.int32(1))
        return MAZE.advance(KEY, state, jnp.int32(DOWN), params)[0].position

    where = compile_quickly(jax.vmap(move))(jax.random.split(jax.random.key(22), 20_000))
    expected = 20_000 * np.array([1, 2, 1]) / 4  # half of all steps slip
    assert scipy.stats.chisquare(np.bincount(where), expected).pvalue > 1e-3


def test_slips_are_for_training():
    params = LookupTreeMazeParams(slip=0.9)
    assert params.slip == np.float32(0.9)
    assert MAZE.grow(params, 50).slip is None
    assert LookupTreeMazeParams(slip=0).slip is None


@pytest.mark.parametrize(
    "options",
    [
        {"num_mazes": jnp.array([5, 10]), "slip": 0.5},
        {"slip": jnp.array([0.0, 0.5])},
        {"slip": jnp.array([0.0, 0.0])},
    ],
    ids=["mazes", "slips", "no slips"],
)
def test_members_of_a_batch_may_differ_in_anything_where_it_is_slippery(options):
    params = LookupTreeMazeParams(**options)
    assert {leaf.shape for leaf in jax.tree.leaves(params)} == {(2,)}
    states = jax.vmap(MAZE.start)(jax.random.split(KEY, 2), params)
    advance = jax.vmap(MAZE.advance, (None, 0, None, 0))
    assert advance(KEY, states, jnp.int32(UP), params)[0].time.tolist() == [1, 1]


@pytest.mark.parametrize("slip", [-0.1, 1.01, float("nan"), "often", None, True])
def test_slips_are_probabilities(slip):
    with pytest.raises(InvalidOptionError, match="from 0 to 1"):
        LookupTreeMazeParams(slip=slip)


@pytest.mark.parametrize("slip", [0.0, 0.25])
def test_slips_are_described_where_there_are_any(slip):
    environment, params = make("lookup-tree-maze", slip=slip)
    described = describe(environment, params)
    assert described["params"].get("slip", 0.0) == slip
    assert ("slip" in described["params"]) == (slip > 0)
    assert eqx.tree_equal(restore(described), (environment, params))


def test_the_script_is_right_in_slippery_mazes_whose_indices_are_one_hot():
    environment = LookupTreeMaze(3, "one-hot")
    params = LookupTreeMazeParams(num_mazes=200, time_limit_factor=None, slip=0.9)
    script = environment.script()
    assert script is not None

    def play(key):
        def step(carry):
            state, memory, total, _ = carry
            action, memory = script.act(environment.observe(state), memory)
            state, reward, terminated, _ = environment.advance(key, state, action, params)
            return state, memory, total + reward, terminated

        start = (environment.start(key, params), script.memory, jnp.float32(0), jnp.array(False))
        return jax.lax.while_loop(lambda carry: ~carry[3], step, start)[2]

    assert compile_quickly(play)(jax.random.key(23)) == pytest.approx(4, rel=200 * 2**-24)
