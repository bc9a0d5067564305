"""Tables that are derived from the store, against what the agents were made to do."""

import json

import numpy as np
import pytest
from scipy import stats

from remanence.errors import InvalidOptionError
from remanence.figures import count_rows, select_rows
from remanence.papers.multistability.lookup_tree._figures import FIGURES
from remanence.papers.multistability.lookup_tree._intervals import (
    find_interval,
    find_nested_interval,
)
from remanence.papers.multistability.lookup_tree._summary import summarize
from remanence.papers.multistability.lookup_tree._tables import derive_tables
from remanence.papers.multistability.lookup_tree._task import name_task
from remanence.papers.multistability.lookup_tree.claims import CLAIMS
from remanence.report import judge_claims, list_rows, read_records, write_report
from remanence.store import write_table
from tests.papers.multistability.lookup_tree.stores import (
    CELLS,
    CUES,
    NUMBERS,
    SEEDS,
    VARIANT,
    begin_study,
    decide,
    earn,
    write_study,
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def tables(study):
    return derive_tables(read_records(study))


def test_scores_are_of_each_agent_number_and_way_of_acting(tables):
    scores = tables["scores"]
    assert count_rows(scores) == len(CELLS) * len(SEEDS) * len(NUMBERS) * 2
    for row in list_rows(scores):
        job = {"cell": row["cell"], "variant": ""}
        expected = earn(job, row["seed"], row["num_mazes"], row["acting"] == "sampled")
        assert row["return"] == pytest.approx(expected)
        assert row["model"] == row["cell"]
        assert row["vaa"] == pytest.approx(1 / 6 if row["cell"] == "mingru" else 1.0)
        assert (row["num_decisions"], row["timeouts"]) == (row["num_mazes"], 0.25)
    parts = [
        tables[f"{acting}_scores_of_{kind}_models"]
        for acting in ("sampled", "greedy")
        for kind in ("nonlinear", "parallelizable")
    ]
    assert [count_rows(part) for part in parts] == [6, 12, 6, 12]


def test_groups_are_means_over_agents(tables):
    group = select_rows(tables["groups"], model="gru", acting="sampled", num_mazes=100)
    returns = [2.6, 2.7, 2.8]
    low, high = stats.ttest_1samp(returns, 0).confidence_interval(0.95)
    np.testing.assert_allclose(group["return"], np.mean(returns))
    np.testing.assert_allclose([group["low"].item(), group["high"].item()], [low, high])
    assert group["num_agents"].item() == 3


def test_right_decisions_are_averaged_over_tables_then_agents(tables):
    """By two loops: each table counts once, however many decisions were taken after it."""
    for first, last, cues in ((1, 9, CUES), (10, 99, CUES), (100, 100, [0, 2, 3, 4, 5])):
        means = [np.mean([decide(seed, cue, first) / 100 for cue in cues]) for seed in SEEDS]
        found = select_rows(tables["reach"], model="hybrid", acting="greedy", first=first)
        low, high = stats.ttest_1samp(means, 0).confidence_interval(0.95)
        np.testing.assert_allclose(found["share"], np.mean(means))
        np.testing.assert_allclose([found["low"].item(), found["high"].item()], [low, high])
        # The last bin ends where the episode does.
        assert (found["last"].item(), found["num_agents"].item()) == (last, 3)


def test_intervals_of_one_agent_are_over_its_tables():
    values = np.array([0.2, 0.4, 0.9])
    of_one = find_nested_interval(values, np.array(["a"] * 3))
    assert of_one == find_interval(values)
    of_two = find_nested_interval(np.array([0.2, 0.4, 0.9]), np.array(["a", "a", "b"]))
    np.testing.assert_allclose(of_two, find_interval(np.array([0.3, 0.9])))
    assert np.isnan(find_interval(np.array([0.5]))[1:]).all()
    assert np.isnan(find_interval(np.zeros(0))).all()


def test_losses_are_counted_early_and_late(tables):
    lost = select_rows(tables["lost"], model="gru")
    assert lost["when"].tolist() == ["early", "late"]
    assert lost["first"].tolist() == [1, 25]
    assert lost["last"].tolist() == [24, 62]
    # Two bins, six tables, seeds 1 to 3.
    assert lost["num_decisions"].tolist() == [2 * 6 * 3 * 100] * 2
    assert lost["num_wrong"].tolist() == [2 * 6 * 60] * 2
    assert lost["cured_by_table"].tolist() == [2 * 6 * 30] * 2
    assert lost["spoiled_by_flag"].tolist() == [2 * 6 * 3 * 3] * 2


def test_variants_are_beside_agents_of_the_main_arm_and_nowhere_else(tables):
    rows = list_rows(tables["variants"])
    assert {(row["model"], row["seed"], row["variant"]) for row in rows} == {
        ("mingru", seed, variant) for seed in SEEDS[:2] for variant in ("", VARIANT)
    }
    assert {row["beside"] for row in rows} == {VARIANT}
    for row in rows:
        job = {"cell": "mingru", "variant": row["variant"]}
        assert row["return"] == pytest.approx(earn(job, row["seed"], row["num_mazes"], True))
    for name in ("scores", "agents", "curves"):
        assert set(tables[name]["variant"].tolist()) == {""}


@pytest.mark.usefixtures("few_studies")
def test_the_title_says_which_task_it_is(tables, study, tmp_path):
    assert name_task(tables) == "τ = 3, one-hot index"
    written = write_report(study, tmp_path / "report.html")
    page = written.path.read_text(encoding="utf-8")
    assert "The LookupTreeMaze (τ = 3, one-hot index)</h1>" in page
    assert written.problems == ()
    assert written.findings.keys() == CLAIMS.keys()
    # The main figure is right below the summary.
    assert page.index('class="summary"') < page.index("<img") < page.index('id="claims"')
    first = FIGURES["parallelizable"]
    assert page.index(first.title) < page.index('id="claims"')


@pytest.mark.parametrize(
    "other", [{"table_size": 4}, {"index_encoding": "scalar"}], ids=lambda it: next(iter(it))
)
def test_a_study_that_mixes_tasks_is_refused(tmp_path, other):
    begin_study(tmp_path, changes={"mingru": other}, variants=())
    with pytest.raises(InvalidOptionError) as told:
        derive_tables(read_records(tmp_path))
    assert "'lookup-tree-gru': 'τ = 3, one-hot index'" in str(told.value)
    assert "lookup-tree-mingru" in str(told.value)
    assert "cannot be pooled" in str(told.value)


def test_a_variant_may_be_about_another_task(tmp_path):
    jobs = begin_study(tmp_path, variants=("mingru",))
    assert jobs[-1]["variant"] == VARIANT
    assert derive_tables(read_records(tmp_path))["task"]["table_size"].tolist() == [3]


def test_of_an_empty_study_there_are_empty_tables(tmp_path):
    begin_study(tmp_path)
    tables = derive_tables(read_records(tmp_path))
    known = ("growth", "levels", "task")
    about = {name: columns for name, columns in tables.items() if name not in known}
    assert all(len(column) == 0 for columns in about.values() for column in columns.values())
    findings = judge_claims(CLAIMS, tables)
    assert {it.agrees for it in findings.values()} == {None}
    assert summarize(tables, findings) == ["Nothing is known of any agent yet."]


def test_five_sentences_sum_it_up(tables):
    sentences = summarize(tables, judge_claims(CLAIMS, tables))
    assert sentences == [
        "This study has 9 agents (3 GRU, 3 minGRU and 3 hybrid), trained on up to 20 mazes (τ = 3, "
        "one-hot index).",
        "With sampled actions their mean return is on 10 mazes 3.20 (GRU), 3.20 (minGRU), 3.20 "
        "(hybrid); on 100 mazes 2.70 (GRU), 2.70 (minGRU), 3.20 (hybrid) (optimal is 4, chance "
        "1.95).",
        "None of them is nearly optimal (3.8 or more) on 100 mazes.",
        "Of 2,160 wrong decisions in mazes beyond the number of training, showing one thing again "
        "cures some, and it spoils some right ones: the table 50% and 1%, the index 30% and 2%, "
        "the junction's flag 10% and 4%.",
        f"The study is too small to test any of the paper's {len(CLAIMS)} claims.",
    ]


def test_certificates_are_read_where_there_are_some(tmp_path):
    study = write_study(tmp_path / "study")
    assert not count_rows(derive_tables(read_records(study))["maze_certificates"])
    row = {"seed": [1], "table": ["+-"], "walk": ["any"], "verdict": ["certified"]}
    columns = {name: np.array(values) for name, values in row.items()}
    write_table(study / "runs" / "lookup-tree-hybrid" / "maze_certificates.parquet", columns)
    found = derive_tables(read_records(study))["maze_certificates"]
    assert (found["model"].tolist(), found["verdict"].tolist()) == (["hybrid"], ["certified"])


def test_radii_are_beside_what_is_certified_of_the_same_way_of_walking(tmp_path):
    """The first way of walking is not the one that the radii are of."""
    study = write_study(tmp_path / "study")
    run = study / "runs" / "lookup-tree-hybrid"
    plan = json.loads((study / "study.json").read_text())
    for job in plan["jobs"]:
        job["stages"] = [*job["stages"], "radius"]
    (study / "study.json").write_text(json.dumps(plan))
    tables = ("+-", "-+", "++")
    certificates = {
        **{"seed": np.ones(6, int), "table": np.array(2 * tables)},
        **{"walk": np.array(["greedy"] * 3 + ["any"] * 3)},
        **{"verdict": np.array(["refuted"] * 3 + ["certified", "refuted", "refuted"])},
        **{"refuted_in": np.array([1, 1, 1, 0, 5, 7]), "earliest": np.array([True] * 5 + [False])},
    }
    write_table(run / "maze_certificates.parquet", certificates)
    radii = {
        **{"seed": np.ones(3, int), "table": np.array(tables), "walk": np.array(["any"] * 3)},
        **{"radius_certified": np.array([0.1, 0.0, 0.0])},
        **{"radius_broken": np.ma.masked_array([0.0, 0.0, 0.0], [True, False, False])},
    }
    write_table(run / "radii.parquet", radii)
    found = derive_tables(read_records(study))["radii"]
    assert found["table"].tolist() == list(tables)
    assert found["certified_mazes"].tolist() == [np.inf, 4, 0]
    assert found["radius_certified"].tolist() == [0.1, 0, 0]
    np.testing.assert_array_equal(found["radius_broken"], [np.nan, 0, 0])
