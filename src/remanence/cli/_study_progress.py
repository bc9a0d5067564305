"""How a study is shown on the error stream: live for a person, in plain lines for a log."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from rich.console import Console
from rich.live import Live
from rich.text import Text

from remanence.study import JobStatus, StudyStatus, estimate_seconds_left

SECONDS_BETWEEN_LINES = 30.0
# A terminal has no room for the hundreds that a cluster runs.
MOST_SHOWN = 20

Show = Callable[[StudyStatus], None]
Foresee = Callable[[StudyStatus], float]


@contextlib.contextmanager
def show_study(num_workers: int, num_cores: int | None = None) -> Iterator[Show]:
    """A function to call with how far the study is; it shows what runs and what is left.

    Workers share this machine, or have so many cores each.
    """
    foresee = partial(estimate_seconds_left, num_workers=num_workers, num_cores=num_cores)
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _make_logger(foresee)
        return
    with Live(console=console, transient=True, refresh_per_second=4) as live:
        list_news = _make_news()

        def show(status: StudyStatus) -> None:
            for line in list_news(status):
                console.print(line, highlight=False, markup=False)
            live.update(Text("\n".join(_list_lines(status, foresee))))

        yield show


def describe_job(job: JobStatus) -> str:
    """What a job does now, in a few words."""
    if job.lost:
        return f"silent for {say_duration(job.silent_seconds)}, probably killed"
    if job.state != "running":
        return job.state
    if job.stage != "training":
        stage = job.stage or "starting"
        # The agent that is being worked on is not done.
        done = f"{max(0, job.agent - 1)} of {job.num_agents} agents done"
        return f"{stage}, {done}" if job.agent else stage
    count = f"{job.iteration}/{job.num_iterations}"
    return f"training, iteration {count}" if job.iteration else "training, compiling"


def say_duration(seconds: float) -> str:
    """A length of time as a person says it: 40 s, 12 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def say_size(num_bytes: float) -> str:
    """An amount of disk as a person says it: 300 kB, 12 MB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if num_bytes >= size:
            return f"{num_bytes / size:.1f} {unit}"
    return f"{num_bytes / 1e3:.0f} kB"


def _list_lines(status: StudyStatus, foresee: Foresee) -> list[str]:
    running = [f"{id}: {describe_job(status.jobs[id])}" for id in status.list_jobs("running")]
    more = len(running) - MOST_SHOWN
    rest = [f"and {more} more that run"] if more > 0 else []
    return [_count(status, foresee), *running[:MOST_SHOWN], *rest]


def _count(status: StudyStatus, foresee: Foresee) -> str:
    done, failed = len(status.list_jobs("done")), len(status.list_jobs("failed"))
    failures = f", {failed} failed" if failed else ""
    left = say_duration(foresee(status))
    return f"{done} of {len(status.jobs)} jobs done{failures}, about {left} left"


def list_replaced(status: StudyStatus) -> list[str]:
    """A line for each file that was found damaged or foreign."""
    return [line for job in status.jobs.values() for line in job.replaced]


def _make_news() -> Callable[[StudyStatus], list[str]]:
    """A function that lists what was replaced since it was called last.

    What it is called with first is from before, as statuses are kept.
    """
    told: list[str] | None = None

    def list_news(status: StudyStatus) -> list[str]:
        nonlocal told
        lines = list_replaced(status)
        news = [] if told is None else [line for line in lines if line not in told]
        told = lines
        return news

    return list_news


def _make_logger(foresee: Foresee) -> Show:
    list_news = _make_news()
    told: dict[str, tuple[str, str]] = {}
    last_line = time.monotonic()

    def log(status: StudyStatus) -> None:
        nonlocal last_line
        for line in list_news(status):
            print(line, file=sys.stderr, flush=True)
        now = time.monotonic()
        due = now - last_line >= SECONDS_BETWEEN_LINES
        for id, job in status.jobs.items():
            news = told.get(id, ("waiting", "")) != (job.state, job.stage)
            if news or (due and job.state == "running"):
                told[id], last_line = (job.state, job.stage), now
                line = f"{id}: {describe_job(job)} ({_count(status, foresee)})"
                print(line, file=sys.stderr, flush=True)

    return log
