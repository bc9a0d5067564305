"""`remanence certify`: whether the memory of trained agents lasts, for all that may come."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from remanence.certificates import BUDGET
from remanence.certificates.mazes import BUDGET as MAZES_BUDGET
from remanence.certificates.mazes import can_certify_mazes
from remanence.cli._agents import open_agents
from remanence.cli._certified import (
    MOST_TOLD,
    tabulate_certificates,
    tabulate_limits,
    tabulate_mazes,
    tabulate_radii,
    tell_certificate,
    tell_mazes,
)
from remanence.cli._command import OPTIONAL, Command
from remanence.cli._options import parse_numbers
from remanence.cli._progress import show_count
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError
from remanence.study import (
    AgentGroup,
    certify_agents,
    certify_maze_agents,
    find_agent_limits,
    find_agent_radii,
    stages,
)
from remanence.training import keep_compiled_programs


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
        self._refuse_environment(group.env[0])
        in_a_row = can_certify_mazes(group.env[0])
        self._refuse_what_is_not_used(in_a_row)
        if self.sampled:
            self._tell_limits(console, group)
        elif self.radius:
            self._tell_radii(console, group)
        elif in_a_row:
            made = self._certify_mazes(group)
            out = self.out or group.records.path / "maze-certificates"
            self._tell_certificates(console, made, out, tell_mazes, tabulate_mazes)
        else:
            made = self._certify(group)
            out = self.out or group.records.path / "certificates"
            self._tell_certificates(console, made, out, tell_certificate, tabulate_certificates)

    def _refuse_environment(self, environment: AbstractEnvironment) -> None:
        """Not everything can be settled in every environment."""
        certifying = ("radius",) if self.radius else ("certify", "certify-mazes")
        asked = ("limits",) if self.sampled else certifying
        if any(stages[name].supports(environment) for name in asked):
            return
        if self.sampled:
            remedy = "leave it out: limits are for the T-maze without the previous action"
            raise InvalidOptionError("--sampled", True, remedy)
        name = type(environment.unwrapped).__name__
        remedy = (
            f"its agents are of {name}, and certificates are for those of the T-maze and the "
            "LookupTreeMaze; how far others reach, `remanence evaluate` tells"
        )
        raise InvalidOptionError("RUN", str(self.run_), remedy)

    def _refuse_what_is_not_used(self, in_a_row: bool) -> None:
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
        if self.lengths is not None and not in_a_row:
            remedy = "leave it out: on the T-maze a certificate speaks of every length"
            raise InvalidOptionError("lengths", self.lengths, remedy)
        if self.walk is not None and not (self.radius and in_a_row):
            remedy = "leave it out: it is for radii of agents in rows of mazes"
            raise InvalidOptionError("walk", self.walk, remedy)

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

    def _tell_certificates(
        self, console: Console, made: Mapping[int, Any], out: Path, tell: Any, tabulate: Any
    ) -> None:
        if self._print_json("certificates", {seed: it.to_json() for seed, it in made.items()}, out):
            return
        if len(made) <= MOST_TOLD:
            for seed, certificate in made.items():
                tell(console, seed, certificate)
        else:
            tabulate(console, made)
        console.print(f"Written to {out}.", highlight=False)

    def _tell_limits(self, console: Console, group: AgentGroup) -> None:
        with show_count("finding limits") as show:
            found = find_agent_limits(group, on_agent=show)
        out = group.records.path / "sampled_limits.parquet"
        told = {seed: [it._asdict() for it in limits] for seed, limits in found.items()}
        if not self._print_json("limits", told, out):
            tabulate_limits(console, found)
            console.print(f"Written to {out}.", highlight=False)

    def _tell_radii(self, console: Console, group: AgentGroup) -> None:
        with show_count("finding radii") as show:
            found = find_agent_radii(
                group, walk=self.walk, lengths=self._read_lengths(), on_agent=show
            )
        out = group.records.path / "radii"
        if not self._print_json("radii", {seed: it.to_json() for seed, it in found.items()}, out):
            tabulate_radii(console, found)
            console.print(f"Written to {out}; `remanence check` verifies it.", highlight=False)

    def _print_json(self, what: str, told: Mapping[int, Any], out: Path) -> bool:
        """Print what was found as JSON, if that was asked for; returns whether it was."""
        if self.json:
            print(json.dumps({"out": str(out), what: told}, allow_nan=False))
        return self.json

    def _read_lengths(self) -> list[int] | None:
        return None if self.lengths is None else parse_numbers("lengths", self.lengths, 1)
