"""Radii in rows of mazes are verified from the weights alone, and no falsehood passes."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remanence import checker
from remanence.certificates import hash_policy
from remanence.certificates.mazes import MazeRadius, TableRadius, find_maze_radius, list_tables
from remanence.certificates.mazes._radius import prove_radius
from tests.certificates.agents import load_walker
from tests.certificates.mazes.agents import (
    INPUTS,
    MAZE,
    make_prover,
    make_random,
    remember_by_hand,
    save_agent,
)
from tests.certificates.mazes.test_radius import ENV, TRUTH
from tests.checker.mutants import list_mutants

LENGTHS = (1, 2)
TRIED = 200  # mutants


class Subject:
    """An agent's file, and what is said of its radii."""

    def __init__(self, directory: Path, made: Any, found: dict[str, Any]):
        self.agent, self.path = directory / "agent.safetensors", directory / "radius.json"
        save_agent(self.agent, made)
        self.found = json.loads(json.dumps(found))

    def check(self, found: Any) -> dict[str, Any]:
        self.path.write_text(json.dumps(found))
        return json.loads(checker.examine(self.path, self.agent, as_json=True).said)


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory) -> Subject:
    made, directory = remember_by_hand(), tmp_path_factory.mktemp("agent")
    found = find_maze_radius(load_walker(made, directory, INPUTS), ENV)
    return Subject(directory, made, found.to_json())


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory) -> Subject:
    """Without a search for what breaks it."""
    made = remember_by_hand("hybrid")
    prover = make_prover(made, lengths=LENGTHS)
    tables = [
        TableRadius(table, prove_radius(prover, prover.settle(table, "any"), TRUTH), None)
        for table in list_tables(MAZE)
    ]
    environment = {"name": "lookup-tree-maze", "table_size": 2, "index_encoding": "one-hot"}
    radius = MazeRadius(
        {"sha256": hash_policy(made[0]), "architecture": made[1]},
        {**environment, "lengths": list(LENGTHS)},
        {"name": "portable", "version": 1, "precision": "binary32"},
        "any",
        tables,
    )
    return Subject(tmp_path_factory.mktemp("agent"), made, radius.to_json())


def test_a_radius_is_verified_in_both_directions(by_hand):
    told = by_hand.check(by_hand.found)
    assert told["verdict"] == "verified"
    parts = [it["part"] for it in told["statements"]]
    assert parts == [*["agent"] * 3, *["broken"] * 2, *["survives"] * 2]


def test_what_is_proved_of_a_hybrid_is_verified(hybrid):
    assert hybrid.check(hybrid.found)["verdict"] == "verified"
    found = copy.deepcopy(hybrid.found)
    found["tables"][0]["certified"]["radius"] *= 2
    assert hybrid.check(found)["verdict"] == "not reproduced"


def test_what_fails_undisturbed_is_verified(tmp_path):
    made = make_random("mingru", 5)
    found = find_maze_radius(load_walker(made, tmp_path, INPUTS), ENV, walk="greedy")
    subject = Subject(tmp_path, made, found.to_json())
    assert found.broken is not None
    assert found.broken.radius == 0
    assert subject.check(subject.found)["verdict"] == "verified"
    forged = copy.deepcopy(subject.found)
    forged["tables"][0]["broken"]["mazes"][-1]["index"] ^= 1
    assert subject.check(forged)["verdict"] == "refuted"


def test_mutants_are_verified_only_if_they_are_true(by_hand):
    # Without a disturbance that breaks it, nothing but the proof speaks against a large radius.
    alone = copy.deepcopy(by_hand.found)
    for it in alone["tables"]:
        it["broken"] = None
        it["certified"]["radius"] = 1.02 * TRUTH
    assert by_hand.check(alone)["verdict"] == "not reproduced"
    mutants, verified = list(list_mutants(by_hand.found)), 0
    for number in np.random.default_rng(0).permutation(len(mutants))[:TRIED]:
        path, changed, mutant = mutants[number]
        if by_hand.check(mutant)["verdict"] != "verified":
            continue
        verified += 1
        assert mutant["agent"] == by_hand.found["agent"], (path, changed)
        for it in mutant["tables"]:
            assert it["certified"] is None or it["certified"]["radius"] < TRUTH, (path, changed)
            assert it["broken"] is None or it["broken"]["radius"] >= TRUTH, (path, changed)
    # Less claimed, fewer lengths, observations that break it as well.
    assert 0 < verified < TRIED / 2


def test_a_radius_that_something_smaller_breaks_is_refuted(by_hand):
    found = copy.deepcopy(by_hand.found)
    found["tables"][1]["certified"]["radius"] = found["tables"][1]["broken"]["radius"]
    told = by_hand.check(found)
    assert told["verdict"] == "refuted"
    assert told["statements"][-1]["note"] == "a smaller one breaks it"


@pytest.mark.parametrize("change", ["further off", "one more", "elsewhere", "too early"])
def test_observations_that_do_not_break_it_are_refuted(by_hand, change):
    found = copy.deepcopy(by_hand.found)
    broken = found["tables"][0]["broken"]
    if change == "further off":
        broken["observations"][0][0] += 1.0
    elif change == "one more":
        broken["observations"].append(broken["observations"][-1])
    elif change == "elsewhere":
        broken["mazes"][-1]["length"] = 3
    else:
        broken["radius"] = found["tables"][0]["certified"]["radius"]
    assert by_hand.check(found)["verdict"] == "refuted"
