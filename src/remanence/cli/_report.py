"""`remanence report`: what a study found, as one page."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from remanence.cli._command import OPTIONAL, Command, print_text


@dataclasses.dataclass(frozen=True)
class Report(Command):
    """Write what a study or a run has found as one HTML file, which needs no network to open.

    It begins with a summary, and holds all figures, claims beside what was found if the study has
    claims, certificates, what was run and with which versions. Figures are also written as PNG and
    SVG into `figures` beside it, and claims as a table in Markdown to `claims.md`. What is missing
    or broken is named, and the rest is reported.

    Example: remanence report studies/laptop
    """

    study: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="STUDY|RUN")]
    """The directory of a study or of a run."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Where to write; report.html in that directory if not given."""
    json: bool = False
    """Print one JSON object with the findings instead of words."""

    def run(self, console: Console) -> None:
        from remanence.report import write_report  # brings matplotlib, which is slow

        written = write_report(self.study, self.out)
        if self.json:
            findings = {
                name: {"ours": finding.ours, "verdict": finding.verdict, "sure": finding.sure}
                for name, finding in written.findings.items()
            }
            found = {"out": str(written.path), "summary": written.summary, "findings": findings}
            print(json.dumps({**found, "problems": written.problems}))
            return
        for sentence in written.summary:
            console.print(sentence, highlight=False, markup=False)
        for problem in written.problems:
            console.print(f"missing: {problem}", style="yellow", highlight=False, markup=False)
        print_text(console, f"\nThe page is {written.path}; open it in a browser.")
