"""A study so small that it takes seconds, and what it takes to compare two of them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from remanence.study import StudyStatus, load_profile, load_results, run_study

STORED = ("evaluations", "stability", "certificates", "curves")

PROFILE = """
name = "tmaze"
profile = "tiny"
note = "Too small to show anything."
lengths = [2, 100]

[[trainings]]
presets = ["tmaze-short"]
cells = ["gru", "bmru"]
seeds = [1, 2]
num_iterations = 3
changes = { num_envs = 4, num_steps = 16, policy_epochs = 1, value_epochs = 1 }
"""


def write_profile(path: Path) -> str:
    path.write_text(PROFILE)
    return str(path)


def load_tiny(directory: Path):
    return load_profile("tmaze", write_profile(directory / "tiny.toml"))


def open_threads():
    return ThreadPoolExecutor(1)


def run_here(path: Path, study) -> StudyStatus:
    """The study, worked through in this process."""
    return run_study(path, study, open_executor=open_threads)


def assert_same_tables(one: Path, other: Path) -> None:
    for table in STORED:
        ours, theirs = (load_results(path, table).fetchnumpy() for path in (one, other))
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=f"{table}.{name}")
