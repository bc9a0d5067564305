"""Certificates for sequences of mazes: honest ones are verified, changed ones only if true."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remanence import checker
from remanence.certificates import hash_policy
from remanence.certificates.mazes import MazeCertificate, Visit, World, list_tables
from remanence.certificates.mazes._sequences import replay
from tests.certificates.mazes.agents import (
    MAZE,
    Arrays,
    latch_by_hand,
    make_prover,
    make_random,
    remember_by_hand,
    save_agent,
)
from tests.checker.mutants import find, list_mutants

RIGHT, UP, LEFT, DOWN = range(4)
ACTIONS = ("right", "up", "left", "down")
LENGTHS = (1, 2)
SUBJECTS = {
    "all certified by search": lambda: remember_by_hand(),
    "all certified by sets": lambda: remember_by_hand("hybrid"),
    "some refuted by search": lambda: make_random("bmru", 3),
    "refuted by sequences": lambda: make_random("mingru", 5),
    "refuted without sets": lambda: make_random("gru", 5),
    "certified by sets that grow": lambda: latch_by_hand("gru"),
}
FOUND = ("method", "history", "reach", "num_rounds", "least_margin")
TRIED = 120  # mutants of each subject


def certify(made: tuple[Arrays, dict[str, Any]], lengths: tuple[int, ...]) -> dict[str, Any]:
    """The certificate, as JSON."""
    arrays, shape = made
    prover = make_prover(made, budget=3_000, lengths=lengths)
    found = [it for table in list_tables(MAZE) for it in prover.decide(table).values()]
    environment = {"name": "lookup-tree-maze", "table_size": 2, "index_encoding": "one-hot"}
    certificate = MazeCertificate(
        agent={"sha256": hash_policy(arrays), "architecture": shape},
        environment={**environment, "lengths": list(lengths)},
        program={"name": "portable", "version": 1, "precision": "binary32"},
        findings=tuple(found),
        forgotten=prover.find_forgotten(),
    )
    return json.loads(json.dumps(certificate.to_json()))


class Subject:
    """An agent's file, and its honest certificate."""

    def __init__(self, name: str, directory: Path):
        self.made, self.path = SUBJECTS[name](), directory / "certificate.json"
        self.agent = directory / "agent.safetensors"
        save_agent(self.agent, self.made)
        self.certify = functools.cache(lambda lengths: certify(self.made, lengths))
        self.certificate = self.certify(LENGTHS)

    def check(self, certificate: Any) -> str:
        self.path.write_text(json.dumps(certificate))
        try:
            return checker.check(self.path, self.agent).verdict
        except checker.CertificateError:
            return "cannot be read"

    def is_true(self, certificate: dict[str, Any]) -> bool:
        """Whether every finding is what is found anew, or less."""
        lengths = tuple(certificate["environment"]["lengths"])
        honest = self.certify(lengths)["findings"]
        pairs = zip(certificate["findings"], honest, strict=True)
        told, known = (it["forgotten"] for it in (certificate, self.certify(lengths)))
        # The checker's bound is a little tighter.
        if told is not None and (known is None or told < known - 2 - known // 50):
            return False
        return all(self._follows(told, known, lengths) for told, known in pairs)

    def _follows(self, told: Any, known: Any, lengths: tuple[int, ...]) -> bool:
        for name in ("sampled_share", "limit_share"):
            share, truth = told[name], known[name]
            if share is not None and (truth is None or abs(share - truth) > 1e-6):
                return False
        if told["verdict"] == "refuted":
            census = told["num_memories"] in (None, known["num_memories"])
            least = told["least_margin"] in (None, known["least_margin"])
            return census and least and self._fails(told, lengths)
        if told["verdict"] == "undecided":
            return True
        if told["method"] == "sets":
            # A little less is claimed than was found.
            grown = self.made[1]["cell"] in ("gru", "brc", "nbrc", "lstm")
            margin = told["least_margin"] is None or (
                told["least_margin"] < known["least_margin"] * (1.06 if grown else 1) + 1e-5
            )
            return known["verdict"] == "certified" and margin
        unsaid = dict.fromkeys(("sampled_share", "limit_share"))
        return {**told, **unsaid} == {**known, **unsaid}

    def _fails(self, told: Any, lengths: tuple[int, ...]) -> bool:
        """Whether a sequence ends with the wrong arm, or where it was, by the portable program."""
        visits = []
        for visit in told["refutation"]["mazes"]:
            actions = [
                ACTIONS.index(name) for name, count in visit["actions"] for _ in range(count)
            ]
            visits.append(Visit(visit["index"], visit["length"], tuple(actions)))
        world, table = World(MAZE, lengths), told["table"]
        taken, logits, _ = replay(make_prover(self.made).policy, world, table, visits)
        if told["walk"] == "greedy" and taken.tolist() != logits.argmax(1).tolist():
            return False
        right = DOWN if table[visits[-1].index] > 0 else UP
        return told["refutation"]["kind"] == "stall" or taken[-1] == UP + DOWN - right


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    return functools.cache(lambda name: Subject(name, tmp_path_factory.mktemp("subject")))


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_honest_certificate_is_verified(name: str, subject):
    it = subject(name)
    assert it.check(it.certificate) == "verified"


def test_they_are_of_every_kind(subject):
    found = [it for name in SUBJECTS for it in subject(name).certificate["findings"]]
    kinds = {(it["verdict"], it["method"]) for it in found}
    assert {("certified", "search"), ("certified", "sets"), ("refuted", "search")} <= kinds
    assert ("refuted", None) in kinds
    assert "stall" in {it["refutation"]["kind"] for it in found if it["refutation"]}


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_mutant_is_verified_unless_it_is_true(name: str, subject):
    it = subject(name)
    mutants = list(list_mutants(it.certificate))
    chosen = np.random.default_rng(0).permutation(len(mutants))[:TRIED]
    verdicts = []
    for path, changed, mutant in (mutants[number] for number in chosen):
        verdicts.append(it.check(mutant))
        if verdicts[-1] == "verified":
            assert it.is_true(mutant), f"{path} = {changed!r} is verified"
    assert verdicts.count("verified") < TRIED / 10


def change(certificate: dict[str, Any], number: int, **fields: Any) -> dict[str, Any]:
    """The certificate with something else said in one finding."""
    findings = [dict(it) for it in certificate["findings"]]
    findings[number] |= fields
    return {**certificate, "findings": findings}


def find_first(certificate: dict[str, Any], **fields: Any) -> int:
    """The first finding with these fields."""
    return next(
        number
        for number, it in enumerate(certificate["findings"])
        if all(it[name] == value for name, value in fields.items())
    )


def test_who_fails_cannot_claim_to_be_always_right(subject):
    it = subject("some refuted by search")
    number = find_first(it.certificate, walk="any", verdict="refuted")
    refuted = it.certificate["findings"][number]
    for margin in (refuted["least_margin"], 1.0):
        forged = change(
            it.certificate, number, verdict="certified", refutation=None, least_margin=margin
        )
        assert it.check(forged) == "refuted"
    greedy = find_first(it.certificate, walk="greedy", verdict="refuted")
    for memories in (1, refuted["num_memories"]):
        forged = change(
            it.certificate,
            greedy,
            **{"verdict": "certified", "refutation": None, "num_memories": memories},
        )
        assert it.check(forged) == "refuted"


@pytest.mark.parametrize("walk", ["greedy", "straight", "any"])
def test_sets_prove_nothing_of_who_fails(walk: str, subject):
    it = subject("refuted by sequences")
    number = find_first(it.certificate, walk=walk, verdict="refuted")
    margin = None if walk == "greedy" else 0.001
    sets = {"method": "sets", "history": 2, "reach": 2, "num_rounds": 30, "least_margin": margin}
    forged = change(it.certificate, number, verdict="certified", refutation=None, **sets)
    assert it.check(forged) == "not reproduced"


@pytest.mark.parametrize("cell", ["gru", "brc", "nbrc", "lstm"])
def test_sets_that_grow_are_verified_only_of_units_that_hold(cell: str, tmp_path):
    made, weak = latch_by_hand(cell), latch_by_hand(cell, gain=0.2)
    certificate, path = certify(made, (1,)), tmp_path / "certificate.json"
    for agent, expected in ((made, "verified"), (weak, "not reproduced")):
        save_agent(tmp_path / "agent.safetensors", agent)
        told = {**certificate["agent"], "sha256": hash_policy(agent[0])}
        undecided = {
            **certificate["findings"][-1],
            **dict.fromkeys(FOUND),
            "verdict": "undecided",
            "budget": 9,
        }
        findings = [
            {**undecided, "table": it["table"], "walk": "greedy"} if it["walk"] == "greedy" else it
            for it in certificate["findings"]
        ]
        path.write_text(json.dumps({**certificate, "agent": told, "findings": findings}))
        assert checker.check(path, tmp_path / "agent.safetensors").verdict == expected


def test_a_margin_that_is_not_proved_is_not_believed(subject):
    it = subject("all certified by sets")
    number = find_first(it.certificate, walk="any")
    margin = it.certificate["findings"][number]["least_margin"]
    assert it.check(change(it.certificate, number, least_margin=margin / 2)) == "verified"
    assert it.check(change(it.certificate, number, least_margin=margin + 0.1)) == "not reproduced"


def test_certificates_of_the_first_format_are_verified_as_before(subject):
    it = subject("all certified by search")
    findings = [dict(found) for found in it.certificate["findings"]]
    for found in findings:
        del found["limit_share"]
    older = {**it.certificate, "format": 1, "findings": findings}
    assert it.check(older) == "verified"
    number = find_first(it.certificate, walk="any")
    assert it.check(change(older, number, sampled_share=0.9)) == "refuted"
    assert it.check({**it.certificate, "format": 1}) == "cannot be read"
    assert it.check({**older, "format": 2}) == "cannot be read"


def test_a_share_in_the_limit_is_believed_only_if_it_is_found_anew(subject):
    it = subject("all certified by search")
    number = find_first(it.certificate, walk="any")
    share = it.certificate["findings"][number]["limit_share"]
    assert it.check(change(it.certificate, number, limit_share=share + 1e-3)) == "refuted"
    assert it.check(change(it.certificate, number, limit_share=None)) == "verified"
    assert it.check(change(it.certificate, number, sampled_share=None)) == "cannot be read"


def test_what_is_lost_by_a_rare_action_alone_is_found_in_the_limit_too(tmp_path):
    """A wait at the junction sets the table's unit for good; mostly an arm is taken at once."""
    arrays, shape = remember_by_hand()
    arrays["policy.cell.inputs.weight"][0, 0, 4] = 2
    arrays["policy.cell.inputs.weight"][0, 0, 2:4] = -2
    arrays["policy.cell.inputs.bias"][0, 0] = 0
    certificate, path = certify((arrays, shape), (1,)), tmp_path / "certificate.json"
    told = certificate["findings"][find_first(certificate, walk="any", table=[-1, 1])]
    assert told["limit_share"] < 0.5
    save_agent(tmp_path / "agent.safetensors", (arrays, shape))
    path.write_text(json.dumps(certificate))
    assert checker.check(path, tmp_path / "agent.safetensors").verdict == "verified"


def test_what_is_remembered_for_longer_is_not_forgotten(subject):
    it = subject("refuted by sequences")
    assert it.certificate["forgotten"] > 1
    assert it.check({**it.certificate, "forgotten": it.certificate["forgotten"] + 5}) == "verified"
    assert it.check({**it.certificate, "forgotten": 1}) == "not reproduced"
    other = subject("all certified by search")
    assert other.check({**other.certificate, "forgotten": 1000}) == "not reproduced"


def test_a_path_that_was_edited_is_refuted(subject):
    it = subject("some refuted by search")
    for number, finding in enumerate(it.certificate["findings"]):
        if finding["refutation"] is None:
            continue
        longer = finding["refutation"]["mazes"][:1] * 3 + finding["refutation"]["mazes"]
        refutation = {**finding["refutation"], "mazes": longer, "earliest": True}
        assert it.check(change(it.certificate, number, refutation=refutation)) == "refuted"


@pytest.mark.parametrize("name", ["all certified by search", "all certified by sets"])
def test_other_weights_are_told_apart(name: str, subject):
    it = subject(name)
    arrays, shape = it.made
    other = {key: array.copy() for key, array in arrays.items()}
    part = next(key for key in other if key.endswith("inputs.weight"))
    other[part].flat[0] = -other[part].flat[0]
    path = it.path.with_name("other.safetensors")
    save_agent(path, (other, shape))
    it.path.write_text(json.dumps(it.certificate))
    assert checker.check(it.path, path).verdict == "refuted"
    # And with the right hash, nobody believes what the weights do not bear out.
    forged = {**it.certificate, "agent": {**it.certificate["agent"], "sha256": hash_policy(other)}}
    it.path.write_text(json.dumps(forged))
    assert checker.check(it.path, path).verdict in ("refuted", "not reproduced")


def test_the_report_is_for_people(subject):
    it = subject("all certified by search")
    it.path.write_text(json.dumps(it.certificate))
    outcome = checker.examine(it.path, it.agent, as_json=False)
    assert outcome.exit_code == 0
    assert "however it walks" in outcome.said
    assert "+-: always right, by" in outcome.said
    assert find(it.certificate, ("findings", 0, "walk")) == "greedy"
