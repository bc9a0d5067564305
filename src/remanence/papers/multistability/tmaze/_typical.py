"""Two typical bistable agents, one of each training, and how their states evolve after each cue."""

import numpy as np

from remanence.figures import Columns, count_rows, keep_rows, order, select_rows
from remanence.papers.multistability._looks import TRAININGS
from remanence.report import list_rows


def select_typical_orbits(orbits: Columns, models: Columns) -> Columns:
    """The rows of `orbits` of one agent of each training, with its `transient`.

    A row is of a step, a unit and a cue. What was not recorded is not there.
    """
    parts = []
    for preset in order(models["preset"].tolist(), TRAININGS):
        for agent in list_rows(choose_typical(models, preset)):
            part = select_rows(orbits, job=agent["job"], seed=agent["seed"])
            transient = np.full(count_rows(part), agent["transient"])
            parts.append(part | {"transient": transient})
    return {
        name: np.concatenate([part[name] for part in parts]) if parts else np.zeros(0)
        for name in (*orbits, "transient")
    }


def choose_typical(models: Columns, preset: str) -> Columns:
    """The nonlinear agent whose transient is the median, of those of a training that are bistable
    and solve length 100; one row or none.
    """
    candidates = select_rows(
        models, preset=preset, stability="bistable", parallelizable=False, outcome="solved"
    )
    candidates = keep_rows(candidates, np.isfinite(candidates["transient"]))
    ranking = np.argsort(candidates["transient"], kind="stable")
    return keep_rows(candidates, ranking[(len(ranking) - 1) // 2 :][:1])
