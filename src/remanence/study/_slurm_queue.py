"""The queue of Slurm: submitit submits, `squeue` tells what is there, and never `sacct`."""

import functools
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence._plugins import list_imported
from remanence.errors import MissingDependencyError
from remanence.study._cluster_task import ClusterTask
from remanence.study._ledger import Ledger
from remanence.study._plan import Job
from remanence.study._queue import AbstractQueue, Entry, QueueError
from remanence.study._slurm_options import SlurmOptions

if TYPE_CHECKING:
    from submitit.core.utils import JobPaths

SECONDS_TO_ANSWER = 60
LINES_OF_LOG = 40
# Slurm's own default, for sites that do not tell.
LARGEST_ARRAY = 1001
# What submitit reads when it is imported.
_LOGGING, _AS_IT_IS = "SUBMITIT_LOG_LEVEL", "NOCONFIG"


class SlurmQueue(AbstractQueue):
    """Jobs of the study in a directory, as the cluster knows them."""

    def __init__(self, path: Path, ledger: Ledger, options: SlurmOptions | None = None):
        self._path = path
        self._ledger = ledger
        self._options = options or SlurmOptions()

    @property
    def largest(self) -> int:
        return find_largest_array()

    def submit(self, submission: int, jobs: Sequence[Job], share: float) -> list[str]:
        submitit = import_submitit()
        imported = list_imported()
        tasks = [ClusterTask(self._path, job, imported) for job in jobs]
        try:
            executor = submitit.SlurmExecutor(self._ledger.folder(submission))
            name = f"{self._ledger.name}-{submission}"
            num_cores = self._options.count_cores(jobs)
            executor.update_parameters(**self._options.to_parameters(name, num_cores, share))
            with executor.batch():
                made = [executor.submit(task) for task in tasks]
            return [job.job_id for job in made]
        # submitit runs `sbatch`, and lets its complaints through in one of several ways.
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", None) or error
            raise QueueError(f"Slurm did not take the jobs: {told}") from error

    def look(self) -> Mapping[str, Entry] | None:
        told = ask(
            *("squeue", "--array", "--noheader", f"--user={self._ledger.user}"),
            "--format=%j|%F|%K|%T|%r",
        )
        return None if told is None else parse_queue(told, self._ledger.name)

    def cancel(self, numbers: Sequence[str]) -> None:
        if numbers and ask("scancel", *numbers) is None:
            raise QueueError("Slurm did not cancel the jobs; see `squeue --me`, and try again.")

    def explain(self, submission: int, number: str) -> str:
        told = ask("scontrol", "--oneliner", "show", "job", number) or ""
        known = re.findall(r"\b(?:JobState|Reason|ExitCode|NodeList)=(?!\(null\))\S+", told)
        words = [f"Slurm job {number}: {', '.join(known) or 'nothing is known of it any more'}."]
        log = self._find_paths(submission, number).stdout
        if log.exists():
            lines = log.read_text(errors="replace").splitlines()[-LINES_OF_LOG:]
            words += [f"The end of its log ({log}):", *lines]
        return "\n".join(words)

    def forget(self, submission: int, number: str) -> None:
        paths = self._find_paths(submission, number)
        for file in (paths.submitted_pickle, paths.result_pickle, paths.stdout):
            file.unlink(missing_ok=True)

    def _find_paths(self, submission: int, number: str) -> "JobPaths":
        return import_submitit().core.utils.JobPaths(self._ledger.folder(submission), number, 0)


def parse_queue(told: str, name: str) -> dict[str, Entry]:
    """What `squeue` says of the jobs of a study of this name, by their numbers."""
    entries = {}
    for line in told.splitlines():
        job, number, index, state, reason = line.strip().split("|", 4)
        study, _, submission = job.rpartition("-")
        if study == name and submission.isdecimal():
            alone = not index.isdecimal()
            key = number if alone else f"{number}_{index}"
            entries[key] = Entry(int(submission), 0 if alone else int(index), state, reason)
    return entries


def ask(*command: str) -> str | None:
    """What a command of Slurm prints; None if it fails, as when nobody answers it."""
    # Some sites have set formats of their own, which would come in between.
    known = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS_TO_ANSWER,
            env=known,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def find_largest_array() -> int:
    """So many jobs fit into one array here."""
    found = re.search(r"MaxArraySize\s*=\s*(\d+)", ask("scontrol", "show", "config") or "")
    return max(1, (int(found.group(1)) if found else LARGEST_ARRAY) - 1)


def import_submitit() -> Any:
    """The package, if it is installed.

    Unless it is told not to, it configures logging when it is imported, which closes what all
    loggers of the process write to. Its jobs, which are processes of their own, may.
    """
    asked = os.environ.setdefault(_LOGGING, _AS_IT_IS)
    try:
        import submitit
    except ImportError as error:
        raise MissingDependencyError("--engine slurm", "submitit", "slurm") from error
    finally:
        if asked == _AS_IT_IS:
            os.environ.pop(_LOGGING, None)
    return submitit
