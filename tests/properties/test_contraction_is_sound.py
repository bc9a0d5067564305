"""Nothing false is ever proved: every proof is compared with a walk in arithmetic of 300 bits.

The search proves it, and the checker's kernel derives the same from the evidence.
"""

import contextlib
import functools
import json
from typing import Any

import equinox as eqx
import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from remanence import envs
from remanence.certificates import find_portable
from remanence.certificates._contraction import Contraction
from remanence.certificates._intervals import UndecidedError
from remanence.checker import CertificateError
from remanence.checker import _kernel as kernel
from remanence.store import name_leaves
from tests.certificates import high_precision as precise
from tests.certificates import proofs
from tests.certificates.agents import make_agent

NUM_LENGTHS = 120
CELLS = ("gru", "lstm", "brc", "nbrc", "mingru", "bmru", "hybrid")

# A proof takes seconds, and so nothing is shrunk.
phases = (Phase.explicit, Phase.generate)
few = settings(max_examples=10, deadline=None, derandomize=True, phases=phases)
seeds = st.integers(0, 2**32 - 1)
shares = st.floats(-1, 1)


def prove(walker: precise.Walker, previous_action: bool = False) -> Contraction:
    return proofs.prove(walker, 200, previous_action)


def assert_true(walker: precise.Walker, proof: Contraction, previous_action: bool = False):
    if proof.optimal is not None:
        proofs.assert_true(walker, proof, NUM_LENGTHS, previous_action)


@few
@given(st.sampled_from(CELLS), seeds, st.floats(0.5, 5), st.booleans())
def test_random_agents(cell: str, seed: int, gain: float, previous_action: bool):
    walker = precise.make_walker(cell, seed, gain, previous_action=previous_action)
    assert_true(walker, prove(walker, previous_action), previous_action)


@few
@given(st.sampled_from(["gru", "lstm"]), st.integers(-12, 0), shares, shares)
def test_gated_cells_near_their_pitchfork(cell: str, exponent: int, share: float, bias: float):
    # The state 0 loses its stability where the feedback passes 1.
    walker = precise.make_latch(cell, bias * 2.0**exponent, 1 + share * 2.0**exponent)
    assert_true(walker, prove(walker))


@few
@given(st.sampled_from(["brc", "nbrc"]), st.integers(-12, -1), shares, shares)
def test_bistable_cells_near_their_pitchfork(cell: str, exponent: int, share: float, bias: float):
    walker = precise.make_latch(cell, bias * 2.0**exponent, 1 + share * 2.0**exponent)
    assert_true(walker, prove(walker))


@few
@given(st.floats(0, 25), shares, shares)
def test_mingru_that_hardly_leaks(gate_bias: float, drift: float, bias: float):
    walker = precise.make_leak(gate_bias, drift, bias)
    proof = prove(walker)
    assert_true(walker, proof)
    assert proof.optimal is None or 10**5 not in proof.optimal


@few
@given(st.integers(-30, 0), shares)
def test_bmru_near_its_threshold(exponent: int, share: float):
    walker = precise.make_holder(0.5 + share * 2.0**exponent, 0.5)
    proof = prove(walker)
    assert proof.optimal is not None, proof.reason
    assert_true(walker, proof)


@functools.cache
def prove_walker(cell: str, seed: int) -> tuple[precise.Walker, Contraction]:
    walker = precise.make_walker(cell, seed)
    return walker, prove(walker)


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


@settings(few, max_examples=25)
@given(
    st.sampled_from(CELLS),
    st.integers(0, 1),
    seeds,
    st.lists(st.sampled_from(FORGERIES), max_size=4),
)
def test_forged_evidence_proves_nothing_false(
    cell: str, number: int, seed: int, forgeries: list[str]
):
    walker, proof = prove_walker(cell, number)
    assume(proof.optimal is not None)
    claim, rng = proofs.write(proof), np.random.default_rng(seed)
    for what in forgeries:
        cue = claim["cues"][rng.integers(2)]
        if cue["attractor"]:
            forge(cue, what, rng)
    refusals = (kernel.UndecidedError, np.linalg.LinAlgError, CertificateError)
    with contextlib.suppress(*refusals):
        found = proofs.derive_in_kernel(walker, claim["cues"])
        assert found.optimal.write() == claim["optimal"]
    with contextlib.suppress(UndecidedError, np.linalg.LinAlgError):
        assert proofs.derive_in_intervals(walker, claim["cues"]) == proof.optimal


def test_what_is_not_forged_is_accepted_by_both():
    """The test above would pass if nothing were."""
    for cell in CELLS:
        walker, proof = prove_walker(cell, 0)
        if proof.optimal is not None:
            assert proofs.derive_in_intervals(walker, proofs.write(proof)["cues"]) == proof.optimal


def test_much_is_proved():
    """The tests above would pass if nothing were."""
    found = [prove_walker(cell, seed)[1].optimal for cell in CELLS for seed in range(2)]
    assert sum(optimal is not None for optimal in found) >= 8


@pytest.mark.parametrize("cell", CELLS)
def test_the_kernel_accepts_what_the_search_proves(cell: str):
    """Of random agents with heads; what is proved is also what the portable program does."""
    num_proved = 0
    for seed in range(18):
        previous_action = seed % 3 == 0
        agent = make_agent(cell, seed, previous_action, gain=(0.5, 1.0, 3.0)[seed % 3])
        arrays = name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})
        walker = arrays, json.loads(agent.architecture.to_json())
        proof = proofs.prove(walker, 60, previous_action)
        if proof.optimal is not None:
            num_proved += 1
            env = envs.make("tmaze", previous_action=previous_action)
            found = find_portable(agent, env, budget=500).optimal.lengths
            assert found in (None, proof.optimal)
    assert num_proved >= 6
