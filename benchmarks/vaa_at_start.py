"""How multistable wide networks are before any training, with each way to start their weights.

The VAA of `lookup-tree` policies as `remanence train` begins with them, seed by seed.
"""

import dataclasses
from itertools import product
from pathlib import Path

import jax
import numpy as np
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence.evaluation import measure_stability
from remanence.networks import INITIALIZATIONS, Agent
from remanence.training import get_preset
from remanence.training._learner import Learner


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure fresh networks, show a row for each kind of them, and keep a record."""

    cells: tuple[str, ...] = ("gru", "brc", "nbrc")
    """The recurrent cells."""
    initializations: tuple[str, ...] = tuple(INITIALIZATIONS)
    """How weights start."""
    table_sizes: tuple[int, ...] = (3, 4)
    """Entries of the table; there are 2^size - 2 memories to be kept apart."""
    num_seeds: int = 30
    """Networks of each kind, of seeds from 1 on."""
    out: Path = Path("benchmarks/records/vaa_at_start.json")
    """Where the record goes."""


def measure(cell: str, initialization: str, table_size: int, num_seeds: int) -> list[float]:
    """The VAA of a fresh policy of each seed."""
    changes = {
        "table_size": table_size,
        "index_encoding": "one-hot",
        "initialization": initialization,
    }
    (environment, _), network, config = get_preset("lookup-tree").set_up(cell, changes)
    learner = Learner(environment, network, config)
    vaas = []
    for seed in range(1, 1 + num_seeds):
        policy, value = learner.make_networks(jax.random.key(seed))
        vaas.append(measure_stability(Agent(policy, value, network), environment).value)
    return vaas


def tabulate(found: dict[str, list[float]], options: Options) -> Table:
    """A row for each kind of network: how many VAAs are the lowest, between, and 1."""
    table = Table(box=None, pad_edge=False)
    for column in ("cell", "start", "table", "mean VAA", "lowest", "between", "1"):
        table.add_column(column, justify="right" if column not in ("cell", "start") else "left")
    for (cell, start, size), vaas in zip(_list_kinds(options), found.values(), strict=True):
        lowest, highest = (np.isclose(vaas, it) for it in (1 / (2**size - 2), 1))
        between = ~lowest & ~highest
        counts = [str(np.count_nonzero(it)) for it in (lowest, between, highest)]
        table.add_row(cell, start, str(size), f"{np.mean(vaas):.2f}", *counts)
    return table


def _list_kinds(options: Options) -> list[tuple[str, str, int]]:
    return list(product(options.cells, options.initializations, options.table_sizes))


def main(options: Options) -> None:
    """Measure, show and record."""
    found = {
        f"{cell}, {start}, {size} entries": measure(cell, start, size, options.num_seeds)
        for cell, start, size in _list_kinds(options)
    }
    Console().print(tabulate(found, options))
    write_record(options, ("remanence", "jax", "equinox"), vaa_by_seed=found)


if __name__ == "__main__":
    main(tyro.cli(Options))
