"""How weights start, held against what PyTorch and CleanRL say of theirs."""

import math
from typing import Any

import jax
import numpy as np
import pytest

from remanence import cells
from remanence.errors import InvalidOptionError
from remanence.networks import Architecture, make_policy
from remanence.networks._initialization import initialize_cell

KEY = jax.random.key(0)
GATED = ("gru", "brc", "nbrc", "mingru", "bmru", "lstm")
# As in PyTorch: by the units of what is recurrent, by the inputs of what is not.
INPUTS, UNITS = 9, 64
WIDTHS = {"mingru": INPUTS, "bmru": INPUTS}


def start(name: str, cell: str, **changes: Any) -> Any:
    size = 2 * UNITS if cell == "lstm" else UNITS
    architecture = Architecture(cell=cell, state_size=size, head=(50,), **changes)
    return make_policy(architecture, INPUTS, 4, key=KEY, initialization=name)


def assert_uniform(values, bound: float) -> None:
    """All within the bounds, and spread over them as a uniform distribution is."""
    values = np.asarray(values)
    assert np.abs(values).max() <= bound
    # Of n uniform numbers, the standard deviation is that of the distribution but for some 1/√n.
    spread, error = bound / math.sqrt(3), 4 / math.sqrt(values.size)
    np.testing.assert_allclose(values.std(), spread, rtol=error)
    np.testing.assert_allclose(values.mean(), 0, atol=error * spread)


@pytest.mark.parametrize("cell", GATED)
def test_pytorchs_start_is_uniform_in_one_over_the_root(cell):
    network = start("pytorch", cell)
    plain = start("xavier", cell)
    bound = 1 / math.sqrt(WIDTHS.get(cell, UNITS))
    assert_uniform(network.cell.inputs.weight, bound)
    # A BMRU's threshold starts around the number that is its option.
    assert_uniform(network.cell.inputs.bias - plain.cell.inputs.bias, bound)
    if hasattr(network.cell, "recurrent_weight"):
        assert_uniform(network.cell.recurrent_weight, bound)
    for layer in (*network.head, network.output):
        assert_uniform(layer.weight, 1 / math.sqrt(layer.weight.shape[1]))
        assert np.abs(layer.bias).max() <= 1 / math.sqrt(layer.weight.shape[1])
        assert np.any(layer.bias != 0)


@pytest.mark.parametrize("cell", GATED)
def test_orthogonal_matrices_have_orthonormal_columns_over_all_gates(cell):
    network = start("orthogonal", cell)
    plain = start("xavier", cell)
    stacked = [network.cell.inputs.weight.reshape(-1, INPUTS)]
    recurrent = getattr(network.cell, "recurrent_weight", None)
    if recurrent is not None and recurrent.ndim == 3:
        stacked.append(recurrent.reshape(-1, UNITS))
    for matrix in map(np.asarray, stacked):
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(matrix.shape[1]), atol=1e-5)
    np.testing.assert_array_equal(network.cell.inputs.bias, plain.cell.inputs.bias)
    np.testing.assert_array_equal(network.output.weight, plain.output.weight)


def test_a_brc_keeps_its_ones_where_matrices_are_orthogonal():
    np.testing.assert_array_equal(start("orthogonal", "brc").cell.recurrent_weight, 1)


def test_cells_alone_may_start_as_pytorchs():
    both, cell_alone, plain = (start(it, "gru") for it in ("pytorch", "pytorch-cell", "xavier"))
    assert_uniform(cell_alone.cell.recurrent_weight, 1 / math.sqrt(UNITS))
    np.testing.assert_array_equal(cell_alone.output.weight, plain.output.weight)
    assert not np.allclose(both.output.weight, plain.output.weight)


def test_every_part_of_a_composition_draws_its_own():
    network = start("pytorch", "mingru", num_layers=2)
    below, above = (part.inputs.weight for part in network.cell.cells)
    assert_uniform(below, 1 / math.sqrt(INPUTS))
    assert_uniform(above, 1 / math.sqrt(UNITS))
    hybrid = start("orthogonal", "hybrid").cell
    np.testing.assert_array_equal(hybrid.cells[0].alpha, 1)
    bmru, mingru = (part.inputs.weight for part in hybrid.cells)
    assert not np.allclose(bmru, mingru)


def test_a_cell_without_gates_starts_itself():
    class Plain(cells.AbstractCell):
        input_size: int = 1
        state_size: int = 1

        def update(self, projected, state):
            return state

    with pytest.raises(InvalidOptionError, match=r"a Plain is not made of gates .* use xavier"):
        initialize_cell(Plain(), "pytorch", KEY)
    initialize_cell(Plain(), "xavier", KEY)


def test_other_names_are_refused():
    with pytest.raises(InvalidOptionError, match=r"= 'kaiming' .* use one of xavier"):
        start("kaiming", "gru")
