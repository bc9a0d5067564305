"""One page for people: what a study found, its figures, claims beside what was found.

What a study is about, an `Experiment` knows, which is registered by name. All but the registry is
imported when it is first used, since it brings matplotlib.
"""

import importlib
from typing import TYPE_CHECKING, Any

from remanence.report._registry import experiments as experiments

if TYPE_CHECKING:
    from remanence.report._public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    # A private name is that of a module.
    if not name.startswith("_"):
        return getattr(importlib.import_module("remanence.report._public"), name)
    raise AttributeError(f"module 'remanence.report' has no attribute {name!r}")
