"""Code that plugs in: installed packages by their entry points, and files that a user names.

A plugin registers cells, environments, presets or experiments when it is imported. Ours do so too:
the paper's experiments are a plugin of this package.
"""

import importlib
import importlib.util
import sys
import warnings
from importlib.metadata import entry_points
from pathlib import Path

from remanence.errors import PluginError

GROUP = "remanence"

_imported: list[str] = []
_has_loaded = False


def load_plugins() -> None:
    """Import what installed packages have under the entry point group `remanence`, once.

    A package that cannot be imported is warned of, and the others are.
    """
    global _has_loaded
    if _has_loaded:
        return
    _has_loaded = True
    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            told = f"the plugin {entry.name!r} ({entry.value}) could not be loaded: {error!r}"
            warnings.warn(told, stacklevel=2)


def import_code(source: str) -> None:
    """Import a Python file (`my_task.py`) or a module (`my_package.tasks`), which registers things.

    A file can import its neighbours, as a script can. Importing the same source twice does nothing.
    """
    known = str(Path(source).absolute()) if source.endswith(".py") else source
    if known in _imported:
        return
    try:
        if not source.endswith(".py"):
            importlib.import_module(source)
        elif not _is_running(known):
            _import_file(Path(known))
    except (Exception, SystemExit) as error:
        raise PluginError(source, error) from error
    _imported.append(known)


def list_imported() -> tuple[str, ...]:
    """What `import_code` has imported, for processes that are started to import it too."""
    return tuple(_imported)


def _is_running(file: str) -> bool:
    """Whether the file is a module already, such as the script that this process was started by."""
    modules = list(sys.modules.values())
    return any(str(getattr(module, "__file__", None)) == file for module in modules)


def _import_file(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    # Its own name, so that what it defines can be pickled, but never in place of another module.
    name = path.stem if path.stem not in sys.modules else f"_remanence_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
