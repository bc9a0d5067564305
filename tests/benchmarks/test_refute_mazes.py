"""The attack on certificates for sequences of mazes: it finds what is wrong, and only that."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remanence.certificates.mazes import list_tables
from tests.certificates.mazes.agents import MAZE, make_prover, remember_by_hand

ROOT = Path(__file__).parents[2]
WALKS = ("greedy", "straight", "any")


@pytest.fixture
def bench(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("refute_mazes")


def attack(bench: Any, made: Any, walk: str, claimed: float) -> list[dict[str, Any]]:
    """A certificate that claims to be always right, attacked."""
    policy = make_prover(made).policy
    claims = {"walk": walk, "verdict": "certified", "method": "search", "least_margin": claimed}
    findings = [{"table": list(table), **claims} for table in list_tables(MAZE)]
    maze = {"lengths": [1, 2, 3], "index_encoding": "one-hot"}
    certificate = {"environment": maze, "findings": findings}
    return list(bench.refute(policy.step, policy.initial_state(), certificate, 600, 20))


@pytest.mark.parametrize("walk", WALKS)
def test_who_is_always_right_is_not_refuted(walk: str, bench):
    for record in attack(bench, remember_by_hand(), walk, 1.0):
        assert record["decisions"] == 200
        assert record["wrong"] == 0
        assert record["least_margin"] == 1


@pytest.mark.parametrize("walk", WALKS)
def test_who_forgets_is_found_out(walk: str, bench):
    arrays, shape = remember_by_hand()
    arrays["policy.cell.inputs.weight"][0, 0, 3] = 2  # the second index erases the table
    records = attack(bench, (arrays, shape), walk, 1.0)
    wrong = {tuple(it["table"]): it["wrong"] for it in records if it["order"] == "adversarial"}
    assert wrong[-1, 1] > 50
    assert wrong[1, -1] == 0


def test_the_table_is_seen_once(bench):
    """A policy whose arms' margin falls with every step that shows a table."""
    made = remember_by_hand()
    policy, seen = make_prover(made).policy, []

    def step(observations: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(np.abs(observations[:, :2]).max())
        return policy.step(observations, states)

    maze = {"lengths": [3], "index_encoding": "one-hot"}
    finding = {"table": [1, -1], "walk": "straight", "verdict": "certified"}
    finding |= {"method": "search", "least_margin": 1.0}
    certificate = {"environment": maze, "findings": [finding]}
    assert list(bench.refute(step, policy.initial_state(), certificate, 12, 2))
    # Three orders of two mazes of three steps; the adversary tries both indices before each.
    assert seen[:6] == [1, 0, 0, 0, 0, 0]


def test_who_never_takes_an_arm_is_wrong(bench, monkeypatch):
    monkeypatch.setattr(bench, "PATIENCE", 40)
    arrays, shape = remember_by_hand()
    arrays["policy.output.bias"] = np.array([30, 0, -10, -1], np.float32)
    assert all(it["wrong"] == it["decisions"] for it in attack(bench, (arrays, shape), "greedy", 1))
