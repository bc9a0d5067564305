"""What clusters do to a study, on a real Slurm: in each case it ends complete and as without one.

All studies are started at once and wait at iteration 7 of 8, two after a checkpoint, until their
test has done them harm.
"""

import json
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from remanence._plugins import import_code
from remanence.cli import main
from remanence.study import (
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
from tests.slurm.conftest import Cluster, wait_until
from tests.study.studies import run_here

PACE = Path(__file__).parent / "pace.py"
OPTIONS = SlurmOptions(time="30", mem="", cpus=1)
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


class Patient:
    """A study in the queue, started by a thread of this process, that waits for its fault."""

    def __init__(self, path: Path, study: Study, cluster: Cluster, **options):
        self.path = path
        self.study = study
        self._cluster = cluster
        self._options = OPTIONS if not options else SlurmOptions(**{**vars(OPTIONS), **options})
        path.mkdir()
        self.start()

    def start(self) -> None:
        (self.path / "hold").touch()
        self._ended: list[StudyStatus] = []
        self._runner = threading.Thread(target=self._run, daemon=True)
        self._runner.start()

    def _run(self) -> None:
        executor = open_slurm(self.path, self._options)
        self._ended.append(run_study(self.path, self.study, open_executor=executor))

    def wait_for_harm(self, number: int = 1) -> list[tuple[str, str, str]]:
        """The jobs, when that many have come to where they wait."""
        wait_until(lambda: self.count_iterations()["7"] >= number, "trainings are under way")
        return self.list_jobs()

    def list_jobs(self) -> list[tuple[str, str, str]]:
        name = json.loads((self.path / "slurm" / "study.json").read_text())["name"]
        return self._cluster.list_jobs(name)

    def let_go(self) -> None:
        (self.path / "hold").unlink(missing_ok=True)

    def end(self) -> StudyStatus:
        self.let_go()
        self._runner.join(900)
        assert self._ended, "the study has not ended"
        return self._ended[0]

    def count_iterations(self) -> Counter[str]:
        log = self.path / "iterations"
        lines = log.read_text().splitlines() if log.exists() else []
        return Counter(line.split()[1] for line in lines)

    def count_repeated(self) -> int:
        lines = (self.path / "iterations").read_text().splitlines()
        return len(lines) - len(set(lines))


@pytest.fixture(scope="module", autouse=True)
def _jobs_are_paced():
    import_code(str(PACE))  # which jobs then import too


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    path = tmp_path_factory.mktemp("profile") / "faults.toml"
    path.write_text(PROFILE)
    return load_profile("tmaze", str(path))


@pytest.fixture(scope="module")
def one(study) -> Study:
    """One job of one seed."""
    return Study(study.name, study.profile, "", split_job(study.jobs[0], 1)[:1])


@pytest.fixture(scope="module")
def two(study) -> Study:
    """Two jobs of one seed each."""
    return Study(study.name, study.profile, "", split_job(study.jobs[0], 1))


@pytest.fixture(scope="module")
def local(study, tmp_path_factory) -> Path:
    """The study as this machine makes it, in one job."""
    path = tmp_path_factory.mktemp("local") / "study"
    assert run_here(path, study).finished
    return path


@pytest.fixture(scope="module")
def patients(cluster, one, two, local, tmp_path_factory) -> dict[str, Patient]:
    # After `local`, so that what it compiled is there for all.
    path = tmp_path_factory.mktemp("studies")
    start = partial(Patient, study=one, cluster=cluster)
    return {
        "scancel": Patient(path / "scancel", two, cluster),
        "power": start(path / "power", partition="frail"),
        "requeue": start(path / "requeue"),
        "limit": start(path / "limit"),
        "preempted": start(path / "preempted"),
    }


def assert_same_tables(path: Path, local: Path) -> None:
    seeds = {seed for job in StudyDirectory(path).read_study().jobs for seed in job.seeds}
    for table in ("evaluations", "outcomes", "curves"):
        condition = f"seed in ({', '.join(map(str, seeds))})"
        ours, theirs = (load_results(it, table).filter(condition) for it in (path, local))
        assert ours.columns == theirs.columns
        # To the bit, NaN included; rows of seeds that were trained apart are apart.
        assert sorted(map(repr, ours.fetchall())) == sorted(map(repr, theirs.fetchall())), table


def assert_whole(patient: Patient, local: Path, num_repeated: int) -> None:
    """All is done, as without a cluster, and so many iterations were made twice."""
    status = patient.end()
    assert status.finished, [job.error for job in status.jobs.values()]
    assert_same_tables(patient.path, local)
    assert patient.count_repeated() == num_repeated
    left = [it for it in (patient.path / "slurm").rglob("*") if it.name != "study.json"]
    assert not left, "files of Slurm's jobs are left"


def test_one_element_is_cancelled(patients, local, cluster):
    """And two jobs on two nodes give what one job gives without a cluster."""
    patient = patients["scancel"]
    jobs = patient.wait_for_harm(2)
    assert len({number.split("_")[0] for number, _, _ in jobs}) == 1, "they are not one array"
    assert {node for _, _, node in jobs} == {"n1", "n2"}
    number, _, _ = jobs[0]
    cluster.ask("scancel", number)
    wait_until(lambda: number not in [it for it, _, _ in patient.list_jobs()], "it is gone")
    assert_whole(patient, local, num_repeated=0)


def test_a_job_is_requeued(patients, local, cluster):
    patient = patients["requeue"]
    ((number, _, _),) = patient.wait_for_harm()
    cluster.ask("scontrol", "requeue", number)
    assert_whole(patient, local, num_repeated=0)


def test_a_time_limit_is_reached(patients, local, cluster):
    patient = patients["limit"]
    ((number, _, _),) = patient.wait_for_harm()
    elapsed = cluster.ask("squeue", "--noheader", f"--jobs={number}", "--format=%M").strip()
    # Slurm looks every half minute, and would find a shorter limit over before it could warn.
    minutes = int(elapsed.split(":")[-2]) + 2
    cluster.ask("scontrol", "update", f"JobId={number}", f"TimeLimit={minutes}")
    wait_until(lambda: read_restarts(cluster, number), "it is started again")
    assert_whole(patient, local, num_repeated=0)


def test_a_job_is_preempted(patients, local, cluster):
    patient = patients["preempted"]
    ((number, _, node),) = patient.wait_for_harm()
    wish = [
        "sbatch",
        "--partition=urgent",
        f"--nodelist={node}",
        "--exclusive",
        "--output=/dev/null",
    ]
    cluster.ask(*wish, "--wrap=sleep 1")
    wait_until(lambda: read_restarts(cluster, number), "it is started again")
    assert_whole(patient, local, num_repeated=0)


def test_a_node_loses_its_power(patients, local, cluster):
    patient = patients["power"]
    ((_, _, node),) = patient.wait_for_harm()
    cluster.kill_node(node, with_jobs=True)
    # Iterations 6 and 7 were after the last checkpoint.
    assert_whole(patient, local, num_repeated=2)


def read_restarts(cluster: Cluster, number: str) -> int:
    told = cluster.ask("scontrol", "--oneliner", "show", "job", number)
    return int(told.split("Restarts=")[1].split()[0])


def begin(path: Path, profile: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "remanence", "reproduce", "tmaze", "--import", str(PACE)]
    command += ["--profile", str(profile), "--out", str(path), "--engine", "slurm"]
    command += ["--slurm-time", "30", "--slurm-mem", "", "--slurm-cpus", "2"]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def test_the_runner_is_killed_and_the_study_cancelled(cluster, study, local, tmp_path, capsys):
    """It is taken up again by others, none of which submits what is in the queue."""
    profile, path = tmp_path / "faults.toml", tmp_path / "study"
    profile.write_text(PROFILE)
    path.mkdir()
    (path / "hold").touch()
    runner = begin(path, profile)
    log = path / "iterations"
    wait_until(lambda: log.exists() and " 7" in log.read_text(), "the training is under way")
    runner.kill()
    runner.wait()
    options = SlurmOptions(time="30", mem="", cpus=2)
    assert submit_study(path, study, options) == 1
    main(["status", str(path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["queue"] == {"tmaze-short-gru": "running"}
    assert not told["abandoned"]
    assert cancel_study(path) == 1
    wait_until(lambda: not read_status(path).list_jobs("running"), "it has saved itself")
    wait_until(lambda: not has_jobs(cluster, path), "it has left the queue")
    (path / "hold").unlink()
    executor = open_slurm(path, options)
    assert run_study(path, study, open_executor=executor).finished
    assert_same_tables(path, local)
    lines = log.read_text().splitlines()
    assert len(lines) == len(set(lines)) == NUM_ITERATIONS


def has_jobs(cluster: Cluster, path: Path) -> bool:
    return bool(cluster.list_jobs(json.loads((path / "slurm" / "study.json").read_text())["name"]))


def test_a_job_that_fails_is_recorded_with_its_log(cluster, two, tmp_path):
    bad, good = two.jobs
    (tmp_path / "fail").write_text(bad.id)
    status = run_study(tmp_path, two, open_executor=open_slurm(tmp_path, OPTIONS))
    assert (status.list_jobs("failed"), status.list_jobs("done")) == ([bad.id], [good.id])
    error = status.jobs[bad.id].error or ""
    assert "It failed 3 times" in error
    assert "JobState=FAILED" in error
    assert "The end of its log" in error
    assert error.rstrip().endswith("RuntimeError: this node is no good")


def test_the_daemon_of_a_node_is_killed_and_its_job_is_not(cluster, one, local, tmp_path):
    """Slurm starts the job again elsewhere, where it waits for the first, which still runs."""
    patient = Patient(tmp_path / "study", one, cluster, partition="frail")
    ((number, _, node),) = patient.wait_for_harm()
    cluster.kill_node(node, with_jobs=False)
    wait_until(lambda: read_restarts(cluster, number), "it is started again")
    assert_whole(patient, local, num_repeated=0)
