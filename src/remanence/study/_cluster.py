"""Jobs of a study in the queue of a cluster, as futures.

Whether a job is done, its files say; whether it is still to come, the queue. Nobody else is asked:
accounts of a cluster's past are not kept everywhere, and go wrong when jobs are requeued.
"""

import contextlib
import dataclasses
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from remanence.errors import RemanenceError
from remanence.study._directory import StudyDirectory
from remanence.study._ledger import Failures, Ledger
from remanence.study._plan import Job
from remanence.study._queue import AbstractQueue, Entry, QueueError
from remanence.study._stages import stages
from remanence.study._status import (
    DONE,
    FAILED,
    WAITING,
    JobStatus,
    change_status,
    read_job_status,
)

# After a job that failed without getting any further.
MOST_RETRIES = 2
MOST_REFUSALS = 3
# Looks at the queue come after so many seconds at first, and when nothing happens later.
SECONDS_BETWEEN_LOOKS = (2.0, 30.0)
SECONDS_TO_GATHER = 0.5
# More are submitted when these are over: clusters limit how many one person may have in the queue.
MOST_QUEUED = 1000


@dataclasses.dataclass
class _Flight:
    """A job on its way, and where it is in the queue."""

    job: Job
    future: Future[str]
    submission: int = 0
    number: str = ""
    missed: bool = False


class ClusterExecutor(Executor):
    """Submits `run_job` of a study's jobs to a queue, in batches.

    What was submitted before, by a process that is no more, is found again and not submitted
    twice. A job that has left the queue and is not done is submitted again, until it has
    failed three times at the same place.
    """

    def __init__(self, directory: StudyDirectory, queue: AbstractQueue, most: int = MOST_QUEUED):
        self._directory = directory
        self._queue = queue
        self._ledger = Ledger(directory.cluster_path)
        self._most = most
        self._futures: list[Future[str]] = []
        self._waiting: deque[_Flight] = deque()
        self._flying: dict[str, _Flight] = {}
        self._earlier: dict[str, str] | None = None
        self._submitted: set[str] = set()
        self._left: dict[int, int] = {}
        self._kept: set[int] = set()
        self._failures = self._ledger.read_failures()
        self._num_refusals = 0

    def submit(  # pyrefly: ignore[bad-override]
        self, fn: Callable[..., str], /, *args: Any, **kwargs: Any
    ) -> Future[str]:
        """Have a job run; `fn` is `run_job`, with the study's path and the job."""
        _, job = args
        future: Future[str] = Future()
        self._futures.append(future)
        self._waiting.append(_Flight(job, future))
        return future

    @property
    def num_waiting(self) -> int:
        """So many jobs have not been submitted yet."""
        return len(self._waiting)

    def look(self) -> bool:
        """Look at the queue once, settle what is over and submit what there is room for.

        Returns whether anything has happened. Raises `QueueError` if an empty queue refuses jobs
        again and again.
        """
        found = self._queue.look()
        if found is None:
            return False
        if self._earlier is None:
            self._earlier = self._find_earlier(found)
        over = [flight for number, flight in self._flying.items() if number not in found]
        known = dict(self._failures)
        settled = [self._settle(flight) for flight in over]
        if self._failures != known:
            self._ledger.write_failures(self._failures)
        self._drop_stuck(found)
        return self._submit_waiting(found) or any(settled)

    def _find_earlier(self, found: Mapping[str, Entry]) -> dict[str, str]:
        """What is in the queue from an earlier process, by job; what is not, is tidied up."""
        in_queue = {entry.submission for entry in found.values()}
        for submission in self._ledger.list_submissions():
            self._submitted.update(self._ledger.read_jobs(submission))
            if submission not in in_queue:
                self._ledger.remove(submission)
        earlier = find_jobs(self._ledger, found)
        self._left.update(Counter(found[number].submission for number in earlier.values()))
        return earlier

    def _settle(self, flight: _Flight) -> bool:
        """Conclude from its files what has become of a job that has left the queue."""
        status = read_job_status(self._directory.status_path(flight.job))
        if status.state != DONE and not flight.missed:
            # Between two states a queue may not know of a job, and files may come late.
            flight.missed = True
            return True
        del self._flying[flight.number]
        if status.state == DONE:
            self._queue.forget(flight.submission, flight.number)
            self._failures.pop(flight.job.id, None)
            _conclude(flight.future, DONE)
        else:
            self._try_again(flight, status)
        self._count_down(flight.submission)
        return True

    def _count_down(self, submission: int) -> None:
        self._left[submission] -= 1
        # The log of a job that was given up stays, until the study is taken up again.
        if not self._left[submission] and submission not in self._kept:
            self._ledger.remove(submission)

    def _try_again(self, flight: _Flight, status: JobStatus) -> None:
        before = self._failures.pop(flight.job.id, Failures())
        failures = before.add(_measure_progress(flight.job, status))
        path = self._directory.status_path(flight.job)
        if failures.number <= MOST_RETRIES:
            change_status(path, state=WAITING)
            self._failures[flight.job.id] = failures
            self._waiting.append(flight)
            return
        told = self._queue.explain(flight.submission, flight.number)
        parts = [f"It failed {failures.number} times.", told, status.error or ""]
        error = "\n\n".join(part.strip() for part in parts if part.strip())
        change_status(path, state=FAILED, error=error)
        self._kept.add(flight.submission)
        _conclude(flight.future, FAILED)

    def _drop_stuck(self, found: Mapping[str, Entry]) -> None:
        """Cancel what the cluster would hold for ever; it is settled when it is gone."""
        stuck = [number for number in self._flying if number in found and found[number].stuck]
        # If it is not heard, the next look finds them again.
        with contextlib.suppress(QueueError):
            self._queue.cancel(stuck)

    def _submit_waiting(self, found: Mapping[str, Entry]) -> bool:
        self._follow_earlier(found)
        room = self._most - len(self._flying)
        # Not by ones and twos, as they come in: a large batch is one call of the cluster.
        if not self._waiting or room < min(len(self._waiting), self._most // 2):
            return False
        while self._waiting and room > 0:
            number = min(self._queue.largest, room, len(self._waiting))
            if not self._submit([self._waiting.popleft() for _ in range(number)]):
                return False
            room -= number
        return True

    def _follow_earlier(self, found: Mapping[str, Entry]) -> None:
        """Of jobs that are asked for, those that are in the queue already are followed."""
        for _ in range(len(self._waiting) if self._submitted else 0):
            flight = self._waiting.popleft()
            number = (self._earlier or {}).pop(flight.job.id, None)
            if number is not None:
                flight.number, flight.submission = number, found[number].submission
                self._flying[number] = flight
            elif self._was_done_since(flight.job):
                _conclude(flight.future, DONE)
            else:
                self._waiting.append(flight)
        self._submitted.clear()

    def _was_done_since(self, job: Job) -> bool:
        """Whether an earlier process's job was done after we found that it was not."""
        known = job.id in self._submitted
        return known and read_job_status(self._directory.status_path(job)).state == DONE

    def _submit(self, flights: list[_Flight]) -> bool:
        jobs = [flight.job for flight in flights]
        share = len(jobs) / min(self._most, len(jobs) + len(self._flying) + len(self._waiting))
        submission = self._ledger.add([job.id for job in jobs])
        try:
            numbers = self._queue.submit(submission, jobs, share)
        except QueueError:
            self._ledger.remove(submission)
            self._waiting.extendleft(reversed(flights))
            # A full queue has room later; an empty one that refuses is asked again and again.
            self._num_refusals += not self._flying
            if self._num_refusals >= MOST_REFUSALS:
                raise
            return False
        self._num_refusals = 0
        self._left[submission] = len(flights)
        for flight, number in zip(flights, numbers, strict=True):
            flight.submission, flight.number, flight.missed = submission, number, False
            self._flying[number] = flight
        return True

    def give_up(self, error: QueueError) -> None:
        """Let all fail that is not over, as nobody looks after it; jobs in the queue go on."""
        for future in self._futures:
            if not future.done() and future.set_running_or_notify_cancel():
                future.set_exception(error)


@contextlib.contextmanager
def look_again_and_again(executor: ClusterExecutor) -> Iterator[ClusterExecutor]:
    """Look at the queue in a thread, until this block ends; jobs in the queue stay there."""
    over = threading.Event()
    thread = threading.Thread(target=_look_until, args=(executor, over), daemon=True)
    thread.start()
    try:
        yield executor
    finally:
        over.set()
        thread.join()


def _look_until(executor: ClusterExecutor, over: threading.Event) -> None:
    pause, longest = SECONDS_BETWEEN_LOOKS
    # All jobs of a study come at once: after a moment they are there, and are one batch.
    over.wait(SECONDS_TO_GATHER)
    while not over.is_set():
        try:
            happened = executor.look()
        except QueueError as error:
            executor.give_up(error)
            return
        except Exception as error:
            executor.give_up(_explain(error))
            return
        pause = SECONDS_BETWEEN_LOOKS[0] if happened else min(longest, 1.25 * pause)
        over.wait(pause)


def _explain(error: Exception) -> QueueError:
    """What went wrong with looking, which is no job's fault."""
    told = str(error) if isinstance(error, RemanenceError) else repr(error)
    made = QueueError(f"{told} Jobs in the queue go on; run the same command again.")
    made.__cause__ = error
    return made


def _conclude(future: Future[str], state: str) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(state)


def _measure_progress(job: Job, status: JobStatus) -> tuple[int, int, int]:
    """How far a job came: iterations, stages that it began, agents of the last of them."""
    doing = [stages[name].doing for name in job.stages]
    num_stages = 1 + doing.index(status.stage) if status.stage in doing else 0
    return status.iteration, num_stages, status.agent


def find_jobs(ledger: Ledger, found: Mapping[str, Entry]) -> dict[str, str]:
    """Which jobs of the study are what is in the queue, and their numbers there."""
    submissions = {entry.submission for entry in found.values()}
    names = {submission: ledger.read_jobs(submission) for submission in submissions}
    return {
        names[entry.submission][entry.index]: number
        for number, entry in found.items()
        if entry.index < len(names[entry.submission])
    }
