"""What runs in a job of Slurm: one job of a study, which saves itself when its time is over."""

import contextlib
import dataclasses
import os
import signal
import subprocess
from pathlib import Path

from remanence._plugins import import_code
from remanence.study._directory import StudyDirectory
from remanence.study._jobs import Stop, run_job
from remanence.study._plan import Job
from remanence.study._status import FAILED, WAITING, read_job_status
from remanence.training import share_compiled_programs

# The first is Slurm's before a time limit, as submitit asks for; the others are what sites and
# schedulers send before they take a node away.
SIGNALS = (signal.SIGUSR2, signal.SIGUSR1, signal.SIGTERM)


@dataclasses.dataclass(frozen=True)
class ClusterTask:
    """A call that a job of Slurm makes, in a process that knows nothing but this."""

    path: Path
    job: Job
    imported: tuple[str, ...]

    def __call__(self) -> str:
        stop = Stop()
        for number in SIGNALS:
            signal.signal(number, stop.want)
        directory = StudyDirectory(self.path)
        # It may have been submitted just as somebody cancelled the study.
        if directory.cancelled:
            return WAITING
        for source in self.imported:
            import_code(source)
        with share_compiled_programs():
            state = run_job(self.path, self.job, stop)
        if state == WAITING and not directory.cancelled:
            requeue()
        if state == FAILED:
            error = read_job_status(directory.status_path(self.job)).error
            raise RuntimeError(f"{self.job.id} failed:\n{error}")
        return state


def requeue() -> None:
    """Put this job of Slurm back into the queue, unless that has been done or it was cancelled."""
    number = os.environ["SLURM_JOB_ID"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["scontrol", "--oneliner", "show", "job", number]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        if "JobState=RUNNING" in told.stdout:
            subprocess.run(["scontrol", "requeue", number], check=True, timeout=60)
