"""Nothing false is ever proved: every proof is compared with a walk in arithmetic of 300 bits."""

import copy
import functools
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remanence.evaluation import _contraction as contraction
from remanence.evaluation import check_certificate as checker
from tests.evaluation import high_precision as precise

NUM_LENGTHS = 120
CELLS = ("gru", "brc", "nbrc", "mingru", "bmru", "hybrid")

few = settings(max_examples=10, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
shares = st.floats(-1, 1)


def prove(
    walker: precise.Walker, previous_action: bool = False
) -> tuple[checker.Policy, dict[str, Any]]:
    policy = checker.Policy(*walker, previous_action)
    with np.errstate(all="ignore"):
        return policy, contraction.search_proof(policy, 200)


def assert_true(walker: precise.Walker, optimal: dict[str, Any], previous_action: bool = False):
    claimed = checker.read_lengths(optimal, NUM_LENGTHS)
    truth = precise.list_optimal(*walker, NUM_LENGTHS, previous_action)
    np.testing.assert_array_equal(claimed, truth)


@few
@given(st.sampled_from(CELLS), seeds, st.floats(0.5, 5), st.booleans())
def test_random_agents(cell: str, seed: int, gain: float, previous_action: bool):
    walker = precise.make_walker(cell, seed, gain, previous_action=previous_action)
    _, proof = prove(walker, previous_action)
    if proof["verdict"] == "proved":
        assert_true(walker, proof["optimal"], previous_action)


@few
@given(st.integers(-12, 0), shares, shares)
def test_gru_near_its_pitchfork(exponent: int, share: float, bias: float):
    # The state 0 loses its stability where the feedback passes 1.
    walker = precise.make_latch("gru", bias * 2.0**exponent, 1 + share * 2.0**exponent)
    _, proof = prove(walker)
    if proof["verdict"] == "proved":
        assert_true(walker, proof["optimal"])


@few
@given(st.sampled_from(["brc", "nbrc"]), st.integers(-12, -1), shares, shares)
def test_bistable_cells_near_their_pitchfork(cell: str, exponent: int, share: float, bias: float):
    walker = precise.make_latch(cell, bias * 2.0**exponent, 1 + share * 2.0**exponent)
    _, proof = prove(walker)
    if proof["verdict"] == "proved":
        assert_true(walker, proof["optimal"])


@few
@given(st.floats(0, 25), shares, shares)
def test_mingru_that_hardly_leaks(gate_bias: float, drift: float, bias: float):
    walker = precise.make_leak(gate_bias, drift, bias)
    _, proof = prove(walker)
    if proof["verdict"] == "proved":
        assert_true(walker, proof["optimal"])
        assert not checker.read_lengths(proof["optimal"], 10**5)[-1]


@few
@given(st.integers(-30, 0), shares)
def test_bmru_near_its_threshold(exponent: int, share: float):
    walker = precise.make_holder(0.5 + share * 2.0**exponent, 0.5)
    _, proof = prove(walker)
    assert_true(walker, proof["optimal"])


@functools.cache
def prove_walker(cell: str, seed: int) -> tuple[checker.Policy, dict[str, Any]]:
    return prove(precise.make_walker(cell, seed))


FORGERIES = ("radius", "centre", "basis", "steps", "attractor", "enclosure")


def forge(cue: dict[str, Any], what: str, rng: np.random.Generator) -> None:
    """Change a part of the evidence at random."""
    phase = cue["attractor"][0]
    size = 10.0 ** rng.uniform(-12, 1)
    if what in ("radius", "centre") or (what == "basis" and isinstance(phase[what], list)):
        values = np.array(phase[what])
        scale = np.exp(size * rng.normal(size=values.shape))
        noise = size * rng.normal(size=values.shape)
        phase[what] = (values * scale if what == "radius" else values + noise).tolist()
    elif what == "steps":
        cue["steps"] = int(rng.integers(1, cue["steps"] + 3))
    elif what == "attractor":
        cue["attractor"] = None if rng.random() < 0.3 else cue["attractor"] * 2
    else:
        cue["enclosure"], phase["basis"] = "boxes", None


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.sampled_from(CELLS), st.integers(0, 1), seeds, st.lists(st.sampled_from(FORGERIES)))
def test_forged_evidence_proves_nothing_false(
    cell: str, number: int, seed: int, forgeries: list[str]
):
    policy, proof = prove_walker(cell, number)
    assume(proof["verdict"] == "proved")
    rng, cues = np.random.default_rng(seed), copy.deepcopy(proof["cues"])
    for what in forgeries:
        cue = cues[rng.integers(2)]
        if cue["attractor"]:
            forge(cue, what, rng)
    report = checker.verify_contraction(policy, {"cues": cues})
    if report["verified"]:
        assert report["optimal"] == proof["optimal"]


def test_much_is_proved():
    """The tests above would pass if nothing were."""
    proofs = [prove_walker(cell, seed)[1] for cell in CELLS for seed in range(2)]
    assert sum(proof["verdict"] == "proved" for proof in proofs) >= 8
