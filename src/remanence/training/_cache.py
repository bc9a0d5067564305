"""Compiled programs are kept on disk, so that compilation is paid once for all runs."""

import os
from pathlib import Path

import jax


def keep_compiled_programs() -> None:
    """Turn on JAX's compilation cache in the user's cache directory, unless it is on already.

    >>> from remanence import training
    >>> training.keep_compiled_programs()
    >>> jax.config.jax_compilation_cache_dir is None
    False
    """
    if jax.config.jax_compilation_cache_dir is not None:  # pyright: ignore[reportAttributeAccessIssue]
        return
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    jax.config.update("jax_compilation_cache_dir", str(Path(home) / "remanence" / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
