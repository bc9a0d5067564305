"""How many seeds of each cell learn `tmaze-short`, and by which iteration.

Trains with the paper's numbers, and every few iterations asks each greedy agent to solve lengths
1, 2 and 3 for both goals. A cell's training ends when all of its seeds have, or after `until`
iterations. Interrupted, it goes on where it was when it is started again.
"""

import dataclasses
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence import envs
from remanence.networks import Agent, make_architecture
from remanence.store import read_json, write_json
from remanence.training import (
    RunDirectory,
    Training,
    get_preset,
    keep_compiled_programs,
    train,
)

LENGTHS = (1, 2, 3)


@dataclasses.dataclass(frozen=True)
class Options:
    """Count the seeds that learn `tmaze-short`."""

    cells: tuple[str, ...] = ("gru", "brc", "nbrc", "mingru", "bmru")
    """Which cells to train."""
    num_seeds: int = 30
    """Seeds 1 to this one."""
    every: int = 10
    """How many iterations lie between two looks at the greedy agents."""
    until: int = 60
    """Give up after so many iterations."""
    runs: Path = Path("runs/tmaze-short-learning")
    """Where the runs are kept."""
    out: Path = Path("benchmarks/records/tmaze_short_learning.json")
    """Where the record goes."""


def main(options: Options) -> None:
    """Train, count, print and write the record."""
    keep_compiled_programs()
    solved = {cell: count_solved(cell, options) for cell in options.cells}
    write_record(
        options,
        ("remanence", "jax", "equinox", "optax"),
        first_solved_iteration=solved,
        last_sampled_return={cell: read_last_returns(cell, options) for cell in options.cells},
    )
    Console().print(tabulate(solved, options))


def count_solved(cell: str, options: Options) -> dict[int, int | None]:
    """For each seed, the first look at which its greedy agent solved every length, or None."""
    seeds = range(1, options.num_seeds + 1)
    first_solved: dict[int, int | None] = dict.fromkeys(seeds)
    for target in range(options.every, options.until + 1, options.every):
        for seed in look(cell, seeds, target, options):
            first_solved[seed] = first_solved[seed] or target
        count = sum(iteration is not None for iteration in first_solved.values())
        print(f"{cell}: {count} of {len(seeds)} after {target} iterations", flush=True)
        if count == len(seeds):
            break
    return first_solved


def look(cell: str, seeds: range, target: int, options: Options) -> list[int]:
    """The seeds that solve every length at iteration `target`; a look is taken once and kept."""
    kept = options.runs / f"{cell}-after-{target}.json"
    if not kept.exists():
        agents = train_until(cell, seeds, target, options).agents
        write_json(kept, [seed for seed, agent in agents.items() if solves_all(agent)])
    return read_json(kept)


def read_last_returns(cell: str, options: Options) -> dict[int, float]:
    """The mean return of each seed, acting as it learns, at the last iteration of the run."""
    curves = RunDirectory(options.runs / cell).load_curves()
    last = curves["iteration"] == curves["iteration"].max()
    pairs = zip(curves["seed"][last], curves["return"][last], strict=True)
    return {int(seed): round(float(mean), 3) for seed, mean in pairs}


def train_until(cell: str, seeds: range, target: int, options: Options) -> Training:
    """Go on with a cell's run until iteration `target`, and stop it there."""
    preset = get_preset("tmaze-short")
    done = 0

    def note(progress) -> None:
        nonlocal done
        done = progress.iteration
        mean = np.nanmean(progress.metrics["return"])
        print(f"{cell} {done}: return {mean:.3f}, {progress.seconds:.1f} s", flush=True)

    return train(
        envs.make(preset.environment, **preset.environment_options),
        make_architecture(preset.architecture, cell=cell),
        preset.config,
        seeds,
        out=options.runs / cell,
        resume=True,
        on_iteration=note,
        should_stop=lambda: done >= target,
    )


@eqx.filter_jit
def play_greedily(agent: Agent, length: jax.Array, goal: jax.Array) -> jax.Array:
    """The return of one greedy episode."""
    environment, params = envs.make("tmaze", length=max(LENGTHS))
    zero = jnp.zeros((), jnp.int32)
    state = envs.TMazeState(time=zero, length=length, position=zero, goal=goal, arm=zero)

    def step(carry, time):
        state, memory, total, over = carry
        action, memory = agent.act(environment.observe(state), memory, time == 0)
        state, reward, ends, _ = environment.advance(jax.random.key(0), state, action, params)
        return (state, memory, total + jnp.where(over, 0.0, reward), over | ends), None

    start = (state, agent.initial_state(), jnp.zeros(()), jnp.array(False))
    (_, _, total, _), _ = jax.lax.scan(step, start, jnp.arange(10 * max(LENGTHS)))
    return total


def solves_all(agent: Agent) -> bool:
    """Whether the greedy agent earns 4 on every length for both goals."""
    returns = [
        float(play_greedily(agent, jnp.int32(length), jnp.int32(goal)))
        for length in LENGTHS
        for goal in (-1, 1)
    ]
    return min(returns) == 4.0


def tabulate(solved: dict[str, dict[int, int | None]], options: Options) -> Table:
    """A row for each cell."""
    table = Table(box=None, pad_edge=False)
    table.add_column("cell")
    table.add_column(f"solved by {options.until}", justify="right")
    table.add_column("median look", justify="right")
    table.add_column("never")
    for cell, looks in solved.items():
        reached = [look for look in looks.values() if look is not None]
        never = [str(seed) for seed, look in looks.items() if look is None]
        median = f"{np.median(reached):g}" if reached else "-"
        table.add_row(cell, f"{len(reached)}/{len(looks)}", median, ", ".join(never))
    return table


if __name__ == "__main__":
    main(tyro.cli(Options))
