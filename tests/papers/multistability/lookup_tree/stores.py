"""A small study of the LookupTreeMaze on disk, made by hand: agents whose behaviour is known."""

from pathlib import Path

import numpy as np

from remanence.store import write_json, write_table

CELLS = {"gru": False, "mingru": True, "hybrid": True}
SEEDS = [1, 2, 3]
NUMBERS = [10, 100]
CUES = range(6)
BINS = ((1, 9), (10, 99), (100, 157))
TASK = {"table_size": 3, "index_encoding": "one-hot"}
VARIANT = "paper-step"
NUM_ITERATIONS = 10


def list_jobs(changes=None, variants=("mingru",)):
    """A job for each cell, and one of the variant for some; `changes` are by cell."""
    main = [(cell, "", SEEDS) for cell in CELLS]
    others = [(cell, VARIANT, SEEDS[:2]) for cell in variants]
    return [
        {
            "id": f"lookup-tree-{cell}{f'-{variant}' if variant else ''}",
            **{"preset": "lookup-tree", "network": "wide", "cell": cell, "seeds": seeds},
            **{"num_iterations": NUM_ITERATIONS, "lengths": NUMBERS, "variant": variant},
            "changes": TASK | {"anneal_iterations": 250} | (changes or {}).get(cell, {}),
            "stages": ["evaluate", "sample", "stability", "losses"],
        }
        for cell, variant, seeds in (*main, *others)
    ]


def begin_study(path: Path, **options) -> list[dict]:
    """Write the plan, and return its jobs."""
    jobs = list_jobs(**options)
    plan = {"format": 1, "name": "lookup-tree", "profile": "test", "note": "", "jobs": jobs}
    write_json(path / "study.json", plan)
    return jobs


def write_study(path: Path, **options) -> Path:
    """Write plan and tables."""
    for job in begin_study(path, **options):
        run = path / "runs" / job["id"]
        _write_description(run, job)
        tables = {
            "evaluations": _list_episodes(job),
            "sampled_evaluations": _list_episodes(job),
            "outcomes": _list_outcomes(job, sampled=False),
            "sampled_outcomes": _list_outcomes(job, sampled=True),
            "decisions": _list_decisions(job),
            "sampled_decisions": _list_decisions(job),
            "losses": _list_losses(job),
            "stability": _list_stability(job),
            "curves": _list_curves(job),
        }
        for name, rows in tables.items():
            columns = {it: np.array([row[it] for row in rows]) for it in rows[0]}
            write_table(run / f"{name}.parquet", columns)
        write_json(path / "status" / f"{job['id']}.json", {"state": "done", "seconds": 60.0})
    return path


def earn(job, seed, number, sampled):
    """Greedy agents have 1 less, those of the variant half a point; each seed a tenth more."""
    lost = 0.0 if job["cell"] == "hybrid" else 0.5 * (number == 100)
    return 3.0 + 0.1 * seed - lost - (not sampled) - 0.5 * bool(job["variant"])


def decide(seed, cue, first):
    """The share of right decisions in a bin, in per cent."""
    return 90 - 5 * cue - 2 * seed * seed - (first > 1) * 10


def _write_description(run, job):
    growth = {"name": "num_mazes", "label": "number of mazes"}
    about = {"growth": growth, "levels": {"optimal": 4.0}, "trained": [1, 20]}
    about |= {"parallelizable": CELLS[job["cell"]]}
    what = {"environment": {}, "architecture": {}, "config": {}, "seeds": job["seeds"]}
    write_json(run / "run.json", {"format": 1, "what": what, "about": about, "versions": {}})


def _list_episodes(job):
    """Nothing is made of them but outcomes, which are given below."""
    return [
        {
            **{"seed": seed, "num_mazes": 10, "cue": 0, "return": 4.0, "num_steps": 30},
            **{"end": "right", "num_right": 10, "num_decisions": 10},
        }
        for seed in job["seeds"]
    ]


def _list_outcomes(job, *, sampled):
    return [
        {
            **{"seed": seed, "num_mazes": number, "return": value},
            **{"low": value - 0.2, "high": value + 0.3, "share_right": (value + 0.1) / 4.1},
            **{"share_low": 0.5, "share_high": 0.9, "num_decisions": float(number)},
            **{"timeouts": 0.25, "num_steps": 30.0, "outcome": "random"},
        }
        for seed in job["seeds"]
        for number in NUMBERS
        for value in [earn(job, seed, number, sampled)]
    ]


def _list_decisions(job):
    """In the shorter episodes all are wrong; in the longer ones the second table's last bin is
    empty.
    """
    return [
        {
            **{"seed": seed, "num_mazes": number, "cue": cue, "first": first, "last": last},
            "num_right": decide(seed, cue, first) * taken // 100 if number == 100 else 0,
            "num_decisions": taken,
        }
        for seed in job["seeds"]
        for number in NUMBERS
        for cue in CUES
        for first, last in BINS
        for taken in [0 if cue == 1 and first == 100 else 100 * (cue + 1)]
    ]


def _list_losses(job):
    return [
        {
            **{"seed": seed, "cue": cue, "first": first, "last": last, "num_decisions": 100},
            **{"num_wrong": 10 * seed, "cured_by_table": 5 * seed, "cured_by_index": 3 * seed},
            **{"cured_by_flag": seed, "cured_by_none": 2, "spoiled_by_table": 1},
            **{"spoiled_by_index": 2, "spoiled_by_flag": 3},
        }
        for seed in job["seeds"]
        for cue in CUES
        for first, last in ((1, 9), (16, 24), (25, 39), (40, 62))
    ]


def _list_stability(job):
    kind = "monostable" if job["cell"] == "mingru" else "multistable"
    vaa = 1 / 6 if kind == "monostable" else 1.0
    return [
        {"seed": seed, "vaa": vaa, "vaa_limit": vaa, "stability": kind} for seed in job["seeds"]
    ]


def _list_curves(job):
    return [
        {"seed": seed, "iteration": iteration, "return": 2.0 + iteration / 10}
        for seed in job["seeds"]
        for iteration in range(1, NUM_ITERATIONS + 1)
    ]
