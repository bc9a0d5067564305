"""The other side: from which maze on a minGRU cannot tell tables apart, whatever the mazes.

Two memories that see the same come closer, unit by unit, by the decay z at least. So do the logits
that they give, and with them the probabilities of the arms. A table and its opposite ask for
opposite arms: where their probabilities are nearly the same, one of them is no better off than by a
coin, and on average both are right with hardly more than a half.
"""

from collections.abc import Sequence

import numpy as np

from remanence.certificates.mazes._memories import Memories
from remanence.certificates.mazes._world import DOWN, UP, World
from remanence.portable import PortablePolicy

EXCESS = 0.01  # over a half
LATEST = 10**7  # maze


def find_forgotten(memories: Memories, world: World, letters: Sequence[np.ndarray]) -> int | None:
    """From which maze on a table and its opposite are right with 51% at most, on average.

    Of one layer of minGRU, led through the same mazes by the same steps; None if that is not to be
    shown. `letters` numbers what is seen in each place, table by table.
    """
    shows_table = np.unique([row[world.openings] for row in letters])
    gates = {number: seen[1] for number, seen in enumerate(memories.prepared)}
    decay = np.max([np.abs(z) for it, (z, _) in gates.items() if it not in shows_table], axis=0)
    reach = 2 * np.max(np.abs([n for _, n in gates.values()]), axis=0).astype(np.float64)
    starts = np.array([[_open(*gates[it]) for it in row[world.openings]] for row in letters])
    width = (starts.max(0) - starts.min(0)).max(0).astype(np.float64)
    policy, size = memories.policy, reach
    if policy.skip:
        size = reach + np.max(np.abs([it[0] for it in memories.prepared]), axis=0)

    def tells_apart(number: int) -> bool:
        left = shrink(width, decay.astype(np.float64), reach, number - 1, policy.dtype)
        return not bound_difference(policy, left, size) <= 8 * EXCESS

    if tells_apart(LATEST):
        return None
    low, high = 1, LATEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tells_apart(middle) else (low, middle)
    return high


def _open(z: np.ndarray, n: np.ndarray) -> np.ndarray:
    return (z.dtype.type(1) - z) * n


def shrink(
    width: np.ndarray, decay: np.ndarray, reach: np.ndarray, num_steps: int, dtype: np.dtype
) -> np.ndarray:
    """How far apart memories may be after some steps, each of which may be rounded."""
    rounding = 8 * np.finfo(dtype).eps * (reach + 1e-30)
    left = np.exp(num_steps * np.log(np.maximum(decay, 1e-300))) * (1 + 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        added = np.where(decay < 1, rounding / (1 - decay), np.inf)
    return left * width + np.minimum(added, rounding * num_steps)


def bound_difference(policy: PortablePolicy, width: np.ndarray, size: np.ndarray) -> float:
    """By how much the difference of the arms' logits may differ between memories so far apart.

    `size` bounds what the first layer after the cell sees.
    """
    unit = 2 * float(np.finfo(policy.dtype).eps)
    apart, size = width + unit * size, np.asarray(size, np.float64)
    for weight, bias in policy.head:
        weight, bias = np.abs(weight.astype(np.float64)), np.abs(bias.astype(np.float64))
        size, before = weight @ size + bias, size
        apart = weight @ apart + unit * (len(before) + 3) * size
    weight, bias = (it.astype(np.float64) for it in policy.output)
    sizes = np.abs(weight) @ size + np.abs(bias)
    rounding = unit * (len(size) + 3) * (sizes[UP] + sizes[DOWN])
    return float((np.abs(weight[DOWN] - weight[UP]) @ apart + rounding) * (1 + 1e-9))
