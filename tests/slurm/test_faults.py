"""What clusters do to a study, on a real Slurm: in each case it ends complete and as without one.

All studies are started at once and wait at iteration 7 of 8, two after a checkpoint, until they
have been done harm; so the waiting, of which most of the time consists, is done side by side.
"""

import dataclasses
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from remanence._plugins import import_code
from remanence.cli import main
from remanence.study import (
    Job,
    SlurmOptions,
    Study,
    StudyDirectory,
    StudyStatus,
    cancel_study,
    load_profile,
    load_results,
    open_slurm,
    read_status,
    run_study,
    split_job,
    submit_study,
)
from remanence.study._ledger import Ledger
from tests.slurm.conftest import Cluster, wait_until
from tests.study.studies import run_here

PACE = Path(__file__).parent / "pace.py"
OPTIONS = SlurmOptions(time="30", mem="1G", cpus=1)
PROFILE = """
name = "tmaze"
profile = "faults"
lengths = [2, 100]
stages = ["evaluate"]

[[trainings]]
presets = ["tmaze-short"]
cells = ["gru"]
seeds = [1, 2]
num_iterations = 8
changes = { num_envs = 4, num_steps = 16, policy_epochs = 1, value_epochs = 1 }
"""
NUM_ITERATIONS = 8
# Seconds in which all is over, unless something is wrong.
WAIT = 900


class Patient:
    """A study in the queue, looked after by a thread of this process, and another that harms it."""

    def __init__(self, path: Path, study: Study, cluster: Cluster, fault: "Fault"):
        self.path = path
        self.cluster = cluster
        path.mkdir()
        (path / "hold").touch()
        (path / "fail").write_text(study.jobs[0].id if fault is FAILING else "")
        options = dataclasses.replace(OPTIONS, partition=fault.partition)
        executor = open_slurm(path, options)
        self._ended = start(lambda: run_study(path, study, open_executor=executor))
        self._harmed = start(lambda: self._suffer(fault.harm))

    def _suffer(self, harm: Callable[["Patient"], None]) -> None:
        harm(self)
        (self.path / "hold").unlink()

    def wait_for_harm(self, number: int = 1) -> list[tuple[str, str, str]]:
        """The jobs, when that many have come to where they wait."""
        wait_until(lambda: self._count_waiting() >= number, "trainings are under way")
        return self.list_jobs()

    def list_jobs(self) -> list[tuple[str, str, str]]:
        return self.cluster.list_jobs(Ledger(self.path / "slurm").name)

    def end(self) -> StudyStatus:
        self._harmed.result(WAIT)
        return self._ended.result(WAIT)

    def _count_waiting(self) -> int:
        return len([line for line in read_iterations(self.path) if line.endswith(" 7")])


def start(work: Callable[[], Any]) -> Future[Any]:
    """Have something done by a thread that does not keep the tests from ending."""
    future: Future[Any] = Future()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=do, daemon=True).start()
    return future


def read_iterations(path: Path) -> list[str]:
    log = path / "iterations"
    return log.read_text().splitlines() if log.exists() else []


def cancel_one(patient: Patient) -> None:
    jobs = patient.wait_for_harm(2)
    assert len({number.split("_")[0] for number, _, _ in jobs}) == 1, "they are not one array"
    assert {node for _, _, node in jobs} == {"n1", "n2"}
    number, _, _ = jobs[0]
    patient.cluster.ask("scancel", number)
    wait_until(lambda: number not in [it for it, _, _ in patient.list_jobs()], "it is gone")


def requeue(patient: Patient) -> None:
    ((number, _, _),) = patient.wait_for_harm()
    patient.cluster.ask("scontrol", "requeue", number)
    wait_for_restart(patient, number)


def reach_limit(patient: Patient) -> None:
    ((number, _, _),) = patient.wait_for_harm()
    ask = ("squeue", "--noheader", f"--jobs={number}", "--format=%M")
    elapsed = patient.cluster.ask(*ask).strip()
    # Slurm looks every half minute, and would find a shorter limit over before it could warn.
    minutes = int(elapsed.split(":")[-2]) + 2
    change = ("scontrol", "update", f"JobId={number}")
    patient.cluster.ask(*change, f"TimeLimit={minutes}")
    wait_for_restart(patient, number)
    # So short a limit would have Slurm warn the new process before it can listen.
    patient.cluster.ask(*change, "TimeLimit=30")


def preempt(patient: Patient) -> None:
    ((number, _, _),) = patient.wait_for_harm()
    wish = ("--partition=urgent", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
    patient.cluster.ask("sbatch", *wish)
    wait_for_restart(patient, number)


def cut_power(patient: Patient) -> None:
    ((number, _, node),) = patient.wait_for_harm()
    patient.cluster.kill_node(node, with_jobs=True)
    wait_for_restart(patient, number)


def kill_daemon(patient: Patient) -> None:
    """Slurm starts the job again elsewhere, where it waits for the first, which still runs."""
    ((number, _, node),) = patient.wait_for_harm()
    patient.cluster.kill_node(node, with_jobs=False)
    wait_for_restart(patient, number)


def fail(patient: Patient) -> None:
    """One of the jobs fails by itself, whenever it starts."""


def wait_for_restart(patient: Patient, number: str) -> None:
    def has_restarted() -> bool:
        told = patient.cluster.ask("scontrol", "--oneliner", "show", "job", number)
        return int(told.split("Restarts=")[1].split()[0]) > 0

    wait_until(has_restarted, "it is started again")


@dataclasses.dataclass(frozen=True)
class Fault:
    """What is done to a study of so many seeds, a job each, and how many iterations that costs."""

    harm: Callable[[Patient], None]
    num_repeated: int = 0
    num_jobs: int = 1
    partition: str = "main"


FAULTS = {
    # And two jobs on two nodes give what one job gives without a cluster.
    "scancel": Fault(cancel_one, num_jobs=2),
    "requeue": Fault(requeue),
    "limit": Fault(reach_limit),
    "preemption": Fault(preempt, partition="cheap"),
    # Iterations 6 and 7 were after the last checkpoint.
    "power": Fault(cut_power, num_repeated=2, partition="frail"),
    "daemon": Fault(kill_daemon, partition="frail"),
}
FAILING = Fault(fail, num_jobs=2)


@pytest.fixture(scope="module", autouse=True)
def _jobs_are_paced():
    import_code(str(PACE))  # which jobs then import too


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    path = tmp_path_factory.mktemp("profile") / "faults.toml"
    path.write_text(PROFILE)
    return load_profile("tmaze", str(path))


@pytest.fixture(scope="module")
def shards(study) -> list[Job]:
    """Jobs of one seed each."""
    return split_job(study.jobs[0], 1)


@pytest.fixture(scope="module")
def local(study, tmp_path_factory) -> Path:
    """The study as this machine makes it, in one job."""
    path = tmp_path_factory.mktemp("local") / "study"
    assert run_here(path, study).finished
    return path


@pytest.fixture(scope="module")
def orphan(cluster, local, tmp_path_factory) -> tuple[Path, subprocess.Popen[bytes]]:
    """A study whose runner is a process, which waits to be killed."""
    # After `local`, so that what it compiled is there for all.
    path = tmp_path_factory.mktemp("orphan")
    (path / "faults.toml").write_text(PROFILE)
    (path / "study").mkdir()
    (path / "study" / "hold").touch()
    command = [sys.executable, "-m", "remanence", "reproduce", "tmaze", "--import", str(PACE)]
    command += ["--profile", str(path / "faults.toml"), "--out", str(path / "study")]
    command += ["--engine", "slurm", "--slurm-time", "30", "--slurm-mem", "1G", "--slurm-cpus", "2"]
    quiet = subprocess.DEVNULL
    return path / "study", subprocess.Popen(command, stdout=quiet, stderr=quiet)


@pytest.fixture(scope="module")
def patients(cluster, study, shards, orphan, tmp_path_factory) -> dict[str, Patient]:
    path = tmp_path_factory.mktemp("studies")
    patients = {}
    for name, fault in {**FAULTS, "failing": FAILING}.items():
        plan = Study(study.name, study.profile, "", shards[: fault.num_jobs])
        patients[name] = Patient(path / name, plan, cluster, fault)
    return patients


def assert_same_tables(path: Path, local: Path) -> None:
    seeds = {seed for job in StudyDirectory(path).read_study().jobs for seed in job.seeds}
    for table in ("evaluations", "outcomes", "curves"):
        condition = f"seed in ({', '.join(map(str, seeds))})"
        ours, theirs = (load_results(it, table).filter(condition) for it in (path, local))
        assert ours.columns == theirs.columns
        # To the bit, NaN included; rows of seeds that were trained apart are apart.
        assert sorted(map(repr, ours.fetchall())) == sorted(map(repr, theirs.fetchall())), table


def test_the_runner_is_killed_and_the_study_cancelled(
    cluster, study, patients, orphan, local, capsys
):
    """It is taken up again by others, none of which submits what is in the queue."""
    path, runner = orphan
    wait_until(lambda: any(" 7" in it for it in read_iterations(path)), "it is under way")
    runner.kill()
    runner.wait()
    options = dataclasses.replace(OPTIONS, cpus=2)
    assert submit_study(path, study, options) == 1
    main(["status", str(path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["queue"] == {"tmaze-short-gru": "running"}
    assert not told["abandoned"]
    assert cancel_study(path) == 1
    wait_until(lambda: not read_status(path).list_jobs("running"), "it has saved itself")
    name = Ledger(path / "slurm").name
    wait_until(lambda: not cluster.list_jobs(name), "it has left the queue")
    (path / "hold").unlink()
    executor = open_slurm(path, options)
    assert run_study(path, study, open_executor=executor).finished
    assert_same_tables(path, local)
    lines = read_iterations(path)
    assert len(lines) == len(set(lines)) == NUM_ITERATIONS


@pytest.mark.parametrize("fault", FAULTS)
def test_a_study_ends_as_without_a_cluster(fault, patients, local):
    """All is done, with the same tables, and no more is made twice than the fault may cost."""
    patient = patients[fault]
    status = patient.end()
    assert status.finished, [job.error for job in status.jobs.values()]
    assert_same_tables(patient.path, local)
    lines = read_iterations(patient.path)
    assert len(lines) - len(set(lines)) == FAULTS[fault].num_repeated
    left = [it for it in (patient.path / "slurm").rglob("*") if it.name != "study.json"]
    assert not left, "files of Slurm's jobs are left"


def test_a_job_that_fails_is_recorded_with_its_log(patients, shards):
    status = patients["failing"].end()
    bad, good = (job.id for job in shards)
    assert (status.list_jobs("failed"), status.list_jobs("done")) == ([bad], [good])
    error = status.jobs[bad].error or ""
    assert "It failed 3 times" in error
    assert "JobState=FAILED" in error
    assert "The end of its log" in error
    assert error.rstrip().endswith("RuntimeError: this node is no good")
