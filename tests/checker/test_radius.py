"""Radii are verified from the weights alone, and no change of one makes a falsehood pass."""

import json

import pytest

from remanence import checker, envs
from remanence.certificates import find_radius, hash_policy, identify_environment
from remanence.certificates._disturbed import DisturbedPolicy
from remanence.certificates._interval_policy import Policy
from remanence.certificates._lasso import find_lasso, plan_rounds
from remanence.certificates._radius import CLAIMED, Radius
from remanence.networks import Agent
from tests.certificates.agents import solve_by_hand
from tests.certificates.test_radius import describe
from tests.checker.mutants import list_mutants

TRUTH = 0.25  # of the agent made by hand; see the test of its radius


def check(radius, agent, directory):
    """The verdict on what was found, or on some JSON."""
    path, weights = directory / "radius.json", directory / "agent.safetensors"
    found = radius.to_json() if isinstance(radius, Radius) else radius
    path.write_text(json.dumps(found))
    if not weights.exists():
        agent.save(weights)
    return json.loads(checker.examine(path, weights, as_json=True).said)


@pytest.fixture(scope="module")
def by_hand():
    agent = solve_by_hand()
    return agent, find_radius(agent, envs.make("tmaze"))


def test_a_radius_is_verified_in_both_directions(by_hand, tmp_path):
    agent, radius = by_hand
    told = check(radius, agent, tmp_path)
    assert told["verdict"] == "verified"
    assert [it["part"] for it in told["statements"]] == ["agent", "agent", "broken", "radius"]


def prove(agent, size, env):
    """A radius of which only a given size is tried."""
    identity = find_identity(agent, env)
    network = describe(agent)
    policy = Policy(*network)
    disturbed = DisturbedPolicy(*network, size)
    found = [find_lasso(disturbed, plan_rounds(policy, cue)) for cue in (-1, 1)]
    lassos = [lasso for lasso in found if lasso is not None]
    assert len(lassos) == len(found)
    return Radius(*identity, CLAIMED * size, lassos, None)


def find_identity(agent, env):
    arrays, architecture, _ = describe(agent)
    return {"sha256": hash_policy(arrays), "architecture": architecture}, identify_environment(*env)


@pytest.mark.parametrize(("cell", "size"), [("gru", 0.008), ("bmru", 0.06)])
def test_what_the_prover_finds_the_checker_finds_too(cell, size, tmp_path):
    agent = Agent.load(f"examples/agents/{cell}/agents/seed-1.safetensors")
    radius = prove(agent, size, envs.make("tmaze"))
    assert check(radius, agent, tmp_path)["verdict"] == "verified"
    # And it does not believe ten times as much on the same evidence.
    found = radius.to_json()
    found["certified"]["radius"] *= 10
    assert check(found, agent, tmp_path)["verdict"] == "not reproduced"


def test_mutants_are_verified_only_if_they_are_true(by_hand, tmp_path):
    agent, radius = by_hand
    verified, original = 0, radius.to_json()
    # Without a disturbance that breaks it, nothing but the proof speaks against a large radius.
    alone = original | {"broken": None}
    alone["certified"] = alone["certified"] | {"radius": 1.02 * TRUTH}
    assert check(alone, agent, tmp_path)["verdict"] == "not reproduced"
    for path, changed, mutant in list_mutants(original):
        told = check(mutant, agent, tmp_path)
        if told["verdict"] != "verified":
            continue
        verified += 1
        assert mutant["agent"] == original["agent"], (path, changed)
        certified, broken = mutant["certified"], mutant["broken"]
        assert certified is None or certified["radius"] < TRUTH, (path, changed)
        assert broken is None or broken["radius"] >= TRUTH, (path, changed)
    # Less claimed, another time limit, sets that are as good.
    assert verified > 0


def test_a_radius_that_something_smaller_breaks_is_refuted(by_hand, tmp_path):
    agent, radius = by_hand
    found = radius.to_json()
    found["certified"]["radius"] = found["broken"]["radius"]
    told = check(found, agent, tmp_path)
    assert told["verdict"] == "refuted"
    assert told["statements"][-1]["note"] == "a smaller one breaks it"
