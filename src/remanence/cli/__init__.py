"""The command line: the only room that parses arguments and prints."""

import dataclasses
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any, Union

import tyro
from rich.console import Console

from remanence import __version__
from remanence.cli._command_line import CommandLine
from remanence.errors import RemanenceError

if TYPE_CHECKING:
    from remanence.cli._command import Command

# The modules that they are in: only the one that runs is imported, for most bring JAX with them.
COMMANDS = {
    "train": "_train",
    "evaluate": "_evaluate",
    "certify": "_certify",
    "check": "_check",
    "reproduce": "_reproduce",
    "status": "_status",
    "cancel": "_slurm",
    "results": "_results",
    "report": "_report",
    "compare": "_compare",
    "archive": "_archive",
    "play": "_play",
    "networks": "_networks",
}
# Shorter ways to say it, which are not listed beside what they stand for.
ALIASES = {"demo": ["play", "--agent", "all"]}


def main(arguments: list[str] | None = None) -> None:
    """Run `remanence` with the given arguments, or those of the process."""
    program, *given = sys.argv if arguments is None else [sys.argv[0], *arguments]
    try:
        _run(CommandLine(program, tuple(given)))
    except RemanenceError as error:
        Console(stderr=True).print(f"error: {error}", style="red", highlight=False, markup=False)
        sys.exit(2)
    except BrokenPipeError:  # who read our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except KeyboardInterrupt:
        Console(stderr=True).print("Stopped.")
        sys.exit(130)


def _run(typed: CommandLine) -> None:
    try:
        if typed.arguments == ("--version",):
            print(f"remanence {__version__}")
        else:
            _parse(_expand(list(typed.arguments)), typed).execute(Console())
    finally:
        # What is still to be written, such as a short --help, is written while errors are caught.
        sys.stdout.flush()


def find_command(name: str) -> "type[Command]":
    """The class of a command."""
    module = importlib.import_module(f"remanence.cli.{COMMANDS[name]}")
    return getattr(module, name.title())


def _expand(arguments: list[str]) -> list[str]:
    """The arguments, with what an alias stands for in its place."""
    if arguments and arguments[0] in ALIASES:
        return [*ALIASES[arguments[0]], *arguments[1:]]
    return arguments


def _parse(arguments: list[str], typed: CommandLine) -> "Command":
    return dataclasses.replace(_parse_options(arguments), typed=typed)


def _parse_options(arguments: list[str]) -> "Command":
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)
    if arguments and arguments[0] in COMMANDS:
        name, *rest = arguments
        return tyro.cli(find_command(name), prog=f"remanence {name}", config=config, args=rest)
    return tyro.cli(
        _list_commands(),
        prog="remanence",
        config=config,
        description="Tells whether an agent's memory lasts. Every command has a --help of its "
        "own. `remanence --version` prints the version.",
        args=arguments,
    )


def _list_commands() -> Any:
    """All commands as one type, each described by one sentence."""
    kinds = []
    for name in COMMANDS:
        kind = find_command(name)
        sentence = (kind.__doc__ or "").partition("\n")[0]
        kinds.append(Annotated[kind, tyro.conf.subcommand(name, description=sentence)])
    # pyrefly: ignore[invalid-annotation]
    return Union[tuple(kinds)]  # noqa: UP007  made of what a dictionary holds
