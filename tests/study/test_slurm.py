"""What can be said of Slurm without one: options, what is refused, how a job stops."""

import getpass
import json
from pathlib import Path

import pytest

from remanence.cli import main
from remanence.errors import InvalidOptionError, StoreError
from remanence.study import (
    SlurmOptions,
    Stop,
    StudyDirectory,
    load_profile,
    load_slurm_options,
    read_status,
    run_job,
)
from remanence.study import _slurm as slurm
from remanence.study._cluster_task import ClusterTask
from remanence.study._ledger import Ledger
from remanence.study._queue import Entry, QueueError
from remanence.study._reporter import JobStopped
from tests.study.studies import PROFILE, assert_same_tables, run_here, write_profile

TABLE = "[slurm]\npartition = 'short'\ntime = '2:00:00'\n"


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("90", 5400), ("2:30", 150), ("4:00:00", 14_400), ("1-12", 129_600), ("1-0:30:00", 88_200)],
)
def test_times_are_read_as_slurm_reads_them(time, seconds):
    assert SlurmOptions(time=time).seconds == seconds


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": "soon"},
        {"time": "0"},
        {"mem": "8 GB"},
        {"cpus": 0},
        {"max_jobs": True},
        {"partition": "short --exclusive"},
        {"account": "lab\n#SBATCH --nice"},
    ],
)
def test_options_that_cannot_be_are_refused(wrong):
    with pytest.raises(InvalidOptionError, match=next(iter(wrong))):
        SlurmOptions(**wrong)


def test_a_group_shares_a_table_and_what_is_typed_counts_more(tmp_path, capsys):
    path = tmp_path / "a.toml"
    # A table of TOML ends where the next begins, so it stands after what belongs to none.
    text = PROFILE.replace("[[trainings]]", f"{TABLE}[[trainings]]")
    path.write_text(text)
    assert load_profile("tmaze", str(path)).profile == "tiny"
    assert load_slurm_options("tmaze", str(path)).partition == "short"
    path.write_text(text.replace("partition", "partitoin"))
    for load in (load_slurm_options, load_profile):  # whether or not it is for a cluster now
        with pytest.raises(StoreError, match="Did you mean 'partition'"):
            load("tmaze", str(path))
    path.write_text(text)
    command = ["reproduce", "tmaze", "--profile", str(path), "--engine", "slurm", "--dry-run"]
    main([*command, "--json", "--slurm-cpus", "1", "--slurm-time", "0:10"])
    assert [job["seeds"] for job in json.loads(capsys.readouterr().out)["jobs"]] == [[1], [2]] * 2
    main([*command, "--json"])
    assert [job["seeds"] for job in json.loads(capsys.readouterr().out)["jobs"]] == [[1, 2]] * 2
    main(command)
    assert "core hours" in capsys.readouterr().out


def test_a_plan_for_a_cluster_fits_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = ["reproduce", "lookup-tree", "--profile", "paper", "--engine", "slurm"]
    main([*command, "--dry-run", "--slurm-time", "4:00:00", "--slurm-cpus", "4"])
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    # The study gives every seed a job of its own, which has no use for four cores.
    assert "180 agents in 180 jobs" in shown
    assert "asks for 1 core," in shown
    assert "save themselves" in shown


def test_workers_are_of_this_machine(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "tmaze", "--engine", "slurm", "--workers", "2", "--dry-run"])
    assert "--max-jobs" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--slurm-mem", "8G"], ["--max-jobs", "3"], ["--detach"]])
def test_options_of_slurm_need_it(option, tmp_path, capsys):
    profile = write_profile(tmp_path / "a.toml")
    with pytest.raises(SystemExit):
        main(
            ["reproduce", "tmaze", "--profile", profile, "--out", str(tmp_path / "study"), *option]
        )
    assert f"{option[0]} = " in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


def test_a_machine_without_slurm_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidOptionError, match="no Slurm here"):
        slurm.open_queue(StudyDirectory(tmp_path), SlurmOptions())


def test_a_slurm_that_does_not_answer_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm.shutil, "which", lambda name: name)
    monkeypatch.setattr(slurm.SlurmQueue, "look", lambda self: None)
    with pytest.raises(QueueError, match="does not answer"):
        slurm.open_queue(StudyDirectory(tmp_path), SlurmOptions())


def test_somebody_elses_jobs_are_not_submitted_again(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm.shutil, "which", lambda name: name)
    monkeypatch.setattr(slurm.SlurmQueue, "look", lambda self: {"7_0": Entry(1, 0, "RUNNING")})
    directory = StudyDirectory(tmp_path)
    monkeypatch.setattr(getpass, "getuser", lambda: "alice")
    slurm.open_queue(directory, SlurmOptions())
    name = Ledger(directory.cluster_path).name
    monkeypatch.setattr(getpass, "getuser", lambda: "bob")
    with pytest.raises(StoreError, match="1 jobs of alice"):
        slurm.open_queue(directory, SlurmOptions())
    monkeypatch.setattr(slurm.SlurmQueue, "look", lambda self: {})
    slurm.open_queue(directory, SlurmOptions())
    assert Ledger(directory.cluster_path).name != name


def test_a_job_that_is_asked_to_stop_goes_on_from_there(whole, study, tmp_path):
    path = tmp_path / "study"
    StudyDirectory(path).begin(study)
    stop = Stop()
    stop.want()
    assert run_job(path, study.jobs[0], stop) == "waiting"
    assert read_status(path).jobs[study.jobs[0].id].iteration == 1
    assert run_here(path, study).finished
    assert_same_tables(path, whole)


def test_a_stage_ends_where_it_is():
    stop = Stop()
    with pytest.raises(JobStopped), stop.at_once():
        stop.want()
    assert stop.wanted


def test_a_cancelled_study_says_so(tmp_path, study, capsys):
    StudyDirectory(tmp_path).begin(study)
    main(["cancel", str(tmp_path)])
    assert "cancelled" in capsys.readouterr().out
    assert StudyDirectory(Path(tmp_path)).cancelled
    # One that was submitted at the same moment finds that out by itself.
    assert ClusterTask(tmp_path, study.jobs[0], ())() == "waiting"
    assert not (tmp_path / "runs").exists()


def test_of_a_finished_study_nothing_is_stopped_or_submitted(copy, tmp_path, capsys):
    profile = write_profile(tmp_path / "tiny.toml")
    command = ["reproduce", "tmaze", "--profile", profile, "--out", str(copy)]
    main([*command, "--engine", "slurm", "--detach"])
    assert "Nothing is left to do" in capsys.readouterr().out
    main(["cancel", str(copy)])
    assert "Nothing is left to stop" in capsys.readouterr().out
    assert not StudyDirectory(copy).cancelled
