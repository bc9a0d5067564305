"""Planted agents are never certified wrongly, and honest ones are certified."""

import json
from pathlib import Path

import pytest

from remanence import checker, envs
from remanence.certificates import certify
from tests.certificates import high_precision as precise
from tests.certificates.agents import load_walker
from tests.checker.attack import KINDS, Options, attack, list_forgeries

ENV = envs.make("tmaze")


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_the_attack_finds_nothing_false(number: int, tmp_path: Path):
    """One agent of each kind; `python -m tests.checker.attack` goes on with others."""
    assert attack(number, tmp_path, Options(budget=500, forgeries=2))


def check(certificate, agent, directory: Path) -> str:
    """The verdict on what is claimed of every machine."""
    agent.save(directory / "agent.safetensors")
    (directory / "certificate.json").write_text(
        json.dumps(certificate.to_json() | {"compiled": None})
    )
    path = directory / "certificate.json"
    return checker.check(path, directory / "agent.safetensors").verdict


@pytest.mark.parametrize(
    ("cell", "feedback"), [("gru", 1 - 2.0**-8), ("brc", 1 - 2.0**-12), ("brc", 1 + 2.0**-12)]
)
def test_near_a_bifurcation_nothing_is_claimed_that_is_not_so(cell, feedback, tmp_path: Path):
    """Below 1 there is one attractor, and the cue is forgotten at some length, however late."""
    agent = load_walker(precise.make_latch(cell, 0.0, feedback), tmp_path, 2)
    certificate = certify(agent, ENV, budget=1_000)
    assert check(certificate, agent, tmp_path) in ("verified", "not reproduced")
    if feedback < 1:
        assert (
            certificate.contraction.optimal is None or not certificate.contraction.optimal.complete
        )


def test_a_tie_is_proved_by_nobody_and_decided_by_bits(tmp_path: Path):
    """Up and down are equally good at every junction; the first of the two is taken."""
    arrays, architecture = precise.make_holder(0.3, 0.5)
    for name in ("policy.output.weight", "policy.output.bias"):
        arrays[name][3] = arrays[name][1]
    agent = load_walker((arrays, architecture), tmp_path, 2)
    certificate = certify(agent, ENV, budget=500)
    assert certificate.contraction.optimal is None
    assert certificate.portable is not None
    assert certificate.portable.solved.verdict == "no length"
    assert certificate.compiled.solved.lengths == certificate.portable.solved.lengths
    assert check(certificate, agent, tmp_path) == "verified"


def test_what_is_done_at_the_cue_is_not_what_is_done_later(tmp_path: Path):
    """A state that repeats at once, in which the agent acts otherwise when it has seen the cue."""
    agent = load_walker(precise.make_skipper(), tmp_path, 2)
    certificate = certify(agent, ENV, budget=500)
    assert certificate.portable is not None
    for findings in (certificate.compiled, certificate.portable):
        assert str(findings.solved.lengths) == "lengths 1 to 2"
    assert check(certificate, agent, tmp_path) == "verified"


def test_a_long_cycle_is_followed_round(tmp_path: Path):
    """Its period hangs on the last bits of the weights, which NumPy draws alike everywhere."""
    agent = load_walker(precise.make_walker("gru", 75, gain=5.0, size=2), tmp_path, 2)
    certificate = certify(agent, ENV, budget=3_000)
    assert certificate.portable is not None
    closure = certificate.portable.closures[1]
    assert closure is not None
    assert closure.period == 48
    assert check(certificate, agent, tmp_path) == "verified"


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_an_honest_agent_is_certified_for_ever(cell, tmp_path: Path):
    """And whoever says that it is not, or that it fails somewhere, is refuted."""
    agent = load_walker(precise.make_latch(cell), tmp_path, 2)
    certificate = certify(agent, ENV, budget=2_000)
    assert certificate.contraction.optimal is not None
    assert certificate.contraction.optimal.complete
    assert certificate.portable is not None
    assert certificate.portable.solved.verdict == "every length"
    assert check(certificate, agent, tmp_path) == "verified"
    honest = certificate.to_json() | {"compiled": None}
    forgeries = list(list_forgeries(honest))
    assert {what.split(" ")[0] for what, _ in forgeries} == {
        "portable.optimal",
        "portable.solved",
        "contraction.optimal",
    }
    for _, forged in forgeries:
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        report = checker.check(tmp_path / "forged.json", tmp_path / "agent.safetensors")
        assert report.verdict == "refuted"
