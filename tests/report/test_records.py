"""Reading a study's store: what is there, what is missing, what is broken."""

import shutil

import numpy as np
import pytest

from remanence.errors import StoreError
from remanence.figures import count_rows
from remanence.report import derive_common_tables, find_experiment, read_records, write_report
from remanence.store import read_json, read_table, write_json, write_table
from tests.report.stores import SEEDS, begin_study, write_study


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("whole"), presets=("tmaze-short",))


@pytest.fixture
def study(whole, tmp_path):
    """A copy that a test may break."""
    return shutil.copytree(whole, tmp_path / "study")


def test_tables_say_which_agent_a_row_is_about(study):
    records = read_records(study)
    assert records.problems == ()
    stability = records.tables["stability"]
    assert count_rows(stability) == 2 * len(SEEDS)
    assert set(stability["model"]) == {"gru", "bmru"}
    np.testing.assert_array_equal(stability["parallelizable"], stability["cell"] == "bmru")
    assert set(records.certificates) == {
        (f"tmaze-short-{cell}", seed) for cell in ("gru", "bmru") for seed in SEEDS
    }


def test_iterations_without_a_return_are_left_out(study):
    curves = read_records(study).tables["curves"]
    assert np.isfinite(curves["return"]).all()
    assert curves["iteration"].min() == 2


def test_what_is_missing_or_broken_is_named_and_the_rest_is_read(study):
    (study / "runs" / "tmaze-short-gru" / "evaluations.parquet").unlink()
    (study / "runs" / "tmaze-short-gru" / "stability.parquet").write_bytes(b"PAR1 and then nothing")
    (study / "runs" / "tmaze-short-bmru" / "certificates" / "seed-2.json").write_text("{")
    records = read_records(study)
    assert set(records.tables["evaluations"]["model"]) == {"bmru"}
    assert set(records.tables["stability"]["model"]) == {"bmru"}
    assert ("tmaze-short-bmru", 2) not in records.certificates
    absent, broken, certificate = records.problems
    assert absent == "tmaze-short-gru: no evaluations, no outcomes."
    where = "runs/tmaze-short-gru/stability.parquet"
    assert broken.startswith(f"tmaze-short-gru: no stability ({where}: ")
    assert certificate.startswith("tmaze-short-bmru: no certificate of seed 2")
    # A report travels; where its study lay on somebody's disk does not matter.
    assert not any(str(study) in problem for problem in records.problems)


def test_runs_in_which_something_else_grows_are_named(study):
    run = study / "runs" / "tmaze-short-bmru"
    table = read_table(run / "evaluations.parquet")
    table["num_mazes"] = table.pop("length")
    write_table(run / "evaluations.parquet", table)
    description = read_json(run / "run.json")
    description["about"]["growth"] = {"name": "num_mazes", "label": "number of mazes"}
    write_json(run / "run.json", description)
    records = read_records(study)
    assert records.growth.name == "length"
    assert set(records.tables["outcomes"]["model"]) == {"gru"}
    assert len(records.problems) == 2
    assert all(it.startswith("tmaze-short-bmru: no ") for it in records.problems)
    assert "no outcomes by length, which is what grows on this page" in records.problems[1]


def test_what_is_well_formed_and_wrong_is_named(study):
    path = study / "runs" / "tmaze-short-bmru" / "certificates" / "seed-2.json"
    whole = read_json(path)
    parts = [
        ("contraction",),
        ("compiled", "cues"),
        ("compiled", "merge"),
        ("compiled", "failures"),
    ]
    broken = [remove(whole, *part) for part in parts]
    for found in ({}, [], whole | {"format": 99}, *broken):
        write_json(path, found)
        (problem,) = read_records(study).problems
        assert problem.startswith("tmaze-short-bmru: no certificate of seed 2")


def remove(found: dict, name: str, *inside: str) -> dict:
    """Nested tables without one of their entries."""
    if inside:
        return found | {name: remove(found[name], *inside)}
    return {key: value for key, value in found.items() if key != name}


def test_a_status_that_says_nothing_is_one_of_a_job_that_waits(study):
    for found in ([], {"seconds": "many"}, {"state": "failed", "error": 3}):
        write_json(study / "status" / "tmaze-short-bmru.json", found)
        records = read_records(study)
        assert not records.problems
        assert records.status["tmaze-short-bmru"].state == "waiting"


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("stability", "seed"),
        ("stability", "vaa"),
        ("evaluations", "return"),
        ("certificates", "transient_up"),
    ],
)
def test_a_column_of_something_else_is_named(study, table, column):
    path = study / "runs" / "tmaze-short-gru" / f"{table}.parquet"
    columns = read_table(path)
    write_table(path, columns | {column: np.full(len(columns[column]), "word")})
    # Of evaluations that cannot be read there are no outcomes either.
    problem, *_ = read_records(study).problems
    assert f"holds values of another kind in its column '{column}'" in problem


def test_a_training_that_has_not_come_to_its_end_is_named(study):
    path = study / "runs" / "tmaze-short-gru" / "curves.parquet"
    curves = read_table(path)
    early = curves["iteration"] < 5
    write_table(path, {name: column[early] for name, column in curves.items()})
    records = read_records(study)
    assert records.problems == ("tmaze-short-gru: the training has not come to its end.",)
    curves = records.tables["curves"]
    np.testing.assert_array_equal(curves["finished"], curves["model"] == "bmru")


def test_seeds_that_a_table_lacks_are_named(study):
    path = study / "runs" / "tmaze-short-gru" / "stability.parquet"
    table = read_table(path)
    write_table(path, {name: column[2:].astype(column.dtype) for name, column in table.items()})
    assert read_records(study).problems == ("tmaze-short-gru: nothing in stability of seed 1, 2.",)


def test_a_table_without_a_needed_column_is_named(study):
    path = study / "runs" / "tmaze-short-gru" / "stability.parquet"
    ones = np.ones(len(SEEDS))
    write_table(path, {"seed": np.array(SEEDS), "vaa": ones, "vaa_limit": ones})
    (problem,) = read_records(study).problems
    assert "no column 'stability'" in problem


def test_a_study_that_is_none_is_refused(tmp_path):
    with pytest.raises(StoreError, match="there is neither a study nor a run here"):
        read_records(tmp_path)
    write_json(tmp_path / "study.json", {"format": 99, "jobs": []})
    with pytest.raises(StoreError, match="cannot read this study"):
        read_records(tmp_path)
    begin_study(tmp_path)
    plan = read_json(tmp_path / "study.json")
    for jobs in ("a word", [{}], [plan["jobs"][0] | {"seeds": 3}]):
        write_json(tmp_path / "study.json", plan | {"jobs": jobs})
        with pytest.raises(StoreError, match="its plan cannot be read"):
            read_records(tmp_path)


def test_jobs_without_results_are_named_together(study):
    names = sorted(path.name for path in (study / "runs").iterdir())
    problems = []
    for name in names:
        shutil.rmtree(study / "runs" / name)
        problems.append(read_records(study).problems)
    ((one,), (both,)) = problems
    assert one.startswith(f"{names[0]}: no curves, no ")
    assert both.startswith("2 jobs have no results: ")
    assert all(name in both for name in names)


def test_variants_are_kept_apart_and_are_records_too(tmp_path):
    whole = write_study(tmp_path / "study", variants=("wide", "wider"))
    (whole / "runs" / "tmaze-long-bmru-wider" / "stability.parquet").unlink()
    main, plain = read_records(whole), read_records(write_study(tmp_path / "plain"))
    assert list(main.variants) == ["wide", "wider"]
    assert [arm.problems for arm in main.arms] == [
        (),
        (),
        ("tmaze-long-bmru-wider: no stability.",),
    ]
    # What is made of the main arm is what a study without variants would give.
    assert main.certificates == plain.certificates
    assert (main.status, main.trained) == (plain.status, plain.trained)
    ours, theirs = derive_common_tables(main), derive_common_tables(plain)
    for table, columns in theirs.items():
        assert ours[table].keys() == columns.keys()
        for name, column in columns.items():
            np.testing.assert_array_equal(ours[table][name], column)
    for name, records in main.variants.items():
        agents = derive_common_tables(records)["agents"]
        assert count_rows(agents) == 2 * len(SEEDS)
        assert (set(agents["model"]), set(agents["variant"])) == ({"bmru"}, {name})
        assert set(agents["job"]) == {f"tmaze-short-bmru-{name}", f"tmaze-long-bmru-{name}"}


def test_the_page_names_variants_and_figures_leave_them_out(tmp_path, keep_figures):
    keep_figures({"learning": find_experiment("tmaze").figures["learning"]})
    write_study(tmp_path / "plain")
    whole = write_study(tmp_path / "study", variants=("wider",))
    ours, theirs = write_report(whole), write_report(tmp_path / "plain")
    assert ours.problems == ()
    assert (ours.findings, ours.summary) == (theirs.findings, theirs.summary)
    text = ours.path.read_text()
    assert "about the main arm" in text
    assert "in 1 variant: wider." in text
    assert "variant wider <span" in text
    assert "tmaze-long-bmru-wider: 1–6" in text
    assert "main arm" not in theirs.path.read_text()
    drawn = [(it.path.parent / "figures" / "learning.svg").read_bytes() for it in (ours, theirs)]
    assert drawn[0] == drawn[1]
