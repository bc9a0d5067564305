"""Why some agents lose what they have learned: seeds that do, trained again with one thing changed.

As specified, a truncated episode is bootstrapped from the value of its final observation, and
advantages are normalised within each minibatch. Changed are a time limit that ends an episode for
good, and advantages that are taken as they are.
"""

import dataclasses
from pathlib import Path

import numpy as np
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence import envs
from remanence.networks import make_architecture
from remanence.training import PPOConfig, Training, keep_compiled_programs, train


@dataclasses.dataclass(frozen=True)
class Options:
    """Train the same seeds on lengths 1 to 3 as specified, and with one thing changed at a time."""

    network: str = "small"
    """The network."""
    cell: str = "brc"
    """The recurrent cell."""
    seeds: tuple[int, ...] = (2, 6, 7, 11)
    """Seeds to train; these lose it with brc."""
    num_iterations: int = 20
    """Iterations to train for, of the paper's 250."""
    out: Path = Path("benchmarks/records/lost_returns.json")
    """Where the record goes."""


VARIANTS = {
    "as specified": PPOConfig(),
    "time limit terminates": PPOConfig(time_limit_ends=True),
    "advantages as they are": PPOConfig(normalize_advantages=False),
}


def main(options: Options) -> None:
    """Train all, show and record."""
    keep_compiled_programs()
    returns = {name: run(config, options).curves["return"] for name, config in VARIANTS.items()}
    Console().print(tabulate(returns, options))
    curves = {name: np.round(curve, 3).T.tolist() for name, curve in returns.items()}
    write_record(options, ("remanence", "jax", "optax"), returns_by_seed=curves)


def run(config: PPOConfig, options: Options) -> Training:
    """Train for the first iterations of the paper's schedule."""
    done = []
    return train(
        envs.TMaze(),
        make_architecture(options.network, cell=options.cell),
        config,
        options.seeds,
        on_iteration=done.append,
        should_stop=lambda: len(done) >= options.num_iterations,
    )


def tabulate(returns: dict[str, np.ndarray], options: Options) -> Table:
    """The mean return while acting, in the middle and at the end."""
    table = Table(box=None, pad_edge=False)
    for column in ("training", "iteration", *(f"seed {seed}" for seed in options.seeds)):
        table.add_column(column, justify="left" if column == "training" else "right")
    for name, curve in returns.items():
        for iteration in (options.num_iterations // 2, options.num_iterations):
            numbers = [f"{mean:.2f}" for mean in curve[iteration - 1]]
            table.add_row(name, str(iteration), *numbers)
    return table


if __name__ == "__main__":
    main(tyro.cli(Options))
