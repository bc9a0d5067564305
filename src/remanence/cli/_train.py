"""`remanence train`: many seeds, watched or logged, stopped and resumed."""

import contextlib
import dataclasses
import json
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from remanence.cells import registry as cell_registry
from remanence.cli._command import OPTIONAL, Command, open_table, print_text
from remanence.cli._options import parse_options, parse_seeds
from remanence.cli._profile import read_peak_memory, show_profile
from remanence.cli._progress import show_progress
from remanence.training import (
    PPOConfig,
    Preset,
    RunDirectory,
    TensorBoardLog,
    Training,
    get_preset,
    keep_compiled_programs,
    train,
)


@dataclasses.dataclass(frozen=True)
class Train(Command):
    """Train agents by recurrent PPO, one for each seed.

    The presets are the paper's trainings; the name of an environment stands for a training in it
    with default numbers; --set changes any of it. Learning rates are annealed over
    anneal_iterations, which a change of num_iterations leaves as it is. Ctrl-C stops after the
    current iteration, and --resume goes on from there. Writes run.json, curves.parquet,
    checkpoint.safetensors and agents/seed-N.safetensors.

    What the paper leaves open can be set as well: time_limit_ends (true in tmaze-short and
    tmaze-long, else false: what would have followed a time limit counts), normalize_advantages
    (true, as in CleanRL), initialization (pytorch-cell in these two, unless the cell is your own,
    else xavier; or orthogonal, pytorch), time_limit_factor (10). docs/commands.md says why.

    Example: remanence train tmaze-short --cell gru --seeds 1-30 --out runs/gru
    """

    preset: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PRESET")]
    """tmaze-short (lengths 1-3), tmaze-long (length 100), lookup-tree, or your own (--import)."""
    cell: str = "gru"
    """The recurrent cell: gru, lstm, brc, nbrc, mingru, bmru, hybrid, or the name of your own."""
    network: Annotated[str | None, OPTIONAL] = None
    """The network that it is in: small, wide, deep-mingru or your own; the preset's by default."""
    seeds: str = "1"
    """Seeds to train, such as 1-30 or 1,4,7."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Where to write the run; runs/PRESET-CELL if not given, with --network its name between."""
    resume: bool = False
    """Go on with the run in --out that was stopped or killed."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE", help_behavior_hint="")] = ()
    """Options of environment, network, cell or PPO: length=1:5 dropout=0 num_iterations=60."""
    checkpoint_every: int = 5
    """Save the state every so many iterations, for --resume."""
    batching: str = "auto"
    """How seeds share the machine: cores (a thread for each), vmap (one batch), devices, auto."""
    tensorboard: Annotated[Path | None, OPTIONAL] = None
    """Also log the curves for TensorBoard into this directory (needs tensorboardX)."""
    json: bool = False
    """Print one JSON object at the end instead of a table."""
    profile: bool = False
    """Also print where the time went, phase by phase, and the most memory that was used."""

    def run(self, console: Console) -> None:
        keep_compiled_programs()
        preset = get_preset(self.preset)
        # Named in the directory that a run goes to by default, so it must be one.
        _ = cell_registry[self.cell]
        names = (self.preset, self.network, self.cell)
        out = self.out or Path("runs") / "-".join(name for name in names if name)
        changes = self._choose(preset, out)
        env, network, config = preset.set_up(self.cell, changes, self.network)
        seeds = parse_seeds(self.seeds)
        notes = list_notes(config)
        for note in notes if not self.json else ():
            console.print(note, highlight=False, markup=False)
        with (
            show_progress(config.num_iterations) as show,
            self._log(seeds) as log,
            _stop_on_interrupt(console) as stops,
        ):
            training = train(
                env,
                network,
                config,
                seeds,
                out=out,
                resume=self.resume,
                batching=self.batching,
                checkpoint_every=self.checkpoint_every,
                labels={
                    "preset": self.preset,
                    "network": self.network or preset.architecture,
                    "changes": changes,
                },
                command=self.typed.describe(),
                on_iteration=lambda progress: (show(progress), log(progress)),
                should_stop=stops,
            )
        if self.json:
            summary = _summarize(training, out) | {"notes": notes}
            if self.profile:
                summary["seconds"] = dict(training.seconds)
                summary["peak_memory_bytes"] = read_peak_memory()
            print(json.dumps(summary, allow_nan=False))
        else:
            console.print(_tabulate(training))
            print_text(console, self._describe(training, out))
            if self.profile:
                console.print(show_profile(training.seconds))

    def _choose(self, preset: Preset, out: Path) -> dict[str, Any]:
        """What is changed, by the user or by the preset; a run goes on with what it began with."""
        given = parse_options(self.set)
        chosen, run = preset.choose(self.cell, given), RunDirectory(out)
        if not (self.resume and run.exists):
            return chosen
        known = (run.read_description().get("about") or {}).get("changes", {})
        return {name: value for name, value in chosen.items() if name in given or name in known}

    def _describe(self, training: Training, out: Path) -> str:
        iterations = len(training.curves["return"])
        if training.finished:
            return (
                f"\nFinished after {iterations} iterations. The run is in {out}.\n"
                f"To see how far these memories reach:  {self.propose('evaluate', out)}"
            )
        arguments = [it for it in self.typed.arguments if it != "--resume"]
        command = shlex.join([*self.typed.name_program(), *arguments, "--resume"])
        return f"\nStopped after {iterations} iterations. To go on:\n{command}"

    def _log(self, seeds: list[int]) -> Any:
        if self.tensorboard is None:
            return contextlib.nullcontext(lambda progress: None)
        return TensorBoardLog(self.tensorboard, seeds)


def list_notes(config: PPOConfig) -> list[str]:
    """What is worth knowing of a training before it begins, in sentences."""
    trained, annealed = config.num_iterations, config.anneal_iterations
    if trained == annealed:
        return []
    return [
        f"Learning rates are annealed over {annealed} iterations, of which {trained} are trained; "
        f"--set anneal_iterations={trained} would bring them to 0 by the end."
    ]


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
    table = open_table(">seed", ">return", ">episode length", ">entropy", ">KL", ">value loss")
    metrics = ("return", "episode_length", "entropy", "kl", "value_loss")
    for i, seed in enumerate(training.agents):
        table.add_row(str(seed), *(f"{training.curves[it][-1][i]:.3g}" for it in metrics))
    return table
