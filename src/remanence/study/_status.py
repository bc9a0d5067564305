"""How far a study is, by small files that are read as easily from another machine."""

import contextlib
import dataclasses
import datetime
import os
import socket
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from remanence.errors import StoreError
from remanence.store import measure_silence, read_json, write_json
from remanence.study._directory import StudyDirectory
from remanence.study._plan import Job, Study

SECONDS_BETWEEN_BEATS = 2.0
SECONDS_TO_SILENCE = 60.0

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
TRAINING = "training"


@dataclasses.dataclass(frozen=True)
class JobStatus:
    """What is known of a job; `seconds` are those of all its attempts.

    `updated` moves on every few seconds while the job runs, whatever it is doing. `replaced` has a
    sentence for each file that was found damaged or foreign since the study was last taken up.

    >>> from remanence import study
    >>> status = study.JobStatus("running", "training", iteration=3, num_iterations=250)
    >>> status.iteration / status.num_iterations, status.lost
    (0.012, False)
    """

    state: str = WAITING
    stage: str = ""
    iteration: int = 0
    num_iterations: int = 0
    agent: int = 0
    num_agents: int = 0
    started: str | None = None
    updated: str | None = None
    seconds: float = 0.0
    error: str | None = None
    host: str = ""
    pid: int = 0
    replaced: list[str] = dataclasses.field(default_factory=list)

    @property
    def silent_seconds(self) -> float:
        """How long nothing has been heard of a job that runs."""
        if self.state != RUNNING or self.updated is None:
            return 0.0
        then = datetime.datetime.fromisoformat(self.updated)
        return max(0.0, (datetime.datetime.now(datetime.UTC) - then).total_seconds())

    @property
    def lost(self) -> bool:
        """Whether it says that it runs and has been silent for so long that it does not."""
        return self.silent_seconds > SECONDS_TO_SILENCE


@dataclasses.dataclass(frozen=True)
class StudyStatus:
    """The status of every job, by id and in the plan's order.

    `silent_seconds` have gone by since the process that runs the study, if any, was heard of.

    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
    >>> status = study.StudyStatus(plan, {"gru": study.JobStatus("done")})
    >>> status.list_jobs("done"), status.finished
    (['gru'], True)
    """

    study: Study
    jobs: Mapping[str, JobStatus]
    silent_seconds: float = 0.0

    def list_jobs(self, state: str) -> list[str]:
        """The ids of the jobs in one state."""
        return [id for id, status in self.jobs.items() if status.state == state]

    @property
    def finished(self) -> bool:
        """Whether all jobs are done."""
        return len(self.list_jobs(DONE)) == len(self.jobs)

    @property
    def abandoned(self) -> bool:
        """Whether jobs are left, and nothing has been heard for long, of them or of a runner."""
        left = [self.jobs[id] for id in self.list_jobs(RUNNING) + self.list_jobs(WAITING)]
        alive = any(job.state == RUNNING and not job.lost for job in left)
        return bool(left) and not alive and self.silent_seconds > SECONDS_TO_SILENCE


def read_status(path: str | Path) -> StudyStatus:
    """How far the study in a directory is, whoever works on it.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
    >>> study.StudyDirectory(Path("study")).begin(plan)
    >>> {id: job.state for id, job in study.read_status("study").jobs.items()}
    {'gru': 'waiting'}
    """
    directory = StudyDirectory(Path(path))
    study = directory.read_study()
    jobs = {job.id: read_job_status(directory.status_path(job)) for job in study.jobs}
    return StudyStatus(study, jobs, measure_silence(directory.path))


def read_job_status(path: Path) -> JobStatus:
    """What a status file says; one that is not there, or cannot be read, says nothing."""
    try:
        found = read_json(path)
    except StoreError:
        return JobStatus()
    return JobStatus(**found) if _is_status(found) else JobStatus()


def _is_status(found: Any) -> bool:
    kinds = {field.name: field.type for field in dataclasses.fields(JobStatus)}
    if not isinstance(found, dict) or not found.keys() <= kinds.keys():
        return False
    if not all(isinstance(value, _accept(kinds[name])) for name, value in found.items()):
        return False
    try:
        then = datetime.datetime.fromisoformat(found.get("updated") or _now())
    except ValueError:
        return False
    return then.tzinfo is not None


def _accept(kind: Any) -> Any:
    """What JSON may have for a field: a whole number is a float too."""
    return {float: int | float, list[str]: list}.get(kind, kind)


def change_status(path: Path, **changes: Any) -> None:
    """Rewrite a status file with some of its entries changed."""
    changed = dataclasses.replace(read_job_status(path), updated=_now(), **changes)
    write_json(path, dataclasses.asdict(changed))


class JobReporter:
    """What a running job tells of itself; `beat` writes it down."""

    def __init__(self, path: Path, job: Job):
        self._path = path
        self._began = time.monotonic()
        earlier = read_job_status(path)
        self._seconds_before = earlier.seconds
        self._status = JobStatus(
            state=RUNNING,
            num_iterations=job.num_iterations,
            num_agents=len(job.seeds),
            started=earlier.started or _now(),
            host=socket.gethostname(),
            pid=os.getpid(),
            replaced=earlier.replaced,
        )
        self._lock = threading.Lock()

    def change(self, **changes: Any) -> None:
        """Change what the next beat writes."""
        with self._lock:
            self._status = dataclasses.replace(self._status, **changes)

    def add_replaced(self, sentence: str) -> None:
        """Note a file that is made anew; whoever watches is told at once."""
        # Another attempt at the job may find the same again.
        self.change(replaced=list(dict.fromkeys([*self._status.replaced, sentence])))
        self.beat()

    def beat(self) -> None:
        """Write what is known now."""
        with self._lock:
            seconds = self._seconds_before + time.monotonic() - self._began
            self._status = dataclasses.replace(
                self._status, updated=_now(), seconds=round(seconds, 3)
            )
            write_json(self._path, dataclasses.asdict(self._status))


@contextlib.contextmanager
def report_life(path: Path, job: Job) -> Iterator[JobReporter]:
    """Keep a job's status file up to date, to its end: done, or failed and why."""
    reporter = JobReporter(path, job)
    reporter.beat()
    over = threading.Event()
    pulse = threading.Thread(target=_beat_until, args=(over, reporter), daemon=True)
    pulse.start()
    try:
        yield reporter
        reporter.change(state=DONE, stage="")
    except Exception:
        reporter.change(state=FAILED, error=traceback.format_exc())
    finally:
        over.set()
        pulse.join()
    reporter.beat()


def _beat_until(over: threading.Event, reporter: JobReporter) -> None:
    while not over.wait(SECONDS_BETWEEN_BEATS):
        # A beat that cannot be written is not worth a training; the next one may be.
        with contextlib.suppress(StoreError):
            reporter.beat()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
