"""How the states of two typical bistable agents evolve after each cue."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from remanence import envs
from remanence.dynamics import list_cycle
from remanence.errors import RemanenceError
from remanence.evaluation import make_idle_map
from remanence.figures import TRAININGS, Columns, keep_rows, order, select_rows
from remanence.networks import Agent, read_origin
from remanence.report._records import IDENTITY, Records, explain

NUM_STEPS = 100


def tabulate_states(records: Records, models: Columns) -> tuple[Columns, list[str]]:
    """A row for each step, unit and cue, of one agent of each training, and what went wrong."""
    parts, problems = [], []
    for preset in order(models["preset"].tolist(), TRAININGS):
        for chosen in _list_rows(choose_typical(models, preset)):
            try:
                parts.append(_follow(records, chosen))
            except RemanenceError as error:
                what = f"{chosen['job']}: no states of seed {chosen['seed']}"
                problems.append(explain(records.directory, what, error))
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}, problems


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


def _list_rows(columns: Columns) -> list[dict[str, Any]]:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _follow(records: Records, chosen: Mapping[str, Any]) -> Columns:
    (job,) = (job for job in records.jobs if job.id == chosen["job"])
    path = records.directory.agent_path(job, chosen["seed"])
    environment, _ = envs.restore(read_origin(path)["environment"])
    step, starts = make_idle_map(Agent.load(path), environment)
    orbits = np.stack([list_cycle(step, start, NUM_STEPS) for start in starts])
    cues, steps, units = (index.ravel() for index in np.indices(orbits.shape))
    identity = {
        name: np.full(orbits.size, chosen[name]) for name in (*IDENTITY, "stability", "transient")
    }
    return identity | {"cue": cues, "step": steps, "unit": units, "state": orbits.ravel()}
