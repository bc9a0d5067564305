"""`remanence reproduce` and `remanence status`: a study run, and watched from anywhere."""

import dataclasses
import functools
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.live import Live
from rich.table import Table

from remanence._numbers import check_whole
from remanence.cli._command import OPTIONAL, Command
from remanence.cli._options import read_command
from remanence.cli._results import print_relation
from remanence.cli._study_progress import (
    describe_job,
    list_replaced,
    say_duration,
    say_size,
    show_study,
)
from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.study import (
    Study,
    StudyStatus,
    estimate,
    load_profile,
    load_results,
    open_workers,
    read_status,
    run_study,
)

SECONDS_BETWEEN_LOOKS = 2.0


@dataclasses.dataclass(frozen=True)
class Reproduce(Command):
    """Run a whole study: trainings, evaluations and certificates, all in one directory.

    Run the same command again, and it goes on from where it was stopped or killed. A file that is
    damaged, or belongs to another study, is named, kept under a name that ends in `.replaced`, and
    made anew. The exit code is 1 if a job failed; what went wrong is in STUDY/status.

    Example: remanence reproduce tmaze --profile laptop --out studies/laptop
    """

    study: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """The study: tmaze, lookup-tree, or the name of your own (see --import)."""
    profile: str = "smoke"
    """Its size: smoke (2 minutes), laptop (hours), paper (days and more), or a TOML file of your
    own; lookup-tree has letter too, which is laptop with the paper's index."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Where the study is kept; studies/NAME-PROFILE if not given."""
    workers: int = 1
    """How many jobs run at a time; each uses all cores by itself, so 1 is usually best."""
    dry_run: bool = False
    """Show what would be run, with an estimate of time and disk, and run nothing."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        check_whole("--workers", self.workers, 1)
        study = load_study(self.study, self.profile)
        if self.dry_run:
            _print_plan(console, study, self.workers, self.json)
            return
        out = self.out or Path("studies") / f"{study.name}-{study.profile}"
        workers = functools.partial(open_workers, self.workers)
        try:
            with show_study(self.workers) as show:
                status = run_study(
                    out, study, open_executor=workers, command=read_command(), on_change=show
                )
        except KeyboardInterrupt:
            Console(stderr=True).print("Stopped. Run the same command again to go on.")
            sys.exit(130)
        if self.json:
            print(json.dumps({"out": str(out), **_to_json(status)}))
        else:
            _print_end(console, out, status)
            if status.list_jobs("done"):
                console.print(self._propose(out), highlight=False, markup=False, soft_wrap=True)
        sys.exit(0 if status.finished else 1)

    def _propose(self, out: Path) -> str:
        return (
            f"To write a page about it:  {self.propose('report', out)}\n"
            f"To look at its tables:     {self.propose('results', out)}"
        )


def load_study(name: str, profile: str) -> Study:
    """A study of a registered experiment in one of its sizes, or one of the user's TOML file."""
    if profile.endswith(".toml"):
        return load_profile(name, profile)
    from remanence.report import experiments, find_experiment  # brings matplotlib, which is slow

    if name not in experiments:
        raise UnknownNameError("study", name, experiments, registered=True)
    return load_profile(name, profile, find_experiment(name).profiles)


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
        status = read_status(self.study)
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
                    status = read_status(self.study)
                    live.update(_tabulate(status))
            _print_errors(console, status)
            if status.abandoned:
                console.print("Nobody is working on it; run `remanence reproduce` again to go on.")


def _has_jobs_left(status: StudyStatus) -> bool:
    return bool(status.list_jobs("running") or status.list_jobs("waiting"))


def _to_json(status: StudyStatus) -> dict[str, Any]:
    variants = {job.id: job.variant for job in status.study.jobs}
    return {
        "name": status.study.name,
        "profile": status.study.profile,
        "finished": status.finished,
        "abandoned": status.abandoned,
        "jobs": {
            id: dataclasses.asdict(job) | {"lost": job.lost, "variant": variants[id]}
            for id, job in status.jobs.items()
        },
    }


def _print_plan(console: Console, study: Study, num_workers: int, as_json: bool) -> None:
    expected = {job.id: estimate([job], num_workers) for job in study.jobs}
    total = estimate(study.jobs, num_workers)
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
    console.print(
        f"\n{agents} agents in {len(study.jobs)} jobs: about {say_duration(total.seconds)} on this "
        f"machine's cores, and {say_size(total.disk_bytes)} of disk.\n{study.note}".rstrip(),
        highlight=False,
        markup=False,
    )


def _tabulate(status: StudyStatus) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("job")
    table.add_column("state")
    table.add_column("time", justify="right")
    for id, job in status.jobs.items():
        colour = {"done": "green", "failed": "red", "running": "cyan"}.get(job.state, "dim")
        spent = say_duration(job.seconds) if job.seconds else ""
        table.add_row(id, f"[{colour}]{describe_job(job)}[/{colour}]", spent)
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
