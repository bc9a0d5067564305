"""Agents with numbers that overflow or vanish, and forged certificates for them: nothing false."""

from typing import Any

import numpy as np
import pytest

from remanence import checker
from remanence.certificates import hash_policy
from remanence.certificates.mazes import MazeCertificate
from remanence.store import write_json
from tests.certificates.mazes.agents import (
    Arrays,
    make_prover,
    name_arrays,
    remember_by_hand,
    save_agent,
    shape_policy,
)

TABLES = ([1, -1], [-1, 1])
WALKS = ("greedy", "straight", "any")
NOTHING_FOUND = dict.fromkeys(
    (
        *("method", "num_memories", "history", "reach", "num_rounds", "least_margin"),
        *("sampled_share", "limit_share", "refutation", "budget"),
    )
)


def set_arms(up: float, down: float, hidden: float) -> tuple[Arrays, dict[str, Any]]:
    """The policy by hand, with other weights of its arms, of hidden values times `hidden`."""
    arrays, shape = remember_by_hand("hybrid", leak=0.0)
    for kind in ("weight", "bias"):
        arrays[f"policy.head.0.{kind}"][:2] *= hidden
    arrays["policy.head.0.bias"][3] = hidden / 2
    weight, bias = np.zeros((4, 4)), np.array([3, 0, -10, 0])
    weight[0, 2], weight[1, 3], weight[3, :2] = -6, up, down
    arrays["policy.output.weight"] = weight.astype(np.float32)
    arrays["policy.output.bias"] = bias.astype(np.float32)
    return arrays, shape


# Products of 2^-149 and 1/8 are 0 in binary32, so that both arms are alike; and 6e38 is infinite.
VANISHING = (2.0**-149, 2.0**-149, 1 / 8)
OVERFLOWING = (2e38, 3e38, 4.0)


def check(made, directory, findings, **known):
    """The verdict on a certificate of our own making."""
    arrays, shape = made
    environment = {"name": "lookup-tree-maze", "table_size": 2, "index_encoding": "one-hot"}
    certificate = MazeCertificate(
        agent={"sha256": hash_policy(arrays), "architecture": shape},
        environment={**environment, "lengths": known.pop("lengths", [1, 2, 3])},
        program={"name": "portable", "version": 1, "precision": "binary32"},
        findings=(),
    ).to_json()
    save_agent(directory / "agent.safetensors", made)
    write_json(directory / "forged.json", {**certificate, "findings": findings, **known})
    return checker.check(directory / "forged.json", directory / "agent.safetensors")


@pytest.mark.parametrize("arms", [VANISHING, OVERFLOWING], ids=["vanishing", "overflowing"])
def test_nobody_certifies_arms_that_are_alike(arms, tmp_path):
    made = set_arms(*arms)
    with np.errstate(over="ignore", invalid="ignore"):
        prover = make_prover(made)
        for table in TABLES:
            found = prover.decide(tuple(table))
            assert "certified" not in {it.verdict for it in found.values()}
        proof = {"method": "sets", "history": 3, "reach": 3, "num_rounds": 50}
        forged = [
            NOTHING_FOUND
            | proof
            | {"table": table, "walk": walk, "verdict": "certified"}
            | {"least_margin": None if walk == "greedy" else 0.0}
            for table in TABLES
            for walk in WALKS
        ]
        statements = check(made, tmp_path, forged).statements
    proved = [it for it in statements if it.part in ("straight", "any")]
    assert proved
    assert {it.status for it in proved} == {"not reproduced"}


def test_the_policy_by_hand_is_certified_with_usual_numbers():
    """So that it is the numbers which the test above is about."""
    found = make_prover(set_arms(1.0, 2.0, 1.0)).decide((1, -1))
    assert {it.verdict for it in found.values()} == {"certified"}


def test_nothing_is_forgotten_in_the_first_maze(tmp_path):
    """There the table itself is seen, past the memory, by a connection that skips it."""
    arrays = {
        "cell.inputs.weight": np.zeros((2, 5, 5)),
        "cell.inputs.bias": np.zeros((2, 5)),
        "head.0.weight": 20 * np.eye(5)[[0, 1, 4]] + 20 * np.eye(5)[[2, 3, 4]],
        "head.0.bias": [-20, -20, 0],
        "output.weight": [[0, 0, -9], [0, 0, 0], [0, 0, -9], [1, 1, 0]],
        "output.bias": [0, 0, 0, -5],
    }
    made = name_arrays(arrays), {**shape_policy("mingru", 5, [3]), "skip": True}
    undecided = [
        NOTHING_FOUND | {"table": table, "walk": walk, "verdict": "undecided", "budget": 1}
        for table in TABLES
        for walk in WALKS
    ]
    for maze, status in ((1, "not reproduced"), (2, "verified")):
        report = check(made, tmp_path, undecided, lengths=[1], forgotten=maze)
        (told,) = (it for it in report.statements if it.name == "forgotten")
        assert told.status == status, maze
