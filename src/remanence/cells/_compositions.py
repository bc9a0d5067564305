"""Cells made of cells: one after another, or side by side on the same input."""

import itertools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence.cells._cell import AbstractCell, Resets, Sequences, State, States, over_axes
from remanence.errors import InvalidOptionError


class _AbstractComposition(AbstractCell):
    """Several cells whose states are concatenated into one vector."""

    cells: eqx.AbstractVar[tuple[AbstractCell, ...]]

    @property
    def input_size(self) -> int:  # pyrefly: ignore[bad-override]
        return self.cells[0].input_size

    @property
    def state_size(self) -> int:  # pyrefly: ignore[bad-override]
        return sum(cell.state_size for cell in self.cells)

    @property
    def linear(self) -> bool:
        return all(cell.linear for cell in self.cells)

    @property
    def thresholded(self) -> bool:
        return any(cell.thresholded for cell in self.cells)

    def initial_state(self) -> State:
        return jnp.concatenate([cell.initial_state() for cell in self.cells])

    def split(self, state: States) -> list[Float[Array, "*batch part"]]:
        """The states of the cells, each (..., its own size), from the concatenated one."""
        ends = itertools.accumulate(cell.state_size for cell in self.cells)
        return jnp.split(state, list(ends)[:-1], axis=-1)

    def narrow(self, scale: Float[Array, ""] | None) -> AbstractCell:
        parts = tuple(cell.narrow(scale) for cell in self.cells)
        return eqx.tree_at(lambda it: it.cells, self, parts)


class Stack(_AbstractComposition):
    """Cells in sequence: each reads the output of the one before, the last one's is read.

    The state is that of all cells, the lowest first.

    >>> from remanence import cells
    >>> below, above = jax.random.split(jax.random.key(0))
    >>> cell = cells.Stack([cells.MinGRU(1, 2, key=below), cells.MinGRU(2, 2, key=above)])
    >>> cell.state_size, cell.output_size
    (4, 2)
    >>> cell.run(jnp.ones((2, 1)), jnp.zeros(2, bool), cell.initial_state()).shape
    (2, 4)
    """

    cells: tuple[AbstractCell, ...]

    def __init__(self, cells: Sequence[AbstractCell]):
        self.cells = _check_cells(cells)
        for below, above in itertools.pairwise(self.cells):
            if above.input_size != below.output_size:
                raise InvalidOptionError(
                    "cells",
                    [(cell.input_size, cell.output_size) for cell in self.cells],
                    "each cell's input size must be the output size of the cell before it",
                )

    @property
    def output_size(self) -> int:
        return self.cells[-1].output_size

    def read(self, state: State) -> Float[Array, " output"]:
        return self.cells[-1].read(self.split(state)[-1])

    def measure_hesitation(
        self, input: Float[Array, " input"], state: State, margin: float
    ) -> Float[Array, ""]:
        parts, inputs = self.split(state), [input]
        for cell, part in zip(self.cells[:-1], parts[:-1], strict=True):
            inputs.append(cell.read(part))
        return _average_hesitation(self.cells, inputs, parts, margin)

    def project(self, input: Float[Array, " input"]) -> Any:
        return self.cells[0].project(input)

    def update(self, projected: Any, state: State) -> State:
        bottom, *above = self.cells
        part, *parts_above = self.split(state)
        states = [bottom.update(projected, part)]
        output = bottom.read(states[-1])
        for cell, part in zip(above, parts_above, strict=True):
            states.append(cell.step(output, part))
            output = cell.read(states[-1])
        return jnp.concatenate(states)

    def run(
        self,
        inputs: Sequences,
        first: Resets,
        state: States,
        method: str = "auto",
    ) -> Float[Array, "time *batch state"]:
        """Layer by layer, each over the whole sequence."""
        states = []
        for cell, part in zip(self.cells, self.split(state), strict=True):
            states.append(cell.run(inputs, first, part, method))
            inputs = over_axes(cell.read, first.ndim)(states[-1])
        return jnp.concatenate(states, axis=-1)


class Parallel(_AbstractComposition):
    """Cells side by side on the same input, their states and their outputs concatenated.

    >>> from remanence import cells
    >>> left, right = jax.random.split(jax.random.key(0))
    >>> cell = cells.Parallel([cells.BMRU(1, 2, key=left), cells.MinGRU(1, 2, key=right)])
    >>> cell.state_size, cell.output_size
    (4, 4)
    >>> [part.shape for part in cell.split(cell.initial_state())]
    [(2,), (2,)]
    >>> cell.run(jnp.ones((2, 1)), jnp.zeros(2, bool), cell.initial_state()).shape
    (2, 4)
    """

    cells: tuple[AbstractCell, ...]

    def __init__(self, cells: Sequence[AbstractCell]):
        self.cells = _check_cells(cells)
        sizes = [cell.input_size for cell in self.cells]
        if len(set(sizes)) > 1:
            raise InvalidOptionError("cells", sizes, "all cells must have the same input size")

    @property
    def output_size(self) -> int:
        return sum(cell.output_size for cell in self.cells)

    def read(self, state: State) -> Float[Array, " output"]:
        parts = zip(self.cells, self.split(state), strict=True)
        return jnp.concatenate([cell.read(part) for cell, part in parts])

    def measure_hesitation(
        self, input: Float[Array, " input"], state: State, margin: float
    ) -> Float[Array, ""]:
        inputs = [input] * len(self.cells)
        return _average_hesitation(self.cells, inputs, self.split(state), margin)

    def project(self, input: Float[Array, " input"]) -> tuple[Any, ...]:
        return tuple(cell.project(input) for cell in self.cells)

    def update(self, projected: tuple[Any, ...], state: State) -> State:
        parts = zip(self.cells, projected, self.split(state), strict=True)
        return jnp.concatenate([cell.update(projected, part) for cell, projected, part in parts])

    def run(
        self,
        inputs: Sequences,
        first: Resets,
        state: States,
        method: str = "auto",
    ) -> Float[Array, "time *batch state"]:
        """Each cell over the whole sequence."""
        parts = zip(self.cells, self.split(state), strict=True)
        return jnp.concatenate([cell.run(inputs, first, part, method) for cell, part in parts], -1)


def _average_hesitation(
    cells: Sequence[AbstractCell],
    inputs: Sequence[Float[Array, " _"]],
    states: Sequence[Float[Array, " _"]],
    margin: float,
) -> Float[Array, ""]:
    """The mean over the cells that have thresholds, each with what it sees."""
    given = [each for each in zip(cells, inputs, states, strict=True) if each[0].thresholded]
    found = [cell.measure_hesitation(input, state, margin) for cell, input, state in given]
    return sum(found, jnp.zeros((), states[0].dtype)) / max(len(found), 1)


def _check_cells(cells: Sequence[AbstractCell]) -> tuple[AbstractCell, ...]:
    if not cells:
        raise InvalidOptionError("cells", cells, "give at least one cell")
    return tuple(cells)
