"""The command line, and a report on one screen."""

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ._check import NOT_CHECKED, REFUTED, VERIFIED, Report, Rerun, Statement, check, to_json
from ._fields import CertificateError

CANNOT_READ = 2
WIDTH = 80
PARTS = {
    "agent": "The agent",
    "contraction": "The network, whatever does the rounding (proof by contraction)",
    "portable": "The portable program: the same bits on every machine",
    "compiled": "The compiled program",
}
VERDICTS = {
    "verified": "VERIFIED: everything that the certificate says, in these senses.",
    "refuted": "REFUTED: the certificate says what is not so.",
    "not reproduced": "NOT ALL VERIFIED: nothing is refuted, and what is not verified is marked.",
}


def main(arguments: Sequence[str] | None = None, rerun: Rerun | None = None) -> int:
    """Check a certificate and return the exit code.

    0 if all of it is verified, 1 if something is refuted, 2 if it cannot be read, and 3 if nothing
    is refuted and something is not verified.
    """
    parser = argparse.ArgumentParser(prog="checker", description=__doc__)
    parser.add_argument("certificate", type=Path, help="what `remanence certify` wrote")
    parser.add_argument("agent", type=Path, help="the agent's weights, a safetensors file")
    parser.add_argument("--json", action="store_true", help="print all statements as JSON")
    options = parser.parse_args(arguments)
    return run(options.certificate, options.agent, options.json, rerun)


def run(certificate: Path, agent: Path, as_json: bool, rerun: Rerun | None = None) -> int:
    """The same for paths."""
    try:
        report = check(certificate, agent, rerun)
    except CertificateError as error:
        if as_json:
            print(json.dumps({"verdict": "cannot be read", "problem": str(error)}))
        print(f"cannot be checked: {error}", file=sys.stderr)
        return CANNOT_READ
    print(json.dumps(to_json(report)) if as_json else describe(report, rerun is not None))
    return report.exit_code


def describe(report: Report, rerun: bool = False) -> str:
    """A report on one screen of 80 columns."""
    factor = report.environment["time_limit_factor"]
    limit = "no time limit" if factor is None else f"a time limit of {factor} steps per cell"
    lines = [f"A certificate of format {report.format}, for the T-maze with {limit}"]
    if report.format == 1:
        lines.append("(an old format, which does not name the program that it speaks of)")
    for part, statements in itertools.groupby(report.statements, lambda found: found.part):
        lines += ["", PARTS[part] + _name_program(report, part)]
        lines += _list_statements(list(statements), rerun)
    return "\n".join([*lines, "", VERDICTS[report.verdict]])


def _name_program(report: Report, part: str) -> str:
    if part != "compiled" or report.program is None:
        return ""
    name = report.program
    return f": jaxlib {name['jaxlib']}, {name['backend']}, {name['processor']}"[: WIDTH - 22]


def _list_statements(statements: list[Statement], rerun: bool) -> list[str]:
    """Each in a line, but those together that nobody looked at."""
    lines = []
    for statement in statements:
        if statement.status != NOT_CHECKED:
            note = f" ({statement.note})" if statement.note else ""
            lines += _fold(statement.status, f"{statement.says}{note}")
    skipped = [statement.name for statement in statements if statement.status == NOT_CHECKED]
    if skipped:
        remedy = "" if rerun else "; `remanence check --rerun` runs this program again"
        lines += _fold(NOT_CHECKED, f"{len(skipped)} statements: {', '.join(skipped)}{remedy}")
    return lines


def _fold(status: str, text: str) -> list[str]:
    mark = {VERIFIED: "yes", REFUTED: "NO"}.get(status, status)
    words, lines, room = text.split(), [f"  {mark:<15}"], WIDTH
    for word in words:
        if len(lines[-1]) + len(word) + 1 > room:
            lines.append(" " * 17)
        lines[-1] += word if lines[-1].endswith("  ") or lines[-1].isspace() else f" {word}"
    return lines
