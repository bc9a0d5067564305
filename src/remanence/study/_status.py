"""How far a study is, by small files that are read as easily from another machine."""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remanence.errors import StoreError
from remanence.store import read_json, write_json
from remanence.study._plan import Study

SECONDS_TO_SILENCE = 60.0

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"


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
    `queue` has what a cluster's queue says of the jobs that are in it.

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
    queue: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def list_jobs(self, state: str) -> list[str]:
        """The ids of the jobs in one state."""
        return [id for id, status in self.jobs.items() if status.state == state]

    @property
    def finished(self) -> bool:
        """Whether all jobs are done."""
        return len(self.list_jobs(DONE)) == len(self.jobs)

    @property
    def abandoned(self) -> bool:
        """Whether jobs are left, none in a queue, and for long nothing was heard of anybody."""
        left = [self.jobs[id] for id in self.list_jobs(RUNNING) + self.list_jobs(WAITING)]
        alive = self.queue or any(job.state == RUNNING and not job.lost for job in left)
        return bool(left) and not alive and self.silent_seconds > SECONDS_TO_SILENCE


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
        then = datetime.datetime.fromisoformat(found.get("updated") or now())
    except ValueError:
        return False
    return then.tzinfo is not None


def _accept(kind: Any) -> Any:
    """What JSON may have for a field: a whole number is a float too."""
    return {float: int | float, list[str]: list}.get(kind, kind)


def change_status(path: Path, **changes: Any) -> None:
    """Rewrite a status file with some of its entries changed."""
    changed = dataclasses.replace(read_job_status(path), updated=now(), **changes)
    write_json(path, dataclasses.asdict(changed))


def now() -> str:
    """The time as status files tell it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
