"""A certificate with one part of its proof or its subject changed, and what comes of it."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence import checker
from remanence.checker import _lengths
from remanence.checker._weights import hash_policy, take_policy
from remanence.store import load_arrays, save_arrays
from tests.certificates import high_precision as precise
from tests.certificates import proofs

EVER = {"listed": 1, "period": 1, "runs": [[1, 1]]}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arrays, fields = precise.make_latch("gru", bias=0.25, feedback=1.2)
    header = {"kind": "agent", "format": 1, "architecture": fields}
    path = tmp_path_factory.mktemp("certificate") / "agent.safetensors"
    save_arrays(path, arrays | {"value.output.bias": np.zeros(1, np.float32)}, header)
    return path


@pytest.fixture(scope="module")
def certificate(weights: Path) -> dict[str, Any]:
    """One that is nothing but a proof."""
    arrays, header = load_arrays(weights)
    architecture = header["architecture"]
    proof = proofs.prove((arrays, architecture), 300)
    return {
        "kind": "remanence certificate",
        "format": 2,
        "agent": {"sha256": hash_policy(arrays), "architecture": architecture},
        "environment": {"name": "tmaze", "previous_action": False, "time_limit_factor": 10},
        "compiled": None,
        "portable": None,
        "contraction": proofs.write(proof),
    }


def change(data: Any, path: str, edit: Callable[[Any], Any]) -> Any:
    changed = copy.deepcopy(data)
    *parents, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    place = changed
    for key in parents:
        place = place[key]
    place[last] = edit(place[last])
    return changed


def check(certificate: Any, weights: Path, tmp_path: Path) -> int:
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    return checker.run(tmp_path / "certificate.json", weights, as_json=False)


def test_what_is_not_changed_is_verified(certificate: Any, weights: Path, tmp_path: Path):
    """The tests below would pass if nothing were."""
    assert check(certificate, weights, tmp_path) == 0


PHASE = "contraction/cues/0/attractor/0/"
NONE = {"listed": 1, "period": 1, "runs": []}


@pytest.mark.parametrize(
    ("path", "edit", "exit_code"),
    [
        (PHASE + "radius", lambda radius: [1e6 * r for r in radius], 3),
        (PHASE + "radius", lambda radius: [1e-30 * r for r in radius], 3),
        (PHASE + "centre", lambda centre: [c + 0.5 for c in centre], 3),
        (PHASE + "basis", lambda basis: [[0.0 for _ in row] for row in basis], 3),
        ("contraction/cues/0/attractor", lambda _: None, 3),
        ("contraction/cues/0/steps", lambda _: 1, 3),
        ("contraction/optimal", lambda _: NONE, 1),
        ("contraction/optimal", lambda _: {"listed": 9, "period": 1, "runs": [[1, 8]]}, 1),
        ("agent/sha256", lambda digest: digest[::-1], 1),
        ("agent/architecture/state_size", lambda size: size + 1, 1),
        ("environment/previous_action", lambda _: True, 2),
    ],
)
def test_false_claim_is_not_verified(
    certificate: Any, weights: Path, tmp_path: Path, path: str, edit: Any, exit_code: int
):
    assert check(change(certificate, path, edit), weights, tmp_path) == exit_code


def test_other_weights_do_not_pass(certificate: Any, weights: Path, tmp_path: Path):
    arrays, header = load_arrays(weights)
    other = {name: array.copy() for name, array in arrays.items()}
    other["policy.output.bias"][3] = np.nextafter(other["policy.output.bias"][3], np.float32(1))
    save_arrays(tmp_path / "other.safetensors", other, header)
    assert check(certificate, tmp_path / "other.safetensors", tmp_path) == 1
    # Values are no part of the policy.
    other = {**arrays, "value.output.bias": np.ones(1, np.float32)}
    save_arrays(tmp_path / "other.safetensors", other, header)
    assert check(certificate, tmp_path / "other.safetensors", tmp_path) == 0


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        ("kind", lambda _: "letter", "no certificate of format 2"),
        ("format", lambda _: 3, "no certificate of format 2"),
        ("agent", lambda _: None, "certificate.agent should be an object"),
        ("environment/name", lambda _: "lookup-tree-maze", "should be one of ['tmaze']"),
        ("contraction", lambda _: None, "claims nothing"),
        ("contraction/cues", lambda cues: cues[:1], "should be a list of 2 to 2"),
        ("contraction/cues", lambda cues: cues[::-1], "should speak of the cues -1 and 1"),
        ("contraction/cues/0/steps", lambda _: 0, "should be a whole number from 1"),
        ("contraction/cues/0/steps", lambda steps: float(steps), "should be a whole number"),
        ("contraction/cues/0/enclosure", lambda _: "magic", "should be one of ['boxes'"),
        ("contraction/cues/0/attractor", lambda _: [], "should be a list of 1 to"),
        (PHASE + "radius", lambda radius: radius[1:], "a radius should have"),
        (PHASE + "radius/0", lambda radius: -radius, "should not be below 0"),
        (PHASE + "radius/0", lambda _: float("inf"), "is no number"),
        (PHASE + "centre/0", lambda _: "x", "should be a number"),
        (PHASE + "basis", lambda basis: basis[1:], "a basis should be 2 x 2"),
        ("contraction/optimal/period", lambda _: 0, "should be a whole number from 1"),
        ("contraction/optimal/period", lambda _: 2, "repeats more than it lists"),
        ("contraction/optimal/runs", lambda _: [[1]], "should be a list of 2 to 2"),
    ],
)
def test_bad_certificate_is_refused(
    certificate: Any,
    weights: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    path: str,
    edit: Any,
    message: str,
):
    certificate = change(certificate, "contraction/optimal", lambda _: EVER)
    assert check(change(certificate, path, edit), weights, tmp_path) == 2
    assert message in capsys.readouterr().err


def test_weights_that_do_not_fit_are_refused():
    arrays, fields = precise.make_latch("gru")
    shape = {**fields, "previous_action": False}
    assert take_policy(arrays, shape)
    for changed, message in [
        (shape | {"previous_action": True}, "has the shape"),
        (shape | {"head": [3]}, "do not fit the architecture"),
        (shape | {"cell": "mingru"}, "do not fit the architecture"),
        (shape | {"skip": True, "state_size": 3}, "should be the cell's"),
    ]:
        with pytest.raises(checker.CertificateError, match=message):
            take_policy(arrays, changed)
    bias = arrays["policy.output.bias"]
    for odd, message in [(bias * np.nan, "not finite"), (bias.astype(np.float64), "precision")]:
        with pytest.raises(checker.CertificateError, match=message):
            take_policy(arrays | {"policy.output.bias": odd}, shape)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_lengths_are_written_and_read(members: list[bool], data: st.DataObject):
    period = data.draw(st.integers(1, len(members)))
    unfolded = members + (members[-period:] * 60)[: 60 - len(members)]
    written = _lengths.Lengths(np.array(members), period).write()
    read = _lengths.read(written)
    assert read.unfold(60)[:60].tolist() == unfolded
    assert [read.has(length) for length in range(1, 61)] == unfolded
    longer = np.array(unfolded[: len(members) + period])
    assert _lengths.Lengths(longer, period).write() == written
    listed, shortest = written["listed"], written["period"]
    for p in range(1, listed + 1):
        for m in range(p, listed + 1):
            repeats = all(unfolded[n] == unfolded[n - p] for n in range(m, 60))
            assert not repeats or (p, m) >= (shortest, listed)
