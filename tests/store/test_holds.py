"""Holds, also against machines that are not this one, which a lock's contents can claim to be."""

import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence import store
from remanence.errors import StoreError
from remanence.store import _holds


@pytest.fixture
def quick(monkeypatch) -> None:
    monkeypatch.setattr(_holds, "SECONDS_BETWEEN_BEATS", 0.02)
    monkeypatch.setattr(_holds, "SECONDS_TO_SILENCE", 0.5)


def move_elsewhere(path: Path) -> Path:
    """Let a directory's lock say that its owner is on another machine, and not that it let go."""
    lock = max(path.glob(".lock.*"))
    owner = json.loads(lock.read_text()) | {"machine": "elsewhere", "host": "node7"}
    lock.write_text(json.dumps(owner | {"released": False}))
    return lock


@pytest.fixture
def elsewhere(tmp_path, quick) -> Iterator[threading.Event]:
    """A hold of this directory by another machine that lives until it is told to die."""
    with store.hold_directory(tmp_path):
        pass
    lock = move_elsewhere(tmp_path)
    dead = threading.Event()

    def live() -> None:
        beat = 0
        while not dead.wait(0.02):
            beat += 1
            owner = json.loads(lock.read_text()) | {"beat": beat}
            lock.write_text(json.dumps(owner))

    thread = threading.Thread(target=live)
    thread.start()
    yield dead
    dead.set()
    thread.join()


def test_a_directory_is_held_by_one_at_a_time(tmp_path):
    first, second = store.hold_directory(tmp_path), store.hold_directory(tmp_path)
    with first, pytest.raises(StoreError, match="another process") as refused, second:
        pass
    assert f"process {os.getpid()} of " in str(refused.value)
    with store.hold_directory(tmp_path):
        pass
    assert [lock.name for lock in tmp_path.iterdir()] == [".lock.2"]


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"), store.hold_directory(tmp_path / "file"):
        pass


def test_a_held_directory_can_be_waited_for(tmp_path):
    entered = threading.Event()

    def wait_and_enter() -> None:
        with store.hold_directory(tmp_path, wait=True):
            entered.set()

    waiter = threading.Thread(target=wait_and_enter)
    with store.hold_directory(tmp_path):
        waiter.start()
        assert not entered.wait(0.2)
    waiter.join(20)
    assert entered.is_set()


def test_a_hold_ends_with_its_process(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from remanence import store\n"
        "with store.hold_directory(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match="another process"), store.hold_directory(tmp_path):
            pass
        process.kill()
        # Not waited for yet: a process that has ended and is not yet buried holds nothing.
        with store.hold_directory(tmp_path, wait=True):
            pass


def test_a_number_that_was_given_again_is_not_the_process_that_held(tmp_path):
    with store.hold_directory(tmp_path):
        pass
    (lock,) = tmp_path.iterdir()
    owner = json.loads(lock.read_text()) | {"released": False}
    lock.write_text(json.dumps(owner | {"began": "1"}))
    with store.hold_directory(tmp_path):
        pass


@pytest.mark.usefixtures("elsewhere")
def test_another_machine_that_is_heard_of_is_not_disturbed(tmp_path):
    # Neither old files nor clocks that are wrong are taken for silence.
    os.utime(tmp_path / ".lock.1", (0, 0))
    with pytest.raises(StoreError, match="on node7"), store.hold_directory(tmp_path):
        pass


def test_another_machine_that_has_gone_silent_is_taken_over_from(tmp_path, elsewhere):
    entered = threading.Event()

    def wait_and_enter() -> None:
        with store.hold_directory(tmp_path, wait=True):
            entered.set()

    waiter = threading.Thread(target=wait_and_enter)
    waiter.start()
    assert not entered.wait(1.5), "taken from one that lives"
    elsewhere.set()
    waiter.join(20)
    assert entered.is_set()


@pytest.mark.usefixtures("quick")
def test_one_who_was_overtaken_learns_it_and_leaves_the_new_owner_alone(tmp_path, monkeypatch):
    with store.hold_directory(tmp_path) as hold:
        hold.check()
        move_elsewhere(tmp_path)
        monkeypatch.setattr(hold, "_write", lambda **_: None)  # it is stopped, as by a debugger
        with store.hold_directory(tmp_path) as other:
            deadline = time.monotonic() + 20
            while not hold.lost and time.monotonic() < deadline:
                time.sleep(0.01)
            with pytest.raises(StoreError, match="taken over"):
                hold.check()
            other.check()
    assert [lock.name for lock in tmp_path.iterdir()] == [".lock.2"]


@pytest.mark.usefixtures("quick")
def test_a_lock_whose_writing_was_killed_is_taken_after_a_while(tmp_path):
    (tmp_path / ".lock.4").touch()
    assert store.read_owner(tmp_path) is None
    with store.hold_directory(tmp_path):
        assert [lock.name for lock in tmp_path.iterdir()] == [".lock.5"]


def test_one_who_looked_long_ago_does_not_take_what_is_held(tmp_path):
    for _ in range(3):
        with store.hold_directory(tmp_path):
            pass
    with store.hold_directory(tmp_path):
        # The locks that it saw were removed since, so that nothing is in its way but the number.
        assert _holds._try_number(tmp_path, 2) is None
    assert [lock.name for lock in tmp_path.iterdir()] == [".lock.4"]


COUNT_UP = """
import sys
from pathlib import Path
from remanence import store

path = Path(sys.argv[1])
for _ in range(10):
    with store.hold_directory(path / "held", wait=True):
        number = int((path / "number").read_text())
        (path / "number").write_text(str(number + 1))
"""


def test_several_processes_take_turns(tmp_path):
    (tmp_path / "number").write_text("0")
    command = [sys.executable, "-c", COUNT_UP, str(tmp_path)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert (tmp_path / "number").read_text() == "30"


def test_silence_is_told_by_contents(tmp_path):
    with store.hold_directory(tmp_path):
        owner = store.read_owner(tmp_path)
        assert owner
        assert owner.silent_seconds == 0
        far = dataclasses.replace(owner, machine="elsewhere", updated="2020-01-01T00:00:00+00:00")
        assert far.alive is None
        assert far.silent_seconds > 1e6
    assert owner.alive is True
    ended = store.read_owner(tmp_path)
    assert ended
    assert ended.silent_seconds == float("inf")
