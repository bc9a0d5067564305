"""A study with damaged and foreign files among its own: each is found, told and made anew."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from remanence.cli._study_progress import show_study
from remanence.networks import Agent, read_agent, read_origin
from remanence.store import load_arrays, read_json, read_table, save_arrays, write_json, write_table
from remanence.study import StudyDirectory, read_status, run_study
from remanence.study._inspection import find_flaws
from remanence.study._jobs import run_job
from tests.study.studies import assert_same_tables, open_threads, run_here


def repair(copy: Path, study, whole: Path) -> list[str]:
    """Run a study again, see that all is as it should be, and return what was told."""
    status = run_here(copy, study)
    assert status.finished, [job.error for job in status.jobs.values()]
    assert_same_tables(copy, whole)
    directory = StudyDirectory(copy)
    for job in study.jobs:
        assert not find_flaws(directory, job)
        for seed in job.seeds:
            agent = directory.open_run(job).agent_path(seed).relative_to(copy)
            ours, theirs = load_arrays(copy / agent), load_arrays(whole / agent)
            np.testing.assert_equal(ours, theirs)
            file = directory.open_records(job).certificate_path(seed).relative_to(copy)
            assert read_json(copy / file) == read_json(whole / file)
    return [line for job in status.jobs.values() for line in job.replaced]


def test_a_job_that_was_killed_when_all_was_written_counts_all_agents(copy: Path, study):
    """Killed after its last file and before its status said so."""
    job = study.jobs[0]
    assert run_job(copy, job) == "done"
    status = read_status(copy).jobs[job.id]
    assert status.agent == status.num_agents == len(job.seeds)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def flip(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[-3] ^= 1
    path.write_bytes(contents)


def change_origin(path: Path, **changes) -> None:
    Agent.load(path).save(path, read_origin(path) | changes)


def rename_cell(path: Path) -> None:
    arrays, header = read_agent(path)
    header["architecture"]["dropout"] = 0.5
    save_arrays(path, arrays, header)


AGENT_FAULTS = {
    "truncated": (truncate, "not a whole safetensors file"),
    "flipped": (flip, "its contents have been damaged"),
    "other seed": (
        lambda path: shutil.copy(path.with_name("seed-2.safetensors"), path),
        "this is the agent of seed 2, and that of seed 1 is expected here",
    ),
    "other maze": (lambda path: change_origin(path, environment={}), "environment"),
    "other numbers": (lambda path: change_origin(path, config={"discount": 1}), "config"),
    "other network": (rename_cell, "architecture.dropout is 0.5 and should be 0.0"),
}


@pytest.mark.parametrize("fault", AGENT_FAULTS)
def test_an_agent_that_cannot_stay_is_made_anew(fault, copy, study, whole):
    break_file, message = AGENT_FAULTS[fault]
    file = StudyDirectory(copy).open_run(study.jobs[0]).agent_path(1)
    break_file(file)
    broken = file.read_bytes()
    (line,) = repair(copy, study, whole)
    assert line.startswith("runs/tmaze-short-gru/agents/seed-1.safetensors: ")
    assert message in line
    assert line.endswith("; it is made again.")
    assert file.with_name("seed-1.safetensors.replaced").read_bytes() == broken


def test_from_the_start_if_the_checkpoint_is_damaged_too(copy, study, whole):
    directory = StudyDirectory(copy)
    flip(directory.open_run(study.jobs[0]).agent_path(1))
    flip(directory.open_run(study.jobs[0]).checkpoint_path)
    agent, checkpoint = repair(copy, study, whole)
    assert "seed-1.safetensors" in agent
    assert "checkpoint.safetensors: its contents have been damaged" in checkpoint


@pytest.mark.parametrize("table", ["evaluations", "stability", "certificates", "curves"])
@pytest.mark.parametrize("fault", ["truncated", "foreign"])
def test_a_table_that_cannot_stay_is_made_anew(table, fault, copy, study, whole):
    gru, bmru = (StudyDirectory(copy).open_records(job).table_path(table) for job in study.jobs)
    if fault == "truncated":
        truncate(gru)
    elif table == "curves":
        columns = read_table(gru)
        write_table(gru, columns | {"seed": columns["seed"] + 1})
    else:
        shutil.copy(bmru, gru)
    (line,) = repair(copy, study, whole)
    assert line.startswith(f"{gru.relative_to(copy)}: ")
    assert "\n" not in line


def test_evaluations_of_other_lengths_are_made_anew(copy, study, whole):
    file = StudyDirectory(copy).open_records(study.jobs[0]).table_path("evaluations")
    columns = read_table(file)
    write_table(file, columns | {"length": columns["length"] + 1})
    (line,) = repair(copy, study, whole)
    assert "its lengths are not those of the plan" in line


@pytest.mark.parametrize("text", ["{", "{}", "[" * 100_000])
def test_a_certificate_that_is_none_is_made_anew(text, copy, study, whole):
    StudyDirectory(copy).open_records(study.jobs[0]).certificate_path(1).write_text(text)
    certificate, table = repair(copy, study, whole)
    assert certificate.startswith("runs/tmaze-short-gru/certificates/seed-1.json: ")
    assert table.startswith("runs/tmaze-short-gru/certificates.parquet: it repeats a certificate")


def test_a_certificate_with_a_changed_number_is_made_anew(copy, study, whole):
    file = StudyDirectory(copy).open_records(study.jobs[0]).certificate_path(1)
    found = read_json(file)
    found["compiled"]["cues"][0]["transient"] += 1
    write_json(file, found)
    certificate, _ = repair(copy, study, whole)
    assert "the certificate is damaged" in certificate


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found["environment"].update(time_limit_factor=9), "another environment"),
        (lambda found: found["compiled"].update(budget=7), "budget is 7"),
    ],
)
def test_a_certificate_of_something_else_is_made_anew(change, message, copy, study, whole):
    file = StudyDirectory(copy).open_records(study.jobs[0]).certificate_path(1)
    found = read_json(file)
    change(found)
    write_json(file, found)
    certificate, _ = repair(copy, study, whole)
    assert message in certificate


@pytest.mark.parametrize("older", [True, False])
def test_with_a_certificate_of_other_weights_tables_that_name_none_are_made_anew(
    older, copy, study, whole
):
    records = StudyDirectory(copy).open_records(study.jobs[0])
    shutil.copy(records.certificate_path(2), records.certificate_path(1))
    for table in ("evaluations", "stability") if older else ():
        write_table(records.table_path(table), read_table(records.table_path(table)))
    certificate, *tables = repair(copy, study, whole)
    assert "this certificate is of another agent's weights" in certificate
    expected = ["evaluations", "stability", "certificates"] if older else ["certificates"]
    assert [line.partition(".parquet")[0].split("/")[-1] for line in tables] == expected


def test_a_table_about_other_weights_is_made_anew(copy, study, whole):
    records = StudyDirectory(copy).open_records(study.jobs[0])
    records.write("stability", records.read("stability"), {1: "another's", 2: "another's"})
    (line,) = repair(copy, study, whole)
    assert "it is about agents with other weights" in line


@pytest.mark.parametrize("fault", ["missing", "damaged", "foreign"])
def test_a_lost_description_comes_back_with_the_checkpoint(fault, copy, study, whole):
    run, other = (StudyDirectory(copy).open_run(job) for job in study.jobs)
    begun = run.read_description()
    if fault == "missing":
        run.description_path.unlink()
    elif fault == "damaged":
        truncate(run.description_path)
    else:
        shutil.copy(other.description_path, run.description_path)
    agent = StudyDirectory(copy).open_run(study.jobs[0]).agent_path(1)
    before = agent.stat().st_mtime_ns
    (line,) = repair(copy, study, whole)
    assert line.startswith("runs/tmaze-short-gru/run.json: ")
    assert run.read_description() == begun
    assert agent.stat().st_mtime_ns == before


def test_a_run_without_description_and_checkpoint_begins_anew(copy, study, whole):
    run = StudyDirectory(copy).open_run(study.jobs[0])
    run.description_path.unlink()
    run.checkpoint_path.unlink()
    (line,) = repair(copy, study, whole)
    assert "(run.json) is missing" in line
    assert run.checkpoint_path.exists()


def test_what_is_made_anew_is_told_once(copy, study, capsys):
    flip(StudyDirectory(copy).open_run(study.jobs[0]).agent_path(1))
    for times in (1, 0):
        with show_study(1) as show:
            run_study(copy, study, open_executor=open_threads, on_change=show)
        told = capsys.readouterr().err
        assert told.count("seed-1.safetensors: its contents have been damaged") == times
    # The last attempt's account is kept for whoever asks later.
    assert len(read_status(copy).jobs[study.jobs[0].id].replaced) == 1
