"""Verdicts by search against all short sequences of mazes, walked one after the other."""

import itertools

import numpy as np
import pytest

from remanence.certificates.mazes import WALKS, World, list_tables
from remanence.certificates.mazes._sequences import STALL, replay
from tests.certificates.mazes.agents import (
    LENGTHS,
    MAZE,
    make_prover,
    make_random,
    remember_by_hand,
)

RIGHT, UP, LEFT, DOWN = range(4)
TABLES = list_tables(MAZE)


def walk_plainly(policy, table, walk, sequence) -> int | None:
    """The maze of a sequence in which an agent fails first; written out, without the graph."""
    state, first = policy.initial_state(), True
    for number, (index, length) in enumerate(sequence, start=1):
        position, entered = 0, True
        for _ in range(200):
            shown = [entered * (index == entry) for entry in (0, 1)]
            flag = position == length - 1
            seen = [*(table if first else (0, 0)), *shown, flag]
            logits, state = policy.step(np.array(seen, np.float32), state)
            first = entered = False
            right = DOWN if table[index] > 0 else UP
            better = np.argmax(logits) if walk == "greedy" else RIGHT
            if walk == "straight" and flag:
                if logits[right] <= logits[UP + DOWN - right]:
                    return number
                break
            if flag and better in (UP, DOWN):
                if better != right:
                    return number
                break
            step = {RIGHT: 1, LEFT: -1}.get(int(better), 0)
            position = min(max(position + step, 0), length - 1)
        else:
            return number
    return None


@pytest.mark.parametrize("walk", ["greedy", "straight"])
def test_the_earliest_failure_is_that_of_all_sequences(walk: str):
    mazes, kinds, verdicts = list(itertools.product((0, 1), LENGTHS)), set(), set()
    for seed in range(12):
        prover = make_prover(make_random("bmru", seed))
        found = prover.decide(TABLES[0])[walk]
        verdicts.add(found.verdict)
        number = 4 if found.refutation is None else min(found.refutation.num_mazes, 3)
        failures = [
            walk_plainly(prover.policy, TABLES[0], walk, sequence)
            for sequence in itertools.product(mazes, repeat=number)
            if found.refutation is not None or len(set(sequence)) <= 2
        ]
        failures = [it for it in failures if it is not None]
        if found.refutation is None:
            assert not failures
        elif found.refutation.num_mazes <= 3:
            kinds.add(found.refutation.kind)
            assert min(failures) == found.refutation.num_mazes
    assert "refuted" in verdicts
    assert walk == "straight" or STALL in kinds


@pytest.mark.parametrize("cell", ["bmru", "mingru", "hybrid", "gru"])
def test_what_refutes_is_replayed(cell: str):
    prover, world = make_prover(make_random(cell, 5), budget=2_000), World(MAZE, LENGTHS)
    for walk, found in prover.decide(TABLES[1]).items():
        if found.refutation is None:
            assert found.verdict == "undecided"
            continue
        taken, logits, spots = replay(prover.policy, world, TABLES[1], found.refutation.visits)
        if walk == "greedy":
            assert taken.tolist() == logits.argmax(1).tolist()
        last, index = logits[-1], found.refutation.visits[-1].index
        right = DOWN if TABLES[1][index] > 0 else UP
        if found.refutation.kind == STALL:
            place, state = spots[-1]
            after = world.following[place, taken[-1]]
            seen = world.observe(TABLES[1])[after]
            state = np.frombuffer(state, np.float32)
            again = prover.policy.step(seen, state)[1].tobytes()
            assert (after, again) in spots
        else:
            assert taken[-1] == UP + DOWN - right
            assert last[taken[-1]] >= last[right]


def test_who_remembers_by_hand_is_certified():
    prover = make_prover(remember_by_hand())
    for table in TABLES:
        found = prover.decide(table)
        assert [found[walk].verdict for walk in WALKS] == ["certified"] * 3
        assert {found[walk].method for walk in WALKS} == {"search"}
        assert found["any"].least_margin == 1
        assert found["any"].least_probability == pytest.approx(1 / (1 + np.exp(-1)))


def test_a_memory_that_one_index_erases_is_refuted():
    arrays, shape = remember_by_hand()
    # The unit of the table is set by the second index.
    arrays["policy.cell.inputs.weight"][0, 0, 3] = 2
    found = make_prover((arrays, shape)).decide((-1, 1))
    refuted = {walk: found[walk].refutation for walk in WALKS}
    assert all(it is not None and it.earliest for it in refuted.values())
    (visit,) = refuted["straight"].visits  # type: ignore
    assert visit.index == 1
    kept = make_prover((arrays, shape)).decide((1, -1))
    assert {it.verdict for it in kept.values()} == {"certified"}


def test_a_budget_that_does_not_suffice_is_told():
    found = make_prover(remember_by_hand(), budget=5).decide(TABLES[0])
    assert {(it.verdict, it.budget) for it in found.values()} == {("undecided", 5)}
