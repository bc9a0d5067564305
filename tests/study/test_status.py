import dataclasses
import datetime
import time

import pytest

from remanence.store import hold_directory
from remanence.study import JobStatus, StudyStatus, _reporter, estimate_seconds_left, load_profile
from remanence.study._reporter import report_life
from remanence.study._status import read_job_status
from tests.study.studies import PROFILES

STUDY = load_profile("tmaze", "smoke", PROFILES)
DEEP = dataclasses.replace(STUDY, jobs=load_profile("tmaze", "laptop", PROFILES).jobs[-1:])
JOB = STUDY.jobs[0]


def test_a_job_is_heard_of_while_it_does_not_come_to_speak(tmp_path, monkeypatch):
    monkeypatch.setattr(_reporter, "SECONDS_BETWEEN_BEATS", (0.01, 0.01))
    path = tmp_path / "status.json"
    with hold_directory(tmp_path) as hold, report_life(path, JOB, hold):
        heard = {read_job_status(path).updated}
        deadline = time.monotonic() + 20
        while len(heard) < 3 and time.monotonic() < deadline:
            heard.add(read_job_status(path).updated)
        assert read_job_status(path).state == "running"
    assert len(heard) >= 3
    assert read_job_status(path).state == "done"


def test_a_failure_is_recorded_and_the_next_attempt_forgets_it(tmp_path):
    path = tmp_path / "status.json"
    with hold_directory(tmp_path) as hold, report_life(path, JOB, hold):
        raise ValueError("out of luck")
    failed = read_job_status(path)
    assert failed.state == "failed"
    assert "ValueError: out of luck" in (failed.error or "")
    with hold_directory(tmp_path) as hold, report_life(path, JOB, hold):
        time.sleep(0.01)
    done = read_job_status(path)
    assert (done.state, done.error, done.started) == ("done", None, failed.started)
    assert done.seconds >= failed.seconds + 0.01


def test_a_file_that_cannot_be_read_says_nothing(tmp_path):
    path = tmp_path / "status.json"
    assert read_job_status(path) == JobStatus()
    wrong = ("[]", '{"unknown": 1}', '{"seconds": "x"}', '{"updated": "yesterday"}')
    for text in ("{", *wrong, '{"updated": "2026-01-01T00:00:00"}'):
        path.write_text(text)
        assert read_job_status(path) == JobStatus()


@pytest.mark.parametrize(("minutes", "state", "lost"), [(5, "running", True), (5, "done", False)])
def test_a_job_that_has_been_silent_is_lost(minutes, state, lost):
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=minutes)
    status = JobStatus(state=state, updated=then.isoformat())
    assert status.lost == lost
    assert not dataclasses.replace(status, updated=None).lost


def test_the_time_left_shrinks_and_follows_the_pace():
    def left(*jobs: JobStatus) -> float:
        ids = [job.id for job in STUDY.jobs]
        return estimate_seconds_left(StudyStatus(STUDY, dict(zip(ids, jobs, strict=True))))

    waiting, done = JobStatus(), JobStatus(state="done", seconds=40.0)
    half = JobStatus(state="running", iteration=10, seconds=20.0)
    assert left(waiting, waiting) > left(half, waiting) > left(done, waiting) > left(done, half)
    assert left(done, done) == 0
    slow = dataclasses.replace(done, seconds=400.0)
    assert left(slow, waiting) > 2 * left(done, waiting)
    # One that was killed and has just begun again has not yet said how far it was.
    resumed = JobStatus(state="running", seconds=400.0)
    assert left(resumed, waiting) == left(waiting, waiting)
    failed = JobStatus(state="failed", seconds=400.0)
    assert left(done, failed) == 0


def test_what_follows_training_is_left_when_training_is_over(monkeypatch):
    monkeypatch.setattr("remanence.study._estimate.count_cores", lambda: 2)
    (job,) = DEEP.jobs

    def left(**found) -> float:
        return estimate_seconds_left(StudyStatus(DEEP, {job.id: JobStatus(**found)}))

    trained = {"state": "running", "iteration": job.num_iterations, "seconds": 150.0}
    # A deep network's certificates take longer than its training.
    assert left(**trained) > left() / 2
    trained["num_agents"] = 10
    steps = [("evaluating", 1), ("evaluating", 6), ("measuring stability", 1), ("certifying", 10)]
    times = [left(**trained, stage=stage, agent=agent) for stage, agent in steps]
    assert times[0] == left(**trained, stage="training")
    assert sorted(set(times), reverse=True) == times
    assert times[-1] > 0
