"""`remanence archive`: what is known of finished jobs, small enough to be kept."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from remanence.cli._command import Command
from remanence.study import Archive as Archived
from remanence.study import write_archive


@dataclasses.dataclass(frozen=True)
class Archive(Command):
    """Write what is known of a study's finished jobs, or of a run, into a small folder.

    It is laid out as a study is: `results`, `report`, `compare` and `check` read it, and `reproduce
    --out COPY` goes on with a copy of it, in which finished jobs are not done again. Checkpoints,
    pages and figures are left out, and so are jobs that are not done; which these are is said. An
    earlier archive in the same place is replaced.

    Example: remanence archive studies/laptop kept/laptop
    """

    study: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="STUDY|RUN")]
    """The directory of a study or of a run."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The folder to write."""
    weights: Literal["small", "all", "none"] = "small"
    """Whose weights to keep: of agents with files of up to 64 KiB, as those of the T-maze's small
    networks are, of all, or of none. Jobs without weights still count as finished."""
    tables: Literal["small", "whole"] = "small"
    """With small ones, of learning curves only returns are kept, and orbits to single precision,
    which is what claims and figures need; all other tables are kept to the bit anyway."""
    json: bool = False
    """Print one JSON object instead of words."""

    def run(self, console: Console) -> None:
        made = write_archive(self.study, self.out, weights=self.weights, tables=self.tables)
        if self.json:
            print(json.dumps({"out": str(self.out), **dataclasses.asdict(made)}))
            return
        for sentence in self._describe(made):
            console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def _describe(self, made: Archived) -> list[str]:
        number, total = len(made.runs), len(made.runs) + len(made.left_out)
        size = f"{made.num_bytes / 1e6:.2f} MB"
        told = [f"{number} of {total} {'run' if total == 1 else 'runs'} in {self.out}, {size}."]
        left_out = "checkpoints"
        if self.tables == "small":
            left_out += (
                ", of learning curves all but returns, and what orbits have beyond single "
                "precision (--tables whole keeps both)"
            )
        told.append(f"Left out: {left_out}.")
        if made.without_weights:
            told.append(f"Without weights: {', '.join(made.without_weights)}.")
        if made.left_out:
            told.append("Not finished, and left out:")
            told += [f"  {id}: {why}" for id, why in made.left_out.items()]
        return told
