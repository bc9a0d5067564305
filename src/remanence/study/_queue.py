"""What an engine needs of a cluster's queue, whichever it is."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence

from remanence.errors import RemanenceError
from remanence.study._plan import Job


class QueueError(RemanenceError):
    """The queue of a cluster has refused what it was asked.

    >>> from remanence import study
    >>> raise study.QueueError("Slurm does not answer.")
    Traceback (most recent call last):
    remanence.study._queue.QueueError: Slurm does not answer.
    """


@dataclasses.dataclass(frozen=True)
class Entry:
    """A job in the queue: the how manyth of which submission it is, its state, and why so."""

    submission: int
    index: int
    state: str
    reason: str = ""

    @property
    def stuck(self) -> bool:
        """Whether the cluster has put it on hold by itself, and would leave it there for ever."""
        # By Slurm's words, after a node could not start it; other holds are somebody's will.
        return "requeued held" in self.reason or "JobHoldMaxRequeue" in self.reason

    def describe(self) -> str:
        """The state as people say it."""
        words = self.state.lower().replace("_", " ")
        return f"{words} ({self.reason})" if self.reason not in ("", "None") else words


class AbstractQueue(abc.ABC):
    """Takes jobs in batches and knows which are still there, by numbers of its own."""

    @property
    @abc.abstractmethod
    def largest(self) -> int:
        """So many jobs may be submitted at once."""

    @abc.abstractmethod
    def submit(self, submission: int, jobs: Sequence[Job], share: float) -> list[str]:
        """Submit jobs and return their numbers; raises `QueueError` if they are refused.

        They may use this share of what may run at a time.
        """

    @abc.abstractmethod
    def look(self) -> Mapping[str, Entry] | None:
        """All that is in the queue of this study, by number; None if it cannot be asked now."""

    @abc.abstractmethod
    def cancel(self, numbers: Sequence[str]) -> None:
        """Take jobs out of the queue, and stop those that run."""

    @abc.abstractmethod
    def explain(self, submission: int, number: str) -> str:
        """Why a job that is there no more has ended, as far as is known, and the end of its log."""

    @abc.abstractmethod
    def forget(self, submission: int, number: str) -> None:
        """Remove the files of a job that is done."""
