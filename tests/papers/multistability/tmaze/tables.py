"""Tables as figures are drawn from, made by hand."""

import numpy as np

from remanence.figures import select_rows, tabulate_levels

PRESETS = ("tmaze-short", "tmaze-long")
MODELS = {"gru": ("gru", False), "deep-mingru": ("mingru", True), "own": ("own", False)}
SEEDS = (1, 2, 3)
LENGTHS = (2, 10, 100)
LEVELS = {"optimal": 4.0, "coin flip": 1.95, "no arm in time": 0.0, "wrong": -0.1}


def stack(rows):
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def list_agents():
    """Three agents for each training and model; the last one of each is monostable."""
    return [
        {
            "preset": preset,
            "model": model,
            "cell": cell,
            "parallelizable": linear,
            "seed": seed,
            "num_iterations": 20 if linear else 250,
            "transient": 1234.0,
            "stability": "monostable" if linear or seed == 3 else "bistable",
        }
        for preset in PRESETS
        for model, (cell, linear) in MODELS.items()
        for seed in SEEDS
    ]


def solves(agent, length):
    return agent["stability"] == "bistable" or length < 50


def make_tables():
    agents = list_agents()
    outcomes = [
        agent
        | {"length": length, "return": 4.0 if solved else 1.9 + 0.1 * agent["seed"]}
        | {"outcome": "solved" if solved else "random"}
        for agent in agents
        for length in LENGTHS
        for solved in [solves(agent, length)]
    ]
    curves = [
        agent | {"iteration": iteration, "return": 0.3 * iteration * agent["seed"]}
        for agent in agents
        for iteration in (1, 2, 3)
    ]
    lengths = [agent | stretch for agent in agents for stretch in list_stretches(agent)]
    states = [
        agent | {"cue": cue, "step": step, "unit": unit, "state": (cue - 0.5) * step + unit}
        for agent in agents
        if (agent["model"], agent["seed"]) == ("gru", 1)
        for cue in (0, 1)
        for step in range(4)
        for unit in (0, 1)
    ]
    columns = stack(outcomes)
    return {
        "nonlinear_outcomes": select_rows(columns, parallelizable=False),
        "parallelizable_outcomes": select_rows(columns, parallelizable=True),
        "radii": stack(
            [
                agent
                | {"solved_span": np.inf if solves(agent, 100) else 40.0 + agent["seed"]}
                | {"radius_certified": 0.01 * agent["seed"] * solves(agent, 100)}
                | {"radius_broken": 0.1 * agent["seed"] if agent["seed"] > 1 else np.nan}
                for agent in agents
            ]
        ),
        "growth": stack([{"name": "length", "label": "length of the maze (cells)"}]),
        "levels": tabulate_levels(LEVELS),
        "models": stack([row for row in outcomes if row["length"] == 100]),
        "outcomes": columns,
        "curves": stack(curves),
        "lengths": stack(lengths),
        "states": stack(states),
    }


def select_training(tables, preset):
    """The tables of a study of one training alone."""
    return {
        name: select_rows(table, preset=preset) if "preset" in table else table
        for name, table in tables.items()
    }


def list_stretches(agent):
    """For ever if bistable, else up to 49; two agents of each training are undecided.

    Of one of them nothing is known, of the other that it wastes no step up to 30.
    """
    undecided = {"kind": "", "low": 1.0, "high": 1.0, "share": 0.0}
    if (agent["model"], agent["seed"]) == ("own", 3):
        return [undecided]
    if (agent["model"], agent["seed"]) == ("deep-mingru", 3):
        return [undecided, {"kind": "optimal", "low": 1.0, "high": 30.0, "share": 1.0}]
    high = np.inf if agent["stability"] == "bistable" else 49.0
    return [
        {"kind": "solved", "low": 1.0, "high": high, "share": 1.0},
        {"kind": "optimal", "low": 1.0, "high": 20.0, "share": 1.0},
    ]
