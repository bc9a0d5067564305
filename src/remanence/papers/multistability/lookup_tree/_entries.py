"""What an agent can earn that remembers some entries of its table, and not the others."""

import itertools
from collections import defaultdict

import numpy as np

from remanence.envs import REWARD_RIGHT_ARM, REWARD_WRONG_ARM


def find_entry_levels(table_size: int) -> np.ndarray:
    """The best return for each number of entries that are known, (table_size + 1,).

    Tables are never all equal, so one entry tells something about the others: of a table of three,
    each other entry is more likely its opposite.

    >>> from remanence.papers.multistability.lookup_tree._entries import find_entry_levels
    >>> find_entry_levels(3).round(2).tolist()
    [1.95, 3.32, 3.66, 4.0]
    """
    shares = np.array([_find_share(table_size, known) for known in range(table_size + 1)])
    return REWARD_WRONG_ARM + (REWARD_RIGHT_ARM - REWARD_WRONG_ARM) * shares


def _find_share(table_size: int, known: int) -> float:
    """How often the likelier arm is right, if the first entries are known, and the index."""
    tables = [it for it in itertools.product((-1, 1), repeat=table_size) if len(set(it)) > 1]
    chances: dict[tuple[tuple[int, ...], int], dict[int, float]] = {}
    for table, goal in itertools.product(tables, (-1, 1)):
        indices = [index for index, entry in enumerate(table) if entry == goal]
        for index in indices:
            arms = chances.setdefault((table[:known], index), defaultdict(float))
            arms[goal] += 1 / (2 * len(tables) * len(indices))
    return sum(max(arms.values()) for arms in chances.values())
