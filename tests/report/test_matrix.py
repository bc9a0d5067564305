"""The matrix of a study of choices: every arm by itself."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from remanence.figures import select_rows
from remanence.report import _page, find_experiment, read_records, write_report
from remanence.report._claims import judge_claims
from remanence.report._matrix import _say_changes, _take_sampled, judge_arms
from remanence.store import write_table
from tests.report.stores import write_study

CLAIMS = find_experiment("tmaze").claims


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    changed = dataclasses.replace(find_experiment("tmaze"), figures={})
    monkeypatch.setattr(_page, "find_experiment", lambda name: changed)


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("varied"), variants=("wide", "wider"))


def test_every_arm_is_judged_by_its_own_agents(varied):
    report = write_report(varied)
    assert report.problems == ()
    assert [arm.name for arm in report.arms] == ["default", "wide", "wider"]
    assert [arm.changes for arm in report.arms] == [
        *("", "surrogate_width = 2", "surrogate_width = 3")
    ]
    default, wide, _ = report.arms
    # Variants have BMRUs alone, 6 of each training.
    assert (default.num_agents, wide.num_agents) == (24, 12)
    assert wide.findings["bmru-at-once"].ours.startswith("12 of 12")
    assert wide.findings["correlation"].agrees is None
    assert default.findings == report.findings
    text = report.path.read_text()
    assert 'id="choices"' in text
    assert (report.path.parent / "figures" / "choices.svg").exists()
    listed = (report.path.parent / "choices.md").read_text().splitlines()
    assert listed[0] == "| claim | default | wide | wider |"
    assert len([row for row in listed if row.startswith("|")]) == len(CLAIMS) + 3
    counts = [arm.count_agreements() for arm in report.arms]
    total = f" | {' | '.join(f'{agree} of {tested}' for agree, tested in counts)} |"
    assert len([row for row in listed if row.endswith(total)]) == 1


def test_a_study_without_variants_has_no_matrix(tmp_path):
    report = write_report(write_study(tmp_path, presets=("tmaze-short",)))
    assert report.arms == ()
    assert 'id="choices"' not in report.path.read_text()
    assert not (tmp_path / "choices.md").exists()


def test_agents_that_sample_are_an_arm_of_their_own(tmp_path):
    path = write_study(tmp_path, variants=("wide",))
    outcomes = read_records(path).tables["outcomes"]
    for job in set(outcomes["job"].tolist()):
        rows = select_rows(outcomes, job=job)
        kept = {name: rows[name] for name in ("seed", "length", "return")}
        timeouts = np.full(len(rows["seed"]), "timeout")
        write_table(path / "runs" / job / "sampled_outcomes.parquet", kept | {"outcome": timeouts})
    experiment, records = find_experiment("tmaze"), read_records(path)
    findings = judge_claims(CLAIMS, experiment.derive_tables(records))
    arms = {arm.name: arm for arm in judge_arms(experiment, records, findings)}
    assert list(arms) == ["default", "wide", "sampled"]
    assert arms["sampled"].findings["short-arrive"].ours.startswith("0 of 6")
    # What is certified is so of greedy agents.
    certified = [name for name, it in CLAIMS.items() if "certified" in it.rule]
    assert any(findings[name].agrees is not None for name in certified)
    assert all(arms["sampled"].findings[name].agrees is None for name in certified)
    assert not _take_sampled(records).certificates
    plain = dataclasses.replace(experiment, judged_greedily=False)
    assert len(judge_arms(plain, records, findings)) == 2


def test_another_number_of_iterations_is_a_change():
    def make_records(num_iterations, **changes):
        job = SimpleNamespace(changes={"num_envs": 32, **changes}, num_iterations=num_iterations)
        return SimpleNamespace(jobs=[job])

    main: Any = make_records(120)
    longer: Any = make_records(200, discount=0.9)
    assert _say_changes(main, longer) == "discount = 0.9, num_iterations = 200"
    assert _say_changes(main, main) == ""
