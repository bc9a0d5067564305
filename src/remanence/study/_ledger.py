"""What was submitted to a cluster, in files of the study: written before it is submitted.

slurm/study.json     by which name the study's jobs are known in the queue, and who submits them
slurm/failures.json  how often jobs failed that are tried again
slurm/7/jobs.json    the jobs of submission 7, in order; beside it what they need, and their logs
"""

import contextlib
import dataclasses
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from remanence.errors import StoreError
from remanence.store import find_user, read_json, write_json


@dataclasses.dataclass(frozen=True)
class Failures:
    """How often a job failed without getting further than `progress`.

    That is how far it came: iterations, stages that it began, agents of the last of them.
    """

    number: int = 0
    progress: tuple[int, int, int] = (0, 0, 0)

    def add(self, progress: tuple[int, int, int]) -> "Failures":
        """And once more; where it got further, that is the first time there."""
        number = 1 if progress > self.progress else self.number + 1
        return Failures(number, max(progress, self.progress))


class Ledger:
    """Knows the submissions of one study."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def exists(self) -> bool:
        return self._description.exists()

    def begin(self) -> None:
        """Choose a name for the queue, unless there is one; a copied study gets its own."""
        mine = {"user": find_user(), "path": str(self.path.resolve())}
        if not self.exists or not mine.items() <= self._read().items():
            write_json(self._description, {"name": f"remanence-{secrets.token_hex(4)}"} | mine)

    @property
    def name(self) -> str:
        """That of the study in the queue; submissions add a dash and their number."""
        return self._read()["name"]

    @property
    def user(self) -> str:
        """Who submits."""
        return self._read()["user"]

    def _read(self) -> dict[str, str]:
        with contextlib.suppress(StoreError):
            found = read_json(self._description)
            if isinstance(found, dict) and {"name", "user", "path"} <= found.keys():
                return found
        problem = "it is damaged, and no longer tells which jobs in the queue are the study's"
        remedy = "cancel those called remanence-… (`squeue --me`), and remove this file"
        raise StoreError(self._description, problem, remedy)

    def add(self, ids: Sequence[str]) -> int:
        """Write down a submission that is about to be made, and return its number."""
        submission = max(self.list_submissions(), default=0) + 1
        write_json(self.folder(submission) / "jobs.json", list(ids))
        return submission

    def read_jobs(self, submission: int) -> list[str]:
        """The jobs of a submission, by id and in order; none if nothing is known of it."""
        found = None
        with contextlib.suppress(StoreError):
            found = read_json(self.folder(submission) / "jobs.json")
        return found if isinstance(found, list) else []

    def read_failures(self) -> dict[str, Failures]:
        """Those of jobs that are to be tried again; none if what is there cannot be read."""
        try:
            found = read_json(self._failures)
            return {id: Failures(it["number"], tuple(it["progress"])) for id, it in found.items()}
        except (StoreError, AttributeError, KeyError, TypeError):
            return {}

    def write_failures(self, failures: Mapping[str, Failures]) -> None:
        """Keep them for whoever looks after the study next."""
        if failures:
            write_json(self._failures, {id: vars(it) for id, it in failures.items()})
        else:
            self._failures.unlink(missing_ok=True)

    def remove(self, submission: int) -> None:
        """Forget a submission of which nothing is left."""
        shutil.rmtree(self.folder(submission), ignore_errors=True)

    def list_submissions(self) -> list[int]:
        """The numbers of all that are written down."""
        try:
            names = [entry.name for entry in self.path.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdecimal())

    def folder(self, submission: int) -> Path:
        """Where the files of a submission are."""
        return self.path / str(submission)

    @property
    def _description(self) -> Path:
        return self.path / "study.json"

    @property
    def _failures(self) -> Path:
        return self.path / "failures.json"
