"""Scenes, as text and as pictures: what they show, and that they fit."""

import dataclasses
import itertools

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import ImageColor

from remanence import envs
from remanence.envs import GymnasiumEnv, GymnasiumVectorEnv, _picture
from remanence.envs._picture import draw_picture
from remanence.envs._render import (
    MAX_CELLS_SHOWN,
    MAX_COLUMNS,
    Corridor,
    Scene,
    Table,
    draw_text,
    elide,
    list_fields,
    show_number,
)

RIGHT, UP, LEFT, DOWN = range(4)

FULL_TABLE = Table(entries=(1, -1) * 15, index=29, visible=False)
FACTS = ("step 10 000 000", "maze 10 000 of 10 000", "cell 1 000 000 of 1 000 000")
CROWDED = [
    Scene("LookupTreeMaze", FACTS, Corridor(1, 0, 1, sign="29"), FULL_TABLE, (1, 10_000)),
    Scene("LookupTreeMaze", FACTS, Corridor(10**6, 999_999, -1), FULL_TABLE, (9999, 10_000)),
    Scene("LookupTreeMaze", FACTS, Corridor(10**6, 500_000, 1, sign="↑"), FULL_TABLE, (0, 1)),
    Scene("T-maze", FACTS, Corridor(13, 12, 1, arm=1)),
    Scene("Somebody's", tuple(f"field_{i} = {'9' * 20 * i}" for i in range(20))),
]


def has_colour(picture, colour):
    return np.all(picture == ImageColor.getrgb(colour), axis=-1)


@pytest.mark.parametrize("length", [1, 2, 12, 13, 14, 15, 16, 40])
def test_elided_corridors_show_the_ends_and_the_agent(length):
    for position in range(length):
        cells = elide(length, position)
        shown = [cell for cell in cells if cell is not None]
        assert {0, position, length - 1} <= set(shown)
        assert shown == sorted(set(shown))
        assert len(cells) == min(length, MAX_CELLS_SHOWN)
        for before, after in itertools.pairwise(shown):
            hidden = after - before - 1
            broken = cells[cells.index(before) + 1] is None
            assert (hidden > 1) if broken else (hidden == 0)


def test_an_elided_corridor_moves_by_at_most_one_place_a_step():
    length = 40
    places = [elide(length, position).index(position) for position in range(length)]
    assert set(np.diff(places)) == {0, 1}


def test_text_of_a_tmaze():
    env = GymnasiumEnv("tmaze", length=3, render_mode="ansi")
    cue = env.reset(seed=0)[0][0]
    wrong = UP if cue > 0 else DOWN
    arms = ("[x]", "[★]") if cue > 0 else ("[★]", "[x]")
    arrow = "↓" if cue > 0 else "↑"
    first = env.render().splitlines()
    assert first == [
        "T-maze",
        f"           {arms[0]}",
        f"  ({arrow})[●][ ][ ]",
        f"           {arms[1]}",
        "step 0  ·  cell 1 of 3",
    ]
    env.step(RIGHT)
    assert env.render().splitlines()[2] == "     [ ][●][ ]"
    env.step(RIGHT)
    env.step(wrong)
    assert "[x●]" in env.render()
    assert env.render().endswith("step 3  ·  wrong arm")


def test_text_of_a_lookup_tree_maze_agrees_with_its_observations():
    env = GymnasiumEnv("lookup-tree-maze", num_mazes=3, length=2, render_mode="ansi")
    observation, _ = env.reset(seed=2)
    entries = observation[:4]
    for maze in range(3):
        index = int(observation[4])
        title, above, row, below, table, arrows, pointer, facts = env.render().splitlines()
        assert (title, row) == ("LookupTreeMaze", f"  ({index})[●][ ]")
        assert ("★" in below, "★" in above) == (entries[index] > 0, entries[index] < 0)
        assert table == ("table, seen now" if maze == 0 else "table, to be remembered")
        assert arrows.split() == ["↓" if entry > 0 else "↑" for entry in entries]
        assert pointer == " " * (2 + 2 * index) + f"^ entry {index}"
        assert facts == f"step {2 * maze}  ·  maze {maze + 1} of 3  ·  cell 1 of 2"
        env.step(RIGHT)
        assert env.render().splitlines()[2] == "     [ ][●]"
        observation, *_ = env.step(UP)
    assert "●" not in env.render()
    assert env.render().endswith("finished")


@pytest.mark.parametrize("scene", CROWDED)
def test_everything_fits(scene):
    assert max(map(len, draw_text(scene).splitlines())) <= MAX_COLUMNS
    picture = draw_picture(scene)
    assert picture.shape[:2] == (320 + 96 * (scene.table is not None), 640)
    frame = np.ones(picture.shape[:2], bool)
    frame[12:-12, 12:-12] = False
    assert has_colour(picture, _picture.PAPER)[frame].all()


def test_a_million_cells_are_elided():
    scene = Scene("T-maze", corridor=Corridor(10**6, 500_000, 1))
    assert draw_text(scene).splitlines()[2].count("…") == 2
    nearby = dataclasses.replace(scene, corridor=Corridor(10**6, 400_000, 1))
    assert not np.array_equal(draw_picture(scene), draw_picture(nearby))
    assert show_number(10**6) == "1 000 000"


@pytest.mark.parametrize("name", ["tmaze", "lookup-tree-maze"])
def test_pictures_keep_their_shape_and_follow_the_agent(name):
    env = GymnasiumEnv(name, length=3, render_mode="rgb_array")
    env.reset(seed=0)
    pictures = [env.render()]
    for action in (RIGHT, RIGHT):
        env.step(action)
        pictures.append(env.render())
    assert {(picture.shape, picture.dtype.name) for picture in pictures} == {
        (pictures[0].shape, "uint8")
    }
    columns = [np.nonzero(has_colour(picture[70:], _picture.BLUE))[1] for picture in pictures]
    steps = np.diff([column.mean() for column in columns])
    np.testing.assert_allclose(steps, _picture.MAX_CELL, atol=1)


@pytest.mark.parametrize("goal", [-1, 1])
def test_the_rewarded_arm_is_where_the_goal_is(goal):
    picture = draw_picture(Scene("T-maze", corridor=Corridor(5, 2, goal)))
    rewarded = np.nonzero(has_colour(picture, _picture.GREEN))[0].mean()
    wrong = np.nonzero(has_colour(picture, _picture.VERMILLION))[0].mean()
    assert np.sign(rewarded - wrong) == goal


def test_the_cue_is_shown_only_while_the_agent_sees_it():
    env = GymnasiumEnv("tmaze", length=4, render_mode="rgb_array")
    env.reset(seed=0)
    assert has_colour(env.render(), _picture.ORANGE).sum() > 100
    env.step(LEFT)
    assert not has_colour(env.render(), _picture.ORANGE).any()


def test_the_table_shows_which_entry_decides():
    corridor = Corridor(3, 1, 1)
    pictures = [
        draw_picture(Scene("", corridor=corridor, table=Table((1, -1, 1), index, visible=False)))
        for index in (0, 2)
    ]
    dark = [np.nonzero(has_colour(picture[320:], _picture.INK))[1] for picture in pictures]
    assert dark[0].max() < 320 < dark[1].min()


def test_a_wrapped_environment_looks_like_the_one_it_wraps():
    plain, params = envs.make("lookup-tree-maze")
    wrapped, _ = envs.make("lookup-tree-maze", previous_action=True)
    key = jax.random.key(0)
    assert wrapped.depict(wrapped.start(key, params)) == plain.depict(plain.start(key, params))


class Somewhere(eqx.Module):
    place: jax.Array
    names: tuple[jax.Array, jax.Array]


def test_any_state_can_be_shown():
    state = Somewhere(jnp.arange(3), (jnp.array(True), jnp.array(0.12345)))
    scene = list_fields("Somewhere", state)
    assert scene.facts == ("place = [0, 1, 2]", "names.0 = True", "names.1 = 0.123")
    assert draw_text(scene).splitlines()[0] == "Somewhere"
    assert has_colour(draw_picture(scene)[60:], _picture.INK).any()


def test_a_vector_shows_all_its_members():
    vector = GymnasiumVectorEnv("tmaze", 3, length=np.array([1, 2, 3]), render_mode="ansi")
    vector.reset(seed=0)
    frames = vector.render()
    assert frames is not None
    assert [frame.rsplit("of ")[1] for frame in frames] == ["1", "2", "3"]


def test_without_a_render_mode_there_is_a_warning():
    env = GymnasiumEnv("tmaze")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match='render_mode="ansi"'):
        assert env.render() is None


def test_nothing_can_be_shown_before_the_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        GymnasiumEnv("tmaze", render_mode="ansi").render()
