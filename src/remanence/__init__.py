"""remanence tells whether an agent's memory lasts.

The rooms (`remanence.envs`, `remanence.cells`, ...) are imported when they are first used, so that
`import remanence` stays cheap. It also makes our environments known to Gymnasium, if that is
installed: since its version 1.0 Gymnasium does not look for plugins by itself.
"""

import importlib
import importlib.util
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence import (
        cells,
        certificates,
        checker,
        dynamics,
        envs,
        errors,
        evaluation,
        figures,
        networks,
        papers,
        portable,
        report,
        store,
        study,
        training,
    )

__version__ = version("remanence-rl")  # the name on the index; `remanence` is another's
__all__ = [
    "__version__",
    "cells",
    "certificates",
    "checker",
    "dynamics",
    "envs",
    "errors",
    "evaluation",
    "figures",
    "networks",
    "papers",
    "portable",
    "report",
    "store",
    "study",
    "training",
]

if importlib.util.find_spec("gymnasium") is not None:
    importlib.import_module("remanence._gymnasium_plugin")


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"remanence.{name}")
    raise AttributeError(f"module 'remanence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
