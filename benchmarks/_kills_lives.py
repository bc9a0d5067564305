"""One life of a command: started, aimed at, killed or left to its end."""

import contextlib
import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from _kills_watch import Watch

_SHARE_AT_WRITES = 0.6
_MOST_SECONDS_AFTER_WRITE = 0.004
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_TO_DIE = 30.0
# A thread of XLA's that is there as soon as something can be computed.
_BACKEND_THREAD = "tf_XLA"
_WORKER = b"spawn_main"


@dataclasses.dataclass(frozen=True)
class Aim:
    """When to kill: some time after so many files have appeared, or, of 0, after the start."""

    appearances: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Course:
    """How a life goes that nobody kills: when it first computes, its end, the files that appear."""

    ready_seconds: float
    seconds: float
    appearances: int


def draw_aim(moments: random.Random, course: Course, share_left: float) -> Aim:
    """A moment of a life with so much of the course before it: mostly of a write."""
    if moments.random() < _SHARE_AT_WRITES:
        number = moments.randint(1, max(1, round(share_left * course.appearances)))
        return Aim(number, moments.choice((0.0, moments.uniform(0, _MOST_SECONDS_AFTER_WRITE))))
    begin = moments.choice((0.0, course.ready_seconds, course.ready_seconds))
    return Aim(0, moments.uniform(begin, course.seconds))


class Life:
    """A command that runs, with all of its processes in a group of their own."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        log: Path,
        *others: Path,
    ):
        self.command = list(command)
        self.log = log
        self.appearances = 0
        self._closed = False
        self._watch = Watch(directory, *others)
        self._began = time.monotonic()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "remanence", *command],
                cwd=directory,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def seconds(self) -> float:
        """How long it has lived."""
        return time.monotonic() - self._began

    @property
    def alive(self) -> bool:
        """Whether the command itself is still there."""
        return self._process.poll() is None

    def await_aim(self, aim: Aim) -> bool:
        """Wait for the moment, counted from now; returns whether the life was still there."""
        end, target = self.seconds + aim.seconds, self.appearances + aim.appearances
        while self.alive:
            left = _SECONDS_BETWEEN_LOOKS if aim.appearances else end - self.seconds
            self.appearances += self._watch.wait(min(left, _SECONDS_BETWEEN_LOOKS))
            if aim.appearances and self.appearances >= target:
                time.sleep(aim.seconds)
                return self.alive
            if not aim.appearances and self.seconds >= end:
                return self.alive
        return False

    def wait(self, seconds: float) -> None:
        """Let it live for so long, and count what appears."""
        self.appearances += self._watch.wait(seconds)

    def await_end(self, most_seconds: float) -> int | None:
        """Its exit code, or None if it had to be killed for taking too long."""
        while self.alive and self.seconds < most_seconds:
            self.appearances += self._watch.wait(_SECONDS_BETWEEN_LOOKS)
        code = self._process.poll()
        self.kill_group()
        return code

    def follow(self) -> Course:
        """Leave it to its end, and tell how it went."""
        ready_seconds = 0.0
        while self.alive:
            self.appearances += self._watch.wait(_SECONDS_BETWEEN_LOOKS)
            if not ready_seconds and self.is_computing():
                ready_seconds = self.seconds
        seconds = self.seconds
        self.appearances += self._watch.wait(0)
        return Course(ready_seconds, seconds, self.appearances)

    @property
    def code(self) -> int | None:
        """What it ended with, if it did."""
        return self._process.poll()

    def read_output(self) -> str:
        """All that it has printed."""
        return self.log.read_text(errors="replace")

    def close(self) -> None:
        """Leave nothing of it behind."""
        if not self._closed:
            self.kill_group()
            self._watch.close()
            self._closed = True

    def list_processes(self) -> list[int]:
        """All that it has started, itself included."""
        mine = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [int(entry.name) for entry in mine if self._has(int(entry.name))]

    def list_workers(self) -> list[int]:
        """Its processes that take jobs."""
        return [process for process in self.list_processes() if _WORKER in _read_command(process)]

    def is_computing(self) -> bool:
        """Whether any of its processes has come as far as to compute."""
        return any(map(_has_backend, self.list_processes()))

    def freeze(self) -> None:
        """Stop all of its processes where they are, so that there is time to look at them."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let those that are left go on."""
        self._signal(signal.SIGCONT)

    def kill_group(self) -> None:
        """End all of its processes in one go."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def kill_leader(self) -> None:
        """End the command alone; its workers are to notice."""
        self._process.kill()
        self._process.wait()

    def await_processes(self) -> bool:
        """Whether all of its processes are gone, in good time."""
        deadline = time.monotonic() + _SECONDS_TO_DIE
        while self.list_processes() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self.list_processes()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _has(self, process: int) -> bool:
        try:
            return os.getpgid(process) == self._process.pid and not _is_dead(process)
        except ProcessLookupError:
            return False


def kill_process(process: int) -> None:
    """End one process."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _is_dead(process: int) -> bool:
    """Whether it only waits to be taken note of."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _has_backend(process: int) -> bool:
    with contextlib.suppress(OSError):
        threads = Path(f"/proc/{process}/task").iterdir()
        return any(_read_name(thread).startswith(_BACKEND_THREAD) for thread in threads)
    return False


def _read_name(thread: Path) -> str:
    try:
        return (thread / "comm").read_text()
    except OSError:
        return ""


def _read_command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
