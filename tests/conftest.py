"""Every test runs with shape checking on and JAX at its strictest."""

import dataclasses
import gc
import os
from collections.abc import Iterator
from pathlib import Path

# Many tests compile the same programs, in several processes; all of them share what is compiled.
_COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# The path is a part of a program's key otherwise, and copies of the directory would be of no use.
os.environ.setdefault("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none")
# Compiling is most of what they do, and programs run for milliseconds: LLVM does not optimize, and
# loops are emitted by the plainer of XLA's two emitters, which takes a third of the time. Programs
# that are compared with one another are compiled alike; what has to be as users get it runs in a
# process without these flags (test_documents.py).
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    " --xla_cpu_parallel_codegen_split_count=1",
)
# Where in the source an operation was traced is written into every program, and no test reads it.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

import jax  # noqa: E402
import pytest  # noqa: E402
from jaxtyping import install_import_hook  # noqa: E402

from tests.contexts import share_contexts  # noqa: E402
from tests.forks import Nursery  # noqa: E402

# Shapes and types are checked at every call where arrays of JAX go from hand to hand. Elsewhere
# pyrefly's check has to do: the search for proofs calls small functions by the million.
_CHECKED = [
    f"remanence.{room}"
    for room in ("cells", "dynamics", "envs", "evaluation", "networks", "training")
]
install_import_hook(_CHECKED, "beartype.beartype")

share_contexts()

# What is imported stays, and a trace makes objects by the hundred thousand that die with it.
gc.set_threshold(100_000, 50, 100)

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


# Begun first, so that no process is left alone with a long file at the end.
_LONG = (
    *("test_contraction_is_sound", "test_differences", "test_older"),
    *("test_replays", "test_invariants", "test_run", "test_presets", "test_mutants"),
    *("test_inspection", "test_runner", "test_docstrings", "test_examples", "test_documents"),
    *("test_kills", "test_certify", "test_kernel", "test_orbits", "test_forgeries"),
)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.stem not in _LONG)


def pytest_collection_finish():
    """No collection of garbage looks at what all tests have imported."""
    gc.freeze()


def pytest_unconfigure():
    """What was kept from the collector is released, or JAX complains of leaks at the end."""
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def _registries_are_left_as_found():
    """What a test registers, it takes out again: every other test in the process would see it."""
    from remanence import cells, envs

    found = set(cells.registry), set(envs.registry)
    yield
    assert (set(cells.registry), set(envs.registry)) == found


@pytest.fixture(scope="session", autouse=True)
def _disks_are_not_waited_for():
    """Tests write thousands of files, and none of them sees what a loss of power would leave.

    That files are flushed, and when, tests/store sees.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which does not take what is no open file, either
        yield


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Starts processes that need not import JAX and remanence again."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def small_machine(monkeypatch):
    """16 GiB of memory, whatever there is."""
    monkeypatch.setattr("remanence.training._limits.describe_machine", lambda: {"memory_gib": 16.0})


@pytest.fixture
def few_studies(monkeypatch):
    """Next to no studies are drawn to see how sure verdicts are."""
    monkeypatch.setattr("remanence.report._resampling.NUM_STUDIES", 3)


@pytest.fixture(scope="session")
def coarse_sketch():
    """The plane of the sketch, which takes seconds, at a 64th of its points."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("remanence.papers.multistability._sketch.RESOLUTION", 16)
        yield


@pytest.fixture
def keep_figures(monkeypatch):
    """A function that lets the T-maze's experiment have these figures alone."""
    from remanence.report import _page, find_experiment

    def keep(figures):
        changed = dataclasses.replace(find_experiment("tmaze"), figures=figures)
        monkeypatch.setattr(_page, "find_experiment", lambda name: changed)
        return list(figures)

    return keep
