"""What all commands have in common."""

import abc
import dataclasses
import shlex
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from remanence._plugins import import_code
from remanence.cli._command_line import CommandLine

# For options that may be left out, where what they say tells what happens then.
OPTIONAL = tyro.conf.arg(help_behavior_hint="")


def open_table(*titles: str) -> Table:
    """A plain table; columns whose titles begin with ">" are flush right, as numbers are."""
    table = Table(box=None, pad_edge=False)
    for title in titles:
        name = title.removeprefix(">")
        table.add_column(name, justify="left" if name == title else "right")
    return table


def print_text(console: Console, text: str) -> None:
    """Print a text as it is, with its lines as long as they are: commands in it can be copied."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command(abc.ABC):
    """A command: options as fields, and what it does."""

    imports: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        tyro.conf.arg(name="import", metavar="FILE|MODULE"),
    ] = ()
    """First import this Python file or module, which registers something of your own."""
    typed: tyro.conf.Suppress[CommandLine] = dataclasses.field(default_factory=CommandLine)

    @abc.abstractmethod
    def run(self, console: Console) -> None:
        """Do it, and print what came out."""

    def propose(self, *words: object) -> str:
        """A command to run after this one, with what it has to import, as it can be typed."""
        imports = [word for source in self.imports for word in ("--import", source)]
        return shlex.join([*self.typed.name_program(), *map(str, words), *imports])

    def execute(self, console: Console) -> None:
        """Import what was asked for, and run."""
        for source in self.imports:
            import_code(source)
        self.run(console)
