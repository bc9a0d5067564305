"""Code that plugs in: a user's file, its neighbours, and an installed package."""

import sys
from pathlib import Path

import pytest

from remanence import _plugins as plugins
from remanence.cells import registry
from remanence.errors import PluginError
from tests.forks import Fork, Nursery

CELL = """
from remanence import cells
cells.register({name!r}, cells.registry["gru"])
"""


@pytest.fixture(autouse=True)
def _keep_to_itself(monkeypatch):
    monkeypatch.setattr(plugins, "_imported", [])
    known = set(registry)
    yield
    for name in set(registry) - known:
        registry.unregister(name)


def test_a_file_is_imported_once(tmp_path):
    file = tmp_path / "plugin_of_mine.py"
    file.write_text(CELL.format(name="mine"))
    plugins.import_code(str(file))
    plugins.import_code(str(file))
    assert "mine" in registry
    assert plugins.list_imported() == (str(file),)


def test_a_file_can_import_its_neighbours(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text(CELL.format(name="neighbours"))
    file = tmp_path / "plugin_beside_it.py"
    file.write_text("import neighbour_of_mine")
    plugins.import_code(str(file))
    assert "neighbours" in registry


def test_a_file_named_as_a_module_of_ours_takes_nobody_s_place(tmp_path):
    file = tmp_path / "json.py"
    file.write_text(CELL.format(name="mine"))
    plugins.import_code(str(file))
    assert "mine" in registry
    assert sys.modules["json"].__file__ != str(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "there is no file"),
        ("1 / 0", "ZeroDivisionError"),
        ("(", "SyntaxError"),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_what_cannot_be_imported_is_told(text, told, tmp_path):
    file = tmp_path / "broken_plugin.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(PluginError, match=told):
        plugins.import_code(str(file))
    with pytest.raises(PluginError, match="no_module_of_this_name"):
        plugins.import_code("no_module_of_this_name")


def install(directory: Path, text: str) -> None:
    """A package as pip leaves it, with an entry point."""
    (directory / "installed_plugin.py").write_text(text)
    metadata = directory / "installed_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: installed-plugin\nVersion: 1\n"
    )
    (metadata / "entry_points.txt").write_text("[remanence]\nmine = installed_plugin\n")


def run(nursery: Nursery, directory: Path, code: str) -> Fork:
    """A process that has not looked for plugins yet."""
    code = f"import sys; sys.path.insert(0, {str(directory)!r}); {code}"
    done = nursery.start("-c", code, log=directory / "log")
    done.wait()
    return done


def test_an_installed_package_plugs_in_by_its_entry_point(tmp_path, nursery):
    install(tmp_path, CELL.format(name="installed"))
    done = run(nursery, tmp_path, "from remanence import cells; print(*cells.registry)")
    assert done.stdout.split()[-1] == "installed", done.stderr


def test_a_package_that_is_broken_is_warned_of_and_the_others_work(tmp_path, nursery):
    install(tmp_path, "raise RuntimeError('it is broken')")
    code = "from remanence.training import presets; print(*presets)"
    done = run(nursery, tmp_path, code)
    assert "tmaze-short" in done.stdout
    assert "the plugin 'mine' (installed_plugin) could not be loaded" in done.stderr
