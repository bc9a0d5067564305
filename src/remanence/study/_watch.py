"""A study watched from anywhere: how far it is, and whether anybody is still at work."""

import dataclasses
import datetime
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remanence.store import read_owner
from remanence.study._directory import StudyDirectory
from remanence.study._plan import Job
from remanence.study._status import RUNNING, JobStatus, StudyStatus, read_job_status


def read_status(path: str | Path) -> StudyStatus:
    """How far the study in a directory is, whoever works on it.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
    >>> _ = study.StudyDirectory(Path("study")).begin(plan)
    >>> {id: job.state for id, job in study.read_status("study").jobs.items()}
    {'gru': 'waiting'}
    """
    return StatusReader(path).look()


class StatusReader:
    """Looks at a study again and again, and reads only what may have changed since.

    How long a job or a runner has been silent is measured by the reader's clock as soon as it
    has looked twice; until then there is only what others say of the time.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
    >>> _ = study.StudyDirectory(Path("study")).begin(plan)
    >>> reader = study.StatusReader("study")
    >>> [reader.look().list_jobs("waiting") for _ in range(2)]
    [['gru'], ['gru']]
    """

    def __init__(self, path: str | Path):
        self._directory = StudyDirectory(Path(path))
        self._study = self._directory.read_study()
        self._known: dict[str, tuple[Any, JobStatus]] = {}
        self._ear = _Ear()

    def look(self) -> StudyStatus:
        """How far the study is now."""
        files = self._list_files()
        jobs = {job.id: self._read(job, files) for job in self._study.jobs}
        owner = read_owner(self._directory.path)
        silent = math.inf
        if owner:
            told = owner.silent_seconds
            beat = (owner.since, owner.beat)
            silent = told if owner.alive is not None else self._ear.measure("", beat, told)
        return StudyStatus(self._study, jobs, silent)

    def _list_files(self) -> dict[str, Any]:
        """What tells a status file from the one that it replaces, by name."""
        try:
            with os.scandir(self._directory.path / "status") as entries:
                return {entry.name: _identify(entry) for entry in entries}
        except OSError:
            return {}

    def _read(self, job: Job, files: Mapping[str, Any]) -> JobStatus:
        path = self._directory.status_path(job)
        found = files.get(path.name)
        before, status = self._known.get(job.id, (None, JobStatus()))
        # A shared file system may tell of another machine's changes late, unless a file is opened.
        if found != before or status.state == RUNNING:
            status = read_job_status(path)
            self._known[job.id] = found, status
        if status.state != RUNNING or status.updated is None:
            return status
        silent = self._ear.measure(job.id, (status.updated, status.pid), status.silent_seconds)
        then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=silent)
        return dataclasses.replace(status, updated=then.isoformat(timespec="milliseconds"))


class _Ear:
    """When signs of life last changed, by the clock of the one who listens."""

    def __init__(self):
        self._heard: dict[str, tuple[Any, float, bool]] = {}

    def measure(self, name: str, sign: Any, told_seconds: float) -> float:
        """For how long one has been silent, who says so many seconds by a clock of its own."""
        now = time.monotonic()
        last, since, changed = self._heard.get(name, (sign, now, False))
        if sign != last:
            since, changed = now, True
        self._heard[name] = sign, since, changed
        return now - since if changed else max(told_seconds, now - since)


def _identify(entry: os.DirEntry[str]) -> Any:
    # Every writing makes another file. Times are compared with nothing but themselves.
    try:
        found = entry.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
