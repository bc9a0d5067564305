"""What deduplicated updates gain: over plain sequences, over PyTorch trainers, by seeds and cores.

Four measurements in one run, each of contestants that take turns:

1. whole trainings of `tmaze-short` and `tmaze-long`, of which plain sequences and the two PyTorch
   trainers run a few iterations that are extrapolated;
2. thirty seeds next to one, compilation included, and two threads next to one;
3. the peak of memory after that;
4. the floating-point rate of `lookup-tree`'s updates next to that of a large matrix product.

The peers need packages of their own: see `training_speed.py`. Compiled programs are not kept.
"""

import dataclasses
import importlib
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import tyro
from _record import write_record
from rich.console import Console
from rich.table import Table

from remanence import envs
from remanence.cli._profile import read_peak_memory
from remanence.networks import make_architecture
from remanence.training import change_config, get_preset

# `train` runs one training to its end; to take turns we move its engine ourselves.
from remanence.training._engines import CoresEngine
from remanence.training._learner import Learner
from remanence.training._replays import SequenceReplay

PEERS = {
    "sb3-contrib": ("_peers_sb3", "SB3Trainer"),
    "plain torch": ("_peers_torch", "TorchTrainer"),
}
LOOKUP_TREE_CELLS = ("mingru", "hybrid", "gru")
MATRIX_SIZE = 2048


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure what deduplicated updates gain, and keep a record."""

    out: Path = Path("benchmarks/records/update_speed.json")
    """Where the record goes."""
    num_repetitions: int = 5
    """Turns that every contestant takes; a whole training is cut into as many parts."""
    num_iterations: int = 250
    """Iterations of a whole training."""
    num_seeds: int = 30
    """Seeds that are compared with one."""
    num_cores: int = 2
    """Cores of the machine; a peer is granted a process on each, none slowing down another."""
    peers: bool = True
    """Whether the PyTorch trainers take part."""


@dataclasses.dataclass(frozen=True)
class Contestant:
    """`iterate` moves `num_trainings` one iteration on, on a share of the machine."""

    iterate: Callable[[], Any]
    num_trainings: float
    num_iterations: int


def make_learner(preset_name: str, cell: str = "gru", **changes: Any) -> tuple[Learner, Any]:
    """The learner of a preset with that cell, and the environment's parameters."""
    preset = get_preset(preset_name)
    environment, params = envs.make(preset.environment, **preset.environment_options)
    architecture = make_architecture(preset.architecture, cell=cell)
    return Learner(environment, architecture, change_config(preset.config, changes)), params


def start_engine(
    preset_name: str, num_seeds: int, replay: str = "auto", num_threads: int | None = None
) -> CoresEngine:
    """An engine that has not yet compiled anything."""
    engine = CoresEngine(*make_learner(preset_name), replay, num_threads)
    engine.begin(range(1, num_seeds + 1))
    return engine


def make_contestants(preset_name: str, options: Options) -> dict[str, Contestant]:
    """Ours and plain with a seed for each core, and the peers with one process for each core."""
    cores, part = options.num_cores, options.num_iterations // options.num_repetitions
    ours = start_engine(preset_name, cores)
    plain = start_engine(preset_name, cores, "sequence")
    contestants = {
        "ours": Contestant(ours.iterate, cores, part),
        "plain": Contestant(plain.iterate, cores, 1),
    }
    if options.peers and preset_name == "tmaze-short":
        learner, params = make_learner(preset_name)
        for name, (module, trainer) in PEERS.items():
            make = getattr(importlib.import_module(module), trainer)
            peer = make((learner.environment, params), learner.architecture, learner.config, 1, 1)
            contestants[name] = Contestant(peer.iterate, cores, 1)
    return contestants


def measure_trainings(preset_name: str, options: Options, console: Console) -> dict[str, Any]:
    """Seconds of one training of each contestant, extrapolated from each of its turns."""
    contestants = make_contestants(preset_name, options)
    compiling = {name: time_call(contestants[name].iterate) for name in ("ours", "plain")}
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(options.num_repetitions):
        for name, each in contestants.items():
            spent = time_call(
                lambda each=each: [each.iterate() for _ in range(each.num_iterations)]
            )
            share = options.num_iterations / each.num_iterations / each.num_trainings
            seconds[name].append(spent * share)
            console.print(f"{preset_name}, turn {turn + 1}, {name}: {seconds[name][-1]:.1f} s")
    ratios = {
        name: [other / ours for other, ours in zip(times, seconds["ours"], strict=True)]
        for name, times in seconds.items()
    }
    return {"first_iteration": compiling, "seconds_per_training": seconds, "ratios": ratios}


def measure_seeds(options: Options, console: Console) -> dict[str, Any]:
    """Thirty seeds next to one with compilation, then two threads next to one without."""
    one, many = start_engine("tmaze-short", 1), start_engine("tmaze-short", options.num_seeds)
    part = options.num_repetitions
    seconds = {
        "one": time_call(lambda: [one.iterate() for _ in range(part)]),
        "many": time_call(lambda: [many.iterate() for _ in range(part)]),
    }
    console.print(f"{options.num_seeds} seeds / 1 seed: {seconds['many'] / seconds['one']:.1f}")
    engines = {
        count: start_engine("tmaze-short", 2 * options.num_cores, num_threads=count)
        for count in (1, options.num_cores)
    }
    turns: dict[int, list[float]] = {count: [] for count in engines}
    for engine in engines.values():
        for _ in range(2):
            engine.iterate()
    for _ in range(options.num_repetitions):
        for count, engine in engines.items():
            turns[count].append(time_call(engine.iterate))
    gain = [one / all for one, all in zip(turns[1], turns[options.num_cores], strict=True)]
    console.print(f"{options.num_cores} threads over 1: {statistics.median(gain):.2f}")
    return {
        "num_iterations": part,
        "seconds": seconds,
        "ratio": seconds["many"] / seconds["one"],
        "gain_of_threads": gain,
        "peak_memory_bytes": read_peak_memory(),
    }


def measure_rates(options: Options, console: Console) -> dict[str, Any]:
    """The share of a large matrix product's rate at which `lookup-tree`'s updates compute."""
    matrix = jnp.ones((MATRIX_SIZE, MATRIX_SIZE))
    multiply = jax.jit(lambda matrix: matrix @ matrix)
    calls: dict[str, Callable[[], Any]] = {"matrix product": lambda: multiply(matrix)}
    operations = {"matrix product": 2.0 * MATRIX_SIZE**3}
    for cell in LOOKUP_TREE_CELLS:
        calls[cell], operations[cell] = prepare_update(cell)
    rates: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        time_call(call)
    for _ in range(options.num_repetitions):
        for name, call in calls.items():
            rates[name].append(operations[name] / time_call(call))
    shares = {
        cell: [ours / best for ours, best in zip(rates[cell], rates["matrix product"], strict=True)]
        for cell in LOOKUP_TREE_CELLS
    }
    for cell, share in shares.items():
        console.print(f"lookup-tree, {cell}: {statistics.median(share):.0%} of a matrix product")
    return {"operations_per_second": rates, "shares": shares}


def prepare_update(cell: str) -> tuple[Callable[[], Any], float]:
    """The gradient of one minibatch of `lookup-tree`, and the operations of its products."""
    learner, params = make_learner("lookup-tree", cell, num_envs=256)
    config = learner.config
    state = jax.jit(learner.begin)(jnp.int32(1), params)
    state, experience, _ = jax.jit(learner.play)(state, params)
    policy, _ = learner.assemble(state)
    members = jnp.arange(config.num_envs // config.num_minibatches)
    update = jax.jit(
        lambda policy, experience: SequenceReplay().differentiate_policy(
            policy, experience, members, config, jax.random.key(0)
        )
    )
    matrices = [leaf for leaf in jax.tree.leaves(policy) if leaf.ndim > 1]
    # A product forward and two backward, of two operations for each weight and step.
    operations = 3 * 2 * sum(leaf.size for leaf in matrices) * len(members) * config.num_steps
    return lambda: update(policy, experience), float(operations)


def time_call(call: Callable[[], Any]) -> float:
    """Seconds until all that a call computes is there."""
    began = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - began


def tabulate(trainings: dict[str, dict[str, Any]]) -> Table:
    """A row for each contestant of each preset."""
    table = Table(box=None, pad_edge=False)
    for column in ("training", "s per training", "range", "ratio", "range"):
        table.add_column(column, justify="left" if column == "training" else "right")
    for preset, result in trainings.items():
        for name, seconds in result["seconds_per_training"].items():
            ratios = result["ratios"][name]
            table.add_row(
                f"{preset}, {name}",
                f"{statistics.median(seconds):.0f}",
                f"{min(seconds):.0f} to {max(seconds):.0f}",
                f"{statistics.median(ratios):.1f}",
                f"{min(ratios):.1f} to {max(ratios):.1f}",
            )
    return table


def main(options: Options) -> None:
    """Measure, show and record."""
    console = Console()
    seeds = measure_seeds(options, console)
    rates = measure_rates(options, console)
    presets = ("tmaze-short", "tmaze-long")
    trainings = {name: measure_trainings(name, options, console) for name in presets}
    console.print(tabulate(trainings))
    packages = ("remanence", "jax", "jaxlib", "torch", "stable-baselines3", "sb3-contrib")
    packages = packages if options.peers else packages[:3]
    write_record(options, packages, seeds=seeds, lookup_tree=rates, trainings=trainings)


if __name__ == "__main__":
    main(tyro.cli(Options))
