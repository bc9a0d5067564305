"""What some entries of a table are good for, against mazes that are drawn one by one."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from remanence.papers.multistability.lookup_tree._entries import find_entry_levels

NUM_MAZES = 20_000


def draw_mazes(table_size, seed=0):
    """Pairs of a table and an index, drawn as the environment draws them."""
    random = np.random.default_rng(seed)
    while True:
        table = random.choice([-1, 1], table_size)
        if abs(table.sum()) == table_size:
            continue
        goal = random.choice([-1, 1])
        yield table, random.choice(np.flatnonzero(table == goal))


@pytest.mark.parametrize("table_size", [2, 3, 4])
def test_levels_are_what_somebody_learns_who_sees_only_some_entries(table_size):
    mazes = draw_mazes(table_size)
    seen = [next(mazes) for _ in range(NUM_MAZES)]
    levels = find_entry_levels(table_size)
    for known in range(table_size + 1):
        arms = defaultdict(Counter)
        for table, index in seen:
            arms[*table[:known], index][table[index]] += 1
        right = sum(max(it.values()) for it in arms.values()) / NUM_MAZES
        # Four standard deviations, and what it gains by seeing the mazes that it is judged by.
        error = 4.1 * (4 * 0.5 / NUM_MAZES**0.5 + 0.005)
        assert -0.1 + 4.1 * right == pytest.approx(levels[known], abs=error)
