"""`remanence reproduce` and `remanence status`: a study run, and watched from anywhere."""

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.live import Live
from rich.table import Table

from remanence._numbers import check_whole
from remanence.cli._command import OPTIONAL, Command
from remanence.cli._options import read_command
from remanence.cli._results import print_relation
from remanence.cli._slurm import SlurmChoices
from remanence.cli._study_progress import (
    describe_job,
    list_replaced,
    say_duration,
    say_size,
    show_study,
)
from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.study import (
    Estimate,
    Job,
    SlurmOptions,
    StatusReader,
    Study,
    StudyStatus,
    estimate,
    load_profile,
    load_results,
    load_slurm_options,
    open_slurm,
    open_workers,
    read_queue,
    run_study,
    split_study,
    submit_study,
)

SECONDS_BETWEEN_LOOKS = 2.0


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
    profile: str = "smoke"
    """Its size: smoke (minutes), laptop (hours), paper (days and more), or your own TOML file; or
    what is varied: choices (what the paper leaves open, of tmaze)."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Where the study is kept; studies/NAME-PROFILE if not given."""
    workers: int = 1
    """How many jobs run at a time; each uses all cores by itself, so 1 is usually best."""
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
            _print_plan(console, study, self.workers, slurm, self.json)
            return
        out = self.out or Path("studies") / f"{study.name}-{study.profile}"
        if self.detach:
            assert slurm
            self._submit(console, out, study, slurm)
            return
        status = self._run_study(out, study, slurm)
        if self.json:
            print(json.dumps({"out": str(out), **_to_json(status)}))
        else:
            _print_end(console, out, status)
            if status.list_jobs("done"):
                console.print(self._propose(out), highlight=False, markup=False, soft_wrap=True)
        sys.exit(0 if status.finished else 1)

    def _choose_slurm(self) -> SlurmOptions | None:
        if self.engine == "slurm":
            return self.apply_choices(load_options(self.study, self.profile))
        self.refuse_choices()
        if self.detach:
            raise InvalidOptionError("--detach", True, "it needs --engine slurm")
        return None

    def _run_study(self, out: Path, study: Study, slurm: SlurmOptions | None) -> StudyStatus:
        executor = open_slurm(out, slurm) if slurm else partial(open_workers, self.workers)
        num_workers = slurm.max_jobs if slurm else self.workers
        try:
            with show_study(num_workers, slurm.cpus if slurm else None) as show:
                return run_study(
                    out,
                    study,
                    open_executor=executor,
                    command=read_command(),
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
            Console(stderr=True).print(told, highlight=False, markup=False, soft_wrap=True)
            sys.exit(130)

    def _submit(self, console: Console, out: Path, study: Study, slurm: SlurmOptions) -> None:
        rules = _describe_rules(study.name)
        number = submit_study(out, study, slurm, command=read_command(), rules=rules)
        if self.json:
            print(json.dumps({"out": str(out), "queued": number}))
            return
        told = (
            f"{number} jobs are in the queue. The study is in {out}.\n"
            f"To watch it:  {self.propose('status', out, '--watch')}\n"
            f"To stop it:   {self.propose('cancel', out)}\n"
            "When no job is left in the queue, run this command again: it submits what failed."
        )
        console.print(told, highlight=False, markup=False, soft_wrap=True)

    def _propose(self, out: Path) -> str:
        return (
            f"To write a page about it:  {self.propose('report', out)}\n"
            f"To look at its tables:     {self.propose('results', out)}"
        )


def load_study(name: str, profile: str) -> Study:
    """A study of a registered experiment in one of its sizes, or one of the user's TOML file."""
    return load_profile(name, profile, _find_folder(name, profile))


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


@dataclasses.dataclass(frozen=True)
class Status(Command):
    """Show how far a study has come, from any terminal that can see its directory.

    Example: remanence status studies/laptop --watch
    """

    study: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="STUDY")]
    """The study's directory."""
    watch: bool = False
    """Go on looking, every two seconds, until there is nothing left to wait for."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        reader = StatusReader(self.study)
        status = self._look(reader)
        if self.json and self.watch:
            raise InvalidOptionError("--watch", True, "use either --watch or --json")
        if self.json:
            print(json.dumps(_to_json(status)))
        elif not self.watch:
            console.print(_tabulate(status))
            _print_errors(console, status)
            for line in list_replaced(status):
                console.print(line, highlight=False, markup=False)
        else:
            with Live(_tabulate(status), console=console) as live:
                while _has_jobs_left(status) and not status.abandoned:
                    time.sleep(SECONDS_BETWEEN_LOOKS)
                    status = self._look(reader)
                    live.update(_tabulate(status))
            _print_errors(console, status)
            if status.abandoned:
                console.print("Nobody is working on it; run `remanence reproduce` again to go on.")

    def _look(self, reader: StatusReader) -> StudyStatus:
        return dataclasses.replace(reader.look(), queue=read_queue(self.study))


def _has_jobs_left(status: StudyStatus) -> bool:
    return bool(status.list_jobs("running") or status.list_jobs("waiting"))


def _to_json(status: StudyStatus) -> dict[str, Any]:
    variants = {job.id: job.variant for job in status.study.jobs}
    return {
        "name": status.study.name,
        "profile": status.study.profile,
        "finished": status.finished,
        "abandoned": status.abandoned,
        "queue": dict(status.queue),
        "jobs": {
            id: dataclasses.asdict(job) | {"lost": job.lost, "variant": variants[id]}
            for id, job in status.jobs.items()
        },
    }


def _print_plan(
    console: Console, study: Study, num_workers: int, slurm: SlurmOptions | None, as_json: bool
) -> None:
    def foresee(jobs: Sequence[Job]) -> Estimate:
        return estimate(jobs, 1, slurm.cpus) if slurm else estimate(jobs, num_workers)

    expected = {job.id: foresee([job]) for job in study.jobs}
    total = foresee(study.jobs)
    if as_json:
        costs = {id: dataclasses.asdict(cost) for id, cost in expected.items()}
        total_cost = dataclasses.asdict(total)
        print(json.dumps({**study.to_json(), "estimates": costs, "estimate": total_cost}))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("job")
    for title in ("seeds", "iterations", "lengths", "time", "disk"):
        table.add_column(title, justify="right")
    for job in study.jobs:
        cost = expected[job.id]
        numbers = (len(job.seeds), job.num_iterations, len(job.lengths))
        sizes = (say_duration(cost.seconds), say_size(cost.disk_bytes))
        table.add_row(job.id, *map(str, numbers), *sizes)
    console.print(table)
    agents = sum(len(job.seeds) for job in study.jobs)
    where = f"about {say_duration(total.seconds)} on this machine's cores"
    if slurm:
        hours = total.seconds * slurm.cpus / 3600
        where = f"about {hours:.3g} core hours on nodes as fast as this machine"
    console.print(
        f"\n{agents} agents in {len(study.jobs)} jobs: {where}, and "
        f"{say_size(total.disk_bytes)} of disk.\n{study.note}".rstrip(),
        highlight=False,
        markup=False,
    )


def _tabulate(status: StudyStatus) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("job")
    table.add_column("state")
    table.add_column("time", justify="right")
    if status.queue:
        table.add_column("queue")
    for id, job in status.jobs.items():
        colour = {"done": "green", "failed": "red", "running": "cyan"}.get(job.state, "dim")
        spent = say_duration(job.seconds) if job.seconds else ""
        queued = [status.queue.get(id, "")] if status.queue else []
        table.add_row(id, f"[{colour}]{describe_job(job)}[/{colour}]", spent, *queued)
    return table


def _print_errors(console: Console, status: StudyStatus) -> None:
    for id in status.list_jobs("failed"):
        error = (status.jobs[id].error or "").rstrip().splitlines() or ["unknown"]
        console.print(f"{id}: {error[-1]}", style="red", highlight=False, markup=False)


def _print_end(console: Console, out: Path, status: StudyStatus) -> None:
    done, failed = status.list_jobs("done"), status.list_jobs("failed")
    if done:
        print_relation(console, load_results(out, "summary"))
        if status.study.note:
            console.print(f"\n{status.study.note}", highlight=False, markup=False)
    _print_errors(console, status)
    failures = f", {len(failed)} failed (see {out / 'status'})" if failed else ""
    console.print(
        f"\n{len(done)} of {len(status.jobs)} jobs done{failures}. The study is in {out}.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
