"""What was typed: for records, and for commands that are proposed."""

import dataclasses
import shutil
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class CommandLine:
    """The program as it was called, with its arguments."""

    program: str = "remanence"
    arguments: tuple[str, ...] = ()

    def describe(self) -> list[str]:
        """All of it, without where the program lies."""
        return [Path(self.program).name, *self.arguments]

    def name_program(self) -> list[str]:
        """What the program was called as, so that a command can be typed as it is proposed."""
        called = Path(self.program)
        if called.name == "__main__.py":
            return ["python", "-m", "remanence"]
        if called.name != "remanence" or shutil.which("remanence") == str(called):
            return ["remanence"]
        return [str(called)]
