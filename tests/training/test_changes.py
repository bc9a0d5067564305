from collections.abc import Iterator

import pytest

from remanence import cells
from remanence.envs import LookupTreeMaze
from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.networks import make_architecture
from remanence.training import Preset, get_preset


@pytest.fixture
def clashing() -> Iterator[str]:
    """A cell of a user's own, one of whose options is called as one of the network's."""

    def make(input_size, state_size, *, key, rate=0.5, dropout=0.1):
        return cells.MinGRU(input_size, state_size, key=key)

    cells.register("clashing", make)
    yield "clashing"
    cells.registry.unregister("clashing")


def test_every_kind_of_option_goes_where_it_belongs():
    changes = {
        **{"table_size": 3, "index_encoding": "one-hot", "length": [1, 2], "previous_action": True},
        **{"dropout": 0.0, "state_size": 4, "encoder": [4]},
        **{"surrogate_width": 2.0, "surrogate": "box"},
        **{"num_iterations": 20, "discount": 0.9},
    }
    env, network, config = get_preset("lookup-tree").set_up("bmru", changes)
    assert env[0].unwrapped == LookupTreeMaze(table_size=3, index_encoding="one-hot")
    assert env[0] != env[0].unwrapped
    assert (int(env[1].length_low), int(env[1].length_high)) == (1, 2)
    assert (int(env[1].num_mazes_low), int(env[1].num_mazes_high)) == (1, 20)
    assert (network.cell, network.dropout, network.state_size) == ("bmru", 0.0, 4)
    assert dict(network.cell_options) == {"surrogate_width": 2.0, "surrogate": "box"}
    # As nobody changed it, learning rates go as in a training of 250 iterations.
    assert (config.num_iterations, config.anneal_iterations, config.discount) == (20, 250, 0.9)
    assert config.num_envs == 2048


def test_nothing_changed_is_the_preset():
    preset = get_preset("tmaze-short")
    setup = preset.set_up("gru")
    assert (setup.network, setup.config) == (make_architecture("small", cell="gru"), preset.config)
    assert preset.set_up("gru", network="wide").network == make_architecture("wide", cell="gru")


def test_the_paper_s_presets_choose_where_the_paper_is_silent():
    chosen = {"time_limit_ends": True, "initialization": "pytorch-cell"}
    for name in ("tmaze-short", "tmaze-long"):
        preset = get_preset(name)
        assert preset.choose("brc", {}) == chosen
        assert preset.choose("brc", {"time_limit_ends": False, "discount": 0.9}) == {
            **chosen,
            "time_limit_ends": False,
            "discount": 0.9,
        }
        assert preset.choose("of-my-own", {}) == {"time_limit_ends": True}
        config = preset.set_up("brc", preset.choose("brc", {})).config
        assert (config.time_limit_ends, config.initialization) == (True, "pytorch-cell")
    assert get_preset("lookup-tree").choose("brc", {}) == {}


def test_options_of_a_hybrid_are_those_of_its_parts():
    _, network, _ = get_preset("lookup-tree").set_up("hybrid", {"initial_threshold": 0.25})
    assert dict(network.cell_options) == {"initial_threshold": 0.25}


def test_an_unknown_option_is_answered_with_the_nearest_and_with_what_there_is():
    with pytest.raises(UnknownNameError) as told:
        get_preset("tmaze-short").set_up("bmru", {"surogate": "box"})
    message = str(told.value)
    assert "unknown option 'surogate'. Did you mean 'surrogate'?" in message
    for listed in (
        "of the environment: length, previous_action, time_limit_factor;",
        "of the network: cell_options, dropout,",
        "of the cell: initial_alpha,",
        "of PPO: adam_epsilon,",
    ):
        assert listed in message


def test_an_option_of_another_cell_is_said_to_be():
    told = "surrogate = 'box' .* it is an option of bmru and hybrid, and the cell is gru"
    with pytest.raises(InvalidOptionError, match=told):
        get_preset("tmaze-short").set_up("gru", {"surrogate": "box"})


def test_a_name_of_two_things_is_refused_where_it_is_used(clashing: str):
    preset = Preset("tmaze")
    assert dict(preset.set_up(clashing, {"rate": 1}).network.cell_options) == {"rate": 1}
    with pytest.raises(InvalidOptionError, match="the network and of the cell, so rename"):
        preset.set_up(clashing, {"dropout": 0.2})
    inner = preset.set_up(clashing, {"cell_options": {"dropout": 0.2}}).network
    assert (inner.dropout, dict(inner.cell_options)) == (0.0, {"dropout": 0.2})
    with pytest.raises(InvalidOptionError, match="rate of the cell is given beside it"):
        preset.set_up(clashing, {"cell_options": {"dropout": 0.2}, "rate": 1})
