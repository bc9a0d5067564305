"""A study so small that it takes seconds, and what it takes to compare two of them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from remanence.report import find_experiment
from remanence.store import write_table
from remanence.study import (
    StudyDirectory,
    StudyStatus,
    list_entries,
    load_profile,
    run_study,
)

PROFILES = find_experiment("tmaze").profiles
CUES = ("up", "down")
STORED = ("evaluations", "outcomes", "stability", "orbits", "certificates", "curves")

PROFILE = """
name = "tmaze"
profile = "tiny"
note = "Too small to show anything."
lengths = [2, 100]
sampled_lengths = [2]

[[trainings]]
presets = ["tmaze-short"]
cells = ["gru", "bmru"]
seeds = [1, 2]
num_iterations = 3
changes = { num_envs = 4, num_steps = 16, policy_epochs = 1, value_epochs = 1 }
"""


# The same BMRU once more, with another surrogate.
WIDER = """
[[trainings]]
presets = ["tmaze-short"]
cells = ["bmru"]
seeds = [1, 2]
num_iterations = 3
variant = "wider"
changes = { num_envs = 4, num_steps = 16, policy_epochs = 1, value_epochs = 1, surrogate_width = 2 }
"""


def write_profile(path: Path, text: str = PROFILE) -> str:
    path.write_text(text)
    return str(path)


def load_tiny(directory: Path, text: str = PROFILE):
    return load_profile("tmaze", write_profile(directory / "tiny.toml", text))


def open_threads():
    return ThreadPoolExecutor(1)


def run_here(path: Path, study) -> StudyStatus:
    """The study, worked through in this process."""
    return run_study(path, study, open_executor=open_threads)


def assert_same_tables(one: Path, other: Path) -> None:
    for entry, same in zip(list_entries(one), list_entries(other), strict=True):
        for table in STORED:
            ours, theirs = (it.records.read(table) for it in (entry, same))
            assert ours.keys() == theirs.keys()
            for name in ours:
                np.testing.assert_array_equal(ours[name], theirs[name], err_msg=f"{table}.{name}")


def write_study(path: Path, text: str = PROFILE) -> Path:
    """The tables of a study that nobody ran: of each cell, seed 1 is better than seed 2."""
    study = load_tiny(path, text)
    directory = StudyDirectory(path)
    directory.begin(study)
    for job in study.jobs:
        for table, columns in invent_tables(job.cell).items():
            names = ("preset", "network", "cell") if table != "curves" else ()
            num_rows = len(columns["seed"])
            labels = {name: np.full(num_rows, getattr(job, name)) for name in names}
            arrays = {name: np.array(column) for name, column in columns.items()}
            write_table(directory.open_records(job).table_path(table), labels | arrays)
    return path


def invent_tables(cell: str) -> dict[str, dict[str, list]]:
    ends = {
        "gru": ["right", "right", "right", "right", "right", "wrong", "wrong", "wrong"],
        "bmru": ["right", "right", "right", "timeout", "right", "timeout", "timeout", "timeout"],
    }[cell]
    returns = {"right": 4.0, "wrong": -0.1, "timeout": 0.0}
    return {
        "evaluations": {
            "seed": [1] * 4 + [2] * 4,
            "length": [2, 2, 100, 100] * 2,
            "cue": [0, 1] * 4,
            "return": [returns[end] for end in ends],
            "num_steps": [2, 2, 100, 100] * 2,
            "end": ends,
        },
        "stability": {"seed": [1, 2], "vaa": [1.0, 0.5], "stability": ["bistable", "monostable"]},
        "certificates": {
            "seed": [1, 2],
            "solved": ["every length", "no length"],
            "solved_from_2_on": [True, False],
            "solved_span": [-1, 0],
            "optimal_span": [7, -2],
            "first_failure": [-1, 1],
            "first_waste": [8, 1],
            "failure_kind": ["", "forgets"],
            "waste_kind": ["turns early", "forgets"],
            "merge": [-1, 5],
            **{f"{name}_{cue}": [3, 5] for name in ("transient", "period") for cue in CUES},
        },
        "curves": {"seed": [1, 2], "iteration": [1, 1], "return": [1.0, 2.0]},
    }
