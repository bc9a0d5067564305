"""Small policies for rows of mazes: one that is always right, by hand, and random ones.

All are for tables of two entries and a one-hot index: an observation is the table (2), the index
(2) and the junction's flag.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from remanence.certificates.mazes._prover import Prover
from remanence.envs import LookupTreeMaze
from remanence.store import save_arrays

MAZE = LookupTreeMaze(table_size=2, index_encoding="one-hot")
INPUTS = 5
LENGTHS = (1, 2, 3)

Arrays = dict[str, np.ndarray]


def remember_by_hand(cell: str = "bmru", leak: float = 0.01) -> tuple[Arrays, dict[str, Any]]:
    """A policy that is right in every maze of every sequence, if `leak` is not too large.

    Units hold the sign of the table's first entry, the index, and the flag. Table and index have
    the same sign where the right arm is down. A hybrid has three units besides that forget, which
    `leak` into the arms' logits.
    """
    n = np.zeros((3, INPUTS))
    n[0, 0], n[1, 2:4], n[2, 4] = 2, (2, -2), 1
    weight = np.stack([n, np.zeros_like(n)])
    bias = np.array([[0, 0, -0.5], [1, 1, 0.25]])
    prefix = "cells.0." if cell == "hybrid" else ""
    arrays = {
        f"cell.{prefix}inputs.weight": weight,
        f"cell.{prefix}inputs.bias": bias,
        f"cell.{prefix}alpha": np.ones(3),
        "head.0.weight": np.array([[1, 1, 0], [-1, -1, 0], [0, 0, 1], [0, 0, 0]]),
        "head.0.bias": np.array([-1, -1, 0, 1]),
        "output.weight": np.array([[0, 0, -6, 0], [0, 0, 0, 0], [0, 0, 0, 0], [2, 2, 0, 0]]),
        "output.bias": np.array([3, 0, -10, -1]),
    }
    if cell == "hybrid":
        rng = np.random.default_rng(3)
        arrays["cell.cells.1.inputs.weight"] = rng.normal(size=(2, 3, INPUTS))
        arrays["cell.cells.1.inputs.bias"] = rng.normal(size=(2, 3))
        arrays["cell.cells.1.ceiling"] = np.array([1, 0.9, 0.5])
        leaks = np.full((4, 3), leak)
        arrays["head.0.weight"] = np.hstack([arrays["head.0.weight"], leaks])
    return name_arrays(arrays), shape_policy(cell, 6 if cell == "hybrid" else 3, head=[4])


def latch_by_hand(cell: str, gain: float = 3.0) -> tuple[Arrays, dict[str, Any]]:
    """The same of units that hold because they excite themselves, of a GRU, BRC, nBRC or LSTM.

    A GRU's become tanh(gain h), a BRC's tanh(a h) with a = 1 + tanh(gain - 1), and an LSTM's c
    hardly more than tanh(gain h); with a `gain` of less than 1/2 all forget. What is seen sets
    them, however they are. The third one, which held the flag, is idle.
    """
    arrays, shape = remember_by_hand()
    gates, size, wide = {"lstm": 4}.get(cell, 3), 3, cell in ("gru", "lstm")
    weight, bias = np.zeros((gates, size, INPUTS)), np.zeros((gates, size))
    weight[2] = 12 * np.sign(arrays["policy.cell.inputs.weight"][0])
    weight[2, 2] = 0
    bias[0], bias[1] = 6 if wide else gain - 1, -3 if cell == "lstm" else -6
    bias[3:] = 6
    recurrent = np.zeros((gates if wide else 2, size, size))
    recurrent[2:3] = gain * np.eye(size)
    made = {"inputs.weight": weight, "inputs.bias": bias}
    made["recurrent_weight"] = recurrent[:, 0] if cell == "brc" else recurrent
    del arrays["policy.cell.alpha"]
    arrays |= name_arrays({f"cell.{name}": array for name, array in made.items()})
    arrays["policy.output.weight"][3] *= 2  # an LSTM's are far from 1 at first
    return arrays, {**shape, "cell": cell, "state_size": 2 * size if cell == "lstm" else size}


def make_random(cell: str, seed: int, size: int = 4) -> tuple[Arrays, dict[str, Any]]:
    """A policy with large random weights, which does many different things."""
    rng = np.random.default_rng(seed)
    gates = {"gru": 3, "brc": 3, "nbrc": 3}.get(cell, 2)
    half = size // 2 if cell == "hybrid" else size
    arrays = {"output.weight": 3 * rng.normal(size=(4, size)), "output.bias": rng.normal(size=4)}
    arrays["output.bias"][0] += 3
    for prefix in ("cells.0.", "cells.1.") if cell == "hybrid" else ("",):
        arrays[f"cell.{prefix}inputs.weight"] = 2 * rng.normal(size=(gates, half, INPUTS))
        arrays[f"cell.{prefix}inputs.bias"] = rng.normal(size=(gates, half))
    if cell in ("bmru", "hybrid"):
        prefix = "cells.0." if cell == "hybrid" else ""
        arrays[f"cell.{prefix}alpha"] = rng.normal(size=half)
        arrays[f"cell.{prefix}inputs.weight"][1] *= 0.5
    if cell == "gru":
        arrays["cell.recurrent_weight"] = rng.normal(size=(3, size, size))
    return name_arrays(arrays), shape_policy(cell, size, head=[])


def name_arrays(arrays: Mapping[str, ArrayLike]) -> Arrays:
    return {f"policy.{name}": np.asarray(it, np.float32) for name, it in arrays.items()}


def shape_policy(cell: str, size: int, head: list[int]) -> dict[str, Any]:
    return {
        **{"cell": cell, "state_size": size, "num_layers": 1, "encoder": [], "head": head},
        **{"skip": False, "dropout": 0.0, "cell_options": {}},
    }


def make_prover(
    made: tuple[Arrays, dict[str, Any]], budget: int = 20_000, lengths: Sequence[int] = LENGTHS
):
    """A prover of such a policy."""
    arrays, shape = made
    return Prover(arrays, shape, lengths=lengths, maze=MAZE, budget=budget)


def save_agent(path: Path, made: tuple[Arrays, dict[str, Any]]) -> None:
    """As an agent's file, without a value network."""
    arrays, shape = made
    header = {"kind": "agent", "format": 1, "architecture": shape}
    save_arrays(path, arrays, header | {"observation_size": INPUTS, "num_actions": 4, "origin": {}})
