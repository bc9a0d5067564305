"""`remanence report`: what a study found, as one page."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from remanence.cli._command import Command
from remanence.training import keep_compiled_programs


@dataclasses.dataclass(frozen=True)
class Report(Command):
    """Write what a study found as one HTML file that opens without network.

    It holds what was run, every figure, the paper's claims beside ours, certificates and
    provenance. Figures are also written as PNG and SVG into `figures` beside it, and the claims as
    a table in Markdown to `claims.md`. What is missing or broken in the study is named, and the
    rest is reported.

    Example: remanence report studies/laptop
    """

    study: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="STUDY")]
    """The study's directory."""
    out: Path | None = None
    """Where to write; STUDY/report.html if not given."""
    json: bool = False
    """Print one JSON object with the findings instead of words."""

    def run(self, console: Console) -> None:
        from remanence.report import write_report  # brings matplotlib, which is slow

        keep_compiled_programs()
        written = write_report(self.study, self.out)
        if self.json:
            findings = {
                name: {"ours": finding.ours, "verdict": finding.verdict}
                for name, finding in written.findings.items()
            }
            problems = list(written.problems)
            out = str(written.path)
            print(json.dumps({"out": out, "findings": findings, "problems": problems}))
            return
        for verdict, number in written.count_verdicts().items():
            console.print(f"{number:3} claims: {verdict}", highlight=False)
        for problem in written.problems:
            console.print(f"missing: {problem}", style="yellow", highlight=False, markup=False)
        console.print(f"Written to {written.path}.", highlight=False, markup=False)
