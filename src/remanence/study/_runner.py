"""Works through a study: whatever is killed on the way, running it again goes on."""

import contextlib
import queue
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

from remanence.store import Hold, hold_directory, read_owner
from remanence.study._directory import StudyDirectory
from remanence.study._inspection import is_done
from remanence.study._jobs import run_job
from remanence.study._plan import Job, Study
from remanence.study._queue import QueueError
from remanence.study._status import (
    FAILED,
    RUNNING,
    WAITING,
    StudyStatus,
    change_status,
    read_job_status,
)
from remanence.study._watch import StatusReader
from remanence.study._workers import open_workers

MOST_ATTEMPTS = 3
SECONDS_BETWEEN_LOOKS = 0.5
# A look at so many jobs is worth a second of waiting for the next.
JOBS_PER_SECOND = 1000

OpenExecutor = Callable[[], contextlib.AbstractContextManager[Executor]]


def run_study(
    path: str | Path,
    study: Study,
    *,
    open_executor: OpenExecutor = open_workers,
    command: Sequence[str] | None = None,
    rules: Mapping[str, str] | None = None,
    on_change: Callable[[StudyStatus], Any] = lambda status: None,
) -> StudyStatus:
    """Run what is left of a study in a directory, and return how it stands then.

    `open_executor` opens a `concurrent.futures.Executor`, in any of its makes, as a context
    manager; one that breaks, because a worker was killed, is opened anew, and what was under way is
    tried again. A job that fails does not stop the others. `command` is the command line that the
    study is begun by, if any, and `rules` say what its claims will be judged by; `on_change` is
    told again and again how far the study is.

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
    >>> _ = study.StudyDirectory(Path("study")).begin(plan)
    >>> _ = shutil.copytree(run.path, "study/runs/mingru")  # trained already
    >>> status = study.run_study("study", plan, open_executor=lambda: ThreadPoolExecutor(1))
    >>> status.finished
    True
    >>> columns = "length, outcome"
    >>> study.load_results("study", "outcomes").select(columns).fetchall()
    [(2, 'solved'), (100, 'random')]
    >>> training.presets.unregister("recall")
    """
    with take_up(path, study, command, rules) as (directory, left, hold):
        looks = _Looks(directory, hold, on_change)
        batches = [left] if left else []
        deaths: Counter[str] = Counter()
        try:
            while batches and not directory.cancelled:
                batch = batches.pop(0)
                set_waiting(directory, batch)
                looks.look()
                with open_executor() as executor:
                    lost = _work(directory, executor, batch, looks)
                batches = _choose_again(directory, lost, deaths) + batches
        finally:
            # Whoever is known to be at work no more, as after an interruption, waits.
            running = set(looks.look().list_jobs(RUNNING))
            jobs = directory.read_study().jobs
            set_waiting(directory, [job for job in jobs if job.id in running])
    return looks.look()


@contextlib.contextmanager
def take_up(
    path: str | Path,
    study: Study,
    command: Sequence[str] | None,
    rules: Mapping[str, str] | None = None,
) -> Iterator[tuple[StudyDirectory, list[Job], Hold]]:
    """Hold the directory of a study, in which it is begun or gone on with; and what is left."""
    study.check()
    # Workers may be elsewhere, where a relative path would lead elsewhere.
    directory = StudyDirectory(Path(path).absolute())
    with hold_directory(directory.path) as hold:
        study = directory.begin(study, command, rules)
        directory.set_cancelled(False)
        left = [job for job in study.jobs if not is_done(directory, job)]
        for job in left:
            if read_job_status(directory.status_path(job)).replaced:
                change_status(directory.status_path(job), replaced=[])
        yield directory, left, hold


class _Looks:
    """Tells how far a study is, and not so often that a large one is busy with that."""

    def __init__(
        self, directory: StudyDirectory, hold: Hold, on_change: Callable[[StudyStatus], Any]
    ):
        self._hold = hold
        self._reader = StatusReader(directory.path)
        self._on_change = on_change
        self._next = 0.0

    def look(self) -> StudyStatus:
        # Somebody else runs the study if this process was asleep for long, on another machine.
        self._hold.check()
        status = self._reader.look()
        self._on_change(status)
        pause = max(SECONDS_BETWEEN_LOOKS, len(status.jobs) / JOBS_PER_SECOND)
        self._next = time.monotonic() + pause
        return status

    @property
    def seconds_left(self) -> float:
        """Until the next one is due."""
        return max(0.0, self._next - time.monotonic())


def _work(
    directory: StudyDirectory, executor: Executor, jobs: Sequence[Job], looks: _Looks
) -> list[Job]:
    """Have jobs run until all are over; returns those whose worker was lost."""
    futures: dict[Future[str], Job] = {}
    over: queue.SimpleQueue[Future[str]] = queue.SimpleQueue()
    lost: list[Job] = []
    for job in jobs:
        try:
            futures[executor.submit(run_job, directory.path, job)] = job
        except BrokenExecutor:
            lost.append(job)
    for future in futures:
        future.add_done_callback(over.put)
    try:
        while futures and not directory.cancelled:
            for future in _take(over, looks.seconds_left):
                job = futures.pop(future)
                if _settle(directory, job, future):
                    lost.append(job)
            if not looks.seconds_left:
                looks.look()
    finally:
        for future in list(futures):
            future.cancel()
    names = {job.id for job in lost}
    return [job for job in jobs if job.id in names]


def _take(over: queue.SimpleQueue[Future[str]], seconds: float) -> Iterator[Future[str]]:
    """What is in a queue, or comes into it within so many seconds."""
    with contextlib.suppress(queue.Empty):
        yield over.get(timeout=seconds) if seconds else over.get_nowait()
        while True:
            yield over.get_nowait()


def _settle(directory: StudyDirectory, job: Job, future: Future[str]) -> bool:
    """Record a job that could not even say that it failed; returns whether its worker was lost.

    An engine that cancels a job, to give its place to another, has lost it as well.
    """
    if future.cancelled():
        return True
    error = future.exception()
    if isinstance(error, QueueError):
        raise error  # no job's fault, but that of all of them
    if error is not None and not isinstance(error, BrokenExecutor):
        told = "".join(traceback.format_exception(error))
        change_status(directory.status_path(job), state=FAILED, error=told)
    return isinstance(error, BrokenExecutor)


def _choose_again(
    directory: StudyDirectory, lost: Sequence[Job], deaths: Counter[str]
) -> list[list[Job]]:
    """Of jobs whose workers were lost, those to try again: not one at which they always die.

    One death takes all workers with it. So jobs that were at work are tried again one by one, where
    it shows whose fault it was; the others follow together.
    """
    # If none was at work, the workers do not even start, which is the fault of all or of none.
    states = {job.id: read_job_status(directory.status_path(job)).state for job in lost}
    suspects = [job for job in lost if states[job.id] == RUNNING] or list(lost)
    names = {job.id for job in suspects}
    others = [job for job in lost if job.id not in names]
    if len(suspects) == 1:
        (suspect,) = suspects
        deaths[suspect.id] += 1
        if deaths[suspect.id] >= MOST_ATTEMPTS:
            error = f"its worker was killed, died or was cancelled {MOST_ATTEMPTS} times"
            change_status(directory.status_path(suspect), state=FAILED, error=error)
            suspects = []
    return [[job] for job in suspects] + ([others] if others else [])


def set_waiting(directory: StudyDirectory, jobs: Sequence[Job]) -> None:
    """Let jobs wait, but not those that a process elsewhere may be at, as on a cluster."""
    for job in jobs:
        path = directory.status_path(job)
        state = read_job_status(path).state
        owner = read_owner(directory.lock_path(job)) if state == RUNNING else None
        if state != WAITING and (owner is None or owner.alive is False):
            change_status(path, state=WAITING, error=None)
