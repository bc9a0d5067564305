"""Experiments that plug in, and studies of which nobody has registered one."""

import dataclasses
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from remanence.figures import StudyFigure, count_rows, make_figure
from remanence.report import (
    Claim,
    Experiment,
    conclude,
    derive_common_tables,
    experiments,
    find_experiment,
    read_records,
    write_report,
)
from remanence.report._any_study import summarize_any_study
from remanence.store import read_json, write_json
from tests.report.stores import CELLS, LENGTHS, PRESETS, SEEDS, begin_study, write_study

NUM_AGENTS = len(PRESETS) * len(CELLS) * len(SEEDS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def study(whole, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(whole, tmp_path / "study")


def rename(study, name):
    """Let the study be one of another experiment."""
    write_json(study / "study.json", read_json(study / "study.json") | {"name": name})


def make_experiment(tmp_path) -> Experiment:
    def draw(tables):
        figure = make_figure()
        figure.add_subplot().bar(["agents"], [count_rows(tables["agents"])])
        return figure

    def judge(tables):
        return conclude("24 are there", count_rows(tables["agents"]) == 24, tables["agents"])

    return Experiment(
        name="mine",
        title="My <own> experiment",
        about="It was thought up here.",
        profiles=tmp_path,
        derive_tables=derive_common_tables,
        figures={"bars": StudyFigure(draw, ("agents",), "Bars", "A bar.")},
        claims={"all": Claim("All are there.", "all are", judge, place="Nowhere")},
        summarize=lambda tables, findings: [f"It {findings['all'].verdict}.", *("Again.",) * 9],
    )


def test_an_experiment_that_plugs_in_makes_the_page(study, tmp_path):
    rename(study, "mine")
    experiments.register("mine", lambda: make_experiment(tmp_path))
    try:
        report = write_report(study)
    finally:
        experiments.unregister("mine")
    text = report.path.read_text()
    assert "<h1>My &lt;own&gt; experiment</h1>" in text
    # Five sentences at most.
    assert "<p>It agrees. Again. Again. Again. Again.</p>" in text.replace(' class="summary"', "")
    assert "It was thought up here." in text
    assert report.count_verdicts() == {"agrees": 1, "disagrees": 0, "not tested at this size": 0}
    assert (study / "figures" / "bars.png").exists()
    assert "T-maze" not in text


def test_a_study_of_no_experiment_gets_a_page_without_claims(study):
    rename(study, "unheard-of")
    report = write_report(study)
    text = report.path.read_text()
    assert report.problems == ()
    assert not report.findings
    assert not (study / "claims.md").exists()
    assert 'id="claims"' not in text
    assert 'id="certificates"' in text
    (summary,) = re.findall(r'<p class="summary">(.*)</p>', text)
    assert f"{NUM_AGENTS} agents were looked at: 12 bmru, 12 gru." in summary
    assert "At the end of training their mean return is 4.00." in summary
    assert "20 are bistable and 4 are monostable" in summary
    assert "(length: 1,000), 20 of 24 solve the task." in summary
    # The BMRUs of both trainings, and four short-trained GRUs.
    assert "16 of 24 are certified to solve the task at every length." in summary
    assert text.index('class="summary"') < text.index("<img") < text.index('id="figures"')


def make_tables(*solved, last=2.0):
    """Agents of one model, of which these solve length 100 and are certified."""
    number = len(solved)
    agents = {"model": np.full(number, "bmru"), "stability": np.full(number, "bistable")}
    outcomes = {"length": np.full(number, 100), "outcome": np.where(solved, "solved", "random")}
    curves = {"iteration": [1, 2], "num_iterations": [2, 2], "return": [0.5, last]}
    return {
        "agents": agents,
        "curves": {name: np.array(column) for name, column in curves.items()},
        "outcomes": outcomes,
        "growth": {"name": np.array(["length"]), "label": np.array(["length (cells)"])},
        "certificates": {"solved": np.where(solved, "every length", "no length")},
    }


def test_of_one_agent_and_of_many_it_is_told_as_people_do():
    assert " ".join(summarize_any_study(make_tables(True), {})) == (
        "One agent was looked at: bmru. At the end of training its mean return is 2.00. Its memory "
        "is bistable. At the furthest that was evaluated (length: 100), it solves the task. It is "
        "certified to solve the task at every length."
    )
    *_, reach, certified = summarize_any_study(make_tables(False), {})
    assert reach.endswith("it does not solve the task.")
    assert certified == "It is not certified to solve the task at every length."
    who, learned, kinds, reach, certified = summarize_any_study(make_tables(True, False), {})
    assert who == "2 agents were looked at, all of them bmru."
    assert learned == "At the end of training their mean return is 2.00."
    assert kinds == "All 2 that were measured are bistable."
    assert reach.endswith("1 of 2 solves the task.")
    assert certified == "1 of 2 is certified to solve the task at every length."


def test_a_study_that_has_just_begun_has_a_summary_too(tmp_path):
    for name in ("tmaze", "unheard-of"):
        begin_study(tmp_path / name)
        rename(tmp_path / name, name)
        text = write_report(tmp_path / name).path.read_text()
        assert "Nothing is known of any agent yet." in text


def test_common_tables_are_of_every_agent(whole):
    records = read_records(whole)
    tables = derive_common_tables(records)
    assert count_rows(tables["agents"]) == NUM_AGENTS
    assert count_rows(tables["outcomes"]) == NUM_AGENTS * len(LENGTHS)
    by_agent = dict(
        zip(*(tables["agents"][it].tolist() for it in ("job", "stability")), strict=True)
    )
    assert by_agent["tmaze-short-bmru"] == "bistable"
    outcomes = tables["outcomes"]
    forgetful = (outcomes["cell"] == "gru") & (outcomes["seed"] > 4)
    np.testing.assert_array_equal(outcomes["stability"] == "monostable", forgetful)


def test_of_an_agent_that_was_not_measured_the_stability_is_not_known(whole):
    records = read_records(whole)
    stability = {name: column[1:] for name, column in records.tables["stability"].items()}
    lacking = dataclasses.replace(records, tables={**records.tables, "stability": stability})
    agents = derive_common_tables(lacking)["agents"]
    assert count_rows(agents) == NUM_AGENTS
    assert np.count_nonzero(agents["stability"] == "") == 1
    assert np.count_nonzero(np.isnan(agents["vaa"])) == 1


def test_experiments_are_found_by_name(tmp_path):
    assert find_experiment("tmaze").claims
    assert list(find_experiment("tmaze").profiles.glob("tmaze-*.toml"))
    assert not find_experiment("unheard-of").claims


def test_registering_an_experiment_brings_no_matplotlib():
    code = (
        "import sys, remanence.report as it; it.experiments; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
