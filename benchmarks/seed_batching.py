"""Which way of training several seeds at once is fastest: one measurement of one iteration each.

`cores` and `vmap` are the engines of `remanence.training`; `map` runs seeds one after another
within one compiled program (`jax.lax.map`), `one` a single seed, for comparison.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import tyro
from _record import write_record
from rich.console import Console
from rich.progress import track
from rich.table import Table

from remanence import envs
from remanence.networks import make_architecture
from remanence.training import get_preset
from remanence.training._engines import make_engine
from remanence.training._iteration import make_iteration
from remanence.training._learner import Learner


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure seconds per iteration and seed of tmaze-short under each batching of seeds."""

    out: Path = Path("benchmarks/records/seed_batching.json")
    """Where the record goes."""
    cell: str = "gru"
    """The recurrent cell."""
    num_seeds: int = 4
    """Seeds trained at once."""
    num_repetitions: int = 5
    """Turns that each batching takes, after a first one that compiles."""


def main(options: Options) -> None:
    """Measure, show and record."""
    preset = get_preset("tmaze-short")
    environment, params = envs.make(preset.environment, **preset.environment_options)
    learner = Learner(
        environment, make_architecture(preset.architecture, cell=options.cell), preset.config
    )
    seeds = list(range(1, options.num_seeds + 1))
    contestants = {
        "one": (start_engine(learner, params, "cores", seeds[:1]), 1),
        "cores": (start_engine(learner, params, "cores", seeds), len(seeds)),
        "vmap": (start_engine(learner, params, "vmap", seeds), len(seeds)),
        "map": (start_map(learner, params, seeds), len(seeds)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in track(range(options.num_repetitions + 1), "measuring"):
        for name, (iterate, count) in contestants.items():
            began = time.perf_counter()
            iterate()
            seconds[name].append((time.perf_counter() - began) / count)
    counted = {name: times[1:] for name, times in seconds.items()}
    Console().print(tabulate(counted))
    write_record(
        options,
        ("remanence", "jax", "jaxlib"),
        seconds_per_iteration_and_seed=counted,
        medians={name: statistics.median(times) for name, times in counted.items()},
    )


def start_engine(
    learner: Learner, params: Any, batching: str, seeds: list[int]
) -> Callable[[], Any]:
    """One of our engines, ready to iterate."""
    engine = make_engine(learner, params, batching)
    engine.begin(seeds)
    return engine.iterate


def start_map(learner: Learner, params: Any, seeds: list[int]) -> Callable[[], Any]:
    """All seeds in one program, one after another."""
    begin = jax.jit(jax.vmap(learner.begin, in_axes=(0, None)))
    states = begin(jnp.array(seeds, jnp.int32), params)
    iteration = make_iteration(learner)
    advance = jax.jit(lambda states: jax.lax.map(lambda s: iteration.run(s, params), states))

    def iterate() -> None:
        nonlocal states
        states, metrics = advance(states)
        jax.block_until_ready(metrics)

    return iterate


def tabulate(seconds: dict[str, list[float]]) -> Table:
    """A row for each batching; the ratio is to `cores`."""
    table = Table(box=None, pad_edge=False)
    for column in ("batching", "s per iteration and seed", "range", "ratio"):
        table.add_column(column, justify="left" if column == "batching" else "right")
    baseline = statistics.median(seconds["cores"])
    for name, times in seconds.items():
        median = statistics.median(times)
        spread = f"{min(times):.2f} .. {max(times):.2f}"
        table.add_row(name, f"{median:.2f}", spread, f"{median / baseline:.2f}")
    return table


if __name__ == "__main__":
    main(tyro.cli(Options))
