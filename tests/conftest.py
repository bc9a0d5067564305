"""Every test runs with shape checking on and JAX at its strictest."""

import os
from pathlib import Path

# Many tests compile the same programs, in several processes; all of them share what is compiled.
_COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
# The path is a part of a program's key otherwise, and copies of the directory would be of no use.
os.environ.setdefault("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none")
# Compiling is most of what they do, and takes half the time where less is optimized.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1")

import jax  # noqa: E402
import pytest  # noqa: E402
from jaxtyping import install_import_hook  # noqa: E402

# Not the checker, which runs alone as it is: its types are plain, and its tests are thousands.
import remanence.checker  # noqa: E402

# Nor the portable program and the intervals of the search for proofs, which have no shapes to check
# and are called so often that looking at their types takes longer than what they do.
_UNCHECKED = ("portable", "_portable_walker", "_intervals", "_interval_policy", "_enclosures")
_SOURCE = Path(str(remanence.checker.__file__)).parents[1]
_CHECKED = [
    ".".join(path.relative_to(_SOURCE.parent).with_suffix("").parts)
    for path in _SOURCE.rglob("*.py")
    if not {path.stem, path.parent.name} & set(_UNCHECKED)
]
install_import_hook(_CHECKED, "beartype.beartype")

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(scope="module", autouse=True)
def _registries_are_left_as_found():
    """What a test registers, it takes out again: every other test in the process would see it."""
    from remanence import cells, envs

    found = set(cells.registry), set(envs.registry)
    yield
    assert (set(cells.registry), set(envs.registry)) == found


@pytest.fixture
def small_machine(monkeypatch):
    """16 GiB of memory, whatever there is."""
    monkeypatch.setattr("remanence.training._limits.describe_machine", lambda: {"memory_gib": 16.0})
