"""remanence tells whether an agent's memory lasts.

The rooms (`remanence.envs`, `remanence.cells`, `remanence.networks`) are imported when they are
first used, so that `import remanence`, and Gymnasium's plugin scan, stay cheap.
"""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence import cells, envs, errors, networks

__version__ = version("remanence")
__all__ = ["__version__", "cells", "envs", "errors", "networks"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"remanence.{name}")
    raise AttributeError(f"module 'remanence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
