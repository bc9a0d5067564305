"""What was submitted to a cluster, in files of the study: written before it is submitted.

slurm/study.json     by which name the study's jobs are known in the queue, and who submits them
slurm/7/jobs.json    the jobs of submission 7, in order; beside it what they need, and their logs
"""

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from remanence.errors import StoreError
from remanence.store import find_user, read_json, write_json


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
        if not self.exists or not mine.items() <= read_json(self._description).items():
            write_json(self._description, {"name": f"remanence-{secrets.token_hex(4)}"} | mine)

    @property
    def name(self) -> str:
        """That of the study in the queue; submissions add a dash and their number."""
        return read_json(self._description)["name"]

    @property
    def user(self) -> str:
        """Who submits."""
        return read_json(self._description)["user"]

    def add(self, ids: Sequence[str]) -> int:
        """Write down a submission that is about to be made, and return its number."""
        submission = max(self.list_submissions(), default=0) + 1
        write_json(self.folder(submission) / "jobs.json", list(ids))
        return submission

    def read_jobs(self, submission: int) -> list[str]:
        """The jobs of a submission, by id and in order; none if nothing is known of it."""
        try:
            return read_json(self.folder(submission) / "jobs.json")
        except StoreError:
            return []

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
