"""`remanence status`: a study watched from anywhere."""

import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from remanence.cli._command import Command, open_table
from remanence.cli._study_progress import describe_job, list_replaced, say_duration
from remanence.errors import InvalidOptionError
from remanence.study import StatusReader, StudyStatus, read_queue

SECONDS_BETWEEN_LOOKS = 2.0
# Slurm's controller answers all users of a cluster; sites ask not to be asked more often.
SECONDS_BETWEEN_QUESTIONS = 20.0
_ORDER = ("failed", "running", "waiting", "done")


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
        if self.json and self.watch:
            raise InvalidOptionError("--watch", True, "use either --watch or --json")
        look = _watch_queue_too(self.study)
        status = look()
        if self.json:
            print(json.dumps(to_json(status)))
        elif not self.watch:
            console.print(_tabulate(status), _count(status), sep="\n", highlight=False)
            print_errors(console, status)
            for line in list_replaced(status):
                console.print(line, highlight=False, markup=False)
        else:
            _watch(console, look, status)


def _watch(console: Console, look: Callable[[], StudyStatus], status: StudyStatus) -> None:
    """Show how far a study is until there is nothing left to wait for."""
    with Live(console=console, get_renderable=lambda: _fit(console, status)):
        while not status.abandoned and (status.list_jobs("running") or status.list_jobs("waiting")):
            time.sleep(SECONDS_BETWEEN_LOOKS)
            status = look()
    print_errors(console, status)
    if status.abandoned:
        console.print("Nobody is working on it; run `remanence reproduce` again to go on.")


def _watch_queue_too(path: Path) -> Callable[[], StudyStatus]:
    """A function that looks at a study and, not quite as often, at its jobs in the queue."""
    reader = StatusReader(path)
    queue: Mapping[str, str] = {}
    due = 0.0

    def look() -> StudyStatus:
        nonlocal queue, due
        if time.monotonic() >= due:
            queue = read_queue(path)
            due = time.monotonic() + SECONDS_BETWEEN_QUESTIONS
        return dataclasses.replace(reader.look(), queue=queue)

    return look


def to_json(status: StudyStatus) -> dict[str, Any]:
    """How far a study is, as JSON."""
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


def _fit(console: Console, status: StudyStatus) -> Group:
    """As many jobs as a terminal has lines for, first those that failed or run."""
    room = max(1, console.height - 4)
    if len(status.jobs) <= room:
        return Group(_tabulate(status), _count(status))
    order = sorted(status.jobs, key=lambda id: _ORDER.index(status.jobs[id].state))
    shown = dataclasses.replace(status, jobs={id: status.jobs[id] for id in order[:room]})
    return Group(_tabulate(shown), f"and {len(order) - room} more", _count(status))


def _tabulate(status: StudyStatus) -> Table:
    table = open_table("job", "state", ">time", *(["queue"] if status.queue else []))
    for id, job in status.jobs.items():
        colour = {"done": "green", "failed": "red", "running": "cyan"}.get(job.state, "dim")
        spent = say_duration(job.seconds) if job.seconds else ""
        queued = [Text(status.queue.get(id, ""))] if status.queue else []
        table.add_row(id, Text(describe_job(job), colour), spent, *queued)
    return table


def _count(status: StudyStatus) -> str:
    numbers = {state: len(status.list_jobs(state)) for state in _ORDER}
    return "\n" + ", ".join(f"{number} {state}" for state, number in numbers.items() if number)


def print_errors(console: Console, status: StudyStatus) -> None:
    """Print the last line of why each failed job did."""
    for id in status.list_jobs("failed"):
        error = (status.jobs[id].error or "").rstrip().splitlines() or ["unknown"]
        console.print(f"{id}: {error[-1]}", style="red", highlight=False, markup=False)
