"""`remanence check`: whether a certificate is true, by a checker that trusts nothing of ours."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from remanence import checker, envs
from remanence.certificates import BUDGET, find_compiled
from remanence.cli._command import Command
from remanence.errors import InvalidOptionError, StoreError
from remanence.networks import Agent
from remanence.store import open_pack
from remanence.study import CERTIFICATE_FOLDERS
from remanence.training import AGENT_FOLDER

WORST_FIRST = (1, 2, 3)  # refuted, cannot be read, not verified


@dataclasses.dataclass(frozen=True)
class Check(Command):
    """Verify certificates from agents' weights, without trusting what made them.

    What a certificate says of the portable program, and of the network however numbers are rounded,
    is verified completely, for all lengths or all sequences of mazes. What it says of a compiled
    program can only be seen by running that program, which --rerun does.

    The exit code is 0 if everything is verified, 1 if something is refuted, 2 if a file cannot be
    read, and 3 if nothing is refuted but something is not verified.

    Example: remanence check runs/gru/certificates/seed-1.json
    """

    certificate: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CERTIFICATE")]
    """The certificate, such as RUN/certificates/seed-1.json, or a run with all of its own."""
    agent: Annotated[
        tyro.conf.Positional[Path | None],
        tyro.conf.arg(metavar="AGENT", help_behavior_hint=""),
    ] = None
    """The agent's weights, RUN/agents/seed-1.safetensors if not given."""
    rerun: bool = False
    """Also compile the program on this machine, and run it until its memory repeats."""
    json: bool = False
    """Print all statements as one JSON object."""

    def run(self, console: Console) -> None:
        pairs = self._pair()
        codes = []
        for certificate, agent in pairs:
            rerun = functools.partial(_rerun, agent) if self.rerun else None
            with Console(stderr=True).status("Checking every statement"):
                outcome = checker.examine(certificate, agent, self.json, rerun)
            if len(pairs) > 1 and not self.json:
                # In an archive, certificates are unpacked elsewhere.
                name = self.certificate / certificate.parent.name / certificate.name
                console.print(f"[bold]{name}[/bold]", highlight=False, soft_wrap=True)
            outcome.print()  # the checker prints for itself, as it does on its own
            codes.append(outcome.exit_code)
        raise SystemExit(next((code for code in WORST_FIRST if code in codes), 0))

    def _pair(self) -> list[tuple[Path, Path]]:
        """Each certificate with the weights that it is about."""
        if not self.certificate.is_dir():
            return [(self.certificate, self.agent or _find_agent(self.certificate))]
        roots = filter(None, (self.certificate, open_pack(self.certificate)))
        folders = (root / name for root in roots for name in CERTIFICATE_FOLDERS)
        found = sorted(file for folder in folders for file in folder.glob("seed-*.json"))
        if not found:
            remedy = "make some with `remanence certify`"
            raise StoreError(self.certificate, "this run has no certificates", remedy)
        if self.agent is not None:
            remedy = "leave it out: the agents are those of the run"
            raise InvalidOptionError("AGENT", str(self.agent), remedy)
        return [(file, _find_agent(file)) for file in found]


def _find_agent(certificate: Path) -> Path:
    """The agent of a certificate's run that has its name."""
    run = certificate.absolute().parent.parent
    return run / AGENT_FOLDER / certificate.with_suffix(".safetensors").name


def _rerun(agent: Path, environment: Mapping[str, Any], budget: int | None) -> Mapping[str, Any]:
    env = envs.make(**environment)
    return find_compiled(Agent.load(agent), env, budget=budget or BUDGET).to_json()
