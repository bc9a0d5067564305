"""What a running job tells of itself, in its status file."""

import contextlib
import dataclasses
import os
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remanence.errors import StoreError
from remanence.store import Hold, write_json
from remanence.study._plan import Job
from remanence.study._status import (
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    JobStatus,
    now,
    read_job_status,
)

SECONDS_BETWEEN_BEATS = (2.0, 15.0)
TRAINING = "training"


class JobReporter:
    """What a running job tells of itself; `beat` writes it down."""

    def __init__(self, path: Path, job: Job, hold: Hold):
        self._path = path
        self._hold = hold
        self._began = time.monotonic()
        earlier = read_job_status(path)
        self._seconds_before = earlier.seconds
        self._status = JobStatus(
            state=RUNNING,
            num_iterations=job.num_iterations,
            num_agents=len(job.seeds),
            started=earlier.started or now(),
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

    def check(self) -> None:
        """Raise if another process has taken the job over."""
        self._hold.check()

    def beat(self) -> None:
        """Write what is known now, unless the job is another process's by now."""
        with self._lock:
            if self._hold.lost:
                return
            seconds = self._seconds_before + time.monotonic() - self._began
            self._status = dataclasses.replace(
                self._status, updated=now(), seconds=round(seconds, 3)
            )
            write_json(self._path, dataclasses.asdict(self._status))


class JobStopped(Exception):
    """A job ends before it is done because it was asked to, and can be taken up again."""


@contextlib.contextmanager
def report_life(path: Path, job: Job, hold: Hold) -> Iterator[JobReporter]:
    """Keep a job's status file up to date, to its end: done, stopped, or failed and why."""
    reporter = JobReporter(path, job, hold)
    reporter.beat()
    over = threading.Event()
    pulse = threading.Thread(target=_beat_until, args=(over, reporter), daemon=True)
    pulse.start()
    try:
        yield reporter
        reporter.change(state=DONE, stage="")
    except JobStopped:
        reporter.change(state=WAITING)
    except Exception:
        reporter.change(state=FAILED, error=traceback.format_exc())
    finally:
        over.set()
        pulse.join()
    reporter.beat()


def _beat_until(over: threading.Event, reporter: JobReporter) -> None:
    began = time.monotonic()
    # Hundreds of jobs may do so in one file system: the older a job, the less often.
    while not over.wait(_choose_pause(time.monotonic() - began)):
        # A beat that cannot be written is not worth a training; the next one may be.
        with contextlib.suppress(StoreError):
            reporter.beat()


def _choose_pause(age_seconds: float) -> float:
    shortest, longest = SECONDS_BETWEEN_BEATS
    return min(longest, max(shortest, age_seconds / 100))
