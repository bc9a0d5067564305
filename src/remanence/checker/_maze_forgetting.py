"""Whether a minGRU's memories of tables have come too close to be told apart."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._maze_fields import list_tables
from ._mazes import DOWN, UP, Mazes
from ._program import Program, read_decay

MOST = 0.08  # that arms' logits may differ by, so that probabilities do by 2%, and their mean by 1%


def is_forgotten(program: Program, environment: Mapping[str, Any], maze: int) -> bool:
    """Whether from this maze on a table and its opposite are right with 51% at most, on average.

    With the same observations, states h and h' become z h + .. and z h' + ..; each maze is at least
    one observation. If arms' logits differ by d less for a table than for its opposite, then the
    probability of an arm differs by d / 4 at most, and that of the right one, which is the other
    arm there, is 1/2 + d / 8 at most on average.
    """
    if program.shape["cell"] != "mingru" or program.shape["num_layers"] != 1:
        return False
    opened, decays, sizes, features = {}, [], [], []
    for table in list_tables(environment["table_size"]):
        mazes = Mazes(program, environment, table)
        for spot in mazes.enter(first=True):
            z, n, seen = _read(mazes, spot)
            opened.setdefault(spot, []).append((z.dtype.type(1) - z) * n)
            sizes.append(np.abs(n))
            features.append(seen)
        inside = [type(spot)(*spot[:2], at) for spot in opened for at in range(spot.length)]
        for spot in [*mazes.enter(first=False), *inside]:
            z, n, seen = _read(mazes, spot)
            decays.append(np.abs(z))
            sizes.append(np.abs(n))
            features.append(seen)
    apart = np.max([np.ptp(it, axis=0) for it in opened.values()], axis=0).astype(np.float64)
    decay, size = np.max(decays, axis=0).astype(np.float64), 2.0 * np.max(sizes, axis=0)
    if not np.all(decay < 1):
        return False
    # A step is rounded three times in each of two programs; what that adds is a geometric series.
    eps = float(np.finfo(program.dtype).eps)
    apart = apart * decay ** (maze - 1) * (1 + 1e-9) + 6 * eps * (size + 1e-30) / (1 - decay)
    if program.shape["skip"]:
        size = size + np.max(features, axis=0)
    return bool(_bound(program, apart + 2 * eps * size, size.astype(np.float64), eps) <= MOST)


def _read(mazes: Mazes, spot: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    features, (z, n) = mazes.look(spot)
    return read_decay(mazes.program.layers[0], z), n, np.abs(features)


def _bound(program: Program, apart: np.ndarray, size: np.ndarray, eps: float) -> float:
    """By how much what is between the arms' logits may differ."""
    for number in range(len(program.shape["head"])):
        weight, bias = (
            np.abs(program.weights[f"head.{number}.{kind}"]).astype(np.float64)
            for kind in ("weight", "bias")
        )
        terms, size = len(size), weight @ size + bias
        apart = weight @ apart + 2 * eps * (terms + 2) * size
    weight, bias = (program.weights[f"output.{it}"].astype(np.float64) for it in ("weight", "bias"))
    rounded = np.abs(weight) @ size + np.abs(bias)
    rounded = 2 * eps * (len(size) + 2) * float(rounded[UP] + rounded[DOWN])
    return float(np.abs(weight[DOWN] - weight[UP]) @ apart + rounded) * (1 + 1e-9)
