"""Records with all that experiments are told of a study, until `_records.py` reads it itself.

To delete: import `Records` and `read_records` from `_records` instead.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from remanence.figures import Columns
from remanence.report import _records
from remanence.report._records import IDENTITY
from remanence.study import Job, JobStatus

OUTCOME_COLUMNS = ("length", "return", "low", "high", "num_steps", "outcome")
ORBIT_COLUMNS = ("cue", "step", "unit", "state")
LEVELS = {"optimal": 4.0, "random decision": 1.95}
TRAINED = {"short": (1, 3), "long": (100, 100)}


class Growth(NamedTuple):
    """What grows, as a column and in print."""

    name: str
    label: str


@dataclasses.dataclass(frozen=True)
class Records:
    """What `_records.Records` will be."""

    path: Path
    description: Mapping[str, Any]
    jobs: Sequence[Job]
    status: Mapping[str, JobStatus]
    tables: Mapping[str, Columns]
    certificates: Mapping[tuple[str, int], Mapping[str, Any]]
    problems: tuple[str, ...]
    growth: Growth
    levels: Mapping[str, float]
    trained: Mapping[str, tuple[int, int] | None]


def read_records(path: str | Path) -> Records:
    """All that is there of the study in a directory."""
    found = _records.read_records(path)
    orbits = {name: np.zeros(0) for name in (*IDENTITY, *ORBIT_COLUMNS)}
    outcomes = _sum_up(found.tables["evaluations"])
    return Records(
        Path(path),
        found.description,
        found.jobs,
        found.status.jobs,
        tables={**found.tables, "outcomes": outcomes, "orbits": orbits},
        certificates=found.certificates,
        problems=found.problems,
        growth=Growth("length", "length"),
        levels=LEVELS,
        trained={job.id: TRAINED.get(job.preset.rpartition("-")[2]) for job in found.jobs},
    )


def _sum_up(evaluations: Columns) -> Columns:
    """A row for each agent and length, by the rule of `Evaluation.summarize`."""
    names = (*IDENTITY, "length")
    episodes: dict[tuple, list[tuple[float, str]]] = {}
    columns = (*names, "return", "end")
    for *key, gained, end in zip(*(evaluations[name].tolist() for name in columns), strict=True):
        episodes.setdefault(tuple(key), []).append((gained, end))
    rows = []
    for key, group in episodes.items():
        mean, ends = float(np.mean([gained for gained, _ in group])), [end for _, end in group]
        outcome = "timeout" if "timeout" in ends else "random" if "wrong" in ends else "solved"
        rows.append((*key, mean, mean, mean, np.nan, outcome))
    found = (*IDENTITY, *OUTCOME_COLUMNS)
    return {name: np.array([row[index] for row in rows]) for index, name in enumerate(found)}
