"""Compiled programs are kept on disk, so that compilation is paid once for all runs."""

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from remanence.errors import StoreError
from remanence.store import write_whole


def keep_compiled_programs() -> None:
    """Turn on JAX's compilation cache in the user's cache directory, unless it is on already.

    >>> from remanence import training
    >>> training.keep_compiled_programs()
    >>> jax.config.jax_compilation_cache_dir is None
    False
    """
    if jax.config.jax_compilation_cache_dir is not None:  # pyrefly: ignore[missing-attribute]
        return
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    _use(Path(home) / "remanence" / "compiled" / _name_processor())
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


@contextlib.contextmanager
def share_compiled_programs() -> Iterator[None]:
    """Use JAX's compilation cache together with processes of other machines, which may be killed.

    JAX writes its entries where others read them; one that was killed at that would leave a part,
    which nobody would ever replace. So new ones go to a directory of this process, in which links
    lead to those that are there, and are put beside them whole when the block ends.

    >>> from remanence import training
    >>> training.keep_compiled_programs()
    >>> shared = jax.config.jax_compilation_cache_dir
    >>> with training.share_compiled_programs():
    ...     jax.config.jax_compilation_cache_dir == shared
    False
    >>> jax.config.jax_compilation_cache_dir == shared
    True
    """
    keep_compiled_programs()
    shared = Path(jax.config.jax_compilation_cache_dir)  # pyrefly: ignore[missing-attribute]
    with tempfile.TemporaryDirectory(prefix="remanence-compiled-") as name:
        own = Path(name)
        for entry in shared.glob("*-cache"):
            (own / entry.name).symlink_to(entry.absolute())
        _use(own)
        try:
            yield
        finally:
            _use(shared)
            _publish(own, shared)


def _name_processor() -> str:
    """A name for what a program is compiled for: nodes of a cluster may share a home directory.

    JAX keeps programs for processors apart by their kind alone, and one with newer instructions
    would crash on an older one.
    """
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    kinds = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    told = "\n".join([platform.machine(), *sorted(kinds)])
    return f"{platform.machine()}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"


def _use(path: Path) -> None:
    jax.config.update("jax_compilation_cache_dir", str(path))
    # Else a program's key has the path of the cache in it, and no other directory's is found.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    # JAX looks at the setting once, when it compiles for the first time.
    compilation_cache.reset_cache()


def _publish(own: Path, shared: Path) -> None:
    for entry in own.iterdir():
        if not entry.is_symlink() and not (shared / entry.name).exists():

            def copy(part: Path, entry: Path = entry) -> None:
                shutil.copyfile(entry, part)

            # A cache that is full, or another's, only costs time.
            with contextlib.suppress(StoreError):
                write_whole(shared / entry.name, copy)
