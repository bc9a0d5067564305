"""By which rules claims are judged, in a form that shows whether they were changed.

What decides a verdict is code: the modules of the judges, whatever else of their package those
import, and what all judges share. A study keeps the hash of all of it when it is begun.
"""

import ast
import dataclasses
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from remanence.report._claims import Claim
from remanence.store import find_commit

# Of ours, an experiment is what is in this room; of others, all of their package may be one.
_EXPERIMENTS = "remanence.papers"
_SHARED = ("remanence.report._claims", "remanence.report._intervals")


def describe_rules(claims: Mapping[str, Claim]) -> dict[str, str]:
    """The hash of all rules, and the last commit that changed one of them, if there is git.

    >>> from remanence import report
    >>> claims = {"it": report.Claim("It is.", "so", report.conclude, place="")}
    >>> rules = report.describe_rules(claims)
    >>> len(rules["sha256"]), report.describe_rules(claims) == rules
    (64, True)
    """
    if not claims:
        return {}
    modules = sorted({*_SHARED, *(name for it in claims.values() for name in _follow(it))})
    files = [Path(file) for name in modules if (file := _find_file(name))]
    digest = hashlib.sha256()
    for claim in claims.values():
        digest.update(repr((claim.sentence, claim.rule, claim.how_many)).encode())
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return {"sha256": digest.hexdigest(), "commit": find_commit(*files)}


def find_later(
    description: Mapping[str, Any], claims: Mapping[str, Claim], later: Collection[str]
) -> set[str]:
    """Those of the later claims that a study did not know of when it was begun.

    That is so if it was begun with the rules of all others, and these are still the same.
    """
    earlier = {name: claim for name, claim in claims.items() if name not in later}
    known = describe_rules(earlier)
    begun = (description.get("rules") or {}).get("sha256")
    return set(later) if known and begun == known["sha256"] else set()


def mark_later(claims: Mapping[str, Claim], later: Collection[str]) -> dict[str, Claim]:
    """The same claims, with rules that say so where they were written after the study."""
    return {
        name: dataclasses.replace(it, rule=f"{it.rule} (a rule that was added after the study)")
        if name in later
        else it
        for name, it in claims.items()
    }


def say_rules(description: Mapping[str, Any], today: Mapping[str, str], num_later: int = 0) -> str:
    """Which rules the verdicts follow, and whether a study was begun with them.

    So many claims are not those that it was begun with, which have kept their rules.
    """
    if not today:
        return ""
    begun, started = description.get("rules"), _say_start(description)
    if not begun:
        told = "The study does not say by which rules it was begun"
        return f"{told}{started}; verdicts follow those of {_name(today)}."
    if num_later or begun["sha256"] == today["sha256"]:
        which = f"all claims but {num_later}" if num_later else "all claims"
        told = f"The rules of {which} were fixed in {_name(begun)}, before the study was begun"
        added = "; the others, which say so, were added after it" if num_later else ""
        return f"{told}{started}, and have not changed since{added}."
    return (
        f"The rules of claims have changed since the study was begun{started}: then they were "
        f"those of {_name(begun)}, and verdicts follow today's, of {_name(today)}."
    )


def _say_start(description: Mapping[str, Any]) -> str:
    day = str(description.get("started", "")).partition("T")[0]
    commit = f" by commit {it}" if (it := description.get("commit")) else ""
    return f" on {day}{commit}" if day else commit


def _name(rules: Mapping[str, str]) -> str:
    digest = rules["sha256"][:12]
    if not rules["commit"]:
        return f"the version with the hash {digest}"
    return f"commit {rules['commit']} (hash {digest})"


def _follow(claim: Claim) -> set[str]:
    """The modules of a claim's judge, and those of its package that they import."""
    start = claim.judge.__module__
    package = start.partition(".")[0]
    root = _EXPERIMENTS if package == _EXPERIMENTS.partition(".")[0] else package
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in found or not (name == root or name.startswith(f"{root}.")):
            continue
        found.add(name)
        waiting += _list_imports(name)
    return found


def _list_imports(name: str) -> tuple[str, ...]:
    file = _find_file(name)
    return _read_imports(Path(file).read_text(encoding="utf-8")) if file else ()


@functools.cache
def _read_imports(source: str) -> tuple[str, ...]:
    """What a module imports, by its text: some claims share modules, and pages are many."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(found)


def _find_file(name: str) -> str | None:
    """Where a module is; None of what is no module, or has no source."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return found.origin if found and found.has_location else None
