"""Disturbances that a memory survives: sets hold all memories, and radii enclose the truth."""

import numpy as np
import pytest

from remanence import envs
from remanence.certificates.mazes import find_maze_radius, list_tables
from remanence.certificates.mazes._enclosing import bound
from remanence.certificates.mazes._radius import prove_radius, try_radius
from remanence.networks import Agent
from tests.certificates.agents import load_walker
from tests.certificates.mazes.agents import (
    INPUTS,
    MAZE,
    make_prover,
    make_random,
    remember_by_hand,
)

TABLES = list_tables(MAZE)
ENV = envs.make("lookup-tree-maze", table_size=2, index_encoding="one-hot", length=(1, 2))
# Of the agent made by hand. Its index is set where |2 first - 2 second| > 1: with 3/4 and 1/4 it
# is not, and with 1/4 and -1/4 less than which would set it where there is none.
TRUTH = 0.25


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory) -> Agent:
    return load_walker(remember_by_hand(), tmp_path_factory.mktemp("agent"), INPUTS)


@pytest.mark.parametrize("walk", [None, "greedy"])
def test_the_radius_of_an_agent_made_by_hand_is_found_from_both_sides(by_hand, walk):
    radius = find_maze_radius(by_hand, ENV, walk=walk)
    assert radius.walk == (walk or "any")
    for it in radius.tables:
        assert 0.93 * TRUTH < it.certified < TRUTH
        assert it.broken is not None
        assert TRUTH <= it.broken.radius < 1.1 * TRUTH
    assert radius.certified == min(it.certified for it in radius.tables)


def test_what_breaks_an_agent_is_near_what_there_is_to_be_seen(by_hand):
    broken = find_maze_radius(by_hand, ENV).tables[1].broken
    assert broken is not None
    assert broken.observations is not None
    policy, seen = by_hand.make_portable(), iter(broken.observations)
    state, logits, right = policy.initial_state(), np.zeros(4), 0
    for number, visit in enumerate(broken.visits):
        position, right = 0, 3 if TABLES[1][visit.index] > 0 else 1
        for step, action in enumerate(visit.actions):
            table = TABLES[1] if number == step == 0 else (0, 0)
            index = [step == 0 and visit.index == entry for entry in (0, 1)]
            true = np.array([*table, *index, position == visit.length - 1], float)
            observation = next(seen)
            assert np.all(np.abs(observation.astype(float) - true) <= broken.radius)
            logits, state = policy.step(observation, state)
            position = min(max(position + {0: 1, 2: -1}.get(action, 0), 0), visit.length - 1)
    assert logits[4 - right] >= logits[right]
    assert next(seen, None) is None


@pytest.mark.parametrize("cell", ["bmru", "mingru", "hybrid"])
def test_no_disturbed_walk_leaves_the_boxes(cell: str):
    """Random walks under observations at the corners of what may be seen, bit for bit."""
    prover, radius = make_prover(make_random(cell, 7), budget=100_000), 0.05
    case = prover.open_case(TABLES[1], "any")
    history = 0 if cell == "bmru" else 2
    enclosure = bound(case, prover.disturb_boxes(radius, history, 1))
    assert enclosure is not None
    search, world, boxes = enclosure.search, case.world, enclosure.boxes
    true, rng = world.observe(TABLES[1]), np.random.default_rng(0)
    for _ in range(40):
        place = int(rng.choice(world.openings))
        state, known = prover.policy.initial_state(), np.array([0])
        for _ in range(40):
            offset = radius * rng.choice([-1, 1, rng.uniform(-1, 1)], true.shape[1])
            logits, state = prover.policy.step((true[place] + offset).astype(np.float32), state)
            (node,) = search.find(np.array([place]), known)
            known = search.memories[[node]]
            ends = enclosure.lower[[node]], enclosure.upper[[node]]
            low, high = boxes._complete_states(known, *ends)
            assert np.all(low[0] <= state)
            assert np.all(state <= high[0])
            over = enclosure.compare(np.array([node]))[0]
            assert np.all(over <= logits[:, None].astype(float) - logits)
            place = int(world.following[place, rng.integers(4)])
            place = int(rng.choice(world.entrances)) if place == -1 else place


def test_without_disturbance_the_sets_are_all_memories_of_a_bmru():
    prover = make_prover(remember_by_hand())
    found = prover.settle(TABLES[0], "any")
    case = prover.open_case(TABLES[0], "any")
    enclosure = bound(case, prover.disturb_boxes(0.0, 0, 0))
    assert enclosure is not None
    assert len(np.unique(enclosure.search.memories)) == found.num_memories


def test_a_hybrid_has_a_radius_no_larger_than_its_bmru():
    prover = make_prover(remember_by_hand("hybrid"), lengths=(1, 2))
    finding = prover.settle(TABLES[0], "any")
    proof = prove_radius(prover, finding, TRUTH)
    assert proof is not None
    assert 0.01 < proof.radius < TRUTH
    assert try_radius(prover, finding, TRUTH, *proof.stage) is None


def test_an_agent_that_fails_without_disturbance_has_no_radius(tmp_path):
    agent = load_walker(make_random("bmru", 3), tmp_path, INPUTS)
    radius = find_maze_radius(agent, ENV, walk="straight")
    assert radius.broken is not None
    assert radius.certified == radius.broken.radius == 0
    assert radius.broken.observations is None
