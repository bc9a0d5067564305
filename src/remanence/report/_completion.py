"""Records with all that experiments are told of a study, until `_records.py` reads it itself.

To delete: import `Records` and `read_records` from `_records` instead.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from remanence.figures import Columns
from remanence.report import _records
from remanence.report._records import IDENTITY

OUTCOME_COLUMNS = ("length", "return", "low", "high", "num_steps", "outcome")
ORBIT_COLUMNS = ("cue", "step", "unit", "state")
LEVELS = {"optimal": 4.0, "coin flip": 1.95, "no arm in time": 0.0, "wrong": -0.1}
TRAINED = {"short": (1, 3), "long": (100, 100)}


class Growth(NamedTuple):
    """What grows, as a column and in print."""

    name: str
    label: str


@dataclasses.dataclass(frozen=True)
class Records(_records.Records):
    """What `_records.Records` will be."""

    growth: Growth
    levels: Mapping[str, float]
    trained: Mapping[str, tuple[int, int] | None]


def read_records(path: str | Path) -> Records:
    """All that is there of the study in a directory."""
    found = _records.read_records(path)
    own = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    orbits = {name: np.zeros(0) for name in (*IDENTITY, *ORBIT_COLUMNS)}
    outcomes = _sum_up(found.tables["evaluations"])
    trained = {job.id: TRAINED.get(job.preset.rpartition("-")[2]) for job in found.jobs}
    own["tables"] = {**found.tables, "outcomes": outcomes, "orbits": orbits}
    growth = Growth("length", "length of the maze (cells)")
    return Records(**own, growth=growth, levels=LEVELS, trained=trained)


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
