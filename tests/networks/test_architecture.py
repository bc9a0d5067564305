import dataclasses
import json

import pytest

from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.networks import Architecture, architectures, make_architecture
from remanence.networks._architecture import holds_options


@pytest.mark.parametrize("name", list(architectures))
def test_json_round_trip(name):
    architecture = make_architecture(name)
    assert Architecture.from_json(architecture.to_json()) == architecture
    assert hash(Architecture.from_json(architecture.to_json())) == hash(architecture)


def test_cell_options_survive_json_whatever_their_order():
    one = Architecture(cell="bmru", cell_options={"surrogate": "box", "initial_alpha": 2.0})
    two = Architecture(cell="bmru", cell_options={"initial_alpha": 2.0, "surrogate": "box"})
    assert one == two == Architecture.from_json(two.to_json())


def test_the_papers_numbers():
    small, wide, deep = (make_architecture(name) for name in ("small", "wide", "deep-mingru"))
    assert (small.encoder, small.state_size, small.head, small.skip) == ((), 5, (20, 10), False)
    assert (deep.cell, deep.num_layers, deep.encoder, deep.head) == ("mingru", 4, (128,), (64, 16))
    assert (wide.encoder, wide.state_size, wide.head, wide.skip) == ((128,), 128, (64, 16), True)
    assert (small.dropout, deep.dropout, wide.dropout) == (0, 0, 0.1)


@pytest.mark.parametrize(("older", "name"), [("tmaze", "small"), ("lookup-tree", "wide")])
def test_names_of_earlier_versions_are_understood(older, name):
    assert make_architecture(older) == make_architecture(name)
    assert older in architectures
    assert older not in list(architectures)


def test_changes_go_to_a_copy():
    assert make_architecture("small", cell="bmru").cell == "bmru"
    assert architectures["small"].cell == "gru"
    with pytest.raises(dataclasses.FrozenInstanceError):
        architectures["small"].cell = "bmru"  # pyrefly: ignore[read-only]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state_size": 0}, "state_size = 0"),
        ({"num_layers": -1}, "num_layers = -1"),
        ({"head": (20, 0)}, "head = 0"),
        ({"state_size": 99999999999}, "state_size = 99999999999 .* from 1 to 1,000,000"),
        ({"num_layers": 99999999999}, "num_layers = 99999999999 .* from 1 to 100"),
        ({"encoder": [5, 10**12]}, "encoder = 1000000000000"),
        ({"head": [1] * 101}, "head = '101 sizes' .* at most 100 layers are possible"),
        ({"dropout": 1.0}, r"dropout = 1\.0"),
        ({"skip": True}, "with skip, give one as wide as the output"),
    ],
)
def test_impossible_numbers_are_refused(changes, message):
    with pytest.raises(InvalidOptionError, match=message):
        make_architecture("small", **changes)


def test_unknown_names_come_with_the_nearest_known():
    with pytest.raises(UnknownNameError, match="Did you mean 'small'"):
        make_architecture("smal")
    with pytest.raises(UnknownNameError, match="Did you mean 'state_size'"):
        make_architecture("small", statesize=3)
    with pytest.raises(UnknownNameError, match="Did you mean 'dropout'"):
        Architecture.from_json(json.dumps({"droput": 0.1}))


@pytest.mark.parametrize(
    ("options", "fit"),
    [({"a": 1}, True), ([["a", 1]], True), ([], True), ([1], False), ([["a"]], False), (3, False)],
)
def test_options_are_names_and_values(options, fit):
    # Not by an architecture, whose types are checked in tests before it looks for itself.
    assert holds_options(options) == fit


@pytest.mark.parametrize("text", ["{", "[]", '"gru"'])
def test_what_is_not_a_description_is_refused(text):
    with pytest.raises(InvalidOptionError, match="architecture"):
        Architecture.from_json(text)
