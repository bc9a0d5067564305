"""What commands print in our documents is made by those commands.

A fenced block of kind `console` holds commands (`$ remanence ...`), each followed by what it
prints. Commands of one document run in their order, in a directory that holds a copy of
`examples`; those in a comment (`<!-- $ remanence ... -->`) run too, and show nothing.

    python -m tests.documents --into DIRECTORY       writes documents with what they print now there
    python -m tests.documents --rewrite [FILE ...]   writes that into the files
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "docs/cluster.md",
    "docs/commands.md",
    "docs/library.md",
    "docs/certificates.md",
    "examples/agents/README.md",
)
# Where they were made. A program that is compiled elsewhere may settle some steps earlier or later.
MADE_ON = ("0.10.2", "cpu", "AMD EPYC")

_FENCE = re.compile(r"^```console\n(.*?)^```$|^<!-- (\$ remanence .*?) -->$", re.DOTALL | re.M)
_PROMPT = "$ remanence "


def list_commands(text: str) -> list[str]:
    """Every command of a document, whether its output is shown or not."""
    blocks = [shown or hidden for shown, hidden in _FENCE.findall(text)]
    return [line for block in blocks for line in block.splitlines() if line.startswith(_PROMPT)]


def renew(text: str) -> str:
    """The document with what its commands print now."""

    def run(found: re.Match[str]) -> str:
        shown, hidden = found.groups()
        lines = [line for line in (shown or hidden).splitlines() if line.startswith(_PROMPT)]
        printed = "\n".join(f"{line}\n{_run(line)}" for line in lines)
        return found[0] if hidden else f"```console\n{printed}```"

    with _enter_directory():
        return _FENCE.sub(run, text)


def mask(text: str) -> str:
    """The document without what may differ on other machines: digits, and the program's name."""
    text = re.sub(r"^(The compiled program: ).*$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"\d+", "#", text)


def _run(line: str) -> str:
    """What a command prints on a screen of 80 columns, errors left out."""
    from remanence.cli import main

    printed = io.StringIO()
    # Some commands end with a code that says something, such as that all is verified.
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main(shlex.split(line.removeprefix(_PROMPT)))
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


@contextlib.contextmanager
def _enter_directory() -> Iterator[None]:
    os.environ.update(COLUMNS="80", NO_COLOR="1")
    with tempfile.TemporaryDirectory() as directory:
        found_out = shutil.ignore_patterns("certificates*", "evaluation*", "[os]*.parquet")
        shutil.copytree(ROOT / "examples", Path(directory) / "examples", ignore=found_out)
        with contextlib.chdir(directory):
            yield


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="*", default=DOCUMENTS)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--rewrite", dest="into", action="store_const", const=ROOT)
    where.add_argument("--into", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    asked = _parse_arguments()
    for name in asked.documents:
        old = (ROOT / name).read_text(encoding="utf-8")
        new = renew(old) if list_commands(old) else old
        path = asked.into / name
        if not path.exists() or new != old:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
            print(f"written: {path}")
