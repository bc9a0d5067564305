"""`remanence train`: many seeds, watched or logged, stopped and resumed."""

import contextlib
import dataclasses
import json
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from remanence import envs
from remanence._registry import check_options
from remanence.cells import registry as cell_registry
from remanence.cli._command import Command
from remanence.cli._options import name_program, parse_options, parse_seeds, read_command
from remanence.cli._profile import read_peak_memory, show_profile
from remanence.cli._progress import show_progress
from remanence.networks import Architecture, make_architecture
from remanence.training import (
    PPOConfig,
    Preset,
    TensorBoardLog,
    Training,
    change_config,
    get_preset,
    keep_compiled_programs,
    train,
)


@dataclasses.dataclass(frozen=True)
class Train(Command):
    """Train agents by recurrent PPO, one for each seed.

    The presets are the paper's trainings; the name of an environment stands for a training on it
    with default numbers. Ctrl-C stops after the iteration under way, and --resume goes on from
    there. Writes run.json, curves.parquet, checkpoint.safetensors and agents/seed-N.safetensors.

    Example: remanence train tmaze-short --cell gru --seeds 1-30 --out runs/gru
    """

    preset: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PRESET")]
    """tmaze-short (lengths 1-3), tmaze-long (length 100), lookup-tree, or your own (--import)."""
    cell: str = "gru"
    """The recurrent cell: gru, lstm, brc, nbrc, mingru, bmru, hybrid, or the name of your own."""
    seeds: str = "1"
    """Seeds to train, such as 1-30 or 1,4,7."""
    out: Path | None = None
    """Where to write the run; runs/PRESET-CELL if not given."""
    resume: bool = False
    """Go on with the run in --out, which was stopped or killed."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Change numbers of the preset: num_iterations=60 discount=0.99 length=1:5 state_size=8."""
    checkpoint_every: int = 5
    """Save the state after every so many iterations, for --resume."""
    batching: str = "auto"
    """How seeds share the machine: cores (a thread for each), vmap (one batch), devices, auto."""
    tensorboard: Path | None = None
    """Also log the curves for TensorBoard into this directory (needs tensorboardX)."""
    json: bool = False
    """Print one JSON object at the end instead of a table."""
    profile: bool = False
    """Print where the time went, phase by phase, and the peak of memory."""

    def run(self, console: Console) -> None:
        keep_compiled_programs()
        preset = get_preset(self.preset)
        # Named in the directory that a run goes to by default, so it must be one.
        _ = cell_registry[self.cell]
        env, architecture, config = apply_changes(preset, self.cell, parse_options(self.set))
        seeds = parse_seeds(self.seeds)
        out = self.out or Path("runs") / f"{self.preset}-{self.cell}"
        with (
            show_progress(config.num_iterations) as show,
            self._log(seeds) as log,
            _stop_on_interrupt(console) as stops,
        ):
            training = train(
                env,
                architecture,
                config,
                seeds,
                out=out,
                resume=self.resume,
                batching=self.batching,
                checkpoint_every=self.checkpoint_every,
                labels={"preset": self.preset, "network": preset.architecture},
                command=read_command(),
                on_iteration=lambda progress: (show(progress), log(progress)),
                should_stop=stops,
            )
        if self.json:
            summary = _summarize(training, out)
            if self.profile:
                summary["seconds"] = dict(training.seconds)
                summary["peak_memory_bytes"] = read_peak_memory()
            print(json.dumps(summary, allow_nan=False))
        else:
            console.print(_tabulate(training))
            told = self._describe(training, out)
            console.print(told, highlight=False, markup=False, soft_wrap=True)
            if self.profile:
                console.print(show_profile(training.seconds))

    def _describe(self, training: Training, out: Path) -> str:
        iterations = len(training.curves["return"])
        if training.finished:
            return (
                f"\nFinished after {iterations} iterations. The run is in {out}.\n"
                f"To see how far these memories reach:  {self.propose('evaluate', out)}"
            )
        words = [word for word in sys.argv[1:] if word != "--resume"]
        command = shlex.join([*name_program(), *words, "--resume"])
        return f"\nStopped after {iterations} iterations. To go on:\n{command}"

    def _log(self, seeds: list[int]) -> Any:
        if self.tensorboard is None:
            return contextlib.nullcontext(lambda progress: None)
        return TensorBoardLog(self.tensorboard, seeds)


def apply_changes(
    preset: Preset, cell: str, changes: dict[str, Any]
) -> tuple[tuple[envs.AbstractEnvironment, Any], Architecture, PPOConfig]:
    """The preset's environment, network and numbers, with what the user has changed of each."""
    static, traced = envs.list_options(preset.environment)
    env_names = {*static, *traced, "previous_action"}
    network_names = {field.name for field in dataclasses.fields(Architecture)} - {"cell"}
    config_names = {field.name for field in dataclasses.fields(PPOConfig)}
    check_options("the preset", changes, env_names | network_names | config_names)
    env_options = {k: v for k, v in changes.items() if k in env_names}
    network_options = {k: v for k, v in changes.items() if k in network_names}
    config_options = {k: v for k, v in changes.items() if k in config_names}
    return (
        preset.make_environment(**env_options),
        make_architecture(preset.architecture, cell=cell, **network_options),
        change_config(preset.config, config_options),
    )


class _stop_on_interrupt:
    """Ctrl-C asks for a stop after the iteration under way; a second one stops at once."""

    def __init__(self, console: Console):
        self._console = console
        self._asked = False

    def __enter__(self) -> Callable[[], bool]:
        self._previous = signal.signal(signal.SIGINT, self._ask)
        return lambda: self._asked

    def __exit__(self, *_: Any) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _ask(self, *_: Any) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        Console(stderr=True).print("stopping after this iteration (once more to stop at once)")


def _last(training: Training, metric: str) -> np.ndarray:
    return training.curves[metric][-1]


def _summarize(training: Training, out: Path) -> dict[str, Any]:
    return {
        "out": str(out),
        "finished": training.finished,
        "iterations": len(training.curves["return"]),
        "seeds": {
            str(seed): {name: _number(curve[-1, i]) for name, curve in training.curves.items()}
            for i, seed in enumerate(training.agents)
        },
    }


def _number(value: Any) -> float | None:
    """A number as JSON has it, which knows no NaN: the mean over no episodes."""
    return float(value) if np.isfinite(value) else None


def _tabulate(training: Training) -> Table:
    table = Table(box=None, pad_edge=False)
    columns = {
        "return": "return",
        "episode length": "episode_length",
        "entropy": "entropy",
        "KL": "kl",
        "value loss": "value_loss",
    }
    table.add_column("seed", justify="right")
    for title in columns:
        table.add_column(title, justify="right")
    for i, seed in enumerate(training.agents):
        numbers = [f"{_last(training, metric)[i]:.3g}" for metric in columns.values()]
        table.add_row(str(seed), *numbers)
    return table
