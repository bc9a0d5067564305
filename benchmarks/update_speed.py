"""How fast trainings are: next to plain sequences, PyTorch trainers, one seed and one core.

Four measurements in one run, each of contestants that take turns:

1. thirty seeds next to one, compilation included, and two threads next to one; the peak of memory;
2. the floating-point rate of `lookup-tree`'s updates next to that of a large matrix product;
3. the way of replaying that is chosen next to plain sequences, where observations do not repeat;
4. whole trainings of `tmaze-short` and `tmaze-long`, compilation included, cut into as many parts
   as there are turns; after each of them plain sequences take some iterations from where ours
   stands, and the two PyTorch trainers one from where they stand, which are extrapolated.

The peers need packages of their own: see `training_speed.py`. Compiled programs are not kept.
"""

import dataclasses
import functools
import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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
REPLAY = SequenceReplay()
UPDATE_EPOCHS = 2


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure how fast trainings are, and keep a record."""

    out: Path = Path("benchmarks/records/update_speed.json")
    """Where the record goes."""
    num_repetitions: int = 5
    """Turns that every contestant takes; a whole training is cut into as many parts."""
    num_iterations: int = 250
    """Iterations of a whole training."""
    num_seeds: int = 30
    """Seeds that are compared with one."""
    num_seed_iterations: int = 10
    """Iterations for which they are."""
    num_plain_iterations: int = 5
    """Iterations of plain sequences in a turn."""
    num_cores: int = 2
    """Cores of the machine; a peer is granted a process on each, none slowing down another."""
    peers: bool = True
    """Whether the PyTorch trainers take part."""
    parts: tuple[str, ...] = ("seeds", "lookup_tree", "fallback", "trainings")
    """What to measure."""
    presets: tuple[str, ...] = ("tmaze-short", "tmaze-long")
    """Of which whole trainings are."""
    num_trainings: int = 4
    """How many of ours, and of plain ones, run at once."""


@dataclasses.dataclass(frozen=True)
class Contestant:
    """`iterate` moves `num_trainings` some iterations on; a turn is `num_iterations`."""

    iterate: Callable[[int], Any]
    num_trainings: int
    num_iterations: int


class NoisyTMaze(envs.TMaze):
    """A T-maze of which one more number is seen, that is never the same."""

    @property
    def observation_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = super().observation_bounds
        return np.append(low, np.float32(0)), np.append(high, np.float32(1))

    def start(self, key: Any, params: Any) -> Any:
        return super().start(key, params), jax.random.uniform(key)

    def advance(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        inner, *outcome = super().advance(key, state[0], action, params)
        return (inner, jax.random.uniform(key)), *outcome

    def observe(self, state: Any) -> Any:
        return jnp.append(super().observe(state[0]), state[1])


def make_learner(preset_name: str, cell: str = "gru", **changes: Any) -> tuple[Learner, Any]:
    """The learner of a preset with that cell, and the environment's parameters."""
    preset = get_preset(preset_name)
    environment, params = envs.make(preset.environment, **preset.environment_options)
    architecture = make_architecture(preset.architecture, cell=cell)
    return Learner(environment, architecture, change_config(preset.config, changes)), params


def start_engine(
    learner: Learner,
    params: Any,
    num_seeds: int,
    replay: str = "auto",
    num_threads: int | None = None,
) -> CoresEngine:
    """An engine that has not yet compiled anything."""
    jax.clear_caches()
    engine = CoresEngine(learner, params, replay, num_threads)
    engine.begin(range(1, num_seeds + 1))
    return engine


def repeat(call: Callable[[], Any], count: int) -> None:
    """Call so many times."""
    for _ in range(count):
        call()


def repeat_from_start(start: Callable[[int], CoresEngine], num_seeds: int, count: int) -> None:
    """So many iterations of an engine that is to be started and compiled first."""
    repeat(start(num_seeds).iterate, count)


def measure_seeds(options: Options, console: Console) -> dict[str, Any]:
    """Thirty seeds next to one with compilation, then two threads next to one without."""
    start = functools.partial(start_engine, *make_learner("tmaze-short"))
    seconds: dict[int, list[float]] = {1: [], options.num_seeds: []}
    for turn in range(options.num_repetitions):
        for count, times in seconds.items():
            train = functools.partial(repeat_from_start, start, count, options.num_seed_iterations)
            times.append(time_call(train))
            console.print(f"turn {turn + 1}, {count} seeds: {times[-1]:.1f} s")
    threads = (1, options.num_cores)
    engines = {count: start(options.num_seeds, num_threads=count) for count in threads}
    turns: dict[int, list[float]] = {count: [] for count in threads}
    repeat(engines[1].iterate, options.num_seed_iterations)
    states = engines[1].get_states()
    # Each turn is the same work, and the first, which compiles, does not count.
    for _ in range(1 + options.num_repetitions):
        for count, engine in engines.items():
            engine.set_states(states)
            turns[count].append(time_call(lambda e=engine: repeat(e.iterate, 2)))
    turns = {count: times[1:] for count, times in turns.items()}
    result = {
        "seconds": seconds,
        "ratios": divide(seconds[options.num_seeds], seconds[1]),
        "gain_of_threads": divide(turns[1], turns[options.num_cores]),
        "peak_memory_bytes": read_peak_memory(),
    }
    console.print(f"{options.num_seeds} seeds over 1: {show_spread(result['ratios'])}")
    console.print(f"{options.num_cores} threads over 1: {show_spread(result['gain_of_threads'])}")
    console.print(f"peak of memory: {result['peak_memory_bytes'] / 2**20:.0f} MiB")
    return result


def measure_rates(options: Options, console: Console) -> dict[str, Any]:
    """The share of a large matrix product's rate at which `lookup-tree`'s updates compute.

    Each core has an update of its own, as when several seeds are trained, or a matrix product.
    """
    matrix = jnp.ones((MATRIX_SIZE, MATRIX_SIZE))
    multiply = jax.jit(lambda matrix: matrix @ matrix @ matrix @ matrix)
    calls: dict[str, Callable[[], Any]] = {"matrix product": lambda: multiply(matrix)}
    operations = {"matrix product": 3 * 2.0 * MATRIX_SIZE**3}
    for cell in LOOKUP_TREE_CELLS:
        calls[cell], operations[cell] = prepare_update(cell)
    rates: dict[str, list[float]] = {name: [] for name in calls}
    with ThreadPoolExecutor(options.num_cores) as pool:

        def run_on_all(call: Callable[[], Any]) -> None:
            list(pool.map(lambda _: jax.block_until_ready(call()), range(options.num_cores)))

        for call in calls.values():
            run_on_all(call)
        for _ in range(options.num_repetitions):
            for name, call in calls.items():
                done = options.num_cores * operations[name]
                rates[name].append(done / time_call(lambda c=call: run_on_all(c)))
    shares = {cell: divide(rates[cell], rates["matrix product"]) for cell in LOOKUP_TREE_CELLS}
    for cell, share in shares.items():
        console.print(f"lookup-tree, {cell}, share of a matrix product: {show_spread(share)}")
    return {"operations_per_second": rates, "shares": shares}


def prepare_update(cell: str) -> tuple[Callable[[], Any], float]:
    """Updates of `lookup-tree`'s policy, and the operations of their matrix products."""
    learner, params = make_learner("lookup-tree", cell, num_envs=256, policy_epochs=UPDATE_EPOCHS)
    state = jax.jit(learner.begin)(jnp.int32(1), params)
    state, experience, _ = jax.jit(learner.play)(state, params)
    improve = jax.jit(lambda state, experience: learner.improve_policy(state, experience, REPLAY))
    num_epochs = float(improve(state, experience)[1]["policy_epochs"])
    policy, _ = learner.assemble(state.policy, state.value)
    entries = jax.tree_util.tree_leaves_with_path(policy)
    sizes = [leaf.size for path, leaf in entries if jax.tree_util.keystr(path).endswith("weight")]
    num_steps = learner.config.num_envs * learner.config.num_steps * num_epochs
    # A product forward and two backward, one where observations enter, of two operations for each
    # weight and step.
    operations = 2 * (3 * sum(sizes) - policy.encoder[0].weight.size) * num_steps
    return lambda: improve(state, experience), operations


def measure_fallback(options: Options, console: Console) -> dict[str, Any]:
    """Time with the replay that is chosen over that with plain sequences, by iteration."""
    noisy, params = make_learner("tmaze-short")
    noisy = dataclasses.replace(noisy, environment=NoisyTMaze())
    lookup_tree, lookup_tree_params = make_learner(
        "lookup-tree", num_envs=64, policy_epochs=UPDATE_EPOCHS, value_epochs=UPDATE_EPOCHS
    )
    undropped = dataclasses.replace(lookup_tree.architecture, dropout=0.0)
    lookup_tree = dataclasses.replace(lookup_tree, architecture=undropped)
    ratios = {}
    for name, learner, given in (
        ("tmaze-short with noise", noisy, params),
        ("lookup-tree without dropout", lookup_tree, lookup_tree_params),
    ):
        engines = [
            start_engine(learner, given, options.num_cores, replay)
            for replay in ("auto", "sequence")
        ]
        for engine in engines:
            engine.iterate()
        turns = [
            [time_call(engine.iterate) for engine in engines]
            for _ in range(options.num_repetitions)
        ]
        ratios[name] = [chosen / plain for chosen, plain in turns]
        console.print(f"{name}, chosen over plain: {show_spread(ratios[name])}")
    return ratios


def make_contestants(preset_name: str, options: Options) -> dict[str, Contestant]:
    """Ours and plain with some seeds at once, the peers with one process for each core."""
    learner, params = make_learner(preset_name)
    count = options.num_trainings
    ours = start_engine(learner, params, count)
    plain = start_engine(learner, params, count, "sequence")

    def follow(count: int) -> None:
        plain.set_states(ours.get_states())
        repeat(plain.iterate, count)

    part = options.num_iterations // options.num_repetitions
    contestants = {
        "ours": Contestant(functools.partial(repeat, ours.iterate), count, part),
        "plain": Contestant(follow, count, options.num_plain_iterations),
    }
    if options.peers and preset_name == "tmaze-short":
        for name, (module, trainer) in PEERS.items():
            make = getattr(importlib.import_module(module), trainer)
            peer = make((learner.environment, params), learner.architecture, learner.config, 1, 1)
            take_turn = functools.partial(repeat, peer.iterate)
            contestants[name] = Contestant(take_turn, options.num_cores, 1)
    return contestants


def measure_trainings(preset_name: str, options: Options, console: Console) -> dict[str, Any]:
    """Seconds of one training of each contestant, by each of its turns."""
    contestants = make_contestants(preset_name, options)
    contestants["plain"].iterate(1)  # compilation, which is no part of what is extrapolated
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(options.num_repetitions):
        for name, each in contestants.items():
            spent = time_call(functools.partial(each.iterate, each.num_iterations))
            share = options.num_iterations / each.num_iterations / each.num_trainings
            seconds[name].append(spent * share)
            console.print(f"{preset_name}, turn {turn + 1}, {name}: {seconds[name][-1]:.1f} s")
    return {
        "seconds_per_training": seconds,
        "whole_training": {name: statistics.mean(times) for name, times in seconds.items()},
        "ratios": {name: divide(times, seconds["ours"]) for name, times in seconds.items()},
    }


def divide(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    """Ratios turn by turn."""
    return [one / other for one, other in zip(ones, others, strict=True)]


def show_spread(values: Sequence[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def time_call(call: Callable[[], Any]) -> float:
    """Seconds until all that a call computes is there."""
    began = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - began


def tabulate(trainings: dict[str, dict[str, Any]]) -> Table:
    """A row for each contestant of each preset."""
    table = Table(box=None, pad_edge=False)
    for column in ("training", "s per training", "ratio of all", "ratio by turn", "range"):
        table.add_column(column, justify="left" if column == "training" else "right")
    for preset, result in trainings.items():
        for name, seconds in result["whole_training"].items():
            ratios = result["ratios"][name]
            table.add_row(
                f"{preset}, {name}",
                f"{seconds:.0f}",
                f"{seconds / result['whole_training']['ours']:.1f}",
                f"{statistics.median(ratios):.1f}",
                f"{min(ratios):.1f} to {max(ratios):.1f}",
            )
    return table


def measure_all_trainings(options: Options, console: Console) -> dict[str, Any]:
    """Whole trainings on short and on long mazes."""
    trainings = {name: measure_trainings(name, options, console) for name in options.presets}
    console.print(tabulate(trainings))
    return trainings


MEASUREMENTS = {
    "seeds": measure_seeds,
    "lookup_tree": measure_rates,
    "fallback": measure_fallback,
    "trainings": measure_all_trainings,
}


def main(options: Options) -> None:
    """Measure, show and record."""
    console = Console()
    results = {name: MEASUREMENTS[name](options, console) for name in options.parts}
    packages = ("remanence", "jax", "jaxlib", "torch", "stable-baselines3", "sb3-contrib")
    packages = packages if options.peers else packages[:3]
    write_record(options, packages, **results)


if __name__ == "__main__":
    main(tyro.cli(Options))
