"""`remanence check`: whether a certificate is true, by a checker that trusts nothing of ours."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from remanence import checker, envs
from remanence.certificates import BUDGET, find_compiled
from remanence.cli._command import Command
from remanence.networks import Agent


@dataclasses.dataclass(frozen=True)
class Check(Command):
    """Verify a certificate from an agent's weights, without trusting what made it.

    What a certificate says of the portable program, and of the network however numbers are rounded,
    is verified completely, for all lengths. What it says of a compiled program can only be seen by
    running that program, which --rerun does.

    The exit code is 0 if everything is verified, 1 if something is refuted, 2 if a file cannot be
    read, and 3 if nothing is refuted but something is not verified.

    Example: remanence check runs/gru/certificates/seed-1.json runs/gru/agents/seed-1.safetensors
    """

    certificate: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CERTIFICATE")]
    """The certificate, such as RUN/certificates/seed-1.json."""
    agent: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="AGENT")]
    """The agent's weights, such as RUN/agents/seed-1.safetensors."""
    rerun: bool = False
    """Also compile the program on this machine, and run it until its memory repeats."""
    json: bool = False
    """Print all statements as one JSON object."""

    def run(self, console: Console) -> None:
        del console  # the checker prints for itself, as it does on its own
        rerun = self._rerun if self.rerun else None
        with Console(stderr=True).status("Checking every statement"):
            outcome = checker.examine(self.certificate, self.agent, self.json, rerun)
        outcome.print()
        raise SystemExit(outcome.exit_code)

    def _rerun(self, environment: Mapping[str, Any], budget: int | None) -> Mapping[str, Any]:
        agent, env = Agent.load(self.agent), envs.make(**environment)
        return find_compiled(agent, env, budget=budget or BUDGET).to_json()
