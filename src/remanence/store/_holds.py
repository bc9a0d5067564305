"""Directories that one process holds at a time, on file systems that many machines share.

A hold is a file, `.lock.7`, that its owner made where there was none, which every shared file
system does for one process alone; locks of the kernel (`flock`) are left out on some without a
word. Its owner rewrites it every few seconds. Whoever comes next makes `.lock.8`, once the owner
has let go, is known to have ended, or has been silent for long by the clock of the one who waits:
neither other machines' clocks nor the times of files are trusted. An owner that has been overtaken
learns it from the higher number.
"""

import contextlib
import dataclasses
import datetime
import json
import math
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remanence.errors import StoreError
from remanence.store._files import explain
from remanence.store._machine import find_beginning, find_user, name_machine

LOCK = ".lock"
SECONDS_BETWEEN_BEATS = 5.0
SECONDS_TO_SILENCE = 60.0
# Of one who waits: short at first, and longer the longer it waits.
SECONDS_BETWEEN_TRIES = (0.02, 2.0)


@dataclasses.dataclass(frozen=True)
class Owner:
    """Who holds a directory, or held it last.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> with store.hold_directory(Path("run")):
    ...     owner = store.read_owner(Path("run"))
    >>> owner.alive, owner.silent_seconds, owner.describe()
    (True, 0.0, 'process ... on ..., since ...')
    """

    user: str
    host: str
    machine: str
    pid: int
    began: str
    slurm_job: str
    since: str
    updated: str
    beat: int = 0
    released: bool = False

    @property
    def alive(self) -> bool | None:
        """Whether it holds the directory still; None where that cannot be told from here."""
        if self.released:
            return False
        here = self.machine == name_machine()
        return find_beginning(self.pid) == self.began if here else None

    @property
    def silent_seconds(self) -> float:
        """How long nothing was heard of it, by its own clock where it is on another machine."""
        if self.alive is None:
            then = datetime.datetime.fromisoformat(self.updated)
            return max(0.0, (datetime.datetime.now(datetime.UTC) - then).total_seconds())
        return 0.0 if self.alive else math.inf

    def describe(self) -> str:
        """Who and where, in words."""
        whose = f" of {self.user}" if self.user else ""
        slurm = f" in Slurm job {self.slurm_job}" if self.slurm_job else ""
        return f"process {self.pid}{whose} on {self.host}{slurm}, since {self.since}"


class Hold:
    """A directory that is held; `lost` if another process has taken it over, which is rare.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> with store.hold_directory(Path("run")) as hold:
    ...     hold.check()
    ...     hold.lost
    False
    """

    def __init__(self, path: Path, number: int, owner: Owner):
        self.lost = False
        self._path = path
        self._number = number
        self._owner = owner
        self._over = threading.Event()
        self._pulse = threading.Thread(target=self._beat_until_over, daemon=True)
        self._pulse.start()

    def check(self) -> None:
        """Raise if the hold is lost: whatever is written from now on is somebody else's."""
        if self.lost:
            problem = "another process has taken over here, as this one was silent for long"
            raise StoreError(self._path, problem, "leave it to that one")

    def release(self) -> None:
        self._over.set()
        self._pulse.join()
        if not self.lost:
            self._write(released=True)

    def _beat_until_over(self) -> None:
        while not self.lost and not self._over.wait(SECONDS_BETWEEN_BEATS):
            self.lost = max(_list_numbers(self._path), default=0) > self._number
            if not self.lost:
                self._write(beat=self._owner.beat + 1, updated=_now())

    def _write(self, **changes: Any) -> None:
        self._owner = dataclasses.replace(self._owner, **changes)
        # A beat that cannot be written is not worth what is done here; the next one may be.
        with contextlib.suppress(OSError):
            _write_owner(_name_lock(self._path, self._number), self._owner, os.O_WRONLY)


@contextlib.contextmanager
def hold_directory(path: Path, *, wait: bool = False) -> Iterator[Hold]:
    """Hold a directory against other processes; the hold ends with the process, however it ends.

    A directory that another process holds is refused, or with `wait` waited for. One whose owner
    was on another machine, and ended there without a word, is free after a minute.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> with store.hold_directory(Path("run")), store.hold_directory(Path("run")):
    ...     print("held twice")
    Traceback (most recent call last):
    remanence.errors.StoreError: run: another process is working here (...); wait for it or ...
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        hold = _take(path, wait)
    except StoreError:
        raise
    except OSError as error:
        raise explain(path, error) from error
    try:
        yield hold
    finally:
        hold.release()


def read_owner(path: Path) -> Owner | None:
    """Who holds a directory or held it last; None if nobody ever did, or cannot be read.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.read_owner(Path("never held")) is None
    True
    """
    _, text = _read_latest(path)
    return _parse(text)


def _take(path: Path, wait: bool) -> Hold:
    watch = _Watch()
    pause, longest = SECONDS_BETWEEN_TRIES
    while True:
        number, text = _read_latest(path)
        held = watch.judge(text)
        if held and not wait:
            owner = _parse(text)
            assert owner
            problem = f"another process is working here ({owner.describe()})"
            raise StoreError(path, problem, "wait for it or choose another directory")
        if held is False:
            hold = _try_number(path, number + 1)
            if hold:
                return hold
        time.sleep(pause)
        pause = min(longest, 1.5 * pause)


class _Watch:
    """What one who waits has seen of an owner, and when by its own clock."""

    def __init__(self):
        self._seen: str | None = None
        self._since = time.monotonic()
        self._changed = False

    def judge(self, text: str | None) -> bool | None:
        """Whether a directory is held, from what its lock says; None if that is not known yet."""
        if text is None:
            return False
        owner = _parse(text)
        if owner and owner.alive is not None:
            return owner.alive
        if text != self._seen:
            self._changed = self._seen is not None
            self._seen, self._since = text, time.monotonic()
        if time.monotonic() - self._since > SECONDS_TO_SILENCE:
            return False
        return True if self._changed and owner else None


def _try_number(path: Path, number: int) -> Hold | None:
    """Take a directory by making the next lock; None if another process was faster."""
    owner = _describe_self()
    lock = _name_lock(path, number)
    try:
        _write_owner(lock, owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return None
    numbers = _list_numbers(path)
    # Others may have taken it, let go and tidied up since we looked: the highest number holds.
    if max(numbers) != number:
        lock.unlink(missing_ok=True)
        return None
    for older in numbers - {number}:
        _name_lock(path, older).unlink(missing_ok=True)
    return Hold(path, number, owner)


def _name_lock(path: Path, number: int) -> Path:
    return path / f"{LOCK}.{number}"


def _list_numbers(path: Path) -> set[int]:
    try:
        names = [name.removeprefix(f"{LOCK}.") for name in os.listdir(path) if LOCK in name]
    except OSError:
        return set()
    return {int(name) for name in names if name.isdecimal()}


def _read_latest(path: Path) -> tuple[int, str | None]:
    """The highest number and what its lock says, which is removed when a higher one is made."""
    while True:
        number = max(_list_numbers(path), default=0)
        try:
            return number, _name_lock(path, number).read_text() if number else None
        except FileNotFoundError:
            continue


def _write_owner(lock: Path, owner: Owner, flags: int) -> None:
    text = json.dumps(dataclasses.asdict(owner)) + "\n"
    handle = os.open(lock, flags, 0o666)
    try:
        os.write(handle, text.encode())
        os.ftruncate(handle, len(text))
    finally:
        os.close(handle)


def _parse(text: str | None) -> Owner | None:
    """The owner that a lock tells; None of one that is just being written."""
    try:
        return Owner(**json.loads(text or ""))
    except (TypeError, ValueError):
        return None


def _describe_self() -> Owner:
    now = _now()
    return Owner(
        user=find_user(),
        host=socket.gethostname(),
        machine=name_machine(),
        pid=os.getpid(),
        began=find_beginning(os.getpid()),
        slurm_job=os.environ.get("SLURM_JOB_ID", ""),
        since=now,
        updated=now,
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
