"""Places and observations are those of the environment itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.certificates.mazes import World, list_tables
from remanence.certificates.mazes._walks import shorten
from remanence.envs import LookupTreeMaze, LookupTreeMazeParams
from remanence.errors import InvalidOptionError


@pytest.mark.parametrize("encoding", ["scalar", "one-hot"])
def test_every_place_is_as_in_the_environment(encoding: str):
    maze, table = LookupTreeMaze(3, encoding), (1, -1, 1)
    world, params = World(maze, [1, 3]), LookupTreeMazeParams(num_mazes=9, length=3)
    key = jax.random.key(0)
    start = maze.start_with(jnp.int32(list_tables(maze).index(table)), key, params)
    right_arms = world.find_right_arms(table)

    def change(state, **fields):
        return type(state)(**{**vars(state), **{k: jnp.asarray(v) for k, v in fields.items()}})

    @jax.jit
    def look(state):
        moved = [maze.advance(key, state, jnp.int32(action), params)[0] for action in range(4)]
        judged = [maze.judge(state, jnp.int32(action)) for action in range(4)]
        return maze.observe(state), [(it.maze, it.position, it.entered) for it in moved], judged

    for number, place in enumerate(world.places):
        state = change(
            start,
            time=jnp.int32(0 if place.opening else 7),
            length=jnp.int32(place.length),
            position=jnp.int32(place.position),
            index=jnp.int32(place.entry),
            goal=jnp.int32(table[place.entry]),
            entered=jnp.asarray(place.entered),
        )
        seen, moved, judged = look(state)
        np.testing.assert_array_equal(seen, world.observe(table)[number])
        for action, (mazes, position, entered) in enumerate(moved):
            following = world.following[number, action]
            if mazes == 0:
                after = world.places[following]
                assert (after.position, after.entered) == (int(position), bool(entered))
                assert after[:2] == place[:2]
            else:
                assert following == -1
                assert (int(judged[action]) == 1) == (action == right_arms[number])


def test_tables_are_the_environments_cues():
    maze = LookupTreeMaze(3)
    assert [list(it) for it in list_tables(maze)] == maze.cue_observations()[:, :3].tolist()


def test_lengths_that_matter_to_those_who_may_wait():
    assert [shorten(it) for it in [(1, 2, 3), (2, 5), (1,), (1, 4, 9)]] == [
        (1, 2),
        (2,),
        (1,),
        (1, 4),
    ]


def test_lengths_are_checked():
    with pytest.raises(InvalidOptionError, match="at least one"):
        World(LookupTreeMaze(), [])
    with pytest.raises(InvalidOptionError, match="lengths"):
        World(LookupTreeMaze(), [0])
    with pytest.raises(InvalidOptionError, match=r"101 of them.* up to 100"):
        World(LookupTreeMaze(), range(1, 102))
