"""The example of an environment of one's own, known by its name while it is asked for."""

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remanence import envs

NAME = "delayed-copy"
_PATH = Path(__file__).parents[2] / "examples" / "delayed_copy.py"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("delayed_copy", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    envs.registry.unregister(NAME)  # every other test in the process would see it
    return module


DelayedCopy: Any = _load().DelayedCopy


@contextlib.contextmanager
def delayed_copy_registered() -> Iterator[None]:
    """Under its name, as it is once a user's file has been imported."""
    envs.register(NAME, DelayedCopy)
    try:
        yield
    finally:
        envs.registry.unregister(NAME)
