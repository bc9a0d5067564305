"""Where the time of a wide cell goes in an update: products, and the loops over time.

One minibatch of `lookup-tree` with 128 environments, 250 steps of 16 sequences of 128 units, on one
core (`taskset -c 0`). Parts take turns, and of each the least processor time counts.
"""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence import cells
from remanence.cells import AbstractCell, AbstractLinearCell, over_axes
from remanence.cells._cell import project_all
from remanence.cells._loops import advance_linearly
from remanence.cells._unitwise import _follow

NUM_STEPS, NUM_SEQUENCES, SIZE = 250, 16, 128
SHAPE = (NUM_STEPS, NUM_SEQUENCES, SIZE)
SHARE_OF_OPENINGS = 0.03

Calls = dict[str, Callable[[], Any]]


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure the parts of cells, and keep a record."""

    cells: tuple[str, ...] = ("mingru", "brc")
    """Which cells; those whose gates see other units have products in their loops."""
    num_repetitions: int = 30
    """Turns that each part takes."""
    out: Path = Path("benchmarks/records/cell_parts.json")
    """Where the record goes."""


def draw(number: int, *shape: int) -> jax.Array:
    """Normal numbers."""
    return jax.random.normal(jax.random.key(number), shape)


def prepare(name: str) -> Calls:
    """The parts of a cell: its products, its recurrence with given gates, and all of it."""
    cell: Any = cells.make(name, SIZE, SIZE, key=jax.random.key(0))
    inputs, change = draw(1, *SHAPE), draw(2, *SHAPE)
    first = jax.random.uniform(jax.random.key(3), SHAPE[:2]) < SHARE_OF_OPENINGS
    state = jnp.zeros(SHAPE[1:])
    gates = jax.jit(project_all)(cell, inputs)
    weight = cell.inputs.weight.reshape(-1, SIZE)
    rows, changes = inputs.reshape(-1, SIZE), draw(4, NUM_STEPS * NUM_SEQUENCES, len(weight))

    def recur(cell: AbstractCell, gates: Any) -> jax.Array:
        if isinstance(cell, AbstractLinearCell):
            given = over_axes(cell.coefficients, 2)(gates)
            return advance_linearly(*given, cell.initial_state(), first, state)
        return _follow((cell, gates, state), first)

    def differentiate(function: Callable[..., jax.Array], *given: Any) -> Any:
        states, pull = jax.vjp(function, *given)
        return states, pull(change)

    multiply = jax.jit(lambda x, w, g: (x @ w.T, g @ w, x.T @ g))
    forth, both = jax.jit(recur), jax.jit(lambda *it: differentiate(recur, *it))
    whole = jax.jit(lambda *it: differentiate(lambda c, x: c.run(x, first, state), *it))
    return {
        "products": lambda: multiply(rows, weight, changes),
        "recurrence, forth": lambda: forth(cell, gates),
        "recurrence, forth and back": lambda: both(cell, gates),
        "all of the cell": lambda: whole(cell, inputs),
    }


def measure(calls: dict[str, Calls], num_repetitions: int) -> dict[str, dict[str, float]]:
    """The least processor time of each part; the first turn, which compiles, does not count."""
    seconds = {cell: dict.fromkeys(own, float("inf")) for cell, own in calls.items()}
    for turn in range(1 + num_repetitions):
        for cell, own in calls.items():
            for name, call in own.items():
                began = time.process_time()
                jax.block_until_ready(call())
                if turn:
                    spent = time.process_time() - began
                    seconds[cell][name] = min(seconds[cell][name], spent)
    return seconds


def main(options: Options) -> None:
    """Measure, show and record."""
    seconds = measure({name: prepare(name) for name in options.cells}, options.num_repetitions)
    table = Table("milliseconds", *options.cells, box=None, pad_edge=False)
    for part in seconds[options.cells[0]]:
        table.add_row(part, *(f"{1e3 * seconds[cell][part]:.2f}" for cell in options.cells))
    Console().print(table)
    write_record(options, ("remanence", "jax", "jaxlib"), least_processor_seconds=seconds)


if __name__ == "__main__":
    main(tyro.cli(Options))
