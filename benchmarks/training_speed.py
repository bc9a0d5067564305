"""Seconds per training iteration of `tmaze-short`, next to two PyTorch trainers in the same run.

The peers are sb3-contrib's RecurrentPPO and a plain recurrent PPO in PyTorch. They need packages
that remanence does not: make an environment of their own and install there, in this order,

    torch==2.13.0
    sb3-contrib==2.9.2
    remanence[gymnasium], from this checkout

All contestants take turns, one iteration each, so that what else the machine does falls on all
alike; the figures to trust are the ratios.
"""

import dataclasses
import importlib
import json
import math
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tyro
from _record import write_record
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from remanence import envs
from remanence.errors import RemanenceError
from remanence.networks import Architecture, make_architecture
from remanence.training import PPOConfig, change_config, get_preset

# `train` runs one training to its end; to take turns we move its engine ourselves.
from remanence.training._engines import make_engine
from remanence.training._learner import Learner

PRESET = "tmaze-short"
PEERS = {
    "sb3-contrib": ("_peers_sb3", "SB3Trainer"),
    "plain torch": ("_peers_torch", "TorchTrainer"),
}
PACKAGES = ("remanence", "jax", "jaxlib", "gymnasium", "torch", "stable-baselines3", "sb3-contrib")


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure seconds per iteration of tmaze-short with GRU, and keep a record.

    The peers need an environment of their own with torch==2.13.0, sb3-contrib==2.9.2 and
    remanence[gymnasium] of this checkout, installed in this order. Each peer is measured with 1 and
    with 2 threads, and the better is shown. The record is JSON: every iteration of every
    contestant, medians, ratios, versions and the machine. At the paper's numbers it takes minutes;
    on a busy machine two threads wait for each other and it takes far longer.
    """

    out: Path = Path("benchmarks/records/training_speed.json")
    """Where the record goes."""
    num_iterations: int = 2
    """Iterations that count, after a first one that compiles and is told apart."""
    seeds_counts: tuple[int, ...] = (1, 2, 30)
    """How many seeds we train at once; ratios are to the most."""
    thread_counts: tuple[int, ...] = (1, 2)
    """With how many threads each peer is measured."""
    num_envs: int | None = None
    """Environments of each training instead of the paper's, to try it out."""
    num_steps: int | None = None
    """Steps of each environment in one iteration instead of the paper's, to try it out."""

    def __post_init__(self):
        if self.num_iterations < 1:
            raise SystemExit("--num-iterations: at least 1 must count")
        for name in ("seeds_counts", "thread_counts"):
            counts = getattr(self, name)
            if not counts or min(counts) < 1 or len(set(counts)) < len(counts):
                flag = f"--{name.replace('_', '-')}"
                raise SystemExit(f"{flag}: give at least one number of 1 or more, and each once")


@dataclasses.dataclass(frozen=True)
class Task:
    """What every contestant trains."""

    environment: tuple[Any, Any]
    architecture: Architecture
    config: PPOConfig


@dataclasses.dataclass(frozen=True)
class Contestant:
    """`iterate` moves all of its seeds one iteration on and tells how they do."""

    who: str
    how: str
    num_seeds: int
    iterate: Callable[[], dict[str, float]]

    @property
    def name(self) -> str:
        return f"{self.who}, {self.how}"


def make_task(options: Options) -> Task:
    """The preset, at another size if one is asked for."""
    preset = get_preset(PRESET)
    sizes = {"num_envs": options.num_envs, "num_steps": options.num_steps}
    changes = {name: size for name, size in sizes.items() if size is not None}
    return Task(
        envs.make(preset.environment, **preset.environment_options),
        make_architecture(preset.architecture, cell="gru"),
        change_config(preset.config, changes),
    )


def make_ours(task: Task, num_seeds: int) -> Contestant:
    """Our engine with that many seeds."""
    environment, params = task.environment
    engine = make_engine(Learner(environment, task.architecture, task.config), params, "auto")
    engine.begin(range(1, num_seeds + 1))

    def iterate() -> dict[str, float]:
        metrics = engine.iterate()
        return {name: float(metrics[name].mean()) for name in ("return", "policy_epochs")}

    return Contestant("ours", _count(num_seeds, "seed"), num_seeds, iterate)


def make_peers(task: Task, options: Options) -> list[Contestant]:
    """Every peer with every number of threads."""
    contestants = []
    for who, (module, name) in PEERS.items():
        try:
            trainer = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise SystemExit(
                f"{who} cannot take part because {error.name!r} is not installed: make an "
                "environment of its own, with torch==2.13.0, then sb3-contrib==2.9.2, then "
                "remanence[gymnasium] of this checkout."
            ) from error
        for threads in options.thread_counts:
            peer = trainer(task.environment, task.architecture, task.config, 1, threads)
            contestants.append(Contestant(who, _count(threads, "thread"), 1, peer.iterate))
    return contestants


def measure(
    contestants: list[Contestant], options: Options, console: Console
) -> dict[str, list[dict[str, float]]]:
    """What every iteration took, in wall-clock time and in the processor's, all threads together.

    A process on each core is the way to run many trainings with a peer, and the processor's time
    is what then counts.
    """
    rows: dict[str, list[dict[str, float]]] = {each.name: [] for each in contestants}
    num_rounds = options.num_iterations + 1
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    # Redrawn seldom, so that the display costs the contestants nothing to speak of.
    with Progress(
        *columns, TimeElapsedColumn(), console=console, refresh_per_second=1, transient=True
    ) as progress:
        bar = progress.add_task("", total=num_rounds * len(contestants))
        for number in range(num_rounds):
            for each in contestants:
                progress.update(bar, description=each.name)
                began, processor_began = time.perf_counter(), time.process_time()
                metrics = each.iterate()
                seconds = time.perf_counter() - began
                spent = time.process_time() - processor_began
                rows[each.name].append({"seconds": seconds, "cpu_seconds": spent, **metrics})
                progress.advance(bar)
                turn = "first" if number == 0 else f"{number} of {options.num_iterations}"
                progress.console.print(f"{each.name}, iteration {turn}: {seconds:.2f} s")
    return rows


def summarise(
    contestants: list[Contestant], rows: dict[str, list[dict[str, float]]], baseline: str
) -> dict[str, dict[str, Any]]:
    """Medians of the iterations after the first; a ratio is of seconds per training."""
    summary: dict[str, dict[str, Any]] = {}
    for each in contestants:
        first, *counted = rows[each.name]
        seconds = statistics.median(row["seconds"] for row in counted)
        cpu_seconds = statistics.median(row["cpu_seconds"] for row in counted)
        summary[each.name] = {
            "num_seeds": each.num_seeds,
            "first_iteration_seconds": first["seconds"],
            "seconds_per_iteration": seconds,
            "seconds_per_iteration_and_seed": seconds / each.num_seeds,
            "cpu_seconds_per_iteration_and_seed": cpu_seconds / each.num_seeds,
            "mean_policy_epochs": statistics.mean(row["policy_epochs"] for row in counted),
            "iterations": [_without_nan(row) for row in rows[each.name]],
        }
    for kind in ("", "cpu_"):
        key = f"{kind}seconds_per_iteration_and_seed"
        for row in summary.values():
            row[f"{kind}ratio_to_baseline"] = row[key] / summary[baseline][key]
    return summary


def choose_best(contestants: list[Contestant], summary: dict[str, dict[str, Any]]) -> list[str]:
    """Who is shown: all of ours, and each peer at its better number of threads."""
    ours = [each.name for each in contestants if each.who == "ours"]
    best = []
    for who in PEERS:
        names = [each.name for each in contestants if each.who == who]
        best.append(min(names, key=lambda name: summary[name]["seconds_per_iteration"]))
    return ours + best


def tabulate(summary: dict[str, dict[str, Any]], shown: list[str], task: Task) -> Table:
    """One row for each contestant."""
    config = task.config
    table = Table(
        title=f"{PRESET}, GRU, {config.num_envs} environments x {config.num_steps} steps",
        caption="ratio: seconds per iteration and seed; CPU: the same in processor time",
    )
    table.add_column("contestant", no_wrap=True)
    for column in ("first s", "s per iter.", "s per seed", "policy epochs", "ratio", "CPU ratio"):
        table.add_column(column, justify="right")
    for name in shown:
        row = summary[name]
        table.add_row(
            name,
            f"{row['first_iteration_seconds']:.2f}",
            f"{row['seconds_per_iteration']:.2f}",
            f"{row['seconds_per_iteration_and_seed']:.3f}",
            f"{row['mean_policy_epochs']:.1f}",
            f"{row['ratio_to_baseline']:.1f}",
            f"{row['cpu_ratio_to_baseline']:.1f}",
        )
    return table


def main(options: Options) -> None:
    """Measure, show and record."""
    console = Console()
    try:
        task = make_task(options)
    except RemanenceError as error:
        raise SystemExit(str(error)) from error
    # How busy the machine was before we began; absolute times mean little where this is high.
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    peers = make_peers(task, options)
    contestants = [make_ours(task, count) for count in sorted(options.seeds_counts)] + peers
    baseline = contestants[len(options.seeds_counts) - 1].name
    summary = summarise(contestants, measure(contestants, options, console), baseline)
    shown = choose_best(contestants, summary)
    console.print(tabulate(summary, shown, task))
    write_record(
        options,
        PACKAGES,
        load_before=load,
        preset=PRESET,
        architecture=json.loads(task.architecture.to_json()),
        config=dataclasses.asdict(task.config),
        baseline=baseline,
        shown=shown,
        contestants=summary,
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _without_nan(row: dict[str, float]) -> dict[str, float | None]:
    """A tiny rollout may end no episode; JSON has no NaN for its return."""
    return {name: None if math.isnan(number) else number for name, number in row.items()}


if __name__ == "__main__":
    main(tyro.cli(Options))
