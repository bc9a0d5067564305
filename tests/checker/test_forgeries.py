"""Forged certificates, and files that are made to do harm: each ends in a plain word, soon."""

import hashlib
import json
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

from remanence import checker, envs
from remanence.certificates import _certify, certify
from remanence.certificates._contraction import Contraction
from remanence.networks import Agent
from tests.certificates import high_precision as precise
from tests.certificates.agents import load_walker, solve_by_hand

ROOT = Path(__file__).parents[2]
EVERY = {"listed": 1, "period": 1, "runs": [[1, 1]]}
FIRST_150_000 = {"listed": 150_001, "period": 1, "runs": [[1, 150_000]]}


def load_old(cell: str) -> tuple[dict[str, Any], Path]:
    """A committed certificate of the first format, and its agent."""
    certificate = ROOT / f"docs/results/tmaze/certificates/tmaze-short-{cell}/seed-1.json"
    agent = ROOT / f"examples/agents/{cell}/agents/seed-1.safetensors"
    return json.loads(certificate.read_text()), agent


def judge(certificate: Any, agent: Path, directory: Path) -> tuple[str, dict[str, str]]:
    """The verdict, and what became of each statement."""
    path = directory / "forged.json"
    path.write_text(certificate if isinstance(certificate, str) else json.dumps(certificate))
    report = checker.check(path, agent)
    return report.verdict, {f"{it.part}.{it.name}": it.status for it in report.statements}


def rehash(environment: dict[str, Any]) -> None:
    described = {key: value for key, value in environment.items() if key != "sha256"}
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    environment["sha256"] = hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("cell", "proof"),
    [
        ("gru", "verified"),
        ("brc", "verified"),
        ("mingru", "verified"),
        ("bmru", "verified"),
        # A proof for the real numbers alone, by sets too large for what rounding adds.
        ("nbrc", "not reproduced"),
    ],
)
def test_old_certificates_are_read_and_not_wholly_verified(cell: str, proof: str, tmp_path: Path):
    verdict, found = judge(*load_old(cell), tmp_path)
    assert verdict == "not reproduced"
    assert found["contraction.optimal"] == proof
    assert found["compiled.solved"] == "not checked"


def test_that_a_brc_is_right_for_ever_is_refuted(tmp_path: Path):
    certificate, agent = load_old("brc")
    certificate["bitwise"]["solved"] = EVERY
    verdict, found = judge(certificate, agent, tmp_path)
    assert (verdict, found["compiled.solved"]) == ("refuted", "refuted")


def test_that_a_mingru_comes_back_is_refuted(tmp_path: Path):
    certificate, agent = load_old("mingru")
    certificate["bitwise"]["optimal"] = {"listed": 41, "period": 1, "runs": [[1, 6], [41, 41]]}
    assert judge(certificate, agent, tmp_path)[0] == "refuted"


def test_that_a_bmru_ends_is_refuted(tmp_path: Path):
    certificate, agent = load_old("bmru")
    certificate["bitwise"] |= {"optimal": FIRST_150_000, "solved": FIRST_150_000}
    certificate["bitwise"] |= {"merge": 7, "distance": 0}
    verdict, found = judge(certificate, agent, tmp_path)
    assert verdict == "refuted"
    assert found["compiled.merge"] == "not checked"


def remove_params(certificate: dict[str, Any]) -> None:
    del certificate["environment"]["params"]
    rehash(certificate["environment"])


def capitalize(certificate: dict[str, Any]) -> None:
    certificate["contraction"]["verdict"] = "Proved"


def drop_verdict(certificate: dict[str, Any]) -> None:
    del certificate["contraction"]["verdict"]


@pytest.mark.parametrize("forge", [remove_params, capitalize, drop_verdict])
def test_checks_cannot_be_switched_off(forge: Callable[[dict[str, Any]], None], tmp_path: Path):
    certificate, agent = load_old("bmru")
    forge(certificate)
    with pytest.raises(checker.CertificateError):
        judge(certificate, agent, tmp_path)


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> tuple[dict[str, Any], Path]:
    directory = tmp_path_factory.mktemp("honest")
    agent = solve_by_hand()
    agent.save(directory / "agent.safetensors")
    found = certify(agent, envs.make("tmaze")).to_json() | {"compiled": None}
    return json.loads(json.dumps(found)), directory / "agent.safetensors"


def test_the_honest_certificate_is_verified(honest, tmp_path: Path):
    """What the tests below forge."""
    certificate, agent = honest
    assert judge(certificate, agent, tmp_path)[0] == "verified"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("merge", 7),
        ("distance", 0.0),
        ("solved", FIRST_150_000),
        ("optimal", FIRST_150_000),
        ("compatible", {"holds": None, "witness": None}),
    ],
)
def test_every_statement_about_the_portable_program_counts(place, value, honest, tmp_path: Path):
    certificate, agent = honest
    forged = certificate | {"portable": certificate["portable"] | {place: value}}
    assert judge(forged, agent, tmp_path)[0] == "refuted"


def test_a_proof_of_another_program_contradicts_a_claim_about_bits(honest, tmp_path: Path):
    """Also where nothing of the compiled program can be run."""
    certificate, agent = honest
    program = {name: "x" for name in ("remanence", "jax", "jaxlib", "backend", "processor")}
    program |= {"name": "compiled", "backend": "cpu"}
    claims = certificate["portable"] | {"program": program}
    forged = certificate | {"compiled": claims | {"solved": FIRST_150_000}}
    verdict, found = judge(forged, agent, tmp_path)
    assert (verdict, found["compiled.solved"]) == ("refuted", "refuted")


def test_numbers_that_overflow_are_not_proved_about(tmp_path: Path):
    arrays, architecture = precise.make_holder(0.3, 0.5)
    arrays["policy.cell.alpha"][1] = 3e38
    agent = load_walker((arrays, architecture), tmp_path, 2)
    found = certify(agent, envs.make("tmaze"), budget=100)
    assert found.contraction.optimal is None
    assert "overflow" in str(found.contraction.reason)
    # A forger says it is proved all the same.
    agent.save(tmp_path / "agent.safetensors")
    centre = [-1.0, 3e38]
    region = {"centre": centre, "radius": [], "basis": None}
    evidence = {"steps": 1, "enclosure": "boxes", "attractor": [region]}
    cues = [{"cue": cue, **evidence} for cue in (-1, 1)]
    forged = found.to_json() | {"compiled": None, "contraction": {"optimal": EVERY, "cues": cues}}
    verdict, statements = judge(forged, tmp_path / "agent.safetensors", tmp_path)
    assert verdict != "verified"
    assert statements["contraction.optimal"] != "verified"


def nest(depth: int) -> str:
    return "[" * depth + "]" * depth


def harm(certificate: dict[str, Any]) -> dict[str, Any]:
    """Certificates as text that should be refused at once."""
    whole = json.dumps(certificate)
    region = json.dumps(certificate["contraction"]["cues"][0]["attractor"][0]["centre"][0])
    return {
        "nothing": "",
        "deep nesting": nest(100_000),
        "an array": "[]",
        "null": "null",
        "100 MB": '{"kind": "' + "x" * 100_000_000 + '"}',
        "10^12 steps": whole.replace('"steps": 1', '"steps": 1000000000000'),
        "a number of 5000 digits": whole.replace('"steps": 1', '"steps": ' + "9" * 5_000),
        "cues of other types": whole.replace('"cue": -1', '"cue": -1.0').replace(
            '"cue": 1', '"cue": true'
        ),
        "a centre of 10^400": whole.replace(f'"centre": [{region}', '"centre": [1' + "0" * 400),
        "a centre of 1e400": whole.replace(f'"centre": [{region}', '"centre": [1e400'),
        "NaN": whole.replace('"distance": 2.0', '"distance": NaN'),
        "a name twice": whole.replace('"merge": null', '"merge": 3, "merge": null'),
        "half of it": whole[: len(whole) // 2],
        "no UTF-8": "\udcff",
    }


HARMS = (
    "nothing",
    "deep nesting",
    "an array",
    "null",
    "100 MB",
    "10^12 steps",
    "a number of 5000 digits",
    "cues of other types",
    "a centre of 10^400",
    "a centre of 1e400",
    "NaN",
    "a name twice",
    "half of it",
    "no UTF-8",
)


@pytest.mark.parametrize("name", HARMS)
def test_harmful_certificates_are_refused(name: str, honest, tmp_path: Path, capsys):
    certificate, agent = honest
    text = harm(certificate)[name]
    assert text != json.dumps(certificate), "the harm was not done"
    path = tmp_path / "harmful.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    begun = time.process_time()
    assert checker.run(path, agent, as_json=False) == 2
    # What is refused is refused before anything is computed; 1 s is what a proof may take.
    assert time.process_time() - begun < 1
    assert capsys.readouterr().err.startswith("cannot be checked: ")


def write_safetensors(path: Path, header: Any, data: bytes = b"") -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize(
    "header",
    [
        b"null",
        b"",
        b"[" * 100_000,
        {"__metadata__": {"remanence": "null"}},
        {"__metadata__": {"remanence": json.dumps({"architecture": {"cell": "gru"}})}},
        {"__metadata__": None},
        {"__metadata__": {"remanence": 7}},
        {"x": {"dtype": "F32", "shape": [10**8, 10**8], "data_offsets": [0, 0]}},
    ],
)
def test_harmful_files_of_weights_are_refused(header: Any, honest, tmp_path: Path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(honest[0]))
    write_safetensors(tmp_path / "agent", header)
    assert checker.run(path, tmp_path / "agent", as_json=False) == 2


def test_an_agent_of_another_size_or_with_a_byte_less_is_refused(honest, tmp_path: Path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(honest[0]))
    content = honest[1].read_bytes()
    for damaged in (content[:-1], content[:20], b"", content + b"x"):
        (tmp_path / "agent").write_bytes(damaged)
        assert checker.run(path, tmp_path / "agent", as_json=False) in (2, 0)
    (tmp_path / "agent").write_bytes(content[:-4] + b"\x00\x00\x00\x40")
    assert checker.run(path, tmp_path / "agent", as_json=False) in (0, 1)


def test_files_that_are_not_there_are_told(tmp_path: Path, capsys):
    assert checker.run(tmp_path / "no.json", tmp_path / "no", as_json=True) == 2
    assert json.loads(capsys.readouterr().out)["verdict"] == "cannot be read"
    assert checker.run(tmp_path, tmp_path, as_json=False) == 2


def test_an_agent_that_turns_far_out_is_never_certified_for_ever(tmp_path: Path, monkeypatch):
    """A minGRU that forgets after more than a thousand steps, and a claim that it does not."""
    # By bits alone: whether it can be proved is a long story, and told in test_contraction.
    unproved = Contraction(None, reason="nobody asked")
    monkeypatch.setattr(_certify, "prove_contraction", lambda *_: unproved)
    agent = load_walker(precise.make_leak(6.0, -0.1), tmp_path, 2)
    agent.save(tmp_path / "agent.safetensors")
    env = envs.make("tmaze")
    found = certify(agent, env, budget=20_000)
    assert found.compiled.solved.verdict != "every length"
    assert found.portable is not None
    assert found.portable.solved.lengths is not None
    first = found.portable.solved.lengths.first_missing
    assert first is not None
    assert first > 1_000
    written = json.loads(json.dumps(found.to_json())) | {"compiled": None}
    assert judge(written, tmp_path / "agent.safetensors", tmp_path)[0] == "verified"
    written["portable"]["solved"] = EVERY
    assert judge(written, tmp_path / "agent.safetensors", tmp_path)[0] == "refuted"


def test_acting_without_jax_is_acting_alike():
    agent = solve_by_hand()
    portable = agent.make_portable()
    state, other = agent.initial_state(), portable.initial_state()
    for observation in ([1.0, 0.0], [0.0, 0.0], [0.0, 1.0]):
        action, state = agent.act(state, jnp.asarray(observation))
        same, other = portable.act(other, observation)
        assert int(action) == same
    assert isinstance(agent, Agent)
