"""From some maze on, a minGRU provably cannot tell tables apart."""

import numpy as np
import pytest

from remanence.certificates.mazes import list_tables
from tests.certificates.mazes.agents import MAZE, make_prover, make_random, remember_by_hand

UP, DOWN = 1, 3


@pytest.mark.parametrize("seed", range(4))
def test_from_then_on_tables_are_right_by_chance(seed: int):
    """A table and its opposite through the same mazes, of length 1 as they forget least there."""
    prover = make_prover(make_random("mingru", seed))
    number, policy = prover.find_forgotten(), prover.policy
    assert number is not None
    assert number > 1
    rng = np.random.default_rng(seed)
    for _ in range(5):
        states = [policy.initial_state()] * 2
        for maze in range(1, number + 5):
            index = int(rng.integers(2))
            right = []
            for place, table in enumerate(list_tables(MAZE)):
                shown = table if maze == 1 else (0, 0)
                seen = np.array([*shown, index == 0, index == 1, 1], np.float32)
                logits, states[place] = policy.step(seen, states[place])
                down = 1 / (1 + np.exp(float(logits[UP]) - float(logits[DOWN])))
                right.append(down if table[index] > 0 else 1 - down)
            if maze >= number:
                assert np.mean(right) <= 0.51


def test_it_is_late_where_memory_is_long():
    arrays, shape = make_random("mingru", 0)
    early = make_prover((arrays, shape)).find_forgotten()
    arrays["policy.cell.inputs.bias"][0, 0] = 9.0
    late = make_prover((arrays, shape)).find_forgotten()
    assert early is not None
    assert late is None or late > 10 * early


def test_of_other_cells_nothing_is_said():
    assert make_prover(remember_by_hand("hybrid")).find_forgotten() is None
