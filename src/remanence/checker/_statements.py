"""What is said of a statement: verified, refuted, not reproduced, not checked, or left open.

Not reproduced is what another program or arithmetic may be right about; what a certificate leaves
open needs no check.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

VERIFIED, REFUTED = "verified", "refuted"
NOT_REPRODUCED, NOT_CHECKED, OPEN = "not reproduced", "not checked", "open"
CHECKED = {VERIFIED: 0, REFUTED: 1, NOT_REPRODUCED: 3, NOT_CHECKED: 3}


@dataclasses.dataclass(frozen=True)
class Statement:
    """One thing that a certificate says: of what, in words, what came of it, and why."""

    part: str
    name: str
    says: str
    status: str
    note: str | None = None


@dataclasses.dataclass(frozen=True)
class Report:
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


def to_json(report: Report) -> dict[str, Any]:
    """A report as data."""
    return {
        "verdict": report.verdict,
        "format": report.format,
        "environment": dict(report.environment),
        "program": report.program,
        "statements": [dataclasses.asdict(statement) for statement in report.statements],
    }
