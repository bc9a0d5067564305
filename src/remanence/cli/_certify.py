"""`remanence certify`: whether the memory of trained agents lasts, for all lengths there are."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from remanence.certificates import BUDGET, Certificate, explain, headline
from remanence.cli._agents import open_agents
from remanence.cli._command import OPTIONAL, Command
from remanence.cli._limits import tell_limits
from remanence.cli._progress import show_count
from remanence.cli._radii import tell_radii
from remanence.study import certify_agents
from remanence.training import keep_compiled_programs

MOST_TOLD = 2


@dataclasses.dataclass(frozen=True)
class Certify(Command):
    """Settle how trained agents do on every length of the T-maze, not just on some.

    Writes a certificate for each seed, RUN/certificates/seed-N.json, and a table of them,
    RUN/certificates.parquet. A certificate says what the compiled program does on this machine,
    what the portable program does, whose bits are the same on every machine, and what is proved of
    the network however numbers are rounded. `remanence check` verifies it from the agent's weights,
    by a checker that shares no code with what made it.

    Example: remanence certify runs/gru --seeds 1-6
    """

    run_: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run's directory, or the file of one agent."""
    seeds: Annotated[str | None, OPTIONAL] = None
    """Only these seeds of the run, such as 1-6 or 1,4,7."""
    budget: int = BUDGET
    """Follow a memory for at most so many steps; what that does not settle is "undecided"."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Write certificates to this directory, and no table; RUN/certificates if not given."""
    sampled: bool = False
    """Instead, what agents that sample come to in corridors without end: sampled_limits.parquet."""
    radius: bool = False
    """Instead, how much disturbance of observations they survive for ever: RUN/radii."""
    json: bool = False
    """Print one JSON object instead of words."""

    def run(self, console: Console) -> None:
        keep_compiled_programs()
        group = open_agents(self.run_, self.seeds)
        if self.sampled:
            tell_limits(group, console, self.json)
            return
        if self.radius:
            tell_radii(group, console, self.json)
            return
        with show_count("certifying") as show:
            certificates = certify_agents(group, budget=self.budget, out=self.out, on_agent=show)
        out = self.out or group.records.path / "certificates"
        if self.json:
            made = {str(seed): certificate.to_json() for seed, certificate in certificates.items()}
            print(json.dumps({"out": str(out), "certificates": made}, allow_nan=False))
        elif len(certificates) <= MOST_TOLD:
            for seed, certificate in certificates.items():
                _tell(console, seed, certificate)
        else:
            _tabulate(console, certificates)
        if not self.json:
            console.print(f"Written to {out}.", highlight=False)


def _tell(console: Console, seed: int, certificate: Certificate) -> None:
    """One agent, in words."""
    architecture = certificate.agent["architecture"]
    console.print(f"[bold]seed {seed}[/bold], {architecture['cell']} in a T-maze", highlight=False)
    console.print(Padding(f"[bold]{headline(certificate)}[/bold]", (0, 2)), highlight=False)
    for sentence in explain(certificate):
        console.print(Padding(sentence, (0, 2)), highlight=False)
    console.print()


def _tabulate(console: Console, certificates: dict[int, Certificate]) -> None:
    """Many agents, a line each."""
    table = Table(box=None, pad_edge=False)
    table.add_column("seed", justify="right")
    table.add_column("right arm on")
    table.add_column("no wasted step on")
    table.add_column("fails first")
    table.add_column("any rounding")
    for seed, certificate in certificates.items():
        solved, optimal = certificate.compiled.solved, certificate.compiled.optimal
        failure = solved.failure
        table.add_row(
            str(seed),
            str(solved.lengths or "undecided"),
            str(optimal.lengths or "undecided"),
            f"{failure.kind} at {failure.length:,}" if failure else "",
            "not proved" if certificate.contraction.optimal is None else "proved",
        )
    console.print(table)
    forever = sum(c.compiled.solved.verdict == "every length" for c in certificates.values())
    undecided = sum(c.compiled.solved.verdict == "undecided" for c in certificates.values())
    console.print(
        f"\n{forever} of {len(certificates)} act right at every length there is, "
        f"{undecided} are undecided.",
        highlight=False,
    )
