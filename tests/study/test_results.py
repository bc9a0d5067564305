"""Tables over all jobs, against the same put together by hand."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from remanence.errors import StoreError, UnknownNameError
from remanence.store import read_json, read_table, write_json, write_table
from remanence.study import (
    AgentRecords,
    StudyDirectory,
    load_profile,
    load_results,
    read_status,
)
from tests.study.studies import (
    PROFILE,
    PROFILES,
    WIDER,
    invent_tables,
    run_here,
    write_study,
)

MINGRU = Path(__file__).parents[2] / "examples" / "agents" / "mingru"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study's"))


def test_outcomes_are_what_the_two_episodes_say(path):
    study = StudyDirectory(path).read_study()
    expected = set()
    for job in study.jobs:
        table = read_table(StudyDirectory(path).open_records(job).table_path("evaluations"))
        for seed in job.seeds:
            for length in job.lengths:
                mine = (table["seed"] == seed) & (table["length"] == length)
                ends = set(table["end"][mine])
                outcome = "solved" if ends == {"right"} else "random"
                outcome = "timeout" if "timeout" in ends else outcome
                mean = float(np.mean(table["return"][mine]))
                expected.add((job.cell, seed, length, round(mean, 9), outcome))
    columns = 'cell, seed, length, "return", outcome'
    found = load_results(path, "outcomes").select(columns).fetchall()
    assert {(*who, round(mean, 9), outcome) for *who, mean, outcome in found} == expected
    assert len(found) == len(expected)
    assert {outcome for *_, outcome in found} == {"solved", "random", "timeout"}


def test_the_summary_counts_agents(path):
    rows = load_results(path, "summary").fetchall()
    assert rows == [
        ("tmaze-short", "small", "bmru", "", 2, 1, 0, 1, 1),
        ("tmaze-short", "small", "gru", "", 2, 1, 1, 1, 1),
    ]


def test_variants_have_rows_of_their_own(tmp_path):
    path = write_study(tmp_path, PROFILE + WIDER)
    main = load_results(path, "summary").filter("variant = ''").fetchall()
    assert [row[2:5] for row in main] == [("bmru", "", 2), ("gru", "", 2)]
    (row,) = load_results(path, "summary").filter("variant <> ''").fetchall()
    assert row == ("tmaze-short", "small", "bmru", "wider", 2, 1, 0, 1, 1)
    for table in (*invent_tables("bmru"), "outcomes"):
        found = load_results(path, table)
        assert found.columns[:5] == ["preset", "network", "cell", "variant", "seed"]
        count = len(found.filter("variant = 'wider'").fetchall())
        assert count == len(found.filter("variant = '' and cell = 'bmru'").fetchall()) > 0


def test_what_was_not_evaluated_at_100_is_not_said_to_fail_there(tmp_path):
    path = write_study(tmp_path)
    for job in StudyDirectory(path).read_study().jobs:
        file = StudyDirectory(path).open_records(job).table_path("evaluations")
        table = read_table(file)
        write_table(file, {name: column[table["length"] != 100] for name, column in table.items()})
    assert load_results(path, "summary").project("solved_at_100").fetchall() == [(None,)] * 2


def test_what_is_not_known_of_all_agents_is_not_counted(tmp_path):
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    (job,) = (job for job in directory.read_study().jobs if job.cell == "gru")
    file = directory.open_records(job).table_path("stability")
    write_table(file, {name: column[1:] for name, column in read_table(file).items()})
    found = load_results(path, "summary").project("cell, agents, bistable").fetchall()
    assert found == [("bmru", 2, 1), ("gru", 2, None)]


def test_of_certificates_for_ever_is_infinite_and_never_is_nothing(path):
    columns = "solved_span, optimal_span, first_failure, first_waste, merge"
    rows = load_results(path, "certificates").filter("cell = 'gru'").project(columns).fetchall()
    assert rows == [(np.inf, 7.0, None, 8, None), (0.0, None, 1, 1, 5)]


def test_curves_know_which_training_they_are_of(path):
    table = load_results(path, "curves").fetchnumpy()
    assert set(table["cell"].tolist()) == {"gru", "bmru"}
    assert set(table["preset"].tolist()) == {"tmaze-short"}
    np.testing.assert_allclose(table["return"], [1.0, 2.0, 1.0, 2.0])


def test_a_table_that_is_not_there_is_told(path, tmp_path):
    with pytest.raises(UnknownNameError, match="outcomes"):
        load_results(path, "outcome")
    with pytest.raises(StoreError, match="neither a study nor a run"):
        load_results(tmp_path)
    StudyDirectory(tmp_path).begin(load_profile("tmaze", "smoke", PROFILES))
    with pytest.raises(StoreError, match=r"no evaluations yet; run .*, or wait for the study"):
        load_results(tmp_path)


def test_a_table_that_cannot_be_there_is_told(path, tmp_path):
    run = shutil.copytree(MINGRU, tmp_path / "mingru")
    there = "choose a table that is there: summary, curves"
    with pytest.raises(StoreError, match=f"in this environment there cannot be any; {there}"):
        load_results(run, "maze_certificates")
    with pytest.raises(StoreError, match=r"no decisions yet; run `remanence evaluate`\.$"):
        load_results(run, "decisions")
    for table in ("evaluations", "outcomes"):
        write_table(run / f"{table}.parquet", {"seed": np.array([1])})
    with pytest.raises(StoreError, match="no episode that was evaluated has more than one"):
        load_results(run, "decisions")


def test_what_a_run_does_not_name_is_null(tmp_path):
    run = shutil.copytree(MINGRU, tmp_path / "mingru")
    stability = {"seed": np.array([1]), "stability": np.array(["bistable"])}
    write_table(run / "stability.parquet", stability)
    columns = "preset, network, cell, variant"
    named = load_results(run, "stability").project(columns).fetchall()
    assert named == [(None, None, "mingru", "")]
    summary = load_results(run, "summary")
    assert summary.columns == ["preset", "network", "cell", "variant", "agents", "bistable"]
    assert summary.fetchall() == [(None, None, "mingru", "", 1, 1)]


def test_of_an_unknown_environment_it_is_not_said_what_there_can_be(tmp_path):
    run = shutil.copytree(MINGRU, tmp_path / "mingru")
    description = read_json(run / "run.json")
    description["what"]["environment"]["name"] = "somebody-s"
    write_json(run / "run.json", description)
    with pytest.raises(StoreError, match=r"not known without its environment; import its code"):
        load_results(run, "certificates")


def test_a_broken_table_is_named(tmp_path):
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    file = directory.open_records(directory.read_study().jobs[0]).table_path("stability")
    file.write_bytes(b"half of it")
    with pytest.raises(StoreError, match=file.name):
        load_results(path, "stability")


def test_a_damaged_table_is_named(tmp_path):
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    file = directory.open_records(directory.read_study().jobs[0]).table_path("evaluations")
    whole = file.read_bytes()
    told = []
    for place in range(4, len(whole) // 2, 25):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            load_results(path, "outcomes")
        except StoreError as error:
            told.append(str(error))
    assert all(file.name in message for message in told)
    assert any("contents have been damaged" in message for message in told)


def test_tables_of_another_version_are_told(tmp_path):
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    for job in directory.read_study().jobs:
        file = directory.open_records(job).table_path("certificates")
        columns = read_table(file)
        del columns["solved_span"]
        write_table(file, columns)
    with pytest.raises(StoreError, match="not those of this version"):
        load_results(path, "certificates")


def test_a_path_that_looks_like_a_partition_is_none(path, tmp_path):
    other = shutil.copytree(path, tmp_path / "cell=lstm" / "[1]")
    for table in ("summary", "curves"):
        ours, theirs = (load_results(it, table) for it in (path, other))
        assert theirs.columns == ours.columns
        assert theirs.fetchall() == ours.fetchall()


def test_results_turn_into_the_tables_of_other_libraries(path):
    relation = load_results(path, "outcomes")
    lengths = relation.fetchnumpy()["length"].tolist()
    assert relation.df()["length"].tolist() == lengths
    assert relation.pl()["length"].to_list() == lengths
    assert relation.to_arrow_table()["length"].to_pylist() == lengths


def test_a_study_with_a_cell_of_somebody_else_s_can_be_read(path, tmp_path):
    other = shutil.copytree(path, tmp_path / "study")
    plan = read_json(other / "study.json")
    for job in plan["jobs"]:
        job["cell"] = f"their-{job['cell']}"
    write_json(other / "study.json", plan)
    assert len(load_results(other, "stability").fetchall()) == 4
    assert read_status(other).study.jobs[0].cell == "their-gru"
    with pytest.raises(UnknownNameError, match="their-gru"):
        run_here(other, StudyDirectory(other).read_study())


def test_a_name_that_is_not_utf8_is_told():
    with pytest.raises(StoreError, match="not UTF-8"):
        StudyDirectory(Path("bad\udcff"))


@pytest.mark.parametrize(
    "name", ["../../x", "/tmp/x", "a/b", "a\\b", "a\0b", "", ".", "..", ".x", "a\nb", "x" * 201]
)
def test_a_name_that_leads_elsewhere_is_refused(name, path, tmp_path):
    other = shutil.copytree(path, tmp_path / "study")
    plan = read_json(other / "study.json")
    plan["jobs"][0]["id"] = name
    write_json(other / "study.json", plan)
    with pytest.raises(StoreError, match=r"id = .* files are named after it"):
        load_results(other, "stability")
    with pytest.raises(StoreError, match="its plan cannot be read"):
        read_status(other)


def test_a_plan_whose_profile_leads_elsewhere_is_refused(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(PROFILE.replace('"tiny"', '"../../tiny"'))
    with pytest.raises(StoreError, match=r"profile = '\.\./\.\./tiny' is not possible"):
        load_profile("tmaze", str(file))


def test_rows_that_are_written_at_the_same_time_all_stay(tmp_path):
    records = AgentRecords(tmp_path)
    weights = {seed: "its own" for seed in range(8)}

    def write(seed: int) -> None:
        records.update("stability", {"seed": np.array([seed])}, weights)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, weights))
    assert records.read("stability")["seed"].tolist() == list(weights)
