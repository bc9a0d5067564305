"""Sets hold all memories there are, and prove what is so."""

import numpy as np
import pytest

from remanence.certificates.mazes import WALKS, list_tables
from remanence.certificates.mazes._enclosing import bound
from remanence.certificates.mazes._looks import ExactLooks, UndecidedError
from remanence.certificates.mazes._search import Search
from remanence.certificates.mazes._sets import Enclosure, GrowingEnclosure
from tests.certificates.mazes.agents import (
    MAZE,
    latch_by_hand,
    make_prover,
    make_random,
    remember_by_hand,
)

TABLES = list_tables(MAZE)


def test_a_hybrid_that_remembers_by_hand_is_certified():
    prover = make_prover(remember_by_hand("hybrid"))
    for table in TABLES:
        found = prover.decide(table)
        assert [found[walk].verdict for walk in WALKS] == ["certified"] * 3
        assert {found[walk].method for walk in WALKS} == {"sets"}
        assert 0 < (found["any"].least_margin or 0) < 1


def test_no_less_is_said_of_walking_straight_ahead_than_of_any_walk():
    """Coarse sets suffice for it, and finer ones say more."""
    prover = make_prover(remember_by_hand("hybrid", leak=0.42))
    found, first = prover.decide(TABLES[0]), prover.settle(TABLES[0], "straight")
    coarse, straight, any_walk = (
        it.least_margin or 0 for it in (first, found["straight"], found["any"])
    )
    assert 0 < coarse < any_walk < straight


def test_one_that_leaks_too_much_is_not():
    found = make_prover(remember_by_hand("hybrid", leak=2.0)).decide(TABLES[0])
    assert {it.verdict for it in found.values()} <= {"refuted", "undecided"}


@pytest.mark.parametrize("cell", ["mingru", "hybrid"])
@pytest.mark.parametrize("walk", WALKS)
def test_no_walk_leaves_the_boxes(cell: str, walk: str):
    """Random walks, bit for bit, against the boxes of the nodes that they are in."""
    prover = make_prover(make_random(cell, 7), budget=100_000)
    case = prover.open_case(TABLES[1], walk)
    enclosure = bound(case, prover.make_boxes(3, 1))
    assert enclosure is not None
    search, world = enclosure.search, case.world
    moving = ~enclosure.boxes.looks.switches
    rng = np.random.default_rng(0)
    for _ in range(20):
        place = int(rng.choice(world.openings))
        state, known = prover.policy.initial_state(), np.array([0])
        for _ in range(60):
            letter = case.letters[[place]]
            prepared = prover.memories.prepared[letter[0]]
            state = prover.policy.update(prepared, state)
            (node,) = search.find(np.array([place]), known)
            assert np.all(enclosure.lower[node] <= state[moving])
            assert np.all(state[moving] <= enclosure.upper[node])
            logits = prover.policy.decode(prepared, state).astype(np.float64)
            over = enclosure.compare(np.array([node]))[0]
            assert np.all(over <= logits[:, None] - logits)
            known = search.memories[[node]]
            chosen = search.follow(np.array([node]))[0][0]
            if walk == "greedy":
                assert chosen[logits.argmax()]
                action = int(logits.argmax())
            else:
                action = int(rng.choice(np.flatnonzero(chosen)))
            place = int(world.following[place, action])
            place = int(rng.choice(world.entrances)) if place == -1 else place


def test_more_rounds_make_boxes_smaller():
    prover = make_prover(make_random("mingru", 7))
    case = prover.open_case(TABLES[0], "straight")
    enclosure = bound(case, prover.make_boxes(1, 1))
    assert isinstance(enclosure, Enclosure)
    again = Enclosure(enclosure.search, enclosure.boxes)
    before = again.upper - again.lower
    again.shrink(num_rounds=3)
    assert np.all(again.upper - again.lower <= before + 1e-6)
    assert np.any(again.upper - again.lower < before)


def test_a_longer_history_tells_more_boxes_apart():
    prover = make_prover(make_random("mingru", 7))
    case = prover.open_case(TABLES[0], "straight")
    made = [bound(case, prover.make_boxes(*it)) for it in ((1, 1), (2, 1), (3, 1), (3, 2))]
    sizes = [enclosure.search.size for enclosure in made if enclosure]
    assert len(sizes) == 4
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("cell", ["gru", "brc", "nbrc", "lstm"])
def test_units_that_excite_themselves_are_certified(cell: str):
    prover = make_prover(latch_by_hand(cell), lengths=(1, 2))
    for table in TABLES:
        found = prover.decide(table)
        assert found["greedy"].verdict in ("refuted", "undecided")
        for walk in ("straight", "any"):
            assert (found[walk].verdict, found[walk].method) == ("certified", "sets")
            assert 0.5 < (found[walk].least_margin or 0) < 3


@pytest.mark.parametrize("cell", ["gru", "brc", "nbrc", "lstm"])
def test_units_that_do_not_are_refuted(cell: str):
    prover = make_prover(latch_by_hand(cell, gain=0.2), lengths=(1, 2))
    found = prover.decide(TABLES[0])
    assert {found[walk].verdict for walk in ("straight", "any")} == {"refuted"}


@pytest.mark.parametrize("cell", ["gru", "brc", "nbrc", "lstm"])
def test_no_walk_leaves_boxes_that_have_grown(cell: str):
    """Random walks, bit for bit; a gain near 1.5, where units come to rest slowly."""
    prover = make_prover(latch_by_hand(cell, gain=1.5), lengths=(1, 2))
    case = prover.open_case(TABLES[1], "any")
    boxes = prover.make_smooth_boxes(1, 1)
    search = Search(case.world, boxes, case.letters, case.choose())
    assert all(len(level) for level in search.run(10_000))
    enclosure = GrowingEnclosure(search, boxes)
    assert enclosure.grow(lambda nodes: len(nodes) > 0)
    rng, world = np.random.default_rng(0), case.world
    for _ in range(20):
        place = int(rng.choice(world.openings))
        state, known = prover.policy.initial_state(), np.array([0])
        for _ in range(60):
            state = prover.policy.update(prover.memories.prepared[case.letters[place]], state)
            (node,) = search.find(np.array([place]), known)
            assert np.all((enclosure.lower[node] <= state) & (state <= enclosure.upper[node]))
            known = search.memories[[node]]
            place = int(world.following[place, rng.integers(4)])
            place = int(rng.choice(world.entrances)) if place == -1 else place


def test_what_is_not_worth_while_is_given_up():
    prover = make_prover(latch_by_hand("gru"), lengths=(1, 2))
    case, boxes = prover.open_case(TABLES[1], "any"), prover.make_smooth_boxes(1, 1)
    search = Search(case.world, boxes, case.letters, case.choose())
    assert all(len(level) for level in search.run(10_000))
    assert not GrowingEnclosure(search, boxes).grow(lambda nodes: False)


def test_gates_below_zero_are_refused():
    prover = make_prover(make_random("mingru", 1))
    (features, (z, n)), *rest = prover.memories.prepared
    with pytest.raises(UndecidedError, match="below 0"):
        ExactLooks(prover.policy, [(features, [-z, n]), *rest], np.zeros(4, bool))
