from pathlib import Path

import pytest

from remanence.study import open_workers
from remanence.training import GIVEN_CORES, count_cores


def count_threads_of_xla() -> tuple[int, int]:
    """The cores that a worker counts, and threads of its own that XLA computes with."""
    import jax.numpy as jnp

    jnp.ones(3).block_until_ready()
    names = [task.joinpath("comm").read_text() for task in Path("/proc/self/task").iterdir()]
    return count_cores(), sum("XLAEigen" in name for name in names)


@pytest.mark.parametrize("num_workers", [1, 2])
def test_workers_share_the_cores(num_workers):
    share = max(1, count_cores() // num_workers)
    with open_workers(num_workers) as executor:
        assert executor.submit(count_threads_of_xla).result() == (share, share)


@pytest.mark.parametrize(("given", "found"), [("1", 1), ("1000", None), ("", None), ("all", None)])
def test_cores_are_no_more_than_a_process_is_given(given, found, monkeypatch):
    monkeypatch.delenv(GIVEN_CORES, raising=False)
    usual = count_cores()
    monkeypatch.setenv(GIVEN_CORES, given)
    assert count_cores() == (found or usual)
