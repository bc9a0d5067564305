"""What grows in an environment while its task stays the same: a length, a number, a delay."""

from typing import NamedTuple

import numpy as np

from remanence.errors import InvalidOptionError


class Growth(NamedTuple):
    """Its name as a column of a table, its label on an axis, and its usual values.

    >>> from remanence import envs
    >>> envs.LookupTreeMaze().growth
    Growth(name='num_mazes', label='number of mazes', usual=(10, 100, 1000, 10000))
    """

    name: str
    label: str
    usual: tuple[int, ...]


def space_lengths(shortest: int = 2, longest: int = 10**6, per_decade: int = 10) -> list[int]:
    """Whole lengths at equal distances on a logarithmic scale, both ends included.

    >>> from remanence import envs
    >>> envs.space_lengths(2, 100, per_decade=3)
    [2, 4, 10, 21, 46, 100]
    """
    if not 1 <= shortest <= longest:
        received, remedy = f"{shortest}:{longest}", "use 1 or more, the shortest first"
        raise InvalidOptionError("lengths", received, remedy)
    num = 1 + max(1, round(per_decade * np.log10(longest / shortest)))
    return np.unique(np.round(np.geomspace(shortest, longest, num)).astype(int)).tolist()
