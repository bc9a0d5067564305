"""The other side: from which maze on a minGRU cannot tell tables apart, whatever the mazes.

Two memories that see the same come closer, unit by unit, by the decay z at least. So do the logits
that they give, and with them the probabilities of the arms. A table and its opposite ask for
opposite arms: where their probabilities are nearly the same, one of them is no better off than by a
coin, and on average both are right with hardly more than a half. This is about real numbers: what
rounding adds in each step may be more than what is left of a table.
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
    starts = np.array([[_open(*gates[it]) for it in row[world.openings]] for row in letters])
    width = (starts.max(0) - starts.min(0)).max(0).astype(np.float64)
    slopes = bound_slopes(memories.policy)

    def tells_apart(number: int) -> bool:
        left = width * decay.astype(np.float64) ** (number - 1)
        return not float(slopes @ left) * (1 + 1e-9) <= 8 * EXCESS

    if tells_apart(LATEST):
        return None
    low, high = 1, LATEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tells_apart(middle) else (low, middle)
    return high


def _open(z: np.ndarray, n: np.ndarray) -> np.ndarray:
    return (z.dtype.type(1) - z) * n


def bound_slopes(policy: PortablePolicy) -> np.ndarray:
    """At most by how much the difference of the arms' logits changes with each unit, (units,)."""
    weight = policy.output[0].astype(np.float64)
    slopes = np.abs(weight[DOWN] - weight[UP])
    for weight, _ in reversed(policy.head):
        slopes = slopes @ np.abs(weight.astype(np.float64))
    return slopes
