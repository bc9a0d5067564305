"""The report as a file: whole, alone, and there even if the study is not."""

import dataclasses
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np
import pytest

from remanence.cli import main
from remanence.figures import StudyFigure
from remanence.report import Claim, Finding, _page, find_experiment, write_report
from remanence.store import read_json, read_table, write_json, write_table
from tests.report.stores import SEEDS, begin_study, write_study

VOID = {"meta", "img", "br"}
CLAIMS = find_experiment("tmaze").claims
FIGURES = find_experiment("tmaze").figures


class Page(HTMLParser):
    """Tags that are open, attributes that refer to something, and the text."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.references += [
            value or "" for name, value in attrs if name in ("src", "href", "srcset")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(autouse=True)
def few_figures(keep_figures):
    """Only figures that are drawn from what every store has; the contract tests draw all."""
    kept = {it: figure for it, figure in FIGURES.items() if figure.needs and not figure.optional}
    return keep_figures(kept)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def study(whole, tmp_path):
    """A copy that a test may break."""
    return shutil.copytree(whole, tmp_path / "study")


@pytest.fixture
def one_figure(keep_figures):
    keep_figures({"learning": FIGURES["learning"]})


def test_report_holds_all_and_refers_to_nothing_outside(study, few_figures):
    report = write_report(study)
    assert report.problems == ()
    text = report.path.read_text()
    page = Page(text)
    assert page.open == []
    outside = [it for it in page.references if not it.startswith(("#", "data:image/svg+xml,"))]
    assert outside == []
    around = re.sub(r'"data:[^"]*"', "", text)
    assert not re.search(r"url\(|@import|<script|<link", around)
    images = [it for it in page.references if it.startswith("data:")]
    assert len(images) == len(few_figures)
    for image in images:
        svg = ElementTree.fromstring(unquote(image.partition(",")[2]))
        assert svg.tag.endswith("svg")
    for name in CLAIMS:
        assert CLAIMS[name].sentence in page.text
    assert "remanence reproduce <tmaze>" in page.text
    assert text.count("<td>every length</td>") == 2 * (4 + 6 + 6)
    assert sorted(it.name for it in (report.path.parent / "figures").iterdir()) == sorted(
        f"{name}.{suffix}" for name in few_figures for suffix in ("png", "svg")
    )
    titles, _, *listed = (report.path.parent / "claims.md").read_text().splitlines()
    assert titles == "| claim | agrees if | ours | how sure | verdict |"
    assert listed[-2:] == ["", report.rules]
    listed = listed[:-2]
    assert len(listed) == len(CLAIMS)
    for row, name in zip(listed, CLAIMS, strict=True):
        assert re.sub(r"\\[|]", "", row).count("|") == 6
        assert row.endswith(f"| **{report.findings[name].verdict}** |")


def test_the_page_opens_with_the_summary_and_its_main_figure(study, one_figure):
    text = write_report(study).path.read_text()
    body = text[text.index("<body>") :]
    order = ["<h1>", 'class="summary"', "<img", 'id="claims"', 'id="run"', 'id="provenance"']
    assert [body.index(it) for it in order] == sorted(body.index(it) for it in order)


def test_claims_that_disagree_come_first_and_untested_ones_are_folded(study, monkeypatch):
    def make_claim(agrees):
        return Claim(f"It is {agrees}.", "so", lambda tables: Finding("", agrees), "Here")

    claims = {str(it): make_claim(it) for it in (None, True, False)}
    changed = dataclasses.replace(find_experiment("tmaze"), figures={}, claims=claims)
    monkeypatch.setattr(_page, "find_experiment", lambda name: changed)
    text = write_report(study).path.read_text()
    section = text[text.index('id="claims"') : text.index('id="certificates"')]
    shown, folded = section.split("<details>")
    assert re.findall(r"It is \w+", shown) == ["It is False", "It is True"]
    assert re.findall(r"It is \w+", folded) == ["It is None"]
    assert "1 claims" not in folded
    assert "1 claim that" in folded


def test_what_could_not_be_told_from_its_opposite_says_so(study, monkeypatch):
    def make_claim(number):
        finding = Finding("", agrees=True, num_models=number)
        return Claim(f"All {number}.", "all", lambda tables: finding, "", overturned="agrees")

    claims = {str(number): make_claim(number) for number in (6, 60)}
    changed = dataclasses.replace(find_experiment("tmaze"), figures={}, claims=claims)
    monkeypatch.setattr(_page, "find_experiment", lambda name: changed)
    written = write_report(study)
    text = " ".join(written.path.read_text().split())
    # A model of which one in ten is would be among six with 1 - 0.9^6.
    assert text.count("Too few models to tell this from its opposite: 46% sure.") == 1
    assert "as is the case for 1 of the verdicts below" in text
    few, many = (written.path.parent / "claims.md").read_text().splitlines()[2:4]
    assert "| 46%: too few models to tell it from its opposite |" in few
    assert "| 99% |" in many


def test_the_same_study_gives_the_same_report(study, tmp_path, one_figure):
    one = write_report(study, tmp_path / "one" / "report.html").path.read_bytes()
    two = write_report(study, tmp_path / "two" / "report.html").path.read_bytes()
    assert one == two


def test_broken_and_missing_runs_do_not_stop_the_report(study):
    error = "Traceback (most recent call last):\n  <module>\nMemoryError: no room"
    failed = {"state": "failed", "stage": "training", "error": error}
    write_json(study / "status" / "tmaze-long-bmru.json", failed)
    for table in ("evaluations", "stability", "certificates"):
        (study / "runs" / "tmaze-long-bmru" / f"{table}.parquet").unlink()
    shutil.rmtree(study / "runs" / "tmaze-long-bmru" / "certificates")
    (study / "runs" / "tmaze-short-bmru" / "evaluations.parquet").write_bytes(b"torn")
    report = write_report(study)
    page = Page(report.path.read_text())
    assert page.open == []
    assert "tmaze-long-bmru failed." in page.text
    assert "MemoryError: no room" in page.text
    absent = "tmaze-long-bmru: no evaluations, no outcomes, no stability, no certificates."
    assert absent in page.text
    assert "tmaze-short-bmru: no evaluations (" in page.text
    assert "There are no parallelizable outcomes in this study." in page.text
    # What the GRUs do is still there, and learning curves of all four jobs.
    assert sum(it.startswith("data:") for it in page.references) == 5


def test_an_older_study_has_no_orbits_and_says_so(study, keep_figures):
    keep_figures({"transients": FIGURES["transients"]})
    for file in study.rglob("orbits.parquet"):
        file.unlink()
    report = write_report(study)
    assert report.problems == ()
    assert "There are no states in this study." in report.path.read_text()


def test_what_is_not_settled_is_told(study, one_figure):
    path = study / "runs" / "tmaze-short-gru" / "stability.parquet"
    changed = {"vaa": np.ones(len(SEEDS)), "vaa_limit": np.where(np.array(SEEDS) == 1, 0.5, np.nan)}
    write_table(path, read_table(path) | changed)
    path = study / "runs" / "tmaze-short-gru" / "certificates" / "seed-1.json"
    certificate = read_json(path)
    certificate["compiled"] |= {"solved": None, "optimal": None}
    certificate["compiled"]["cues"][0]["transient"] = None
    write_json(path, certificate)
    text = write_report(study).path.read_text()
    assert text.count("1.0 → 0.5</td>") == 1
    cells = ("undecided", "undecided", "not known", "open / 3", "open", "proved")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in text


def test_a_study_of_nothing_says_so_in_every_figure(tmp_path, few_figures):
    begin_study(tmp_path / "study")
    report = write_report(tmp_path / "study")
    page = Page(report.path.read_text())
    assert page.text.count("Not drawn.") == len(few_figures)
    assert report.count_verdicts()["not tested at this size"] == len(CLAIMS)


def test_a_figure_that_fails_does_not_stop_the_others(study, keep_figures):
    def fail(tables):
        raise ZeroDivisionError("in a figure of somebody's own")

    broken = StudyFigure(fail, (), "Broken", "Never drawn.")
    keep_figures({"broken": broken, "learning": FIGURES["learning"]})
    report = write_report(study)
    page = Page(report.path.read_text())
    assert "ZeroDivisionError: in a figure of somebody's own" in page.text
    assert sum(it.startswith("data:") for it in page.references) == 1


def test_command_writes_the_report_and_tells_what_it_found(study, tmp_path, capsys, one_figure):
    main(["report", str(study), "--out", str(tmp_path / "page.html"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["out"] == str(tmp_path / "page.html")
    assert set(told["findings"]) == set(CLAIMS)
    assert told["findings"]["bmru-everywhere"]["verdict"] == "agrees"
    main(["report", str(study), "--out", str(tmp_path / "page.html")])
    said = " ".join(capsys.readouterr().out.split())
    assert all(sentence in said for sentence in told["summary"])
    assert "claims it agrees with" in said


def test_command_refuses_what_is_no_study(tmp_path, capsys):
    with pytest.raises(SystemExit) as refused:
        main(["report", str(tmp_path)])
    assert refused.value.code == 2
    assert "there is neither a study nor a run here" in " ".join(capsys.readouterr().err.split())
