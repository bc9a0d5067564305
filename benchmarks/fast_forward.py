"""A maze of a million cells, stepped plainly and fast-forwarded, by agents trained on lengths 1-3.

Both run the same executable and end in the same arm after the same number of steps, which is
checked. They take turns; compilation is not counted, and nothing is kept between turns.
"""

import dataclasses
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence.certificates import find_compiled
from remanence.envs import make
from remanence.evaluation import evaluate
from remanence.networks import Agent, make_architecture
from remanence.training import change_config, get_preset, keep_compiled_programs, train


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure plain stepping against fast-forward, and keep a record."""

    out: Path = Path("benchmarks/records/fast_forward.json")
    """Where the record goes."""
    cells: tuple[str, ...] = ("gru", "bmru", "mingru")
    """One agent is trained of each."""
    seed: int = 1
    """Its seed."""
    num_iterations: int = 20
    """Iterations of training on tmaze-short."""
    length: int = 1_000_000
    """Cells of the maze."""
    num_repetitions: int = 5
    """Turns that each way takes."""


def measure(agent: Agent, env: Any, options: Options) -> dict[str, list[float]]:
    """Seconds of every turn, for both cues together."""
    seconds: dict[str, list[float]] = {"plain": [], "fast": []}
    evaluate(agent, env, [2])  # compiles what both run
    for _ in range(options.num_repetitions):
        ends = []
        for way in seconds:
            start = time.perf_counter()
            evaluation = evaluate(agent, env, [options.length], plain=way == "plain")
            seconds[way].append(time.perf_counter() - start)
            ends.append(evaluation.episodes)
        for name in ends[0]:
            np.testing.assert_array_equal(ends[0][name], ends[1][name])
    return seconds


def summarize(agent: Agent, env: Any, seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Medians, their ratio, and what kind of agent it is."""
    found = find_compiled(agent, env)
    ratios = [p / f for p, f in zip(seconds["plain"], seconds["fast"], strict=True)]
    return {
        "solved": str(found.solved.lengths),
        "transients": [closure and closure.transient for closure in found.closures.values()],
        "plain_seconds": statistics.median(seconds["plain"]),
        "fast_seconds": statistics.median(seconds["fast"]),
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "seconds": seconds,
    }


def main(options: Options) -> None:
    """Train, measure, print, keep."""
    keep_compiled_programs()
    preset = get_preset("tmaze-short")
    env = make(preset.environment, **preset.environment_options)
    config = change_config(preset.config, {"num_iterations": options.num_iterations})
    results = {}
    for cell in options.cells:
        network = make_architecture(preset.architecture, cell=cell)
        agent = train(env, network, config, [options.seed]).agents[options.seed]
        results[cell] = summarize(agent, env, measure(agent, env, options))
    write_record(options, ("remanence", "jax", "jaxlib", "numpy"), results=results)
    table = Table("cell", "right arm on", "plain s", "fast s", "ratio", "range", box=None)
    for cell, found in results.items():
        low, high = found["ratio_range"]
        times = (f"{found['plain_seconds']:.2f}", f"{found['fast_seconds']:.4f}")
        spread = f"{low:,.0f} to {high:,.0f}"
        table.add_row(cell, found["solved"], *times, f"{found['ratio']:,.0f}", spread)
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
