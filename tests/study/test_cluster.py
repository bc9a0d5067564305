"""Jobs in a cluster's queue, without a cluster: what is settled, tried again, found again."""

import shutil
from pathlib import Path

import pytest

from remanence.errors import StoreError
from remanence.store import write_json
from remanence.study import (
    Job,
    JobStatus,
    QueueError,
    SlurmOptions,
    Study,
    StudyDirectory,
    run_study,
    split_job,
    split_study,
)
from remanence.study import _cluster as cluster
from remanence.study._cluster import ClusterExecutor, look_again_and_again
from remanence.study._jobs import run_job
from remanence.study._ledger import Failures, Ledger
from remanence.study._queue import Entry
from remanence.study._slurm_queue import parse_queue
from tests.study.virtual_queue import Chances, VirtualQueue, count_calls


def list_jobs(number: int) -> list[Job]:
    asked = {"num_iterations": 3, "lengths": [2], "stages": ["evaluate"]}
    names = {"preset": "tmaze-short", "network": "small", "cell": "gru"}
    return [Job(f"gru-s{i}-{i}", seeds=[i], **names, **asked) for i in range(1, number + 1)]


class Runner:
    """Does what a runner does with an executor, without waiting."""

    def __init__(self, path: Path, chances: Chances | None = None, queue=None, **options):
        self.directory = StudyDirectory(path)
        Ledger(self.directory.cluster_path).begin()
        self.queue = queue or VirtualQueue(self.directory, chances)
        self.executor = ClusterExecutor(self.directory, self.queue, **options)

    def submit(self, jobs: list[Job]):
        return [self.executor.submit(run_job, self.directory.path, job) for job in jobs]

    def run(self, jobs: list[Job]) -> list[str]:
        futures = self.submit(jobs)
        while not all(future.done() for future in futures):
            self.executor.look()
        return [future.result() for future in futures]


TROUBLE = Chances(fail=0.01, requeue=0.1, hold=0.005, refuse=0.1, silence=0.1)


def test_the_cost_of_a_job_does_not_grow_with_their_number(tmp_path):
    costs = {}
    for number in (2_000, 10_000):
        runner = Runner(tmp_path / str(number), TROUBLE)
        jobs = list_jobs(number)
        states: list[str] = []
        calls = count_calls(lambda r=runner, j=jobs, s=states: s.extend(r.run(j)), runner.queue)
        assert set(states) == {"done"}, "a job was given up, or has not ended"
        assert max(len(batch) for batch in runner.queue.submissions) <= runner.queue.largest
        assert not runner.queue.queued
        assert not Ledger(runner.directory.cluster_path).list_submissions(), "files are left"
        costs[number] = calls / number
    assert costs[10_000] < 1.2 * costs[2_000]


def test_a_job_that_always_fails_is_given_up_and_the_others_are_done(tmp_path):
    jobs = list_jobs(20)
    runner = Runner(tmp_path, Chances(dead=frozenset([jobs[3].id])))
    states = runner.run(jobs)
    assert [states.index("failed"), states.count("done")] == [3, 19]
    assert runner.queue.starts[jobs[3].id] == 3
    assert set(runner.queue.starts[job.id] for job in jobs if job != jobs[3]) == {1}
    error = (runner.directory.status_path(jobs[3])).read_text()
    assert "It failed 3 times" in error
    assert "has ended" in error


def test_a_job_that_gets_further_each_time_is_not_given_up(tmp_path):
    (job,) = list_jobs(1)
    runner = Runner(tmp_path, Chances(dead=frozenset([job.id])))
    (future,) = runner.submit([job])
    status = runner.directory.status_path(job)
    iteration = 0
    while runner.queue.starts[job.id] < 6:
        if runner.queue.starts[job.id] > iteration:
            iteration = runner.queue.starts[job.id]
            write_json(status, {"state": "running", "stage": "training", "iteration": iteration})
        runner.executor.look()
        assert not future.done(), "given up although it got further"
    while not future.done():  # from here on it gets no further
        runner.executor.look()
    assert future.result() == "failed"
    assert runner.queue.starts[job.id] in (7, 8)


def test_failures_are_counted_across_runners(tmp_path):
    """Each of them is killed as soon as it has seen one."""
    (job,) = list_jobs(1)
    queue = Runner(tmp_path, Chances(dead=frozenset([job.id]))).queue
    for num_submissions in (2, 3):
        runner = Runner(tmp_path, queue=queue)
        runner.submit([job])
        looks = 0
        while len(queue.submissions) < num_submissions:
            runner.executor.look()
            looks += 1
            assert looks < 1000, "it is not tried again"
        failures = Ledger(runner.directory.cluster_path).read_failures()[job.id]
        assert failures == Failures(num_submissions - 1, progress=(0, 0, 0))
    assert Runner(tmp_path, queue=queue).run([job]) == ["failed"]
    assert queue.starts[job.id] == 3
    assert Runner(tmp_path, queue=queue).run([job]) == ["failed"]
    assert queue.starts[job.id] == 6, "what was given up and asked for again has three tries"


def test_progress_counts_the_stages_that_began():
    (job,) = list_jobs(1)
    told = [JobStatus(stage=stage, iteration=3, agent=2) for stage in ("training", "evaluating")]
    assert [cluster._measure_progress(job, it) for it in told] == [(3, 0, 2), (3, 1, 2)]


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"number": 1}}'])
def test_a_damaged_count_of_failures_counts_nothing(tmp_path, text):
    (tmp_path / "failures.json").write_text(text)
    assert Ledger(tmp_path).read_failures() == {}


@pytest.mark.parametrize("text", ["", "[]", '{"name": "remanence-0a"}'])
def test_a_damaged_ledger_is_told(tmp_path, text):
    ledger = Ledger(tmp_path)
    ledger.begin()
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(StoreError, match="squeue --me"):
        ledger.begin()
    submission = ledger.add(["gru"])
    (tmp_path / str(submission) / "jobs.json").write_text(text or "null")
    assert ledger.read_jobs(submission) == []


def test_a_runner_that_cannot_write_ends_with_the_reason(tmp_path, monkeypatch):
    """Instead of waiting for jobs that nobody looks after; they go on without it."""
    monkeypatch.setattr(cluster, "SECONDS_BETWEEN_LOOKS", (0.001, 0.001))
    monkeypatch.setattr(cluster, "SECONDS_TO_GATHER", 0.01)
    plan = Study("tmaze", "sim", "", list_jobs(3))
    directory = StudyDirectory(tmp_path / "study")
    directory.begin(plan)
    Ledger(directory.cluster_path).begin()
    queue = VirtualQueue(directory, Chances(dead=frozenset(job.id for job in plan.jobs)))

    def fail(*arguments, **changes):
        raise StoreError(tmp_path, "the disk is full", "make room")

    monkeypatch.setattr(cluster, "change_status", fail)
    looks = []

    def look(status):
        looks.append(status)
        assert len(looks) < 40, "it waits for what nobody looks after"

    with pytest.raises(QueueError, match=r"disk is full.* go on; run the same command"):
        run_study(
            directory.path,
            plan,
            open_executor=lambda: look_again_and_again(ClusterExecutor(directory, queue)),
            on_change=look,
        )


def test_what_another_process_submitted_is_not_submitted_again(tmp_path):
    jobs = list_jobs(30)
    first = Runner(tmp_path, Chances(requeue=0.2))
    futures = first.submit(jobs)
    while sum(future.done() for future in futures) < 5:
        first.executor.look()
    left = [job for job, future in zip(jobs, futures, strict=True) if not future.done()]
    again = Runner(tmp_path, queue=first.queue)
    assert set(again.run(left)) == {"done"}
    assert len(first.queue.submissions) == 1
    assert not Ledger(first.directory.cluster_path).list_submissions()


def test_a_submission_that_was_killed_at_once_is_found_by_its_name(tmp_path):
    """It is written down before it is made, and Slurm knows it by that name."""
    (job,) = list_jobs(1)
    runner = Runner(tmp_path)
    submission = Ledger(runner.directory.cluster_path).add([job.id])
    runner.queue.submit(submission, [job], 1.0)
    assert runner.run([job]) == ["done"]
    assert len(runner.queue.submissions) == 1


def test_a_queue_that_refuses_everything_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_BETWEEN_LOOKS", (0.01, 0.01))
    monkeypatch.setattr(cluster, "SECONDS_TO_GATHER", 0.01)
    plan = Study("tmaze", "sim", "", list_jobs(3))
    directory = StudyDirectory(tmp_path / "study")

    def open_executor():
        Ledger(directory.cluster_path).begin()
        queue = VirtualQueue(directory, Chances(refuse=1.0))
        return look_again_and_again(ClusterExecutor(directory, queue))

    with pytest.raises(QueueError, match="full"):
        run_study(directory.path, plan, open_executor=open_executor)


def test_a_study_runs_in_a_queue(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_BETWEEN_LOOKS", (0.001, 0.001))
    monkeypatch.setattr(cluster, "SECONDS_TO_GATHER", 0.01)
    plan = Study("tmaze", "sim", "", list_jobs(300))
    directory = StudyDirectory(tmp_path / "study")
    directory.begin(plan)
    Ledger(directory.cluster_path).begin()
    queue = VirtualQueue(directory, TROUBLE)
    looks = []
    status = run_study(
        directory.path,
        plan,
        open_executor=lambda: look_again_and_again(ClusterExecutor(directory, queue)),
        on_change=looks.append,
    )
    assert status.finished
    assert len(looks[0].list_jobs("waiting")) == 300


def test_a_cancelled_study_stops(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_TO_GATHER", 0.01)
    plan = Study("tmaze", "sim", "", list_jobs(3))
    directory = StudyDirectory(tmp_path / "study")
    directory.begin(plan)
    Ledger(directory.cluster_path).begin()
    queue = VirtualQueue(directory, at_a_time=0)
    status = run_study(
        directory.path,
        plan,
        open_executor=lambda: look_again_and_again(ClusterExecutor(directory, queue)),
        on_change=lambda status: directory.set_cancelled(True),
    )
    assert len(status.list_jobs("waiting")) == 3


def test_a_copied_study_does_not_take_the_jobs_of_its_original(tmp_path):
    ledger = Ledger(tmp_path / "one")
    ledger.begin()
    name = ledger.name
    ledger.begin()
    assert ledger.name == name
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    copied = Ledger(tmp_path / "two")
    copied.begin()
    assert copied.name != name


def test_the_queue_is_read_line_by_line():
    told = """
remanence-0a-2|41|0|RUNNING|None
remanence-0a-2|41|11|PENDING|Priority
remanence-0a-3|44|N/A|PENDING|launch failed requeued held
remanence-0b-2|45|0|RUNNING|None
mine|46|0|RUNNING|a|b
"""
    found = parse_queue(told.strip(), "remanence-0a")
    assert found == {
        "41_0": Entry(2, 0, "RUNNING", "None"),
        "41_11": Entry(2, 11, "PENDING", "Priority"),
        "44": Entry(3, 0, "PENDING", "launch failed requeued held"),
    }
    assert [it.describe() for it in found.values()][:2] == ["running", "pending (Priority)"]
    assert [it.stuck for it in found.values()] == [False, False, True]


def test_a_study_split_otherwise_is_the_same_and_stays_as_it_was_begun(tmp_path):
    (job,) = list_jobs(1)
    whole = Study("tmaze", "sim", "", [Job(**job.to_json() | {"id": "gru", "seeds": [1, 2, 3]})])
    shards = Study("tmaze", "sim", "", split_job(whole.jobs[0], 2))
    assert [job.seeds for job in shards.jobs] == [(1, 2), (3,)]
    for first, second in ((whole, shards), (shards, whole)):
        directory = StudyDirectory(tmp_path / str(len(first.jobs)))
        directory.begin(first)
        assert directory.begin(second) == first
    assert split_study(whole, SlurmOptions(gpus=1)) == whole
    options = SlurmOptions(time="0:10", cpus=2)
    assert split_study(whole, options).jobs == shards.jobs
    assert [options.count_cores(jobs) for jobs in (shards.jobs, shards.jobs[1:])] == [2, 1]
