"""What the command line has for clusters: options of `reproduce`, and `remanence cancel`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from remanence.cli._command import OPTIONAL, Command, print_text
from remanence.errors import InvalidOptionError
from remanence.study import SlurmOptions, cancel_study, read_status


@dataclasses.dataclass(frozen=True, kw_only=True)
class SlurmChoices:
    """Options of Slurm; what is not given, the study's table [slurm] says."""

    slurm_partition: Annotated[str | None, OPTIONAL] = None
    """The partition to submit to."""
    slurm_account: Annotated[str | None, OPTIONAL] = None
    """The account to charge."""
    slurm_qos: Annotated[str | None, OPTIONAL] = None
    """The quality of service."""
    slurm_time: Annotated[str | None, OPTIONAL] = None
    """The time of one job, such as 4:00:00; jobs are made as large as fits."""
    slurm_mem: Annotated[str | None, OPTIONAL] = None
    """The memory of one job, such as 8G."""
    slurm_cpus: Annotated[int | None, OPTIONAL] = None
    """The cores of one job."""
    slurm_gpus: Annotated[int | None, OPTIONAL] = None
    """The accelerators of one job."""
    slurm_setup: Annotated[str | None, OPTIONAL] = None
    """What a job's shell runs first, such as 'module load python/3.12'."""
    max_jobs: Annotated[int | None, OPTIONAL] = None
    """Jobs of Slurm that run at a time."""

    def apply_choices(self, options: SlurmOptions) -> SlurmOptions:
        """Options, with what was typed in place of what the study's file says."""
        given = {name.removeprefix("slurm_"): value for name, value in self._list_given().items()}
        return dataclasses.replace(options, **given)

    def refuse_choices(self) -> None:
        """Raise if something was asked of Slurm, which is not used."""
        for name, value in self._list_given().items():
            option = f"--{name.replace('_', '-')}"
            raise InvalidOptionError(option, value, "it needs --engine slurm")

    def _list_given(self) -> dict[str, Any]:
        names = [field.name for field in dataclasses.fields(SlurmChoices)]
        return {it: getattr(self, it) for it in names if getattr(self, it) is not None}


@dataclasses.dataclass(frozen=True)
class Cancel(Command):
    """Stop all work on a study, in a queue or elsewhere; what runs is saved first.

    Run `remanence reproduce` again to go on.

    Example: remanence cancel studies/laptop
    """

    study: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="STUDY")]
    """The study's directory."""

    def run(self, console: Console) -> None:
        if read_status(self.study).finished:
            console.print("Nothing is left to stop: all jobs of the study are done.")
            return
        number = cancel_study(self.study)
        queued = f" {count_jobs(number)} taken out of the queue." if number else ""
        told = f"The study is cancelled.{queued} Run `remanence reproduce` again to go on."
        print_text(console, told)


def count_jobs(number: int) -> str:
    """How many there are, as the beginning of a sentence."""
    return "1 job is" if number == 1 else f"{number} jobs are"
