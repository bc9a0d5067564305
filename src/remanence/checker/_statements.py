"""What is said of a statement: verified, refuted, not reproduced, not checked, or left open.

Not reproduced is what another program or arithmetic may be right about; what a certificate leaves
open needs no check.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from . import _lengths

VERIFIED, REFUTED = "verified", "refuted"
NOT_REPRODUCED, NOT_CHECKED, OPEN = "not reproduced", "not checked", "open"
CUES = {-1: "up", 1: "down"}
_ANSWERS = {True: "yes", False: "no", None: "undecided"}
CHECKED = {VERIFIED: 0, REFUTED: 1, NOT_REPRODUCED: 3, NOT_CHECKED: 3}


@dataclasses.dataclass(frozen=True)
class Statement:
    """One thing that a certificate says: of what, in words, what came of it, and why.

    >>> from remanence import checker
    >>> statement = checker.Statement("portable", "merge", "the memories are the same", "verified")
    >>> checker.CHECKED[statement.status], statement.note
    (0, None)
    """

    part: str
    name: str
    says: str
    status: str
    note: str | None = None


@dataclasses.dataclass(frozen=True)
class Judgement:
    """All statements of a certificate, and what is worth knowing of it."""

    format: int
    environment: Mapping[str, Any]
    architecture: Mapping[str, Any]
    program: Mapping[str, Any] | None
    statements: tuple[Statement, ...]
    kind: str = "certificate"

    @property
    def verdict(self) -> str:
        """ "refuted" if anything is, "verified" if everything is, else "not reproduced"."""
        found = {statement.status for statement in self.statements} - {OPEN}
        return REFUTED if REFUTED in found else VERIFIED if found == {VERIFIED} else NOT_REPRODUCED

    @property
    def exit_code(self) -> int:
        """0, 1 or 3."""
        return CHECKED[self.verdict]


def judge(part: str, name: str, says: str, holds: bool, note: str | None = None) -> Statement:
    """A statement that is verified or refuted."""
    return Statement(part, name, says, VERIFIED if holds else REFUTED, note)


def to_json(judgement: Judgement) -> dict[str, Any]:
    """A judgement as data."""
    return {
        "verdict": judgement.verdict,
        "format": judgement.format,
        "environment": dict(judgement.environment),
        "program": judgement.program,
        "statements": [dataclasses.asdict(statement) for statement in judgement.statements],
    }


def describe_claims(claims: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Name, words and value of every statement about a program, as far as they are made."""
    budget = claims.get("budget")
    within = "" if budget is None else f" within {budget:,} steps"
    yield "solved", f"right arm in time: {_lengths.describe(claims['solved'])}", claims["solved"]
    yield "optimal", f"no wasted step: {_lengths.describe(claims['optimal'])}", claims["optimal"]
    for name, title in (("solved", "fails first"), ("optimal", "wastes first")):
        failure, decided = claims["failures"][name], claims[name] is not None
        told = _describe_failure(failure) if failure else "nowhere" if decided else "undecided"
        yield f"failures.{name}", f"{title}: {told}", failure
    for cue in claims["cues"]:
        told = _describe_orbit(cue, within)
        yield f"cues.{cue['cue']}", f"memory of cue {CUES[cue['cue']]}: {told}", cue
    merge, distance = claims["merge"], claims["distance"]
    closed = all(cue["period"] is not None for cue in claims["cues"])
    never = "never" if closed else f"not{within}"
    met = never if merge is None else f"from step {merge:,} on"
    yield "merge", f"the memories are the same: {met}", merge
    apart = f"undecided{within}" if distance is None else f"{distance:.3g} apart"
    yield "distance", f"the memories end: {apart}", distance
    for name in ("compatible", "separating"):
        if name in claims:
            yield name, f"{name}: {_describe_condition(claims[name])}", claims[name]
    for name, holds in claims.get("multistability", {}).items():
        yield f"multistability.{name}", f"{name.replace('_', ' ')}: {_ANSWERS[holds]}", holds


def _describe_failure(failure: Mapping[str, Any]) -> str:
    step = f", step {failure['num_steps']:,}" if failure.get("num_steps") else ""
    return f"length {failure['length']:,}, cue {CUES[failure['cue']]}: {failure['kind']}{step}"


def _describe_orbit(cue: Mapping[str, Any], within: str) -> str:
    if cue["transient"] is None:
        return f"has not repeated itself{within}"
    return f"repeats from step {cue['transient']:,}, period {cue['period']:,}"


def _describe_condition(condition: Mapping[str, Any]) -> str:
    witness = condition["witness"]
    if witness is None:
        return _ANSWERS[condition["holds"]]
    return f"no (cue {CUES[witness['cue']]}, step {witness['num_steps']:,})"
