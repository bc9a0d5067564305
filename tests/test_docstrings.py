"""What docstrings show is true: their examples run, and what is public has one."""

import ast
import doctest
import importlib
import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "remanence"
# Every public function and class of these rooms has an example; a room is added when it has them.
COVERED = (
    *("cells", "networks", "dynamics", "store", "portable"),
    *("envs", "evaluation", "certificates", "certificates.mazes", "training", "study"),
    *("figures", "report", "checker", "errors"),
)
# These take all of a learner's state, which nothing that is public has.
EXEMPT = {"training.RunDirectory.save_checkpoint", "training.RunDirectory.load_checkpoint"}
# What an example need not import.
KNOWN = {"jax": jax, "jnp": jnp, "np": np, "__name__": "__main__"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def find_examples(path: Path) -> Iterator[doctest.DocTest]:
    """The docstrings of a file that have examples.

    They are read from its source: what shape checking wraps, doctest's own finder takes for
    something that was imported. A module's own example knows the module's names, which may be
    private; all others import what they show.
    """
    within = path.relative_to(SOURCE).as_posix()
    for name, node in walk_definitions(ast.parse(path.read_text(encoding="utf-8"))):
        text = ast.get_docstring(node)
        if text and ">>>" in text:
            line = node.body[0].lineno - 1
            known = KNOWN | (vars(import_file(path)) if name == "module" else {})
            yield doctest.DocTestParser().get_doctest(
                text, known, f"{within}:{name}", str(path), line
            )


def import_file(path: Path) -> ModuleType:
    """The module of a file in `src`."""
    return importlib.import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))


def walk_definitions(node: Any, outer: str = "") -> Iterator[tuple[str, Any]]:
    """The module, and every class and function in it, with dotted names."""
    if not outer:
        yield "module", node
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield outer + inner.name, inner
            yield from walk_definitions(inner, f"{outer}{inner.name}.")


EXAMPLES = [example for path in sorted(SOURCE.rglob("*.py")) for example in find_examples(path)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_runs(example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In a directory of its own, so that it may write files under plain names.

    The agents of a clone are there under the path that they have in it.
    """
    agents = "examples/agents"
    if agents in (example.docstring or ""):
        wide = shutil.ignore_patterns("lookup-tree")
        shutil.copytree(ROOT / agents, tmp_path / agents, ignore=wide)
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    failed = runner.run(example, out=report.append).failed
    assert not failed, "".join(report)


def list_shown(thing: Any) -> list[doctest.Example]:
    """The lines of code of a docstring's examples that do run."""
    examples = doctest.DocTestParser().get_examples(thing.__doc__ or "")
    return [example for example in examples if not example.options.get(doctest.SKIP)]


def lacks_example(thing: Any) -> bool:
    """Whether nothing that its docstring shows has a result to check."""
    return not any(example.want for example in list_shown(thing))


def find_uncalled(kind: type) -> list[str]:
    """Public methods, if documented, that neither their own examples nor the class's call."""
    methods = [
        (name, getattr(kind, name))
        for name in vars(kind)
        if not name.startswith("_")
        and callable(getattr(kind, name))
        and not inspect.isclass(getattr(kind, name))
    ]
    return [
        name
        for name, method in methods
        if method.__doc__
        and not any(f".{name}(" in it.source for it in list_shown(kind) + list_shown(method))
    ]


def list_exported(folder: Path) -> list[str]:
    """The names that a folder re-exports."""
    files = [folder / "__init__.py", folder / "_public.py"]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    return [
        alias.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    ]


def list_defined(module: ModuleType) -> list[str]:
    """The public names that a room of one file defines."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def find_public(room: str) -> dict[str, Any]:
    """The functions and classes that a room offers, with those that it imports late."""
    module, folder = importlib.import_module(f"remanence.{room}"), SOURCE.joinpath(*room.split("."))
    names = list_exported(folder) if folder.is_dir() else list_defined(module)
    found = {f"{room}.{name}": getattr(module, name) for name in names}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isroutine(thing) or inspect.isclass(thing)
    }


@pytest.mark.parametrize("room", COVERED)
def test_what_is_public_has_an_example(room: str):
    public = find_public(room)
    assert public
    lacking = [name for name, thing in public.items() if lacks_example(thing)]
    assert not lacking, f"no example that runs: {', '.join(lacking)}"
    uncalled = {
        f"{name}.{method}"
        for name, thing in public.items()
        if inspect.isclass(thing)
        for method in find_uncalled(thing)
    } - EXEMPT
    assert not uncalled, f"called in no example: {', '.join(uncalled)}"


class Shown:
    """A class.

    >>> Shown().called()
    1
    """

    kind = dict

    def called(self) -> int:
        """One."""
        return 1

    def uncalled(self) -> int:
        """Two."""
        return 2

    def shown(self) -> int:
        """Three.

        >>> Shown().shown()
        3
        """
        return 3

    def undocumented(self) -> int:
        return 4


def test_what_has_no_example_is_found():
    def skipped():
        """Skipped.

        >>> 1 + 1  # doctest: +SKIP
        2
        """

    def unchecked():
        """Nothing to check.

        >>> two = 1 + 1
        """

    assert lacks_example(skipped)
    assert lacks_example(unchecked)
    assert lacks_example(find_uncalled)
    assert not lacks_example(Shown)
    assert find_uncalled(Shown) == ["uncalled"]


def test_what_is_imported_late_is_public_too():
    assert {"envs.TMaze", "envs.GymnasiumEnv"} <= set(find_public("envs"))
    assert "report.write_report" in find_public("report")


def test_examples_of_wrapped_functions_are_found():
    names = [example.name for example in find_examples(SOURCE / "dynamics" / "_maps.py")]
    assert "dynamics/_maps.py:from_numpy" in names
