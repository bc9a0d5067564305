"""`remanence certify`: whether the memory of trained agents lasts, for all that may come."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from remanence.certificates import BUDGET, Certificate, explain, headline
from remanence.certificates.mazes import BUDGET as MAZES_BUDGET
from remanence.certificates.mazes import can_certify_mazes
from remanence.cli._agents import open_agents
from remanence.cli._command import OPTIONAL, Command
from remanence.cli._limits import tell_limits
from remanence.cli._maze_tables import tabulate_mazes, tell_mazes
from remanence.cli._options import parse_numbers
from remanence.cli._progress import show_count
from remanence.cli._radii import tell_radii
from remanence.errors import InvalidOptionError
from remanence.study import AgentGroup, certify_agents, certify_maze_agents
from remanence.training import keep_compiled_programs

MOST_TOLD = 2


@dataclasses.dataclass(frozen=True)
class Certify(Command):
    """Settle how trained agents do on every length of the T-maze, or in every sequence of mazes.

    For agents of the T-maze, writes a certificate for each seed, RUN/certificates/seed-N.json, and
    a table of them, RUN/certificates.parquet. A certificate says what the compiled program does on
    this machine, what the portable program does, whose bits are the same on every machine, and what
    is proved of the network however numbers are rounded.

    For agents of the LookupTreeMaze, writes RUN/maze-certificates/seed-N.json and
    RUN/maze_certificates.parquet, about the portable program: for each table, and for any number of
    mazes, whether a greedy agent is right in all of them, and whether its memory is, led straight
    ahead or however it walks. What is refuted comes with the mazes in which it fails.

    With --radius, writes RUN/radii/seed-N.json and RUN/radii.parquet: how far every number of every
    observation may be off, each step anew, without any harm, and at which size some was done.

    `remanence check` verifies certificates from the agent's weights, by a checker that shares no
    code with what made them.

    Example: remanence certify runs/gru --seeds 1-6
    """

    run_: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run's directory, or the file of one agent."""
    seeds: Annotated[str | None, OPTIONAL] = None
    """Only these seeds of the run, such as 1-6 or 1,4,7."""
    budget: Annotated[int | None, OPTIONAL] = None
    """Follow a memory for at most so many steps (1,000,000 if not given), or look at so many pairs
    of place and memory (100,000); what that does not settle is "undecided"."""
    lengths: Annotated[str | None, OPTIONAL] = None
    """Of mazes in a row: only these lengths, such as 1-3 or 2,4; those trained on if not given."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Write certificates to this directory, and no table; to the run if not given."""
    sampled: bool = False
    """Instead, what agents that sample come to in corridors without end: sampled_limits.parquet."""
    radius: bool = False
    """Instead, how much disturbance of observations they survive for ever: RUN/radii."""
    walk: Annotated[str | None, OPTIONAL] = None
    """With --radius, of mazes in a row: any, straight or greedy; if not given, the first of them
    for which the most tables are certified."""
    json: bool = False
    """Print one JSON object instead of words."""

    def run(self, console: Console) -> None:
        keep_compiled_programs()
        group = open_agents(self.run_, self.seeds)
        self._refuse_what_is_not_used()
        if self.sampled:
            tell_limits(group, console, self.json)
            return
        in_a_row = can_certify_mazes(group.env[0])
        if self.lengths is not None and not in_a_row:
            remedy = "leave it out: on the T-maze a certificate speaks of every length"
            raise InvalidOptionError("lengths", self.lengths, remedy)
        if self.walk is not None and not (self.radius and in_a_row):
            remedy = "leave it out: it is for radii of agents in rows of mazes"
            raise InvalidOptionError("walk", self.walk, remedy)
        if self.radius:
            tell_radii(group, console, self.json, walk=self.walk, lengths=self._read_lengths())
            return
        certificates = self._certify_mazes(group) if in_a_row else self._certify(group)
        folder = "maze-certificates" if in_a_row else "certificates"
        out = self.out or group.records.path / folder
        if self.json:
            made = {str(seed): certificate.to_json() for seed, certificate in certificates.items()}
            print(json.dumps({"out": str(out), "certificates": made}, allow_nan=False))
            return
        tell, tabulate = (tell_mazes, tabulate_mazes) if in_a_row else (_tell, _tabulate)
        if len(certificates) <= MOST_TOLD:
            for seed, certificate in certificates.items():
                tell(console, seed, certificate)
        else:
            tabulate(console, certificates)
        console.print(f"Written to {out}.", highlight=False)

    def _refuse_what_is_not_used(self) -> None:
        """Whoever gives an option expects it to count."""
        idle = {
            "--sampled": ("budget", "lengths", "out", "walk", "radius") if self.sampled else (),
            "--radius": ("budget", "out") if self.radius else (),
        }
        for kind, options in idle.items():
            for option in options:
                if (given := getattr(self, option)) not in (None, False):
                    remedy = f"leave it out: it does not go with {kind}"
                    raise InvalidOptionError(option, given, remedy)

    def _certify(self, group: AgentGroup) -> dict[int, Any]:
        budget = BUDGET if self.budget is None else self.budget
        with show_count("certifying") as show:
            return certify_agents(group, budget=budget, out=self.out, on_agent=show)

    def _certify_mazes(self, group: AgentGroup) -> dict[int, Any]:
        budget = MAZES_BUDGET if self.budget is None else self.budget
        with show_count("certifying, table by table") as show:
            return certify_maze_agents(
                group, lengths=self._read_lengths(), budget=budget, out=self.out, on_agent=show
            )

    def _read_lengths(self) -> list[int] | None:
        return None if self.lengths is None else parse_numbers("lengths", self.lengths, 1)


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
