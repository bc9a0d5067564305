"""A cluster that exists in virtual time: every look at its queue is so many seconds later."""

import dataclasses
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from remanence.study import Job, QueueError, StudyDirectory
from remanence.study._queue import AbstractQueue, Entry


@dataclasses.dataclass
class Chances:
    """What goes wrong how often; `dead` jobs always do."""

    fail: float = 0.0
    requeue: float = 0.0
    hold: float = 0.0
    refuse: float = 0.0
    silence: float = 0.0
    dead: frozenset[str] = frozenset()


@dataclasses.dataclass
class _Queued:
    job: Job
    submission: int
    index: int
    ends: float | None = None
    held: bool = False


class VirtualQueue(AbstractQueue):
    """Runs so many jobs at a time, in the order of their submission, for about an hour each."""

    def __init__(self, directory: StudyDirectory, chances: Chances | None = None, at_a_time=100):
        self.seconds = 0.0
        self.starts: Counter[str] = Counter()
        self.submissions: list[list[str]] = []
        self.forgotten: list[str] = []
        self.cancelled: list[str] = []
        self.queued: dict[str, _Queued] = {}
        self._directory = directory
        self._chances = chances or Chances()
        self._at_a_time = at_a_time
        self._random = random.Random(0)
        (directory.path / "status").mkdir(parents=True, exist_ok=True)

    @property
    def largest(self) -> int:
        return 500

    def submit(self, submission: int, jobs: Sequence[Job], share: float) -> list[str]:
        if self._happens(self._chances.refuse):
            raise QueueError("the queue is full")
        self.submissions.append([job.id for job in jobs])
        number = len(self.submissions)
        made = {f"{number}_{i}": _Queued(job, submission, i) for i, job in enumerate(jobs)}
        self.queued |= made
        return list(made)

    def look(self) -> dict[str, Entry] | None:
        self.seconds += 1800
        self._end_some()
        self._start_some()
        if self._happens(self._chances.silence):
            return None
        return {number: _describe(it) for number, it in self.queued.items()}

    def cancel(self, numbers: Sequence[str]) -> None:
        self.cancelled += numbers
        for number in numbers:
            self.queued.pop(number, None)

    def explain(self, submission: int, number: str) -> str:
        return f"job {number} has ended"

    def forget(self, submission: int, number: str) -> None:
        self.forgotten.append(number)

    def _end_some(self) -> None:
        for number, it in list(self.queued.items()):
            if it.ends is None or it.ends > self.seconds:
                continue
            if self._happens(self._chances.requeue):
                it.ends = None
                continue
            del self.queued[number]
            if it.job.id not in self._chances.dead and not self._happens(self._chances.fail):
                path = self._directory.status_path(it.job)
                path.write_text(json.dumps({"state": "done"}))

    def _start_some(self) -> None:
        running = sum(it.ends is not None for it in self.queued.values())
        for it in self.queued.values():
            if running >= self._at_a_time:
                return
            if it.ends is None and not it.held:
                it.held = self._happens(self._chances.hold)
                if not it.held:
                    it.ends = self.seconds + self._random.expovariate(1 / 3600)
                    self.starts[it.job.id] += 1
                    running += 1

    def _happens(self, chance: float) -> bool:
        return self._random.random() < chance


def _describe(it: _Queued) -> Entry:
    state = "PENDING" if it.ends is None else "RUNNING"
    return Entry(it.submission, it.index, state, "launch failed requeued held" if it.held else "")


def count_calls(work: Callable[[], Any], queue: VirtualQueue) -> int:
    """How many functions are called by what a caller does, those within its queue left out."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    def outside(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            sys.setprofile(None)
            try:
                return method(*arguments)
            finally:
                sys.setprofile(count)

        return call

    for name in ("submit", "look", "cancel", "explain", "forget"):
        setattr(queue, name, outside(getattr(queue, name)))
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
