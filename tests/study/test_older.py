"""Studies and runs of an earlier version, against what that version said of them."""

import csv
import io
import shutil
from pathlib import Path

import numpy as np
import pytest

from remanence.errors import StoreError
from remanence.report import find_experiment, read_records, write_report
from remanence.store import read_json, read_table, write_table
from remanence.study import AgentRecords, list_entries, load_results

OLDER = Path(__file__).parent / "older"
# It has another name now.
RENAMED = {"tmaze": "small"}


def read_csv(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((OLDER / "tables" / f"{table}.csv").read_text())))


@pytest.mark.parametrize("table", ["summary", "outcomes", "stability", "certificates"])
def test_an_older_study_s_tables_are_what_they_were(table):
    expected = read_csv(table)
    found = load_results(OLDER / "study", table)
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    assert len(rows) == len(expected)
    for row, was in zip(rows, expected, strict=True):
        was["network"] = RENAMED[was["network"]]
        told = {name: "" if row[name] is None else str(row[name]) for name in was}
        assert told == {name: "" if text == "nan" else text for name, text in was.items()}


def test_unknown_is_null_in_tables_of_either_age():
    found = load_results(OLDER / "study", "certificates").fetchnumpy()
    assert np.ma.getmaskarray(found["first_failure"]).any()
    assert not (np.ma.compressed(found["merge"]) < 0).any()


def test_what_an_earlier_version_did_not_count_is_null():
    evaluations = load_results(OLDER / "study", "evaluations").fetchnumpy()
    for name in ("num_right", "num_decisions"):
        assert np.ma.getmaskarray(evaluations[name]).all()
    outcomes = load_results(OLDER / "study", "outcomes").fetchnumpy()
    assert np.ma.getmaskarray(outcomes["share_right"]).all()
    timed_out = outcomes["outcome"] == "timeout"
    np.testing.assert_array_equal(outcomes["timeouts"] > 0, timed_out)


def test_an_older_run_is_read_as_a_new_one(tmp_path):
    outcomes = load_results(OLDER / "run", "outcomes").fetchnumpy()
    assert set(outcomes["seed"]) == {1, 2, 3}
    (entry,) = list_entries(OLDER / "run")
    assert (entry.about["trained"], entry.about["parallelizable"]) == ((1, 3), False)
    certificates = load_results(OLDER / "run", "certificates").fetchnumpy()
    for seed, verdict in zip(certificates["seed"], certificates["solved"], strict=True):
        told = read_json(OLDER / "run" / "certificates" / f"seed-{seed}.json")["compiled"]["solved"]
        assert (verdict == "every length") == (told["runs"] == [[1, told["listed"]]])
    assert write_report(OLDER / "run", tmp_path / "report.html").path.exists()


def test_what_was_found_out_of_some_agents_does_not_hide_the_others(tmp_path):
    records = AgentRecords(shutil.copytree(OLDER / "run", tmp_path / "run"))
    weights = {1: "one", 2: "two", 3: "three"}
    before = {table: records.read(table) for table in ("evaluations", "outcomes", "certificates")}
    for table, columns in before.items():
        fresh = {name: column[columns["seed"] == 2] for name, column in columns.items()}
        records.update(table, fresh, weights)
        records.update(table, fresh, weights)
        assert records.read_weights(table) == {2: "two"}
        found = records.read(table)
        order = np.argsort(columns["seed"], kind="stable")
        for name, column in columns.items():
            np.testing.assert_array_equal(found[name], column[order])


def test_episodes_that_may_be_sampled_are_not_taken_for_greedy_ones(tmp_path):
    run = shutil.copytree(OLDER / "run", tmp_path / "run")
    file = run / "evaluation.parquet"
    episodes = read_table(file)
    write_table(file, {name: np.tile(column, 2) for name, column in episodes.items()})
    told = "without saying if actions were sampled; run `remanence evaluate` again"
    for table in ("evaluations", "outcomes"):
        with pytest.raises(StoreError, match=told):
            load_results(run, table)
    records = AgentRecords(run)
    assert any("sampled" in problem for problem in read_records(run).problems)
    records.update(
        "evaluations", AgentRecords(OLDER / "run").read("evaluations"), dict.fromkeys((1, 2, 3), "")
    )
    assert set(load_results(run, "outcomes").fetchnumpy()["seed"]) == {1, 2, 3}


def test_a_run_is_counted_once_by_whatever_path_it_is_given(tmp_path, monkeypatch):
    run = shutil.copytree(OLDER / "run", tmp_path / "run.v2")
    for file in ("evaluation.parquet", *(f"certificates/seed-{seed}.json" for seed in (1, 2, 3))):
        (run / file).unlink()
    monkeypatch.chdir(run)
    summary = load_results(".", "summary")
    assert dict(zip(summary.columns, *summary.fetchall(), strict=True))["agents"] == 3


def test_a_report_on_an_older_study_knows_what_is_known(tmp_path, few_studies, keep_figures):
    figures = find_experiment("tmaze").figures
    keep_figures({name: figure for name, figure in figures.items() if figure.needs})
    records = read_records(OLDER / "study")
    assert records.problems == ()
    assert records.trained == {"tmaze-short-gru": (1, 3), "tmaze-short-bmru": (1, 3)}
    written = write_report(OLDER / "study", tmp_path / "report.html")
    assert written.problems == ()
    assert written.count_verdicts()["agrees"] == 1
