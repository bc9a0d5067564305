"""A small study on disk, made by hand: four jobs of six agents whose behaviour is known."""

from pathlib import Path

import numpy as np

from remanence.store import write_json, write_table

SEEDS = [1, 2, 3, 4, 5, 6]
LENGTHS = [2, 3, 30, 100, 1000]
CELLS = ("gru", "bmru")
PRESETS = ("tmaze-short", "tmaze-long")
NUM_ITERATIONS = 12


def remembers(cell: str, seed: int) -> bool:
    """Every BMRU does, and the first two thirds of the GRUs."""
    return cell == "bmru" or seed <= 4


def reach(preset: str, cell: str, seed: int) -> tuple[int, float]:
    """The first and the last length that an agent solves."""
    low = 50 if preset == "tmaze-long" and cell == "gru" else 1
    return (low, np.inf) if remembers(cell, seed) else (1, 50)


ABOUT = {
    "growth": {"name": "length", "label": "length"},
    "levels": {"optimal": 4.0, "random decision": 1.95},
}
TRAINED = {"tmaze-short": [1, 3], "tmaze-long": [100, 100]}


def write_run(path: Path, preset: str, cell: str) -> None:
    """What a run says of itself to later readers."""
    parallelizable = cell in ("mingru", "bmru")
    about = {**ABOUT, "trained": TRAINED[preset], "parallelizable": parallelizable}
    what = {"environment": {}, "architecture": {}, "config": {}, "seeds": SEEDS}
    write_json(path / "run.json", {"format": 1, "what": what, "about": about, "versions": {}})


def write_study(
    path: Path, presets: tuple[str, ...] = PRESETS, variants: tuple[str, ...] = ()
) -> Path:
    """Write plan, tables and certificates."""
    for job in begin_study(path, presets, variants):
        _write_job(path, job)
    return path


def begin_study(
    path: Path, presets: tuple[str, ...] = PRESETS, variants: tuple[str, ...] = ()
) -> list[dict]:
    """Write the plan, and return its jobs; of the BMRU there is one more for each variant."""
    jobs = [
        {
            "id": f"{preset}-{cell}",
            "preset": preset,
            "network": "tmaze",
            "cell": cell,
            "seeds": SEEDS,
            "num_iterations": NUM_ITERATIONS,
            "lengths": LENGTHS,
            "changes": {},
        }
        for preset in presets
        for cell in CELLS
    ]
    jobs += [
        job | {"id": f"{job['id']}-{name}", "variant": name, "changes": {"surrogate_width": width}}
        for width, name in enumerate(variants, start=2)
        for job in jobs
        if job["cell"] == "bmru"
    ]
    plan = {"format": 1, "name": "tmaze", "profile": "test", "note": "", "jobs": jobs}
    write_json(path / "study.json", plan | {"command": ["remanence", "reproduce", "<tmaze>"]})
    return jobs


def _write_job(path: Path, job: dict) -> None:
    name, preset, cell = job["id"], job["preset"], job["cell"]
    run = path / "runs" / name
    write_run(run, preset, cell)
    write_table(run / "evaluations.parquet", _list_episodes(preset, cell))
    kinds = np.array(["bistable" if remembers(cell, it) else "monostable" for it in SEEDS])
    vaa = np.where(kinds == "bistable", 1.0, 0.5)
    columns = {"seed": np.array(SEEDS), "vaa": vaa, "vaa_limit": vaa, "stability": kinds}
    write_table(run / "stability.parquet", columns)
    spans = [reach(preset, cell, seed) for seed in SEEDS]
    verdicts = ["every length" if span == (1, np.inf) else "some lengths" for span in spans]
    transients = np.array([1 if cell == "bmru" else 10 * seed for seed in SEEDS])
    columns = {"seed": np.array(SEEDS), "solved": np.array(verdicts), "optimal": np.array(verdicts)}
    columns |= {"transient_up": transients, "transient_down": transients}
    columns |= {"solved_span": np.array([high for _, high in spans])}
    write_table(run / "certificates.parquet", columns)
    for seed, span in zip(SEEDS, spans, strict=True):
        write_json(run / "certificates" / f"seed-{seed}.json", _certify(*span))
    write_table(run / "curves.parquet", _list_curve())
    write_table(run / "orbits.parquet", _list_orbits())
    write_json(path / "status" / f"{name}.json", {"state": "done", "seconds": 60.0})


def _list_episodes(preset: str, cell: str) -> dict[str, np.ndarray]:
    rows = []
    for seed in SEEDS:
        low, high = reach(preset, cell, seed)
        for length in LENGTHS:
            solved = low <= length <= high
            rows.append((seed, length, 0, 4.0, length, "right"))
            end = "right" if solved else "wrong"
            rows.append((seed, length, 1, 4.0 if solved else -0.1, length, end))
    names = ("seed", "length", "cue", "return", "num_steps", "end")
    return dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))


def _certify(low: int, high: float) -> dict:
    if high == np.inf:
        lengths = {"listed": low, "period": 1, "runs": [[low, low]]}
    else:
        lengths = {"listed": int(high) + 1, "period": 1, "runs": [[low, int(high)]]}
    failure = None if (low, high) == (1, np.inf) else {"kind": "forgets", "length": int(low)}
    cues = [{"cue": goal, "transient": 3, "period": 1} for goal in (-1, 1)]
    compiled = {"solved": lengths, "optimal": lengths, "cues": cues, "merge": None, "distance": 0.5}
    compiled |= {"failures": {"solved": failure, "optimal": failure}}
    kind = {"kind": "remanence certificate", "format": 2}
    return kind | {"compiled": compiled, "portable": None, "contraction": {"optimal": lengths}}


def _list_orbits() -> dict[str, np.ndarray]:
    """Ten steps of two units after either cue; the states begin with the seed."""
    shape = (len(SEEDS), 2, 10, 2)
    seeds, cues, steps, units = (index.ravel() for index in np.indices(shape))
    states = np.array(SEEDS)[seeds] + np.where(cues == 0, 1, -1) * steps / 100
    columns = {"seed": np.array(SEEDS)[seeds], "cue": cues, "step": steps, "unit": units}
    return columns | {"state": states}


def _list_curve() -> dict[str, np.ndarray]:
    """Optimal from the fourth iteration on; in the first no episode ends."""
    iterations = np.tile(np.arange(1, NUM_ITERATIONS + 1), len(SEEDS))
    returns = np.where(iterations == 1, np.nan, np.where(iterations < 4, 1.0, 4.0))
    seeds = np.repeat(SEEDS, NUM_ITERATIONS)
    return {"seed": seeds, "iteration": iterations, "return": returns}
