"""Rules are the same as long as nothing that decides a verdict is changed."""

import importlib
import sys

import pytest

from remanence.report import Claim, Finding, describe_rules, find_experiment
from remanence.report._rules import _follow, find_later, mark_later, say_rules

FILES = {
    "__init__.py": "",
    "claims.py": "from remanence.report import Claim, Finding\n"
    "from ours.limits import LIMIT\n"
    "CLAIMS = {'it': Claim('It is.', 'so', lambda tables: Finding('', LIMIT > 1), 'here')}\n",
    "limits.py": "LIMIT = 2\n",
    "pictures.py": "COLOUR = 'red'\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / "ours").mkdir(exist_ok=True)
        (tmp_path / "ours" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "ours"
    for name in [it for it in sys.modules if it.partition(".")[0] == "ours"]:
        del sys.modules[name]


def test_whatever_a_judge_imports_of_its_package_is_a_rule(package):
    claims = importlib.import_module("ours.claims").CLAIMS
    begun = describe_rules(claims)
    (package / "pictures.py").write_text("COLOUR = 'blue'\n")
    assert describe_rules(claims) == begun
    (package / "limits.py").write_text("LIMIT = 3\n")
    assert describe_rules(claims)["sha256"] != begun["sha256"]
    assert describe_rules({}) == {}


@pytest.mark.parametrize("name", ["tmaze", "lookup-tree"])
def test_every_file_of_an_experiments_claims_is_a_rule(name):
    claims = find_experiment(name).claims
    found = set().union(*map(_follow, claims.values()))
    package = f"remanence.papers.multistability.{name.replace('-', '_')}"
    folder = find_experiment(name).profiles.parent / name.replace("-", "_") / "claims"
    files = {f"{package}.claims.{it.stem}" for it in folder.glob("_*.py")} - {
        f"{package}.claims.__init__"
    }
    assert files <= found
    assert f"{package}._tables" in found


def test_it_is_said_whether_rules_have_changed_since_a_study_was_begun():
    old, new = ({"sha256": it * 64, "commit": f"{it}123"} for it in "ab")
    begun = {"started": "2026-01-02T03:04:05+00:00", "commit": "c0ffee"}
    same = say_rules({**begun, "rules": old}, old)
    assert same == (
        "The rules of all claims were fixed in commit a123 (hash aaaaaaaaaaaa), before the study "
        "was begun on 2026-01-02 by commit c0ffee, and have not changed since."
    )
    changed = say_rules({**begun, "rules": old}, new)
    assert "have changed since the study was begun on 2026-01-02" in changed
    assert "commit a123" in changed
    assert "commit b123" in changed
    assert "does not say by which rules it was begun on 2026-01-02" in say_rules(begun, new)
    assert say_rules(begun, {}) == ""


def test_claims_that_a_study_did_not_know_of_are_marked():
    def judge(tables):
        return Finding("", agrees=True)

    claims = {name: Claim(f"{name}.", "it is", judge, "here") for name in ("old", "new")}
    earlier = describe_rules({"old": claims["old"]})
    begun = {"started": "2026-01-02T03:04:05+00:00", "rules": earlier}
    assert find_later(begun, claims, ["new"]) == {"new"}
    marked = mark_later(claims, {"new"})
    assert marked["old"] == claims["old"]
    assert marked["new"].rule == "it is (a rule that was added after the study)"
    said = say_rules(begun, describe_rules(claims), 1)
    assert said.startswith("The rules of all claims but 1 were fixed in ")
    assert said.endswith(
        "and have not changed since; the others, which say so, were added after it."
    )
    # One that was begun with all of them, with other rules, or by nobody knows which, has no such.
    for rules in (describe_rules(claims), {"sha256": "a" * 64, "commit": ""}, None):
        assert find_later({"rules": rules}, claims, ["new"]) == set()
    assert find_later(begun, {"new": claims["new"]}, ["new"]) == set()
