"""Disturbances that a memory survives: sets contain what they should, and radii the truth."""

import json

import equinox as eqx
import jax
import numpy as np
import pytest

from remanence import envs
from remanence.certificates import find_radius
from remanence.certificates._attack import _attempt, attack
from remanence.certificates._disturbed import DisturbedPolicy
from remanence.certificates._enclosures import Region, enclose
from remanence.certificates._interval_policy import Policy
from remanence.certificates._lasso import find_lasso, plan_rounds
from remanence.certificates._walker import RIGHT
from remanence.networks import Agent
from remanence.store import name_leaves
from tests.certificates.agents import CELLS, make_agent, solve_by_hand


def describe(agent):
    arrays = name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})
    return arrays, json.loads(agent.architecture.to_json()), False


@pytest.mark.parametrize("cell", CELLS)
def test_a_set_contains_what_becomes_of_every_state_and_observation(cell):
    numbers = np.random.default_rng(3)
    for seed in range(4):
        policy = DisturbedPolicy(*describe(make_agent(cell, seed)), 0.05)
        size, held = policy.cell.state_size, find_held(policy)
        basis = np.eye(size) + 0.3 * numbers.normal(size=(size, size)) * ~policy.sharp
        basis[policy.sharp] = np.eye(size)[policy.sharp]
        centre = np.where(policy.sharp, held / 2, numbers.normal(size=size))
        radius = np.where(policy.sharp, np.abs(held) / 2, 0.1 * numbers.uniform(size=size))
        after = policy.wrap(
            policy.advance(policy.look([0, 1], RIGHT), Region(centre, radius, basis))
        )
        box, frame = enclose(policy, after), policy.frame(after, basis, 1.0)
        # Corners are where a set that is too small is seen first.
        inside = np.sign(numbers.normal(size=(size, 400))) * radius[:, None]
        seen = np.array([[0.0], [1.0]]) + 0.05 * np.sign(numbers.normal(size=(2, 400)))
        states = centre[:, None] + basis @ inside
        moved = policy.cell.update(policy.cell.project(seen), states)
        assert np.all((box.lower <= moved) & (moved <= box.upper))
        inner = np.linalg.solve(basis, moved - frame.centre[:, None])
        assert np.all(np.abs(inner) <= frame.radius[:, None])


def find_held(policy):
    """What units of a BMRU may hold."""
    held = np.zeros(policy.cell.state_size)
    cells = getattr(policy.cell, "cells", [policy.cell])
    alphas = [cell.alpha for cell in cells if hasattr(cell, "alpha")]
    held[policy.sharp] = np.concatenate(alphas) if alphas else []
    return held


def test_the_radius_of_an_agent_made_by_hand_is_found_from_both_sides():
    # Its flag is -1 before the junction because |2 x - 1| > 1/2 for x = 0. With x = 1/4 it is not
    # set at the first step, and the agent does not walk.
    radius = find_radius(solve_by_hand(), envs.make("tmaze"))
    assert 0.93 * 0.25 < radius.certified < 0.25
    assert radius.broken is not None
    assert 0.25 <= radius.broken.radius < 1.1 * 0.25


def test_an_agent_that_fails_without_disturbance_has_no_radius():
    agent = Agent.load("examples/agents/brc/agents/seed-1.safetensors")
    radius = find_radius(agent, envs.make("tmaze"))
    assert radius.broken is not None
    assert (radius.certified, radius.broken.radius) == (0.0, 0.0)
    assert len(radius.broken.observations) == 45
    assert radius.broken.at_junction


@pytest.fixture(scope="module")
def gru():
    return Agent.load("examples/agents/gru/agents/seed-1.safetensors")


def test_no_disturbance_within_a_certified_radius_is_found_to_break_it(gru):
    network, radius = describe(gru), 0.004
    policy = DisturbedPolicy(*network, radius)
    for cue in (-1, 1):
        lasso = find_lasso(policy, plan_rounds(Policy(*network), cue))
        assert lasso is not None
        numbers, portable = np.random.default_rng(2 + cue), gru.make_portable()
        inside = lasso.region
        assert inside.basis is not None
        state = np.tile(portable.initial_state(), (500, 1))
        for time in range(150):
            true = np.array([cue if time == 0 else 0, 0])
            seen = true + radius * np.sign(numbers.normal(size=(500, 2)))
            logits, state = portable.step(seen.astype(np.float32), state)
            assert np.all(logits.argmax(1) == RIGHT)
            if time >= lasso.steps and (time - lasso.steps) % lasso.round == 0:
                inner = np.linalg.solve(inside.basis, state.T - inside.centre[:, None])
                assert np.all(np.abs(inner) <= inside.radius[:, None])
    assert _attempt(gru.policy, gru.make_portable(), False, radius) is None


def test_what_breaks_an_agent_is_near_what_there_is_to_be_seen():
    agent = solve_by_hand()
    broken = attack(agent, previous_action=False)
    assert broken is not None
    portable = agent.make_portable()
    logits, state = np.zeros(4), portable.initial_state()
    for time, seen in enumerate(broken.observations):
        last = time == len(broken.observations) - 1
        true = [broken.cue if time == 0 else 0, last and broken.at_junction]
        assert np.all(np.abs(seen.astype(float) - true) <= broken.radius)
        logits, state = portable.step(seen, state)
    arm = {-1: 1, 1: 3}[broken.cue] if broken.at_junction else RIGHT
    assert logits.argmax() != arm


def test_the_previous_action_is_disturbed_like_the_rest():
    env = envs.make("tmaze", previous_action=True)
    agent = make_agent("bmru", 0, previous_action=True)
    radius = find_radius(agent, env)
    assert radius.broken is None or radius.broken.observations.shape[1] == 6
    assert jax.tree.leaves(radius.to_json()["environment"])
