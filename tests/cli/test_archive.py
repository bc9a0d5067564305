"""`archive`, and what commands say of what it wrote."""

import json
import shutil
from pathlib import Path

import pytest

from remanence.cli import main
from remanence.store import read_json, write_json
from remanence.study import AgentGroup, StudyDirectory, certify_agents, open_group
from remanence.training import RunDirectory
from tests.study.studies import write_study

EXAMPLE = Path(__file__).parents[2] / "examples" / "agents" / "bmru"


@pytest.fixture(scope="module")
def group(tmp_path_factory) -> AgentGroup:
    copy = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("runs") / "bmru")
    group = open_group(RunDirectory(copy))
    certify_agents(group)
    return group


def check(run: Path, capsys) -> str:
    with pytest.raises(SystemExit) as end:
        main(["check", str(run), "--json"])
    # The compiled program was not run again, so that part stays open.
    assert end.value.code == 3
    return capsys.readouterr().out


def test_a_run_is_archived_and_its_certificate_checked(group, tmp_path, capsys):
    out = tmp_path / "kept"
    main(["archive", str(group.records.path), str(out)])
    shown = capsys.readouterr().out
    assert f"1 of 1 run in {out}, 0.0" in shown
    assert (
        "Left out: checkpoints, of learning curves all but returns, and what orbits have" in shown
    )
    assert check(out, capsys) == check(group.records.path, capsys)
    assert (out / "packed.tar.xz").exists()
    main(["compare", str(out), str(group.records.path), "--json"])
    one, other = json.loads(capsys.readouterr().out.splitlines()[-1]).values()
    assert one == other


def test_what_is_left_out_is_said(group, tmp_path, capsys):
    out = tmp_path / "kept"
    main(["archive", str(group.records.path), str(out), "--weights", "none", "--tables", "whole"])
    shown = capsys.readouterr().out
    assert "Left out: checkpoints.\nWithout weights: bmru." in shown
    main(["archive", str(group.records.path), str(out), "--json"])
    assert json.loads(capsys.readouterr().out)["without_weights"] == []


def test_a_study_that_nobody_ran_is_refused(tmp_path, capsys):
    study = write_study(tmp_path)
    with pytest.raises(SystemExit):
        main(["archive", str(study), str(tmp_path / "kept")])
    told = " ".join(capsys.readouterr().err.split())
    assert "nothing here is finished (tmaze-short-gru: waiting; tmaze-short-bmru: waiting)" in told


def test_jobs_under_way_are_named(tmp_path, capsys):
    study = write_study(tmp_path)
    directory = StudyDirectory(study)
    job = directory.read_study().jobs[0]
    told = {"state": "running", "stage": "training", "iteration": 7, "num_iterations": 250}
    write_json(directory.status_path(job), told)
    with pytest.raises(SystemExit):
        main(["archive", str(study), str(tmp_path / "kept")])
    assert "running, iteration 7 of 250" in " ".join(capsys.readouterr().err.split())
    assert read_json(directory.status_path(job)) == told
