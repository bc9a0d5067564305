"""Why some agents lose what they have learned: the time limit as truncation and as termination.

The same seeds of `tmaze-short` are trained twice: as specified, where a truncated episode is
bootstrapped from the value of its final observation, and with a time limit that ends an episode for
good. Their agents are then evaluated far beyond the lengths that they were trained on.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence import envs
from remanence.cli._progress import show_progress
from remanence.evaluation import evaluate, measure_stability, name_stability
from remanence.networks import make_architecture
from remanence.training import Training, change_config, get_preset, keep_compiled_programs, train

LEARNED = 3.8
LENGTHS = (100, 1_000_000)


@dataclasses.dataclass(frozen=True)
class Options:
    """Train the same seeds with a time limit that truncates and with one that terminates."""

    cell: str = "brc"
    """The recurrent cell."""
    seeds: tuple[int, ...] = tuple(range(1, 31))
    """Seeds to train."""
    num_iterations: int = 100
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
    found = {name: describe(training) for name, training in trainings.items()}
    Console().print(tabulate(found))
    write_record(options, ("remanence", "jax", "optax"), found=found)


def run(environment: envs.TMaze, options: Options) -> Training:
    """Train for the first iterations of the paper's schedule."""
    preset = get_preset("tmaze-short")
    params = envs.make("tmaze", **preset.environment_options)[1]
    config = change_config(preset.config, {"num_iterations": options.num_iterations})
    network = make_architecture("tmaze", cell=options.cell)
    with show_progress(options.num_iterations) as show:
        return train((environment, params), network, config, options.seeds, on_iteration=show)


def describe(training: Training) -> dict[str, Any]:
    """How the seeds ended, and what their agents do on mazes that they have not seen."""
    environment = envs.make("tmaze")
    summary = evaluate(training.agents, environment, LENGTHS).summarize()
    stability = [
        name_stability(measure_stability(agent, environment[0]))
        for agent in training.agents.values()
    ]
    monostable = np.array(stability) == "monostable"
    last = training.curves["return"][-1].astype(float)
    near, far = (
        {name: column[summary["length"] == length] for name, column in summary.items()}
        for length in LENGTHS
    )
    return {
        "return while acting, by seed": np.round(last, 3).tolist(),
        f"agents whose return ended under {LEARNED}": int(np.sum(last < LEARNED)),
        "σ of the return between agents": round(float(np.std(last)), 3),
        "bistable agents": int(np.sum(~monostable)),
        f"agents that solve length {LENGTHS[0]}": int(np.sum(near["outcome"] == "solved")),
        f"agents that time out at length {LENGTHS[0]}": int(np.sum(near["outcome"] == "timeout")),
        f"mean return of monostable agents at length {LENGTHS[1]:,}": (
            round(float(np.mean(far["return"][monostable])), 3) if monostable.any() else None
        ),
    }


def tabulate(found: dict[str, dict[str, Any]]) -> Table:
    """A column for each time limit."""
    table = Table(box=None, pad_edge=False)
    table.add_column("the time limit")
    for name in found:
        table.add_column(name, justify="right")
    for what in list(next(iter(found.values())))[1:]:
        table.add_row(what, *(str(numbers[what]) for numbers in found.values()))
    return table


if __name__ == "__main__":
    main(tyro.cli(Options))
