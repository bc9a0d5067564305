"""Which LookupTreeMaze a study is about: its table and how the index is seen."""

from collections.abc import Sequence

import numpy as np

from remanence.envs import LookupTreeMaze
from remanence.errors import InvalidOptionError
from remanence.figures import Columns, Tables
from remanence.study import Job, RunEntry, Study
from remanence.training import get_preset

OPTIONS = ("table_size", "index_encoding")
ENCODINGS = {"one-hot": "one-hot index", "scalar": "index as one number"}


def check_task(study: Study) -> None:
    """Raise if the main arm of a study is about several tasks, before any is trained."""
    describe_task([job for job in study.jobs if not job.variant])


def describe_task(jobs: Sequence[RunEntry] | Sequence[Job]) -> Columns:
    """One row with `table_size`, `index_encoding` and `num_tables` of all runs of the main arm.

    Runs that differ in them learned different tasks, so a study that mixes them is refused.
    """
    tasks = {job.id: _find_task(job) for job in jobs}
    if not tasks:
        remedy = "all of them are variants; give at least one without, which is the main arm"
        raise InvalidOptionError("trainings", [], remedy)
    if len(set(tasks.values())) > 1:
        told = {id: _say_task(*task) for id, task in tasks.items()}
        remedy = (
            "runs of different tasks cannot be pooled; make a study of each, or give one of them "
            "a variant"
        )
        raise InvalidOptionError("trainings", told, remedy)
    table_size, index_encoding = next(iter(tasks.values()))
    return {
        "table_size": np.array([table_size]),
        "index_encoding": np.array([index_encoding]),
        "num_tables": np.array([2**table_size - 2]),
    }


def _find_task(job: RunEntry | Job) -> tuple[int, str]:
    """The size of the table and how the index is seen, of a run that may not have begun."""
    changes = {name: value for name, value in dict(job.changes).items() if name in OPTIONS}
    environment, _ = get_preset(job.preset).make_environment(**changes)
    maze = environment.unwrapped
    if not isinstance(maze, LookupTreeMaze):
        raise InvalidOptionError("preset", job.preset, f"{job.id} is not about a LookupTreeMaze")
    return maze.table_size, maze.index_encoding


def name_task(tables: Tables) -> str:
    """Such as "τ = 3, one-hot index"."""
    return _say_task(*(tables["task"][name].item() for name in OPTIONS))


def _say_task(table_size: int, index_encoding: str) -> str:
    return f"τ = {table_size}, {ENCODINGS[index_encoding]}"
