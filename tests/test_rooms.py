"""Imports between rooms point down the list of rooms, and never into a room's private modules."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "remanence"

LINES = (
    ("cli",),
    ("papers",),
    ("report", "explorer", "checker"),
    ("study", "figures"),
    ("training",),
    ("evaluation",),
    ("certificates",),
    ("networks", "dynamics"),
    ("cells", "envs", "store", "portable"),
    (
        "errors",
        "_typing",
        "_keys",
        "_words",
        "_numbers",
        "_plugins",
        "_registry",
        "_gymnasium_plugin",
    ),
)
DEPTHS = {room: depth for depth, line in enumerate(LINES) for room in line}
VOCABULARY = LINES[-1]
ROOMS = [folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()]


def find_breaches(path: str, source: str) -> list[str]:
    """What a file, at `path` inside the package, imports and should not."""
    # What plugs in is named by users and by installed packages, and not here.
    if path in ("__init__.py", "__main__.py", "_plugins.py"):
        return []
    room = path.split("/")[0].removesuffix(".py")
    if room not in DEPTHS:
        return [f"{path}: {room!r} is on no line of the list of rooms"]
    imports = find_imports(ast.parse(source), package=["remanence", *path.split("/")[:-1]])
    reasons = [(line, target, judge(room, target)) for line, target in imports]
    return [f"{path}:{line}: {target} {reason}" for line, target, reason in reasons if reason]


def judge(room: str, target: str) -> str | None:
    """Why `room` may not import `target`, or None if it may."""
    root, _, inside = target.partition(".")
    if root != "remanence":
        return "cannot be checked; name the module" if root == "?" else None
    if inside.startswith("__"):
        return None
    other, *modules = inside.split(".")
    if other not in DEPTHS:
        return "is on no line of the list of rooms"
    if other == room or (other in VOCABULARY and room in VOCABULARY):
        return None
    if DEPTHS[other] < DEPTHS[room]:
        return f"is above {room}"
    if DEPTHS[other] == DEPTHS[room]:
        return f"is beside {room}"
    if any(module.startswith("_") and not module.startswith("__") for module in modules):
        return f"is private to {other}"
    return None


def find_imports(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and dotted target of every import, wherever in the file it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else []
                base = [*base, *(module.split(".") if module else [])]
                yield from ((node.lineno, ".".join([*base, alias.name])) for alias in names)
            case (
                ast.Call(func=ast.Name(id="import_module" | "__import__"))
                | ast.Call(func=ast.Attribute(attr="import_module"))
            ):
                yield node.lineno, read_target(node)


def read_target(call: ast.Call) -> str:
    """What a call imports, as far as it is written out; "?" where it isn't."""
    match call.args:
        case [ast.Constant(value=str(target)), *_]:
            return target
        case [ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]), *_]:
            # Only the room has to be certain; `f"remanence.{name}"` leaves it open.
            return start + "*" if start.count(".") > 1 or "remanence" not in start else "?"
    return "?"


def test_rooms_import_downwards():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 10
    breaches = [
        breach
        for file in files
        for breach in find_breaches(
            file.relative_to(SOURCE).as_posix(), file.read_text(encoding="utf-8")
        )
    ]
    assert not breaches, "\n".join(breaches)


def test_the_checker_imports_numpy_and_nothing_of_ours():
    for file in sorted((SOURCE / "checker").glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        inside = [*("remanence", "checker")]
        for line, target in find_imports(tree, package=inside):
            root = target.split(".")[0]
            ours = target.startswith("remanence.checker.")
            known = root in ("numpy", *sys.stdlib_module_names)
            assert ours or known, f"{file.name}:{line} imports {target}"


@pytest.mark.parametrize("room", ["figures", "report"])
def test_what_any_experiment_uses_names_none(room):
    for file in list_files(room):
        named = re.findall(r"(?i)t[-_ ]?maze|lookup.?tree|\bmazes?\b", read(file))
        assert not named, f"{file} names {named}"


# The checker verifies certificates, and those are of this one task.
ABOUT_THE_T_MAZE = ("cli", "papers", "envs", "certificates", "checker")


@pytest.mark.parametrize("room", ["", *sorted({*ROOMS} - {*ABOUT_THE_T_MAZE})])
def test_only_its_own_rooms_name_the_t_maze(room):
    """Not even in an example; "" is for the modules above all rooms."""
    files = list_files(room)
    assert files
    for file in files:
        named = re.findall(r"(?i)t[-_ ]?maze", read(file))
        assert not named, f"{file} names {named}"


def list_files(room: str) -> list[Path]:
    """The files of a room, Python or not."""
    found = sorted((SOURCE / room).rglob("*") if room else SOURCE.glob("*"))
    return [file for file in found if file.is_file() and file.suffix != ".pyc"]


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def test_nothing_but_the_command_line_imports_the_checker():
    for file in SOURCE.rglob("*.py"):
        room = file.relative_to(SOURCE).parts[0]
        if room in ("checker", "cli"):
            continue
        imports = find_imports(ast.parse(file.read_text(encoding="utf-8")), ["remanence", room])
        named = [target for _, target in imports if target.startswith("remanence.checker")]
        assert file.name == "__init__.py" or not named, f"{file} imports {named}"


@pytest.mark.parametrize(
    ("path", "source", "reason"),
    [
        ("cells/_gru.py", "from remanence.training import train", "is above cells"),
        ("cells/_gru.py", "import remanence.cli", "is above cells"),
        ("cells/_gru.py", "import numpy, remanence.cli.main as main", "is above cells"),
        ("cells/_gru.py", "from remanence import cli", "is above cells"),
        ("cells/_gru.py", "from remanence import errors, cli as c", "is above cells"),
        ("cells/_gru.py", "from .. import networks", "is above cells"),
        ("cells/_gru.py", "from ..networks import Network", "is above cells"),
        ("cells/deep/_gru.py", "from ...networks import Network", "is above cells"),
        ("cells/__init__.py", "from ..networks import Network", "is above cells"),
        ("errors.py", "from .cells import GRU", "is above errors"),
        ("_gymnasium_plugin.py", "from remanence.envs import make", "is above _gymnasium_plugin"),
        ("cells/_gru.py", "def f():\n    from remanence.study import run", "is above cells"),
        (
            "dynamics/_orbits.py",
            "if TYPE_CHECKING:\n    from remanence.training import Config",
            "is above dynamics",
        ),
        ("cells/_gru.py", "try:\n    import remanence.cli\nexcept ImportError: ...", "is above"),
        ("cells/_gru.py", "from remanence.envs import TMaze", "is beside cells"),
        ("figures/_returns.py", "from remanence.study import run", "is beside figures"),
        ("networks.py", "import remanence.dynamics", "is beside networks"),
        ("networks/_network.py", "from remanence.cells._gru import GRU", "private to cells"),
        ("networks/_network.py", "from remanence.cells import _gru", "private to cells"),
        ("networks/_network.py", "import remanence.cells._gru as gru", "private to cells"),
        ("networks/_network.py", "from ..cells._gru import GRU", "private to cells"),
        ("helpers.py", "import numpy", "'helpers' is on no line"),
        ("cells/_gru.py", "from remanence.helpers import clip", "on no line"),
        ("cells/_gru.py", "import remanence", "on no line"),
        ("cells/_gru.py", "from remanence import *", "on no line"),
        ("cells/_gru.py", "importlib.import_module('remanence.cli')", "is above cells"),
        ("cells/_gru.py", "import_module(f'remanence.cli.{name}')", "is above cells"),
        ("cells/_gru.py", "import_module(f'remanence.{name}')", "cannot be checked"),
        ("cells/_gru.py", "__import__(name)", "cannot be checked"),
    ],
)
def test_breach_is_found(path: str, source: str, reason: str):
    [breach] = find_breaches(path, source)
    assert reason in breach


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("cli/_main.py", "from remanence import cells, envs, errors\nimport remanence.training"),
        ("cli/_main.py", "from remanence import __version__"),
        ("networks/_network.py", "from remanence.cells import AbstractCell, make"),
        ("networks/_network.py", "from ..cells import GRU\nfrom . import _heads"),
        ("cells/_gru.py", "from remanence.cells._cell import AbstractCell"),
        ("cells/_gru.py", "from ._cell import AbstractCell\nfrom .._keys import derive_key"),
        ("cells/_gru.py", "from remanence._typing import Key\nimport remanence.errors"),
        ("cells/_gru.py", "import remanence_plus\nimport jax, numpy\nfrom cli import main"),
        ("envs/__init__.py", "importlib.import_module(f'remanence.envs.{name}')"),
        ("cells/_gru.py", "importlib.import_module('gymnax')"),
        ("_registry.py", "from remanence.errors import InvalidOptionError"),
        ("__init__.py", "import importlib\nfrom remanence import cells, cli"),
        ("cells/_gru.py", "# from remanence import cli\ntext = 'import remanence.cli'"),
    ],
)
def test_allowed_import_is_not_found(path: str, source: str):
    assert find_breaches(path, source) == []
