"""`remanence reproduce`: a whole study run, here or on a cluster."""

import dataclasses
import json
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from remanence._numbers import check_whole
from remanence.cli._command import OPTIONAL, Command, print_text
from remanence.cli._results import print_relation
from remanence.cli._slurm import SlurmChoices, count_jobs
from remanence.cli._status import print_errors, to_json
from remanence.cli._study_plan import print_plan
from remanence.cli._study_progress import show_study
from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.study import (
    SlurmOptions,
    Study,
    StudyStatus,
    load_profile,
    load_results,
    load_slurm_options,
    open_slurm,
    open_workers,
    run_study,
    split_study,
    submit_study,
)


def _list_profiles() -> str:
    """The profiles of our own studies, by study; importing these would bring matplotlib."""
    files = (Path(__file__).parents[1] / "papers").glob("*/profiles/*.toml")
    profiles: dict[str, list[str]] = {}
    for file in sorted(files):
        found = tomllib.loads(file.read_text(encoding="utf-8"))
        profiles.setdefault(found["name"], []).append(found["profile"])
    return "; ".join(f"{', '.join(names)} (of {study})" for study, names in profiles.items())


_PROFILE = (
    "Its size, such as smoke (minutes), laptop (hours) or paper (days and more), or what is "
    f"varied; or your own TOML file. There are {_list_profiles()}; --dry-run says what each is."
)


@dataclasses.dataclass(frozen=True)
class Reproduce(SlurmChoices, Command):
    """Run a whole study: trainings, evaluations and certificates, all in one directory.

    Run the same command again, and it goes on from where it was stopped or killed. A file that is
    damaged, or belongs to another study, is named, kept under a name that ends in `.replaced`, and
    made anew. The exit code is 1 if a job failed; what went wrong is in STUDY/status.

    With --engine slurm the jobs run on a cluster, split by seeds so that each fits its time. They
    go on if this process is killed, and are found again when it is started again.

    Example: remanence reproduce tmaze --profile laptop --out studies/laptop
    """

    study: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """The study: tmaze, lookup-tree, or the name of your own (see --import)."""
    profile: Annotated[str, tyro.conf.arg(help=_PROFILE)] = "smoke"
    out: Annotated[Path | None, OPTIONAL] = None
    """Where the study is kept; studies/NAME-PROFILE if not given."""
    workers: int = 1
    """How many jobs run at a time, sharing the cores; many jobs end soonest with as many workers as
    there are cores. Bits depend on how many cores a job has."""
    engine: Literal["local", "slurm"] = "local"
    """Where it runs: on this machine, or on a cluster with Slurm."""
    detach: bool = False
    """Submit to Slurm and return; `remanence status` and `remanence cancel` do the rest."""
    dry_run: bool = False
    """Show what would be run, with an estimate of time and disk, and run nothing."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        check_whole("--workers", self.workers, 1)
        study = load_study(self.study, self.profile)
        slurm = self._choose_slurm()
        study = split_study(study, slurm) if slurm else study
        if self.dry_run:
            print_plan(console, study, self.workers, slurm, self.json)
            return
        out = self.out or Path("studies") / f"{study.name}-{study.profile}"
        if self.detach:
            assert slurm
            self._submit(console, out, study, slurm)
            return
        status = self._run_study(out, study, slurm)
        if self.json:
            print(json.dumps({"out": str(out), **to_json(status)}))
        else:
            _print_end(console, out, status)
            if status.list_jobs("done"):
                print_text(console, self._propose(out))
        sys.exit(0 if status.finished else 1)

    def _choose_slurm(self) -> SlurmOptions | None:
        if self.engine == "slurm":
            if self.workers != 1:
                remedy = "it is for --engine local; on a cluster say --max-jobs"
                raise InvalidOptionError("--workers", self.workers, remedy)
            return self.apply_choices(load_options(self.study, self.profile))
        self.refuse_choices()
        if self.detach:
            raise InvalidOptionError("--detach", True, "it needs --engine slurm")
        return None

    def _run_study(self, out: Path, study: Study, slurm: SlurmOptions | None) -> StudyStatus:
        executor = open_slurm(out, slurm) if slurm else partial(open_workers, self.workers)
        num_workers = slurm.max_jobs if slurm else self.workers
        try:
            with show_study(num_workers, slurm.count_cores(study.jobs) if slurm else None) as show:
                return run_study(
                    out,
                    study,
                    open_executor=executor,
                    command=self.typed.describe(),
                    rules=_describe_rules(study.name),
                    on_change=show,
                )
        except KeyboardInterrupt:
            told = "Stopped. Run the same command again to go on."
            if slurm:
                told = (
                    "Jobs in the queue go on. Run the same command again to look after them, or "
                    f"stop them:  {self.propose('cancel', out)}"
                )
            print_text(Console(stderr=True), told)
            sys.exit(130)

    def _submit(self, console: Console, out: Path, study: Study, slurm: SlurmOptions) -> None:
        rules = _describe_rules(study.name)
        number = submit_study(out, study, slurm, command=self.typed.describe(), rules=rules)
        if self.json:
            print(json.dumps({"out": str(out), "queued": number}))
            return
        if not number:
            done = f"Nothing is left to do. The study is in {out}."
            print_text(console, f"{done}\n{self._propose(out)}")
            return
        print_text(
            console,
            f"{count_jobs(number)} in the queue. The study is in {out}.\n"
            f"To watch it:  {self.propose('status', out, '--watch')}\n"
            f"To stop it:   {self.propose('cancel', out)}\n"
            "When no job is left in the queue, run this command again: it submits what failed.",
        )

    def _propose(self, out: Path) -> str:
        return (
            f"To write a page about it:  {self.propose('report', out)}\n"
            f"To look at its tables:     {self.propose('results', out)}"
        )


def load_study(name: str, profile: str) -> Study:
    """A study of a registered experiment in one of its sizes, or one of the user's TOML file."""
    from remanence.report import find_experiment  # brings matplotlib, which is slow

    study = load_profile(name, profile, _find_folder(name, profile))
    find_experiment(name).check(study)
    return study


def load_options(name: str, profile: str) -> SlurmOptions:
    """What the same file asks of Slurm."""
    return load_slurm_options(name, profile, _find_folder(name, profile))


def _describe_rules(name: str) -> dict[str, str]:
    """By which rules the claims of a study of that name are judged, before it has run."""
    from remanence.report import describe_rules, find_experiment  # brings matplotlib, which is slow

    return describe_rules(find_experiment(name).claims)


def _find_folder(name: str, profile: str) -> Path | None:
    """Where the sizes of a registered experiment are."""
    if profile.endswith(".toml"):
        return None
    from remanence.report import experiments, find_experiment  # brings matplotlib, which is slow

    if name not in experiments:
        raise UnknownNameError("study", name, experiments, registered=True)
    return find_experiment(name).profiles


def _print_end(console: Console, out: Path, status: StudyStatus) -> None:
    done, failed = status.list_jobs("done"), status.list_jobs("failed")
    if done:
        print_relation(console, load_results(out, "summary"))
        if status.study.note:
            console.print(f"\n{status.study.note}", highlight=False, markup=False)
    print_errors(console, status)
    failures = f", {len(failed)} failed (see {out / 'status'})" if failed else ""
    told = f"{len(done)} of {len(status.jobs)} jobs done{failures}. The study is in {out}."
    print_text(console, f"\n{told}")
