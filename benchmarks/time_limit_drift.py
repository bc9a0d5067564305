"""Why some agents lose what they have learned: the time limit as truncation and as termination.

Seeds of `tmaze-short` whose agents come to dither once they have solved the task are trained twice:
as specified, where a truncated episode is bootstrapped from the value of its final observation, and
with a time limit that ends an episode for good.
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
    """Train the same seeds with a time limit that truncates and with one that terminates."""

    cell: str = "brc"
    """The recurrent cell."""
    seeds: tuple[int, ...] = (2, 6, 7, 11)
    """Seeds to train; these lose it with brc."""
    num_iterations: int = 20
    """Iterations to train for, of the paper's 250."""
    out: Path = Path("benchmarks/records/time_limit_drift.json")
    """Where the record goes."""


class TerminatingTMaze(envs.TMaze):
    """A T-maze where running out of time is the end."""

    def advance(self, key, state, action, params):
        """Terminated wherever it would have been truncated."""
        state, reward, terminated, truncated = super().advance(key, state, action, params)
        return state, reward, terminated | truncated, truncated


def main(options: Options) -> None:
    """Train both, show and record."""
    keep_compiled_programs()
    environments = {"truncates": envs.TMaze(), "terminates": TerminatingTMaze()}
    trainings = {name: run(env, options) for name, env in environments.items()}
    returns = {name: training.curves["return"] for name, training in trainings.items()}
    Console().print(tabulate(returns, options))
    curves = {name: np.round(curve, 3).T.tolist() for name, curve in returns.items()}
    write_record(options, ("remanence", "jax", "optax"), returns_by_seed=curves)


def run(environment: envs.TMaze, options: Options) -> Training:
    """Train for the first iterations of the paper's schedule."""
    done = []
    return train(
        environment,
        make_architecture("tmaze", cell=options.cell),
        PPOConfig(),
        options.seeds,
        on_iteration=done.append,
        should_stop=lambda: len(done) >= options.num_iterations,
    )


def tabulate(returns: dict[str, np.ndarray], options: Options) -> Table:
    """The mean return while acting, in the middle and at the end."""
    table = Table(box=None, pad_edge=False)
    for column in ("time limit", "iteration", *(f"seed {seed}" for seed in options.seeds)):
        table.add_column(column, justify="left" if column == "time limit" else "right")
    for name, curve in returns.items():
        for iteration in (options.num_iterations // 2, options.num_iterations):
            numbers = [f"{mean:.2f}" for mean in curve[iteration - 1]]
            table.add_row(name, str(iteration), *numbers)
    return table


if __name__ == "__main__":
    main(tyro.cli(Options))
