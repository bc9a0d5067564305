"""Steps per second of the mazes, next to gymnax's MemoryChain in the same run.

One compiled loop holds 4 096 environments under random actions. The three take turns, so that
what else the machine does falls on all alike; the figure to trust is the ratio.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnax
import jax
import jax.numpy as jnp
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence.envs import make

BASELINE = "gymnax MemoryChain-bsuite"


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure environment steps per second against gymnax's MemoryChain, and keep a record.

    The record is JSON: every repetition, medians, ratios, versions and the machine. Times are of
    compiled code; compilation is not counted.
    """

    out: Path = Path("benchmarks/records/environment_speed.json")
    """Where the record goes."""
    num_envs: int = 4096
    """Environments in the batch."""
    num_steps: int = 512
    """Steps of each environment in one repetition."""
    num_repetitions: int = 11
    """Turns that each environment takes, 7 or more."""

    def __post_init__(self):
        if self.num_repetitions < 7:
            raise SystemExit("--num-repetitions: a median with a spread needs 7 or more")


def compile_loop(environment: Any, params: Any, options: Options) -> Callable[[Any], Any]:
    """A batch under random actions for `num_steps`; only sums leave it, so nothing is stored."""
    num_envs, num_actions = options.num_envs, environment.num_actions

    def step(carry, _):
        key, state = carry
        key, action_key, step_key = jax.random.split(key, 3)
        actions = jax.random.randint(action_key, (num_envs,), 0, num_actions)
        observation, state, reward, *_ = jax.vmap(environment.step, (0, 0, 0, None))(
            jax.random.split(step_key, num_envs), state, actions, params
        )
        return (key, state), (jnp.sum(reward, dtype=jnp.float32), jnp.sum(observation))

    @jax.jit
    def run(key):
        keys = jax.random.split(key, num_envs)
        _, state = jax.vmap(environment.reset, (0, None))(keys, params)
        return jax.lax.scan(step, (key, state), length=options.num_steps)[1]

    return run


def measure(runs: dict[str, Callable[[Any], Any]], options: Options) -> dict[str, list[float]]:
    """Million steps per second of every repetition; the first, which compiles, is dropped."""
    million_steps = options.num_envs * options.num_steps / 1e6
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for repetition in range(options.num_repetitions + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            jax.block_until_ready(run(jax.random.key(repetition)))
            speeds[name].append(million_steps / (time.perf_counter() - start))
    return {name: values[1:] for name, values in speeds.items()}


def summarise(speeds: dict[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Medians and quartiles; a ratio is the median of those within one repetition."""
    summary = {}
    for name, values in speeds.items():
        low, median, high = statistics.quantiles(values, n=4)
        ratios = [ours / theirs for ours, theirs in zip(values, speeds[BASELINE], strict=True)]
        summary[name] = {
            "median_million_steps_per_second": median,
            "quartiles": [low, high],
            "ratio_to_baseline": statistics.median(ratios),
            "ratio_range": [min(ratios), max(ratios)],
            "repetitions": values,
        }
    return summary


def show(summary: dict[str, dict[str, Any]], options: Options) -> None:
    """One row for each environment."""
    title = f"{options.num_envs} environments, {options.num_repetitions} interleaved repetitions"
    table = Table(title=title)
    for column in ("environment", "million steps/s", "quartiles", "ratio", "range"):
        table.add_column(column, justify="left" if column == "environment" else "right")
    for name, row in summary.items():
        table.add_row(
            name,
            f"{row['median_million_steps_per_second']:.2f}",
            "{:.2f} .. {:.2f}".format(*row["quartiles"]),
            f"{row['ratio_to_baseline']:.2f}",
            "{:.2f} .. {:.2f}".format(*row["ratio_range"]),
        )
    Console().print(table)


def main(options: Options) -> None:
    """Measure, show and record."""
    environments = {
        BASELINE: gymnax.make("MemoryChain-bsuite"),
        "tmaze": make("tmaze"),
        "lookup-tree-maze": make("lookup-tree-maze"),
    }
    runs = {
        name: compile_loop(environment, params, options)
        for name, (environment, params) in environments.items()
    }
    summary = summarise(measure(runs, options))
    show(summary, options)
    packages = ("jax", "jaxlib", "gymnax", "remanence")
    write_record(options, packages, baseline=BASELINE, environments=summary)


if __name__ == "__main__":
    main(tyro.cli(Options))
