"""How the states of two typical bistable agents evolve after each cue."""

from collections.abc import Iterator

import numpy as np

from remanence import envs
from remanence.dynamics import list_cycle
from remanence.errors import RemanenceError
from remanence.evaluation import make_idle_map
from remanence.figures import TRAININGS, Columns, count_rows, keep_rows, order, select_rows
from remanence.networks import Agent, read_origin
from remanence.report._records import IDENTITY, Records, locate_agent

NUM_STEPS = 100


def tabulate_states(records: Records, models: Columns) -> Columns:
    """A row for each step, unit and cue, of one agent of each training."""
    parts = list(_list_parts(records, models))
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def choose_typical(models: Columns, preset: str) -> Columns:
    """The bistable nonlinear agent of a training whose transient is the median; one row or none."""
    candidates = select_rows(models, preset=preset, stability="bistable", parallelizable=False)
    candidates = keep_rows(candidates, np.isfinite(candidates["transient"]))
    ranking = np.argsort(candidates["transient"], kind="stable")
    return keep_rows(candidates, ranking[(len(ranking) - 1) // 2 :][:1])


def _list_parts(records: Records, models: Columns) -> Iterator[Columns]:
    for preset in order(models["preset"].tolist(), TRAININGS):
        chosen = choose_typical(models, preset)
        if count_rows(chosen):
            try:
                yield _follow(records, {name: column[0] for name, column in chosen.items()})
            except RemanenceError:
                continue  # the figure goes without this agent, whose records say what is broken


def _follow(records: Records, chosen: dict) -> Columns:
    path = locate_agent(records.path, str(chosen["job"]), int(chosen["seed"]))
    environment, _ = envs.restore(read_origin(path)["environment"])
    step, starts = make_idle_map(Agent.load(path), environment)
    orbits = np.stack([list_cycle(step, start, NUM_STEPS) for start in starts])
    cues, steps, units = (index.ravel() for index in np.indices(orbits.shape))
    identity = {name: np.full(orbits.size, chosen[name]) for name in (*IDENTITY, "stability")}
    return identity | {"cue": cues, "step": steps, "unit": units, "state": orbits.ravel()}
