"""Works through a study: whatever is killed on the way, running it again goes on."""

import contextlib
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from pathlib import Path
from typing import Any

from remanence.store import beat, hold_directory
from remanence.study._directory import StudyDirectory
from remanence.study._inspection import find_flaws
from remanence.study._jobs import run_job
from remanence.study._plan import Job, Study
from remanence.study._status import (
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    StudyStatus,
    change_status,
    read_job_status,
    read_status,
)
from remanence.study._workers import open_workers

MOST_ATTEMPTS = 3
SECONDS_BETWEEN_LOOKS = 0.5

OpenExecutor = Callable[[], contextlib.AbstractContextManager[Executor]]


def run_study(
    path: str | Path,
    study: Study,
    *,
    open_executor: OpenExecutor = open_workers,
    command: Sequence[str] | None = None,
    on_change: Callable[[StudyStatus], Any] = lambda status: None,
) -> StudyStatus:
    """Run what is left of a study in a directory, and return how it stands then.

    `open_executor` opens a `concurrent.futures.Executor`, in any of its makes, as a context
    manager; one that breaks, because a worker was killed, is opened anew, and what was under way is
    tried again. A job that fails does not stop the others. `command` is the command line that the
    study is begun by, if any; `on_change` is told again and again how far the study is.

    >>> import shutil
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> task = run.read_description()["what"]["environment"]["name"]
    >>> _ = training.register_preset("recall", training.Preset(task, {"length": (1, 3)}))
    >>> asked = {"lengths": [2, 100], "stages": ["evaluate"]}
    >>> job = study.Job("mingru", "recall", "small", "mingru", [1], 250, **asked)
    >>> plan = study.Study("mine", "tiny", "", [job])
    >>> study.StudyDirectory(Path("study")).begin(plan)
    >>> _ = shutil.copytree(run.path, "study/runs/mingru")  # trained already
    >>> status = study.run_study("study", plan, open_executor=lambda: ThreadPoolExecutor(1))
    >>> status.finished
    True
    >>> columns = "length, outcome"
    >>> study.load_results("study", "outcomes").select(columns).fetchall()
    [(2, 'solved'), (100, 'random')]
    >>> training.presets.unregister("recall")
    """
    study.check()
    # Workers may be elsewhere, where a relative path would lead elsewhere.
    directory = StudyDirectory(Path(path).absolute())
    with hold_directory(directory.path):
        directory.begin(study, command)
        left = [job for job in study.jobs if not _is_done(directory, job)]
        for job in left:
            change_status(directory.status_path(job), replaced=[])
        batches = [left] if left else []
        deaths: Counter[str] = Counter()
        try:
            while batches:
                batch = batches.pop(0)
                _set_waiting(directory, batch)
                on_change(read_status(directory.path))
                with open_executor() as executor:
                    lost = _work(directory, executor, batch, on_change)
                batches = _choose_again(directory, lost, deaths) + batches
        finally:
            # Nobody is at work any more, even if this is an interruption.
            _set_waiting(directory, [job for job in study.jobs if _is_running(directory, job)])
    status = read_status(directory.path)
    on_change(status)
    return status


def _work(
    directory: StudyDirectory,
    executor: Executor,
    jobs: Sequence[Job],
    on_change: Callable[[StudyStatus], Any],
) -> list[Job]:
    """Have jobs run until all are over; returns those whose worker was lost."""
    futures: dict[Future[str], Job] = {}
    lost = []
    for job in jobs:
        try:
            futures[executor.submit(run_job, directory.path, job)] = job
        except BrokenExecutor:
            lost.append(job)
    pending = set(futures)
    try:
        while pending:
            beat(directory.path)
            over, pending = wait(pending, SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
            lost += [futures[future] for future in over if _settle(directory, futures, future)]
            on_change(read_status(directory.path))
    finally:
        for future in pending:
            future.cancel()
    return [job for job in jobs if job in lost]


def _settle(
    directory: StudyDirectory, futures: dict[Future[str], Job], future: Future[str]
) -> bool:
    """Record a job that could not even say that it failed; returns whether its worker was lost.

    An engine that cancels a job, to give its place to another, has lost it as well.
    """
    if future.cancelled():
        return True
    error = future.exception()
    if error is not None and not isinstance(error, BrokenExecutor):
        told = "".join(traceback.format_exception(error))
        change_status(directory.status_path(futures[future]), state=FAILED, error=told)
    return isinstance(error, BrokenExecutor)


def _choose_again(
    directory: StudyDirectory, lost: Sequence[Job], deaths: Counter[str]
) -> list[list[Job]]:
    """Of jobs whose workers were lost, those to try again: not one at which they always die.

    One death takes all workers with it. So jobs that were at work are tried again one by one, where
    it shows whose fault it was; the others follow together.
    """
    # If none was at work, the workers do not even start, which is the fault of all or of none.
    suspects = [job for job in lost if _is_running(directory, job)] or list(lost)
    others = [job for job in lost if job not in suspects]
    if len(suspects) == 1:
        (suspect,) = suspects
        deaths[suspect.id] += 1
        if deaths[suspect.id] >= MOST_ATTEMPTS:
            error = f"its worker was killed, died or was cancelled {MOST_ATTEMPTS} times"
            change_status(directory.status_path(suspect), state=FAILED, error=error)
            suspects = []
    return [[job] for job in suspects] + ([others] if others else [])


def _set_waiting(directory: StudyDirectory, jobs: Sequence[Job]) -> None:
    for job in jobs:
        change_status(directory.status_path(job), state=WAITING, error=None)


def _is_done(directory: StudyDirectory, job: Job) -> bool:
    status = read_job_status(directory.status_path(job))
    if status.state != DONE or not directory.has_results(job):
        return False
    return not find_flaws(directory, job)


def _is_running(directory: StudyDirectory, job: Job) -> bool:
    return read_job_status(directory.status_path(job)).state == RUNNING
