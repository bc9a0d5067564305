"""MLIR's contexts, which the programs that a thread compiles share in tests."""

import importlib
import threading
from typing import Any

MOST_SHARING = 100


def share_contexts() -> None:
    """From here on a context serves a thread for so many programs, and then there is another.

    JAX makes one for every program and loads all dialects into it, which takes 2 to 3 ms, and most
    programs of tests are a single operation. Threads do not share one: two might change it at once.
    """
    mine = threading.local()
    try:
        mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
        make = mlir.make_ir_context
    except (ImportError, AttributeError):
        return  # it is JAX's own, and may go; tests then take longer

    def get() -> Any:
        mine.left = getattr(mine, "left", 0) - 1
        if mine.left < 0:
            mine.context, mine.left = make(), MOST_SHARING - 1
        return mine.context

    mlir.make_ir_context = get
