"""Certificates of both formats are read, and nothing else is."""

import json
from pathlib import Path

import pytest

from remanence import envs
from remanence.certificates import certify, read_certificate
from remanence.errors import StoreError
from tests.certificates.agents import solve_by_hand


def test_the_present_format_is_read_as_it_is(tmp_path: Path):
    made = certify(solve_by_hand(), envs.make("tmaze", time_limit_factor=None))
    made.save(tmp_path / "certificate.json")
    found = read_certificate(tmp_path / "certificate.json")
    assert found == json.loads(json.dumps(made.to_json()))
    assert found["environment"]["time_limit_factor"] is None


FIRST = {
    "kind": "remanence certificate",
    "format": 1,
    "agent": {"sha256": "0" * 64},
    "environment": {"name": "tmaze", "previous_action": False, "params": {"limit_factor": 10}},
    "bitwise": {"budget": 7, "merge": 3},
    "contraction": {"verdict": "proved", "optimal": {"listed": 1, "period": 1, "runs": []}},
}


def read(found: object, tmp_path: Path) -> dict:
    (tmp_path / "certificate.json").write_text(json.dumps(found))
    return read_certificate(tmp_path / "certificate.json")


def test_the_first_format_is_translated(tmp_path: Path):
    found = read(FIRST, tmp_path)
    assert found["compiled"] == {"budget": 7, "merge": 3}
    assert found["portable"] is None
    assert found["contraction"] == {"optimal": FIRST["contraction"]["optimal"]}
    expected = {"name": "tmaze", "previous_action": False, "time_limit_factor": 10}
    assert found["environment"] == expected
    unproved = {"verdict": "not proved", "optimal": None}
    assert read({**FIRST, "contraction": unproved}, tmp_path)["contraction"] is None


@pytest.mark.parametrize(
    "found",
    [[], {}, {**FIRST, "format": 3}, {**FIRST, "kind": "letter"}, {**FIRST, "contraction": None}],
)
def test_what_is_none_is_refused(found: object, tmp_path: Path):
    with pytest.raises(StoreError, match="certificate"):
        read(found, tmp_path)
