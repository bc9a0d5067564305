"""Proofs by contraction, derived twice: by the search that finds them, and by the checker's kernel.

The two share no code. Whatever the search proves, the kernel has to derive from its evidence.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from remanence.certificates._contraction import Contraction, search_proof
from remanence.certificates._enclosures import Evidence, Region, derive_lengths
from remanence.certificates._interval_policy import Policy
from remanence.certificates._lengths import LengthSet
from remanence.checker import _certificates
from remanence.checker._check import Proof, derive
from remanence.checker._kernel import Policy as Kernel
from remanence.checker._weights import find_discrete, take_policy
from tests.certificates import high_precision as precise

EVER = LengthSet(np.ones(1, bool), 1)


def search(
    walker: precise.Walker, max_steps: int = 1000, previous_action: bool = False
) -> Contraction:
    """A proof by the search alone."""
    arrays, architecture = walker
    with np.errstate(all="ignore"):
        return search_proof(Policy(arrays, architecture, previous_action), max_steps)


def prove(
    walker: precise.Walker, max_steps: int = 1000, previous_action: bool = False
) -> Contraction:
    """A proof that the kernel has derived as well, or none."""
    proof = search(walker, max_steps, previous_action)
    if proof.optimal is not None:
        claim = write(proof)
        found = derive_in_kernel(walker, claim["cues"], previous_action)
        assert found.optimal.write() == claim["optimal"]
        assert not (found.optimal.unfold(99) & found.wrong.unfold(99))[:99].any()
    return proof


def write(proof: Contraction) -> Any:
    """What a certificate says of it, read back."""
    return json.loads(json.dumps(proof.to_json(), allow_nan=False))


def make_kernel(walker: precise.Walker, previous_action: bool = False) -> Kernel:
    """The walker's policy in the checker's arithmetic."""
    arrays, architecture = walker
    shape = {**architecture, "previous_action": previous_action}
    return Kernel(take_policy(arrays, shape), shape)


def derive_in_kernel(
    walker: precise.Walker, cues: list[dict[str, Any]], previous_action: bool = False
) -> Proof:
    """What the kernel derives from evidence as JSON has it."""
    kernel = make_kernel(walker, previous_action)
    read = _certificates.contraction({"optimal": EVER.to_json(), "cues": cues}, "contraction")
    discrete = find_discrete(kernel.shape)
    with np.errstate(all="ignore"):
        return derive(kernel, [_certificates.shape_evidence(cue, discrete) for cue in read["cues"]])


def derive_in_intervals(
    walker: precise.Walker, cues: list[dict[str, Any]], previous_action: bool = False
) -> LengthSet:
    """What the search's arithmetic derives from the same."""
    policy = Policy(*walker, previous_action)
    evidence = [
        Evidence(
            cue["cue"],
            cue["steps"],
            cue["enclosure"] == "parallelepipeds",
            [_read_region(phase) for phase in cue["attractor"] or []],
        )
        for cue in cues
    ]
    with np.errstate(all="ignore"):
        return derive_lengths(policy, evidence)


def _read_region(found: Mapping[str, Any]) -> Region:
    basis = found["basis"]
    if basis is not None:
        basis = np.eye(len(found["radius"])) if basis == "identity" else np.array(basis)
    return Region(np.array(found["centre"]), np.array(found["radius"]), basis)


def assert_true(
    walker: precise.Walker,
    proof: Contraction,
    num_lengths: int = 60,
    previous_action: bool = False,
) -> None:
    """What is proved is what arithmetic of 300 bits shows."""
    assert proof.optimal is not None, proof.reason
    truth = precise.list_optimal(*walker, num_lengths, previous_action)
    np.testing.assert_array_equal(proof.optimal.unfold(num_lengths)[:num_lengths], truth)
