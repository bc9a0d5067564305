"""A study in a small folder: the same to all who read it, and to go on with."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from remanence.errors import InvalidOptionError, StoreError
from remanence.networks import Agent
from remanence.report import write_report
from remanence.store import open_pack, read_json, write_json
from remanence.study import (
    StudyDirectory,
    certify_agents,
    list_entries,
    load_results,
    open_group,
    read_status,
    run_study,
    write_archive,
)
from remanence.training import RunDirectory, write_hashes
from tests.study.studies import assert_same_tables, run_here
from tests.study.test_older import OLDER


def read_files(path: Path) -> dict[str, bytes]:
    files = (it for it in path.rglob("*") if it.is_file() and not it.name.startswith(".lock"))
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


def take_back(path: Path, job) -> None:
    """Have a job be one that was never begun."""
    shutil.rmtree(StudyDirectory(path).open_run(job).path)
    StudyDirectory(path).status_path(job).unlink()


def refuse():
    raise AssertionError("there is nothing to do for workers")


def test_a_study_archived_half_way_ends_as_one_that_never_was(copy, study, whole, tmp_path):
    take_back(copy, study.jobs[1])
    made = write_archive(copy, tmp_path / "kept", tables="whole")
    assert (made.runs, made.left_out) == ([study.jobs[0].id], {study.jobs[1].id: "waiting"})
    packed = tmp_path / "kept" / "runs" / study.jobs[0].id / "packed.tar.xz"
    before = packed.read_bytes()
    assert run_here(tmp_path / "kept", study).finished
    assert packed.read_bytes() == before  # nobody touched what was finished
    assert_same_tables(tmp_path / "kept", whole)
    for entry, same in zip(list_entries(tmp_path / "kept"), list_entries(whole), strict=True):
        for seed in entry.seeds:
            for find in ("certificate_path", "radius_path", "maze_certificate_path"):
                ours, theirs = (getattr(it.records, find)(seed) for it in (entry, same))
                assert ours.exists() == theirs.exists()
            ours, theirs = (it.records.certificate_path(seed) for it in (entry, same))
            assert _strip(read_json(ours)) == _strip(read_json(theirs))


def _strip(certificate):
    """Without how long it took, if it says so."""
    return {name: value for name, value in certificate.items() if name != "seconds"}


def test_a_finished_study_is_finished_in_its_archive(whole, study, tmp_path):
    write_archive(whole, tmp_path / "kept")
    assert run_study(tmp_path / "kept", study, open_executor=refuse).finished
    for table in ("evaluations", "outcomes", "stability", "certificates"):
        ours, theirs = (load_results(it, table).fetchall() for it in (tmp_path / "kept", whole))
        assert ours == theirs
    ours, theirs = (load_results(it, "orbits").fetchnumpy() for it in (tmp_path / "kept", whole))
    np.testing.assert_array_equal(ours["state"], theirs["state"].astype(np.float32))
    np.testing.assert_array_equal(ours["step"], theirs["step"])
    columns = "cell, seed, iteration, return"
    ours, theirs = (
        load_results(it, "curves").select(columns).fetchall() for it in (tmp_path / "kept", whole)
    )
    assert ours == theirs


def test_reports_of_an_archive_say_the_same(whole, tmp_path):
    write_archive(whole, tmp_path / "kept")
    ours, theirs = (
        write_report(it, tmp_path / it.name / "r.html") for it in (tmp_path / "kept", whole)
    )
    assert (ours.findings, ours.problems, ours.summary) == (
        theirs.findings,
        theirs.problems,
        theirs.summary,
    )


def test_the_same_contents_give_the_same_bytes(whole, tmp_path):
    write_archive(whole, tmp_path / "one")
    write_archive(whole, tmp_path / "two")
    write_archive(tmp_path / "one", tmp_path / "three")
    first = read_files(tmp_path / "one")
    assert read_files(tmp_path / "two") == first
    assert read_files(tmp_path / "three") == first
    write_archive(whole, tmp_path / "one")
    assert read_files(tmp_path / "one") == first
    assert {file.name for file in tmp_path.iterdir()} == {"one", "two", "three"}


def test_nothing_large_is_in_it(whole, study, tmp_path):
    write_archive(whole, tmp_path / "kept")
    names = {Path(name).name for name in read_files(tmp_path / "kept" / "runs")}
    tables = {f"{it}.parquet" for it in ("evaluations", "outcomes", "stability", "orbits")}
    files = {"run.json", "packed.tar.xz", "curves.parquet", "certificates.parquet"}
    assert names == tables | files
    told = read_json(StudyDirectory(tmp_path / "kept").status_path(study.jobs[0]))
    assert (told["host"], told["pid"], told["state"]) == ("", 0, "done")


def test_agents_of_an_archive_act_and_are_certified_again(whole, study, tmp_path):
    write_archive(whole, tmp_path / "kept")
    run, before = (StudyDirectory(it).open_run(study.jobs[0]) for it in (tmp_path / "kept", whole))
    assert run.agent_path(1).read_bytes() == before.agent_path(1).read_bytes()
    certify_agents(open_group(run))
    assert open_pack(run.path) is None
    assert (run.path / "certificates" / "seed-1.json").exists()
    assert Agent.load(run.path / "agents" / "seed-1.safetensors").architecture.cell == "gru"


def test_jobs_without_weights_are_finished_too(whole, study, tmp_path):
    made = write_archive(whole, tmp_path / "kept", weights="none")
    assert made.without_weights == [job.id for job in study.jobs]
    write_archive(tmp_path / "kept", tmp_path / "again", weights="all")
    assert read_files(tmp_path / "again") == read_files(tmp_path / "kept")
    assert run_study(tmp_path / "kept", study, open_executor=refuse).finished
    run = StudyDirectory(tmp_path / "kept").open_run(study.jobs[0])
    with pytest.raises(StoreError, match="left out of an archive"):
        open_group(run)


def test_lost_results_of_jobs_without_weights_are_made_again(whole, study, tmp_path):
    write_archive(whole, tmp_path / "kept", weights="none", tables="whole")
    StudyDirectory(tmp_path / "kept").open_records(study.jobs[0]).table_path("stability").unlink()
    assert run_here(tmp_path / "kept", study).finished
    assert StudyDirectory(tmp_path / "kept").open_run(study.jobs[0]).agent_path(1).exists()
    assert_same_tables(tmp_path / "kept", whole)


def test_a_run_alone(whole, study, tmp_path):
    run = StudyDirectory(whole).open_run(study.jobs[0])
    made = write_archive(run.path, tmp_path / "kept", tables="whole")
    assert (made.runs, made.left_out) == ([study.jobs[0].id], {})
    ours, theirs = (load_results(it, "curves").fetchall() for it in (tmp_path / "kept", run.path))
    assert ours == theirs
    assert list(RunDirectory(tmp_path / "kept").load_agents()) == [1, 2]


def test_a_run_that_is_not_finished_is_refused(copy, study, tmp_path):
    run = StudyDirectory(copy).open_run(study.jobs[0])
    told = run.read_description()
    told["what"]["config"]["num_iterations"] = 250
    write_json(run.description_path, told)
    with pytest.raises(StoreError, match="has come to iteration 3 of 250"):
        write_archive(run.path, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_damaged_job_is_left_out(copy, study, tmp_path):
    StudyDirectory(copy).open_records(study.jobs[0]).table_path("stability").write_bytes(b"PAR1")
    made = write_archive(copy, tmp_path / "kept")
    assert made.runs == [study.jobs[1].id]
    assert "stability.parquet" in made.left_out[study.jobs[0].id]
    assert read_status(tmp_path / "kept").list_jobs("done") == [study.jobs[1].id]


def test_a_study_of_which_nothing_is_done_is_refused(copy, study, tmp_path):
    for job in study.jobs:
        take_back(copy, job)
    with pytest.raises(StoreError, match="nothing here is finished"):
        write_archive(copy, tmp_path / "kept")


def test_what_is_no_archive_is_not_replaced(whole, study, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear")
    with pytest.raises(StoreError, match="something else than an archive"):
        write_archive(whole, tmp_path / "mine")
    assert read_files(tmp_path / "mine") == {"letter.txt": b"Dear"}
    write_archive(whole, tmp_path / "kept")
    (tmp_path / "kept" / "letter.txt").write_text("Dear")
    with pytest.raises(StoreError, match="has changed since"):
        write_archive(whole, tmp_path / "kept")


def test_one_that_fails_leaves_nothing(whole, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("remanence.study._archive.write_pack", fail)
    with pytest.raises(StoreError, match="No space left"):
        write_archive(whole, tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_pack_is_named(whole, study, tmp_path):
    write_archive(whole, tmp_path / "kept")
    run = StudyDirectory(tmp_path / "kept").open_run(study.jobs[0])
    pack = run.path / "packed.tar.xz"
    pack.write_bytes(pack.read_bytes()[:-40])
    with pytest.raises(StoreError, match=r"packed.tar.xz: not a whole pack"):
        run.load_agents()


def test_a_run_of_an_earlier_version(tmp_path):
    older = shutil.copytree(OLDER / "run", tmp_path / "run")
    write_hashes(older, {seed: "" for seed in (1, 2, 3)})  # whose agents were not kept
    write_archive(older, tmp_path / "kept")
    for table in ("evaluations", "outcomes", "certificates"):
        ours, theirs = (load_results(it, table).fetchall() for it in (tmp_path / "kept", older))
        assert ours == theirs


def test_unknown_choices_are_refused(whole, tmp_path):
    with pytest.raises(InvalidOptionError, match="small, all, none"):
        write_archive(whole, tmp_path / "kept", weights="some")
