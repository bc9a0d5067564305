"""The results that the repository shows."""

import csv
import re
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from remanence.certificates import hash_policy
from remanence.papers.multistability._looks import MODELS
from remanence.report import VERDICTS
from remanence.store import find_packed, read_json

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "docs" / "results"
RESULTS = STUDIES / "tmaze"
AGENTS = ROOT / "examples" / "agents"
TRAININGS = {"lengths 1-3": "tmaze-short", "length 100": "tmaze-long"}
NEAR = "lookup-tree-near/study/runs"
WIDE = ("gru", "brc", "nbrc", "mingru", "bmru", "hybrid")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("study", ["tmaze", "lookup-tree"])
def test_the_report_and_the_readme_count_claims_as_their_table_does(study):
    claims = (STUDIES / study / "claims.md").read_text(encoding="utf-8")
    verdicts = re.findall(r"\*\*(.*)\*\* \|$", claims, re.MULTILINE)
    counts = [verdicts.count(it) for it in VERDICTS]
    assert sum(counts) == len(verdicts)
    report = (STUDIES / study / "report.html").read_text(encoding="utf-8")
    # Of the main arm; other arms are in a table of their own.
    shown = re.findall(r'<td data-name="verdict" class="\w+">(.*?)</td>', report)
    assert [shown.count(verdict) for verdict in VERDICTS] == counts
    told = README.partition("## The paper's claims")[2].partition("\n## ")[0]
    (told,) = (part for part in told.split("\n### ") if f"docs/results/{study}/claims.md" in part)
    words = " ".join(told.split())
    agree, disagree, untested = counts
    assert f"Of {len(verdicts)} claims that the paper makes" in words
    assert f"{agree} agree with what it found, {disagree} disagree and {untested} could" in words
    assert len(re.findall(r"^- \*", told, re.MULTILINE)) == disagree


@pytest.mark.parametrize("study", sorted(path.name for path in STUDIES.iterdir()))
def test_results_are_small(study):
    files = (file for file in (STUDIES / study).rglob("*") if file.is_file())
    assert sum(file.stat().st_size for file in files) < 10e6


def test_the_table_of_results_is_the_summary():
    with (RESULTS / "tables" / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = {
        (row["preset"], row["network"] if row["network"] != "tmaze" else row["cell"]): (
            f"{row['bistable']} of {row['agents']}",
            *(row[name] for name in ("solved_at_100", "solved_from_2_on")),
            row["solved_at_every_length"],
        )
        for row in rows
    }
    models = {look.name: name for name, look in MODELS.items()}
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"]
    found = {
        (TRAININGS[training], models[model]): tuple(numbers)
        for training, model, *numbers in (row for row in cells if row[0] in TRAININGS)
    }
    assert found == expected


@pytest.mark.parametrize("cell", ["gru", "brc", "nbrc", "mingru", "bmru"])
def test_example_agents_are_those_of_the_study(cell):
    certificate = read_json(RESULTS / "certificates" / f"tmaze-short-{cell}" / "seed-1.json")
    weights = load_file(AGENTS / cell / "agents" / "seed-1.safetensors")
    assert certificate["agent"]["sha256"] == hash_policy(weights)


@pytest.mark.parametrize(
    ("name", "job"),
    [
        *((cell, f"lookup-tree/certificates/lookup-tree-{cell}") for cell in WIDE),
        ("bmru-lasting", "lookup-tree-lasting/certificates/lookup-tree-bmru-longer"),
        ("bmru-near", f"{NEAR}/lookup-tree-bmru/maze-certificates"),
        ("hybrid-margin", f"{NEAR}/lookup-tree-hybrid-margin/maze-certificates"),
        ("bmru-slips", "lookup-tree-slips/fewer-slips/maze-certificates"),
    ],
)
def test_wide_example_agents_are_those_of_the_study(name, job):
    run, certificates = AGENTS / "lookup-tree" / name, STUDIES / job
    (seed,) = read_json(run / "run.json")["what"]["seeds"]
    certificate = read_json(find_packed(certificates / f"seed-{seed}.json"))
    weights = load_file(run / "agents" / f"seed-{seed}.safetensors")
    assert certificate["agent"]["sha256"] == hash_policy(weights)
