"""The command line, and a report on one screen."""

import argparse
import dataclasses
import itertools
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from ._check import Rerun, check
from ._fields import CertificateError
from ._maze_check import WAYS
from ._statements import NOT_CHECKED, REFUTED, Judgement, Statement, to_json

CANNOT_READ = 2
WIDTH = 80
THEOREMS = ("compatible", "separating", "multistability")
PARTS = {
    "agent": "The agent",
    "broken": "The portable program, with disturbed observations",
    "radius": "The network, however observations are disturbed and numbers are rounded",
    "survives": "The portable program, however observations are disturbed",
    "contraction": "The network, however numbers are rounded (proof by contraction)",
    "portable": "The portable program: the same bits on every machine",
    "compiled": "The compiled program",
    **{walk: f"For any number of mazes, {way}" for walk, way in WAYS.items()},
}
VERDICTS = {
    "verified": "VERIFIED: everything that the certificate says, in these senses.",
    "refuted": "REFUTED: the certificate says what is not so.",
    "not reproduced": "NOT ALL VERIFIED: nothing is refuted, and what is not verified is marked.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a certificate and return the exit code.

    0 if all of it is verified, 1 if something is refuted, 2 if it cannot be read, and 3 if nothing
    is refuted and something is not verified.

    >>> from remanence import checker
    >>> checker.main(["certificate.json", "agent.safetensors", "--json"])
    {"verdict": "cannot be read", "problem": "certificate.json: No such file or directory"}
    2
    """
    parser = argparse.ArgumentParser(prog="checker", description=__doc__)
    parser.add_argument("certificate", type=Path, help="what `remanence certify` wrote")
    parser.add_argument("agent", type=Path, help="the agent's weights, a safetensors file")
    parser.add_argument("--json", action="store_true", help="print all statements as JSON")
    options = parser.parse_args(arguments)
    return run(options.certificate, options.agent, options.json)


def run(certificate: Path, agent: Path, as_json: bool) -> int:
    """The same for paths.

    >>> from pathlib import Path
    >>> from remanence import checker
    >>> checker.run(Path("certificate.json"), Path("agent.safetensors"), as_json=False)
    2
    """
    outcome = examine(certificate, agent, as_json)
    outcome.print()
    return outcome.exit_code


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a check has to say, on which streams, and its exit code."""

    exit_code: int
    said: str = ""
    complaint: str = ""

    def print(self) -> None:
        """Say it."""
        if self.said:
            print(self.said)
        if self.complaint:
            print(self.complaint, file=sys.stderr)


def examine(certificate: Path, agent: Path, as_json: bool, rerun: Rerun | None = None) -> Outcome:
    """Check a certificate without saying anything yet.

    >>> from pathlib import Path
    >>> from remanence import checker
    >>> outcome = checker.examine(Path("certificate.json"), Path("agent.safetensors"), False)
    >>> outcome.exit_code, outcome.complaint
    (2, 'cannot be checked: certificate.json: No such file or directory')
    """
    try:
        judgement = check(certificate, agent, rerun)
    except CertificateError as error:
        return _complain(str(error), as_json)
    except (MemoryError, OverflowError, RecursionError) as error:
        return _complain(f"it is more than can be looked at here ({error!r})", as_json)
    said = json.dumps(to_json(judgement)) if as_json else describe(judgement, rerun is not None)
    return Outcome(judgement.exit_code, said)


def _complain(problem: str, as_json: bool) -> Outcome:
    said = json.dumps({"verdict": "cannot be read", "problem": problem}) if as_json else ""
    return Outcome(CANNOT_READ, said, f"cannot be checked: {problem}")


def describe(judgement: Judgement, rerun: bool = False) -> str:
    """A report on one screen of 80 columns."""
    lines = _introduce(judgement)
    for part, statements in itertools.groupby(judgement.statements, lambda found: found.part):
        lines += ["", *textwrap.wrap(PARTS[part] + _name_program(judgement, part), WIDTH)]
        lines += _list_statements(list(statements), rerun)
    return "\n".join([*lines, "", VERDICTS[judgement.verdict]])


def _introduce(judgement: Judgement) -> list[str]:
    about, form = judgement.environment, f"A {judgement.kind} of format {judgement.format}"
    if about["name"] != "tmaze":
        lengths = ", ".join(map(str, about["lengths"]))
        plural = "s" if len(about["lengths"]) > 1 else ""
        mazes = f"every sequence of mazes of length{plural} {lengths}"
        tables = f"tables of {about['table_size']} entries, the index {about['index_encoding']}"
        return textwrap.wrap(f"{form}, for {mazes}, {tables}", WIDTH)
    factor = about["time_limit_factor"]
    limit = "no time limit" if factor is None else f"a time limit of {factor} steps per cell"
    is_old = judgement.format == 1 and judgement.kind == "certificate"
    old = "(an old format, which does not name the program that it speaks of)"
    return [f"{form}, for the T-maze with {limit}", *([old] if is_old else [])]


def _name_program(judgement: Judgement, part: str) -> str:
    if part != "compiled" or judgement.program is None:
        return ""
    name = judgement.program
    return f": jaxlib {name['jaxlib']}, {name['backend']}, {name['processor']}"[: WIDTH - 22]


def _list_statements(statements: list[Statement], rerun: bool) -> list[str]:
    """Each in a line; the conditions of the theorems, and what nobody looked at, together."""
    lines = []
    kinds = itertools.groupby(statements, lambda it: (it.status, it.name.split(".")[0] in THEOREMS))
    for (status, theorem), alike in kinds:
        if status == NOT_CHECKED:
            continue
        told = [f"{it.says} ({it.note})" if it.note else it.says for it in alike]
        for text in [f"conditions: {'; '.join(told)}"] if theorem else told:
            lines += _fold(status, text)
    skipped = [it.says.split(":")[0] for it in statements if it.status == NOT_CHECKED]
    if skipped:
        remedy = "" if rerun else " (`remanence check --rerun` runs this program again)"
        lines += _fold(NOT_CHECKED, f"{', '.join(skipped)}{remedy}")
    return lines


def _fold(status: str, text: str) -> list[str]:
    mark = status.upper() if status == REFUTED else status
    indent = " " * 17
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"  {mark:<15}",
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
