"""How the weights of a network start, which the paper does not say: a choice that has names."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.cells import AbstractCell, AbstractGatedCell, Parallel, Stack
from remanence.errors import InvalidOptionError

XAVIER, ORTHOGONAL = "xavier", "orthogonal"
PYTORCH, PYTORCH_CELL = "pytorch", "pytorch-cell"
# What each is; in all but one, dense layers are CleanRL's.
INITIALIZATIONS = {
    XAVIER: "cells as they start themselves: Xavier-uniform input weights, orthogonal recurrent "
    "matrices in GRU and LSTM, Xavier ones in nBRC, ones in BRC, biases 0; dense layers orthogonal "
    "with gain √2, and 0.01 for the policy's output and 1 for the value's",
    ORTHOGONAL: "as CleanRL's LSTM agents: the matrices of a cell are orthogonal with all gates "
    "stacked, biases 0; dense layers as in xavier",
    PYTORCH: "as nn.GRU and nn.Linear: weights and biases uniform in ±1/√n, where n is the number "
    "of units of a recurrent cell, and of inputs of any other layer",
    PYTORCH_CELL: "cells as in pytorch, dense layers as in xavier: what an agent of CleanRL's is "
    "with a cell that nobody starts anew",
}

Weights = Float[Array, "gates ..."]
Draw = Callable[[AbstractGatedCell, str, Weights, Key], Weights]


def check_initialization(name: Any) -> None:
    """Raise unless it is the name of a way to start.

    >>> from remanence import networks
    >>> networks.check_initialization("zeros")
    Traceback (most recent call last):
    remanence.errors.InvalidOptionError: initialization = 'zeros' is not possible: use one of ...
    """
    if not isinstance(name, str) or name not in INITIALIZATIONS:
        remedy = f"use one of {', '.join(INITIALIZATIONS)}"
        raise InvalidOptionError("initialization", name, remedy)


def initialize_cell(cell: AbstractCell, name: str, key: Key) -> AbstractCell:
    """The cell with weights that start in the way of that name.

    Drawn anew are the weights and biases of its gates. What else a cell has keeps its start, such
    as a BMRU's alpha, and biases start around where the cell's own options put them.
    """
    draw = {ORTHOGONAL: _draw_orthogonal, PYTORCH: _draw_uniform, PYTORCH_CELL: _draw_uniform}
    return _redraw(cell, draw[name], key) if name in draw else cell


def _redraw(cell: AbstractCell, draw: Draw, key: Key) -> AbstractCell:
    if isinstance(cell, Stack | Parallel):
        keys = [derive_key(key, f"part {number}") for number in range(len(cell.cells))]
        parts = [_redraw(part, draw, key) for part, key in zip(cell.cells, keys, strict=True)]
        return eqx.tree_at(lambda it: it.cells, cell, tuple(parts))
    if not isinstance(cell, AbstractGatedCell):
        remedy = f"a {type(cell).__name__} is not made of gates and starts itself; use {XAVIER}"
        raise InvalidOptionError("initialization", draw.__name__.removeprefix("_draw_"), remedy)
    found = {"weight": cell.inputs.weight, "bias": cell.inputs.bias}
    if hasattr(cell, "recurrent_weight"):
        found["recurrent_weight"] = getattr(cell, "recurrent_weight")  # noqa: B009
    drawn = {part: draw(cell, part, old, derive_key(key, part)) for part, old in found.items()}
    return eqx.tree_at(lambda it: _list_parts(it, drawn), cell, list(drawn.values()))


def _list_parts(cell: Any, names: Any) -> list[Any]:
    return [getattr(cell if hasattr(cell, name) else cell.inputs, name) for name in names]


def _draw_orthogonal(cell: AbstractGatedCell, part: str, old: Weights, key: Key) -> Weights:
    """Orthonormal columns of all gates' rows, as of PyTorch's weight_ih and weight_hh.

    Vectors stay as they are: a BRC's ones are the diagonal of an orthogonal matrix.
    """
    del cell, part
    if old.ndim < 3:
        return old
    columns = old.shape[-1]
    drawn = jax.nn.initializers.orthogonal()(key, (old.size // columns, columns), old.dtype)
    return drawn.reshape(old.shape)


def _draw_uniform(cell: AbstractGatedCell, part: str, old: Weights, key: Key) -> Weights:
    recurrent = hasattr(cell, "recurrent_weight")
    units = cell.inputs.weight.shape[-2] if recurrent else cell.input_size
    bound = 1 / math.sqrt(units)
    drawn = jax.random.uniform(key, old.shape, old.dtype, -bound, bound)
    return old + drawn if part == "bias" else drawn
