"""A tiny study from start to end, and what happens to it when things go wrong."""

import contextlib
import dataclasses
import os
import random
import shutil
import signal
import time
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remanence.errors import StoreError
from remanence.store import _holds, hold_directory, load_arrays, read_json, read_owner, write_json
from remanence.study import Study, StudyDirectory, load_results, read_status, run_study
from remanence.study._status import change_status
from tests.forks import Fork, Nursery
from tests.study.studies import (
    assert_same_tables,
    open_threads,
    run_here,
    write_profile,
)


class BrokenAtFirst(Executor):
    """Loses the first so many jobs that are submitted, over all of its openings."""

    def __init__(self, num_losses: int, cancelled: bool = False):
        self.num_losses = num_losses
        self.cancelled = cancelled
        self.submitted = []

    @contextlib.contextmanager
    def open(self):
        with open_threads() as self.inner:
            yield self

    def submit(self, fn, /, *args, **kwargs) -> Any:
        self.submitted.append(args[1].id)
        if len(self.submitted) > self.num_losses:
            return self.inner.submit(fn, *args, **kwargs)
        future: Future[str] = Future()
        if not self.cancelled:
            future.set_exception(BrokenExecutor("killed"))
        elif future.cancel():
            future.set_running_or_notify_cancel()
        return future


class Queue(BrokenAtFirst):
    """Loses none, and runs none before it is told to."""

    def __init__(self):
        super().__init__(0)
        self.waiting = []

    def submit(self, fn, /, *args, **kwargs) -> Any:
        future: Future[str] = Future()
        self.waiting.append((future, fn, args))
        return future

    def let_go(self):
        for future, fn, args in self.waiting:
            future.set_result(fn(*args))


def list_times(path: Path) -> dict[str, int]:
    files = [
        file for file in path.rglob("*") if file.is_file() and not file.name.startswith(".lock")
    ]
    return {str(file.relative_to(path)): file.stat().st_mtime_ns for file in files}


def test_a_study_from_start_to_end(whole, study):
    assert len(load_results(whole, "evaluations").fetchall()) == 2 * 2 * 2 * 2
    assert len(load_results(whole, "curves").fetchall()) == 2 * 2 * 3
    assert {row[2] for row in load_results(whole, "stability").fetchall()} == {"gru", "bmru"}
    for job in study.jobs:
        for seed in job.seeds:
            assert StudyDirectory(whole).open_records(job).certificate_path(seed).exists()
    described = StudyDirectory(whole).read_description()
    assert described["jobs"][0]["id"] == "tmaze-short-gru"
    assert described.keys() >= {"command", "versions", "machine", "python", "started"}


def test_what_is_done_is_not_done_again(copy, study):
    before = list_times(copy)

    def refuse():
        raise AssertionError("there is nothing to do for workers")

    assert run_study(copy, study, open_executor=refuse).finished
    assert list_times(copy) == before


def test_lost_curves_come_back(copy, study, whole):
    curves = StudyDirectory(copy).open_run(study.jobs[0]).curves_path
    curves.unlink()
    assert run_here(copy, study).finished
    assert curves.exists()
    assert_same_tables(copy, whole)


def test_only_what_is_missing_is_done(copy, study, whole):
    gru = study.jobs[0]
    StudyDirectory(copy).open_records(gru).table_path("certificates").unlink()
    StudyDirectory(copy).open_records(gru).certificate_path(2).unlink()
    before = list_times(copy)
    assert run_here(copy, study).finished
    changed = {name for name, when in list_times(copy).items() if before.get(name) != when}
    assert changed == {
        "runs/tmaze-short-gru/certificates.parquet",
        "runs/tmaze-short-gru/certificates/seed-2.json",
        "status/tmaze-short-gru.json",
    }
    assert_same_tables(copy, whole)


def test_one_more_stage_is_done_and_nothing_else(copy, study):
    more = [dataclasses.replace(it, stages=(*it.stages, "sample")) for it in study.jobs]
    before = list_times(copy)
    assert run_here(copy, dataclasses.replace(study, jobs=more)).finished
    changed = {name for name, when in list_times(copy).items() if before.get(name) != when}
    tables = [f"sampled_{name}.parquet" for name in ("evaluations", "outcomes", "decisions")]
    files = {f"runs/{it.id}/{table}" for it in more for table in tables}
    assert {name for name in changed if name.startswith("runs/")} <= files
    assert changed - files == {"study.json", *(f"status/{it.id}.json" for it in more)}
    assert StudyDirectory(copy).read_study().jobs[0].stages[-1] == "sample"
    # But none that was there may be left out.
    with pytest.raises(StoreError, match="stages"):
        run_here(copy, study)


def test_a_lost_agent_comes_back(copy, study, whole):
    agent = StudyDirectory(copy).open_run(study.jobs[0]).agent_path(1)
    agent.unlink()
    assert run_here(copy, study).finished
    ours, theirs = (load_arrays(path)[0] for path in (agent, whole / agent.relative_to(copy)))
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_a_broken_run_does_not_stop_the_rest(copy, study, whole):
    directory = StudyDirectory(copy)
    for job in study.jobs:
        directory.open_records(job).table_path("evaluations").unlink()
    agent = directory.open_run(study.jobs[0]).agent_path(1)
    agent.unlink()
    # It comes back with the training, which goes on only with the versions that it began with.
    run = directory.open_run(study.jobs[0])
    begun = run.read_description()
    write_json(run.description_path, begun | {"versions": begun["versions"] | {"jax": "0.0.1"}})
    status = run_here(copy, study)
    assert status.list_jobs("failed") == ["tmaze-short-gru"]
    assert status.list_jobs("done") == ["tmaze-short-bmru"]
    assert "Traceback" in (status.jobs["tmaze-short-gru"].error or "")
    assert "versions.jax was '0.0.1'" in (status.jobs["tmaze-short-gru"].error or "")
    shutil.copy(whole / agent.relative_to(copy), agent)
    assert run_here(copy, study).finished
    assert_same_tables(copy, whole)


@pytest.mark.parametrize("cancelled", [False, True])
def test_lost_workers_are_replaced(cancelled, copy, study):
    StudyDirectory(copy).open_records(study.jobs[1]).table_path("stability").unlink()
    executor = BrokenAtFirst(2, cancelled)
    assert run_study(copy, study, open_executor=executor.open).finished
    assert executor.submitted == ["tmaze-short-bmru"] * 3


def test_one_deadly_job_does_not_take_others_with_it(copy, study, whole):
    gru, bmru = study.jobs
    directory = StudyDirectory(copy)
    for job in study.jobs:
        directory.open_records(job).table_path("stability").unlink()
    submitted = []

    class Deadly(Executor):
        """Whoever comes to the GRU dies, with whatever else was at work."""

        def submit(self, fn, /, *args, **kwargs) -> Any:
            path, job = args
            submitted.append(job.id)
            future: Future[str] = Future()
            together = len(submitted) <= len(study.jobs)
            if job.id == gru.id or together:
                change_status(directory.status_path(job), state="running")
                future.set_exception(BrokenExecutor("killed"))
            else:
                future.set_result(fn(path, job))
            return future

    status = run_study(copy, study, open_executor=Deadly)
    assert submitted == [gru.id, bmru.id, gru.id, gru.id, gru.id, bmru.id]
    assert (status.list_jobs("failed"), status.list_jobs("done")) == ([gru.id], [bmru.id])


def test_a_job_at_which_workers_always_die_is_given_up(copy, study):
    for job in study.jobs:
        StudyDirectory(copy).open_records(job).table_path("stability").unlink()
    executor = BrokenAtFirst(1000)
    status = run_study(copy, study, open_executor=executor.open)
    # Together, then each by itself until it is given up.
    ids = [job.id for job in study.jobs]
    assert executor.submitted == ids + [id for id in ids for _ in range(3)]
    assert status.list_jobs("failed") == [job.id for job in study.jobs]
    assert "3 times" in (status.jobs["tmaze-short-gru"].error or "")


def test_a_runner_is_heard_of_while_its_jobs_wait(copy, study, monkeypatch):
    """As in a queue of a cluster, where none of them may run for hours."""
    monkeypatch.setattr(_holds, "SECONDS_BETWEEN_BEATS", 0.01)
    StudyDirectory(copy).open_records(study.jobs[1]).table_path("stability").unlink()
    queue = Queue()
    beats = set()

    def look(status):
        owner = read_owner(copy)
        assert owner
        beats.add(owner.beat)
        if len(beats) == 3:
            queue.let_go()

    assert run_study(copy, study, open_executor=queue.open, on_change=look).finished


def test_the_second_runner_is_refused(copy, study):
    with hold_directory(copy), pytest.raises(StoreError, match="another process"):
        run_here(copy, study)


def test_another_plan_is_refused(copy, study):
    other = Study("tmaze", "tiny", study.note, study.jobs[:1])
    with pytest.raises(StoreError, match="tmaze-short-bmru was there and is not now"):
        run_here(copy, other)
    longer = dataclasses.replace(study.jobs[0], num_iterations=4)
    other = Study("tmaze", "tiny", study.note, [longer, study.jobs[1]])
    with pytest.raises(StoreError, match="num_iterations was 3 and is now 4"):
        run_here(copy, other)


def test_what_is_there_without_a_plan_is_refused(copy, study):
    (copy / "study.json").unlink()
    with pytest.raises(StoreError, match=r"its plan \(study\.json\) is missing"):
        run_here(copy, study)


def test_another_note_is_the_same_study(copy, study):
    assert run_here(copy, dataclasses.replace(study, note="Reworded.")).finished


def test_a_plan_whose_writing_was_killed_is_removed(copy, study):
    leftover = copy / ".study.json.0123456789abcdef.part"
    leftover.write_text('{"form')
    assert run_here(copy, study).finished
    assert not leftover.exists()


def test_other_versions_are_written_down(copy, study):
    path = copy / "study.json"
    begun = read_json(path)
    assert "continued" not in begun
    write_json(path, begun | {"versions": begun["versions"] | {"jax": "0.0.1"}})
    assert run_here(copy, study).finished
    assert run_here(copy, study).finished
    (again,) = read_json(path)["continued"]
    assert again["versions"] == begun["versions"]
    assert read_json(path)["versions"]["jax"] == "0.0.1"


def test_an_error_comes_home_from_a_worker(copy, study):
    lock = StudyDirectory(copy).lock_path(study.jobs[0])
    shutil.rmtree(lock, ignore_errors=True)
    lock.write_text("a file where a directory should be")
    StudyDirectory(copy).open_records(study.jobs[0]).table_path("stability").unlink()
    status = run_study(copy, study)
    assert status.list_jobs("failed") == ["tmaze-short-gru"]
    error = status.jobs["tmaze-short-gru"].error or ""
    assert "Traceback" in error
    assert "StoreError" in error
    assert lock.name in error


def begin(nursery: Nursery, out: Path) -> Fork:
    """`remanence reproduce` as a process of its own, at work in others."""
    command = ["-m", "remanence.cli", "reproduce", "tmaze", "--out", str(out), "--profile"]
    profile = write_profile(out.with_name("tiny.toml"))
    return nursery.start(*command, profile, log=out.with_name("log"), adds_programs=False)


def wait_for_work(out: Path, life: Fork) -> int | None:
    """Wait until a job runs in a living worker and return its process; None if all is over."""
    while life.poll() is None:
        with contextlib.suppress(StoreError):
            for job in read_status(out).jobs.values():
                if job.state == "running" and is_alive(job.pid):
                    return job.pid
        time.sleep(0.01)
    return None


def is_alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def await_end(process: int) -> bool:
    deadline = time.monotonic() + 30
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(process)


def test_a_study_killed_again_and_again_ends_the_same(whole, study, tmp_path, nursery):
    """SIGKILL of the runner, SIGKILL of a worker, Ctrl-C: each at a random moment of the work."""
    out = tmp_path / "study"
    moments = random.Random()
    runner = begin(nursery, out)
    worker = wait_for_work(out, runner)
    assert worker, "the study was over before its runner could be killed"
    time.sleep(moments.uniform(0, 1))
    runner.kill()
    runner.wait()
    assert await_end(worker), "a worker outlived its runner"
    runner = begin(nursery, out)
    worker = wait_for_work(out, runner)
    assert worker, "the study was over before a worker could be killed"
    time.sleep(moments.uniform(0, 1))
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker, signal.SIGKILL)
    assert await_end(worker)
    worker = wait_for_work(out, runner)
    assert worker, "no worker came in place of the one that was killed"
    runner.send_signal(signal.SIGINT)
    assert runner.wait() == 130
    assert await_end(worker), "a worker outlived its runner"
    assert not read_status(out).list_jobs("running")
    assert run_here(out, study).finished
    assert_same_tables(out, whole)
    assert not list(out.rglob(".*.part"))


def test_a_runner_that_was_overtaken_leaves_the_study_to_the_other(study, tmp_path, monkeypatch):
    monkeypatch.setattr(_holds, "SECONDS_BETWEEN_BEATS", 0.01)
    path = tmp_path / "study"

    looks = []

    def overtake(status):
        looks.append(status)
        (path / ".lock.99").touch()
        assert len(looks) < 40, "it goes on all the same"

    with pytest.raises(StoreError, match="taken over"):
        run_study(path, study, open_executor=Queue().open, on_change=overtake)
