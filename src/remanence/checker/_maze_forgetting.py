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
    arm there, is 1/2 + d / 8 at most on average. This is about real numbers.
    """
    if program.shape["cell"] != "mingru" or program.shape["num_layers"] != 1:
        return False
    if maze < 2:  # in the first maze the table itself is seen
        return False
    opened, decays = {}, []
    for table in list_tables(environment["table_size"]):
        mazes = Mazes(program, environment, table)
        for spot in mazes.enter(first=True):
            z, n = _read(mazes, spot)
            opened.setdefault(spot, []).append((1 - z) * n)
        inside = [type(spot)(*spot[:2], at) for spot in opened for at in range(spot.length)]
        decays += [_read(mazes, spot)[0] for spot in [*mazes.enter(first=False), *inside]]
    apart = np.max([np.ptp(it, axis=0) for it in opened.values()], axis=0)
    apart = apart * np.max(np.abs(decays), axis=0) ** (maze - 1)
    for number in range(len(program.shape["head"])):
        apart = np.abs(program.weights[f"head.{number}.weight"]).astype(np.float64) @ apart
    weight = program.weights["output.weight"].astype(np.float64)
    return bool(np.abs(weight[DOWN] - weight[UP]) @ apart <= MOST * (1 + 1e-6))


def _read(mazes: Mazes, spot: Any) -> tuple[np.ndarray, np.ndarray]:
    """z and n; what they are made of an observation by the program is taken to be exact."""
    z, n = mazes.look(spot)[1]
    return read_decay(mazes.program.layers[0], z).astype(np.float64), n.astype(np.float64)
