import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from remanence.envs import (
    LookupTreeMaze,
    LookupTreeMazeParams,
    PreviousAction,
    TMaze,
    TMazeParams,
    list_options,
    make,
    register,
    registry,
)
from remanence.errors import InvalidOptionError, UnknownNameError


def test_an_option_goes_where_it_belongs():
    environment, params = make("lookup-tree-maze", table_size=5, num_mazes=7, length=(2, 9))
    assert environment == LookupTreeMaze(table_size=5)
    assert isinstance(params, LookupTreeMazeParams)
    assert (params.num_mazes_low, params.num_mazes_high) == (7, 7)
    assert (params.length_low, params.length_high, params.limit_factor) == (2, 9, 10)


def test_the_training_sets_of_the_paper_are_the_defaults():
    _, params = make("tmaze")
    assert (params.length_low, params.length_high, params.limit_factor) == (1, 3, 10)
    environment, params = make("lookup-tree-maze")
    assert (params.num_mazes_low, params.num_mazes_high) == (1, 20)
    assert (params.length_low, params.length_high, params.limit_factor) == (1, 3, 10)
    assert environment == LookupTreeMaze(table_size=4, index_encoding="scalar")


def test_previous_action_wraps():
    environment, _ = make("tmaze", previous_action=True)
    assert environment == PreviousAction(TMaze())


def test_environments_are_equal_where_their_options_are():
    environment, _ = make("lookup-tree-maze", table_size=5)
    assert environment == make("lookup-tree-maze", table_size=5, length=9)[0]
    assert environment != make("lookup-tree-maze")[0]
    assert make("tmaze")[0] != make("tmaze", previous_action=True)[0]


def test_options_are_listed_with_their_defaults():
    assert list_options("tmaze") == ({}, {"length": (1, 3), "time_limit_factor": 10})
    static, traced = list_options("lookup-tree-maze")
    assert static == {"table_size": 4, "index_encoding": "scalar"}
    assert traced == {
        "num_mazes": (1, 20),
        "length": (1, 3),
        "time_limit_factor": 10,
        "slip": 0.0,
    }


@pytest.mark.parametrize(
    ("received", "near"),
    [("t-maze", "tmaze"), ("TMaze", "tmaze"), ("lookup-tree", "lookup-tree-maze")],
)
def test_an_unknown_environment_is_answered_with_the_nearest(received, near):
    with pytest.raises(UnknownNameError, match=f"Did you mean '{near}'"):
        make(received)


def test_an_unknown_option_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"option of tmaze 'lenght'.*Did you mean 'length'"):
        make("tmaze", lenght=3)
    with pytest.raises(UnknownNameError, match="table_size"):
        make("tmaze", table_size=3)


@pytest.mark.parametrize(
    ("length", "remedy"),
    [
        (0, "at least 1"),
        (-4, "at least 1"),
        ((0, 3), "at least 1"),
        ((3, 1), "low must not exceed high"),
        ((1, 2, 3), "pair"),
        ((), "pair"),
        (3.0, "integer"),
        ((1, 2.5), "integer"),
        ("3", "integer"),
        (True, "integer"),
        (None, "integer"),
        (2**31, "32 bits"),
        (np.array([1, 0]), "at least 1"),
        (jnp.array([1.0]), "integer"),
        (([1], [2, 3], [4]), "pair"),
    ],
)
@pytest.mark.parametrize("name", ["tmaze", "lookup-tree-maze"])
def test_a_length_that_cannot_be_is_refused(name, length, remedy):
    with pytest.raises(InvalidOptionError, match=rf"^length = .*{remedy}"):
        make(name, length=length)


@pytest.mark.parametrize("num_mazes", [0, (5, 4), 2.0, (1, 2, 3)])
def test_a_number_of_mazes_that_cannot_be_is_refused(num_mazes):
    with pytest.raises(InvalidOptionError, match=r"^num_mazes = "):
        make("lookup-tree-maze", num_mazes=num_mazes)


@pytest.mark.parametrize("table_size", [1, 0, -2, 31, True])
def test_a_table_that_cannot_be_is_refused(table_size):
    with pytest.raises(InvalidOptionError, match=r"^table_size = .*from 2 to 30"):
        make("lookup-tree-maze", table_size=table_size)


def test_an_unknown_index_encoding_is_refused():
    with pytest.raises(InvalidOptionError, match=r"^index_encoding = 'onehot'.*'one-hot'"):
        make("lookup-tree-maze", index_encoding="onehot")


@pytest.mark.parametrize("factor", [0, -1, 1.5, "10"])
def test_a_time_limit_that_cannot_be_is_refused(factor):
    with pytest.raises(InvalidOptionError, match=r"^time_limit_factor = "):
        make("tmaze", time_limit_factor=factor)


def test_a_time_limit_beyond_31_bits_is_refused():
    make("tmaze", length=2**31 // 10)
    with pytest.raises(InvalidOptionError, match=r"31 bits.*None for no limit"):
        make("tmaze", length=2**31 // 10 + 1)
    make("tmaze", length=2**31 - 1, time_limit_factor=None)
    with pytest.raises(InvalidOptionError, match="31 bits"):
        make("lookup-tree-maze", num_mazes=10_000, length=30_000)


def test_ranges_can_be_arrays():
    params = TMazeParams(length=(np.array([1, 2]), np.array([1, 5])))
    assert params.length_low.tolist() == [1, 2]
    assert params.length_high.tolist() == [1, 5]


def test_a_registered_environment_can_be_made_and_forgotten():
    @dataclasses.dataclass(frozen=True)
    class Other(TMaze):
        pass

    register("other", Other)
    try:
        assert make("other")[0] == Other()
        with pytest.raises(InvalidOptionError, match="already"):
            register("other", Other)
    finally:
        registry.unregister("other")
    with pytest.raises(UnknownNameError):
        make("other")
