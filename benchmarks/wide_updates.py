"""What an iteration of `lookup-tree` costs with each cell, and how near updates come to products.

One seed on one core: 128 environments of 250 steps, 8 minibatches, the paper's wide network. One
rollout and one epoch of each network take turns with matrix products, of every cell. Of each the
least processor time counts, which a machine's other work disturbs least; run it on one core
(`taskset -c 0`). An iteration is a rollout and ten epochs of each network.
"""

import dataclasses
import functools
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
from update_speed import MATRIX_SIZE, REPLAY, make_learner

from remanence.networks import Network

NUM_EPOCHS = 10

Calls = dict[str, Callable[[], Any]]
Seconds = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Options:
    """Measure updates of wide networks, and keep a record."""

    out: Path = Path("benchmarks/records/wide_updates.json")
    """Where the record goes."""
    cells: tuple[str, ...] = ("mingru", "bmru", "hybrid", "brc", "gru", "nbrc")
    """Which cells take turns; others are compared with the first."""
    num_envs: int = 128
    """Environments of a rollout."""
    num_repetitions: int = 7
    """Turns that each of them takes."""


def prepare_cell(cell: str, num_envs: int) -> tuple[Calls, float]:
    """What to measure with a cell, and the operations of an epoch's matrix products."""
    learner, params = make_learner(
        "lookup-tree", cell, num_envs=num_envs, policy_epochs=1, value_epochs=1
    )
    dry_architecture = dataclasses.replace(learner.architecture, dropout=0.0)
    dry = dataclasses.replace(learner, architecture=dry_architecture)
    play = jax.jit(learner.play)
    begun, dry_begun = (jax.jit(each.begin)(jnp.int32(1), params) for each in (learner, dry))
    _, experience, _ = play(begun, params)
    calls: Calls = {"rollout": lambda: play(begun, params)}
    for name, improve, state in (
        ("policy", learner.improve_policy, begun),
        ("value", learner.improve_value, begun),
        ("policy without dropout", dry.improve_policy, dry_begun),
    ):
        update = jax.jit(functools.partial(improve, replay=REPLAY))
        calls[name] = functools.partial(update, state, experience)
    policy, _ = learner.assemble(begun.policy, begun.value)
    shapes = [weight.shape for weight in list_matrices(policy)]
    num_minibatches = learner.config.num_minibatches
    num_rows = num_envs * learner.config.num_steps // num_minibatches
    calls["products"] = prepare_products(shapes, num_rows, num_minibatches)
    entering, *others = [rows * columns for rows, columns in shapes]
    operations = 2.0 * (2 * entering + 3 * sum(others)) * num_rows * num_minibatches
    return calls, operations


def list_matrices(network: Network) -> list[jax.Array]:
    """The weights that multiply vectors, the gates of one projection as one matrix."""
    return [
        leaf.reshape(-1, leaf.shape[-1])
        for path, leaf in jax.tree_util.tree_leaves_with_path(network)
        if jax.tree_util.keystr(path).endswith("weight") and not is_elementwise(path, leaf)
    ]


def is_elementwise(path: Any, leaf: jax.Array) -> bool:
    """Whether a unit sees itself alone by these weights, as the BRC's do."""
    return ".cell" in jax.tree_util.keystr(path) and leaf.ndim == 2


def prepare_products(shapes: list[tuple[int, ...]], num_rows: int, count: int) -> Callable[[], Any]:
    """The products of an epoch by themselves: forward, and both backward but where inputs enter."""

    def draw(number: int, shape: tuple[int, ...]) -> jax.Array:
        return jax.random.normal(jax.random.key(number), shape)

    @jax.jit
    def multiply(weight: jax.Array, inputs: jax.Array, changes: jax.Array) -> Any:
        return inputs @ weight.T, changes.T @ inputs

    pull = jax.jit(jnp.matmul)
    given = [
        (draw(0, (rows, columns)), draw(1, (num_rows, columns)), draw(2, (num_rows, rows)))
        for rows, columns in shapes
    ]

    def run() -> None:
        for _ in range(count):
            for number, (weight, inputs, changes) in enumerate(given):
                jax.block_until_ready(multiply(weight, inputs, changes))
                if number:
                    jax.block_until_ready(pull(changes, weight))

    return run


def prepare_large_product() -> Callable[[], Any]:
    """One product of large matrices."""
    multiply = jax.jit(jnp.matmul)
    matrix = jnp.ones((MATRIX_SIZE, MATRIX_SIZE))
    return lambda: multiply(matrix, matrix)


def measure(calls: dict[str, Calls], num_repetitions: int) -> dict[str, Seconds]:
    """The least processor time of each call; the first turn, which compiles, does not count."""
    seconds = {cell: dict.fromkeys(own, float("inf")) for cell, own in calls.items()}
    for turn in range(1 + num_repetitions):
        for cell, own in calls.items():
            for name, call in own.items():
                began = time.process_time()
                jax.block_until_ready(call())
                if turn:
                    spent = time.process_time() - began
                    seconds[cell][name] = min(seconds[cell][name], spent)
    return seconds


def summarize(seconds: Seconds, operations: float, peak: float) -> dict[str, float]:
    """An iteration's seconds, and its updates next to products of the same and of large shapes."""
    updates = seconds["policy"] + seconds["value"]
    rate = 2 * operations / updates
    return {
        "seconds_per_iteration": seconds["rollout"] + NUM_EPOCHS * updates,
        "share_of_acting": seconds["rollout"] / (seconds["rollout"] + NUM_EPOCHS * updates),
        "operations_per_second": rate,
        "share_of_large_product": rate / peak,
        "share_of_same_products": 2 * seconds["products"] / updates,
        "share_of_dropout": 1 - seconds["policy without dropout"] / seconds["policy"],
    }


def tabulate(results: dict[str, dict[str, float]]) -> Table:
    """A row for each cell."""
    table = Table(box=None, pad_edge=False)
    for column in ("cell", "s", "ratio", "large product", "same products", "dropout", "acting"):
        table.add_column(column, justify="left" if column == "cell" else "right")
    for cell, result in results.items():
        table.add_row(
            cell,
            f"{result['seconds_per_iteration']:.2f}",
            f"{result['ratio']:.2f}",
            *(
                f"{result[f'share_of_{name}']:.0%}"
                for name in ("large_product", "same_products", "dropout", "acting")
            ),
        )
    return table


def main(options: Options) -> None:
    """Measure, show and record."""
    prepared = {cell: prepare_cell(cell, options.num_envs) for cell in options.cells}
    calls = {cell: own for cell, (own, _) in prepared.items()}
    calls["large product"] = {"once": prepare_large_product()}
    seconds = measure(calls, options.num_repetitions)
    peak = 2.0 * MATRIX_SIZE**3 / seconds.pop("large product")["once"]
    results = {
        cell: summarize(seconds[cell], operations, peak)
        for cell, (_, operations) in prepared.items()
    }
    reference = results[options.cells[0]]["seconds_per_iteration"]
    for result in results.values():
        result["ratio"] = result["seconds_per_iteration"] / reference
    Console().print(tabulate(results))
    write_record(
        options,
        ("remanence", "jax", "jaxlib"),
        least_processor_seconds=seconds,
        large_product_operations_per_second=peak,
        cells=results,
    )


if __name__ == "__main__":
    main(tyro.cli(Options))
