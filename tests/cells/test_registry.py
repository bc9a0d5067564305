from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from remanence.cells import BMRU, AbstractCell, MinGRU, Parallel, list_options, make, register
from remanence.cells import registry as cells
from remanence.errors import InvalidOptionError, UnknownNameError

KEY = jax.random.key(0)


class Leaky(AbstractCell):
    """What a user has to write at the least."""

    rate: jax.Array
    input_size: int = eqx.field(static=True)
    state_size: int = eqx.field(static=True)

    def __init__(self, input_size: int, state_size: int, *, key: jax.Array, rate: float = 0.5):
        self.rate = jnp.array(rate)
        self.input_size = input_size
        self.state_size = state_size

    def update(self, projected: jax.Array, state: jax.Array) -> jax.Array:
        return (1 - self.rate) * state + self.rate * jnp.sum(projected)


@pytest.fixture
def leaky() -> Iterator[str]:
    register("leaky", Leaky)
    yield "leaky"
    cells.unregister("leaky")


@pytest.fixture
def without_shape_checks() -> Iterator[None]:
    """As users run it, so that a wrong type meets the project's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def test_unknown_cell_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown cell 'minGRUU'.*mean 'mingru'.*nbrc"):
        make("minGRUU", 2, 4, key=KEY)


@pytest.mark.parametrize("name", ["bmru", "hybrid"])
def test_unknown_option_is_answered_with_the_nearest(name: str):
    with pytest.raises(
        UnknownNameError, match=rf"option of {name} 'surogate'.*mean 'surrogate'.*initial_alpha"
    ):
        make(name, 2, 4, key=KEY, surogate="box")


def test_option_of_another_cell_is_refused():
    with pytest.raises(UnknownNameError, match="unknown option of gru 'surrogate'"):
        make("gru", 2, 4, key=KEY, surrogate="box")


def test_options_are_listed_with_their_defaults():
    assert list_options("gru") == {}
    assert list_options("bmru") == {
        "surrogate": "arctan",
        "surrogate_width": 1.0,
        "initial_alpha": 1.0,
        "initial_threshold": 0.5,
    }


def test_own_cell_is_known_by_name(leaky: str):
    assert leaky in cells
    assert leaky in list(cells)
    assert list_options(leaky) == {"rate": 0.5}
    cell = make(leaky, 2, 3, key=KEY, rate=0.25)
    states = cell.run(jnp.ones((3, 2)), jnp.array([False, False, True]), jnp.full(3, 8.0))
    np.testing.assert_array_equal(states, [[6.5] * 3, [5.375] * 3, [0.5] * 3])
    with pytest.raises(UnknownNameError, match=r"option of leaky 'rat'.*mean 'rate'"):
        make(leaky, 2, 3, key=KEY, rat=0.25)


def test_name_is_given_once(leaky: str):
    with pytest.raises(InvalidOptionError, match=r"'leaky'.*another cell has that name already"):
        register(leaky, Leaky)


def test_forgotten_name_can_be_given_again():
    register("leaky", Leaky)
    cells.unregister("leaky")
    assert "leaky" not in cells
    register("leaky", Leaky)
    cells.unregister("leaky")


@pytest.mark.parametrize("name", ["", "Leaky", "a cell", "leaky!", "-"])
def test_name_must_be_plain(name: str):
    with pytest.raises(InvalidOptionError, match="lower-case letters"):
        register(name, Leaky)
    assert name not in cells


@pytest.mark.parametrize("name", list(cells))
@pytest.mark.parametrize("size", [0, -2, 4.0, True, "4"])
@pytest.mark.parametrize("option", ["input_size", "state_size"])
@pytest.mark.usefixtures("without_shape_checks")
def test_size_must_be_a_positive_whole_number(name: str, size: Any, option: str):
    sizes = {"input_size": 2, "state_size": 4} | {option: size}
    with pytest.raises(InvalidOptionError, match=f"{option} = {size!r} .*1 or more"):
        make(name, **sizes, key=KEY)


@pytest.mark.parametrize("name", ["bmru", "hybrid"])
def test_a_whole_number_stands_for_a_real_one(name: str):
    typed, meant = (make(name, 2, 4, key=KEY, surrogate_width=width) for width in (2, 2.0))
    assert eqx.tree_equal(typed, meant)


@pytest.mark.parametrize("value", ["2", None, True, [2.0], float("nan")])
@pytest.mark.parametrize("option", ["surrogate_width", "initial_alpha", "initial_threshold"])
@pytest.mark.usefixtures("without_shape_checks")
def test_an_option_that_is_no_number_is_refused(option: str, value: Any):
    with pytest.raises(InvalidOptionError, match=f"{option} = .* is not possible: use a"):
        make("bmru", 2, 4, key=KEY, **{option: value})


def test_hybrid_is_half_and_half():
    cell = make("hybrid", 2, 6, key=KEY)
    assert isinstance(cell, Parallel)
    assert [type(part) for part in cell.cells] == [BMRU, MinGRU]
    assert [(part.input_size, part.state_size) for part in cell.cells] == [(2, 3), (2, 3)]


def test_odd_hybrid_is_refused():
    with pytest.raises(InvalidOptionError, match=r"state_size = 5 .*must be even"):
        make("hybrid", 2, 5, key=KEY)


def test_hybrid_has_the_options_of_its_parts():
    assert list_options("hybrid") == list_options("bmru") | list_options("mingru")


def test_hybrid_passes_options_to_its_bmru():
    cell = make("hybrid", 2, 4, key=KEY, surrogate="box", surrogate_width=2.0, initial_alpha=3.0)
    assert isinstance(cell, Parallel)
    bmru = cell.cells[0]
    assert isinstance(bmru, BMRU)
    assert (bmru.surrogate, bmru.surrogate_width) == ("box", 2.0)
    np.testing.assert_array_equal(bmru.alpha, [3.0, 3.0])
