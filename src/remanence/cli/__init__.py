"""The command line: the only room that parses arguments and prints."""

import os
import signal
import sys
from typing import Annotated, Any, Union

import tyro
from rich.console import Console

from remanence import __version__
from remanence.cli._certify import Certify
from remanence.cli._check import Check
from remanence.cli._compare import Compare
from remanence.cli._evaluate import Evaluate
from remanence.cli._networks import Networks
from remanence.cli._play import Play
from remanence.cli._report import Report
from remanence.cli._reproduce import Reproduce
from remanence.cli._results import Results
from remanence.cli._slurm import Cancel
from remanence.cli._status import Status
from remanence.cli._train import Train
from remanence.errors import RemanenceError

COMMANDS = {
    "train": Train,
    "evaluate": Evaluate,
    "certify": Certify,
    "check": Check,
    "reproduce": Reproduce,
    "status": Status,
    "cancel": Cancel,
    "results": Results,
    "report": Report,
    "compare": Compare,
    "play": Play,
    "networks": Networks,
}
# Shorter ways to say it, which are not listed beside what they stand for.
ALIASES = {"demo": ["play", "--agent", "all"]}


def main(arguments: list[str] | None = None) -> None:
    """Run `remanence` with the given arguments, or those of the process."""
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:
        print(f"remanence {__version__}")
        return
    words = [*ALIASES[words[0]], *words[1:]] if words and words[0] in ALIASES else words
    command = tyro.cli(
        _list_commands(brief=not words or words[0] not in COMMANDS),
        prog="remanence",
        config=(tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone),
        description="Tells whether an agent's memory lasts. Every command has a --help of its "
        "own. `remanence --version` prints the version.",
        args=words,
    )
    try:
        command.execute(Console())
    except RemanenceError as error:
        Console(stderr=True).print(f"error: {error}", style="red", highlight=False, markup=False)
        sys.exit(2)
    except BrokenPipeError:  # who read our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except KeyboardInterrupt:
        Console(stderr=True).print("Stopped.")
        sys.exit(130)


def _list_commands(brief: bool) -> Any:
    """All commands as one type, each described in full or, beside the others, by one sentence."""
    described = {
        name: (kind.__doc__ or "").partition("\n")[0] if brief else None
        for name, kind in COMMANDS.items()
    }
    kinds = (
        Annotated[kind, tyro.conf.subcommand(name, description=described[name])]
        for name, kind in COMMANDS.items()
    )
    return Union[tuple(kinds)]  # noqa: UP007  made of what a dictionary holds
