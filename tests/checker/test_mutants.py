"""No certificate with anything changed in it passes as verified, unless what it says is true."""

import collections
import functools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence import checker, envs
from remanence.certificates import certify, find_compiled, find_portable
from remanence.checker import _check
from remanence.networks import Agent
from tests.checker.mutants import list_mutants, list_paths, replace, twist
from tests.checker.subjects import SUBJECTS, make_subject

FEWEST = 5_000
EVIDENCE_TRIED = 6  # of each certificate; each takes a proof


files: dict[Path, bytes] = {}  # certificates to check, which need not go through the disk


@pytest.fixture(scope="module", autouse=True)
def remembered():
    """What depends on weights and evidence alone is computed once, not for every mutant."""
    patch = pytest.MonkeyPatch()
    known: dict[Any, Any] = {}

    def remember(function, name):
        def wrapped(first, *rest):
            weights = first._program.weights if name == "find" else first.weights
            shape = first._program.shape if name == "find" else first.shape
            numbers = tuple(weights[key].tobytes() for key in sorted(weights))
            key = (name, numbers, pickle.dumps((shape, rest)))
            if key not in known:
                try:
                    known[key] = function(first, *rest), None
                except Exception as error:
                    known[key] = None, error
            found, error = known[key]
            if error is not None:
                raise error
            return found

        return wrapped

    patch.setattr(_check, "find", remember(_check.find, "find"))
    patch.setattr(_check, "derive", remember(_check.derive, "derive"))
    patch.setattr(_check, "read_agent", functools.cache(_check.read_agent))
    patch.setattr(_check, "read_bytes", lambda path, most: files[path])
    yield
    patch.undo()


class Subject:
    """An agent's file, its honest certificate, and the compiled program to run again."""

    def __init__(self, name: str, directory: Path):
        self.agent, self.env, self.budget = make_subject(name, directory)
        self.agent_path, self.path = directory / f"{name}.agent", directory / f"{name}.json"
        self.agent.save(self.agent_path)
        self.agent = Agent.load(self.agent_path)
        found = certify(self.agent, self.env, budget=self.budget).to_json()
        self.certificate = json.loads(json.dumps(found))
        self.find = functools.cache(self._find)

    def _find(self, program: str, environment: str, budget: int | None) -> dict[str, Any]:
        """What certifying it anew finds of a program, in an environment given as JSON."""
        env = envs.make(**json.loads(environment))
        find = {"compiled": find_compiled, "portable": find_portable}[program]
        found = find(self.agent, env, budget=budget or self.budget).to_json()
        return json.loads(json.dumps(found))

    def check(self, certificate: Any) -> str:
        files[self.path] = json.dumps(certificate).encode()
        try:
            report = checker.check(
                self.path,
                self.agent_path,
                lambda environment, budget: self.find("compiled", json.dumps(environment), budget),
            )
        except checker.CertificateError:
            return "cannot be read"
        return report.verdict

    def is_true(self, certificate: dict[str, Any]) -> bool:
        """Whether all claims of a certificate of this agent are what certifying it anew finds."""
        environment = json.dumps(certificate["environment"])
        for program in ("compiled", "portable"):
            claims = certificate[program]
            if claims is not None and self.find(program, environment, claims["budget"]) != claims:
                return False
        proof, honest = certificate["contraction"], self.certificate["contraction"]
        return proof is None or proof["optimal"] == (honest and honest["optimal"])


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    return functools.cache(lambda name: Subject(name, tmp_path_factory.mktemp("subject")))


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_honest_certificate_is_verified(name: str, subject):
    assert subject(name).check(subject(name).certificate) == "verified"


tally: collections.Counter = collections.Counter()


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_mutant_is_verified(name: str, subject):
    it = subject(name)
    mutants = list(list_mutants(it.certificate))
    evidence = [n for n, (path, *_) in enumerate(mutants) if path[:2] == ("contraction", "cues")]
    rng = np.random.default_rng(0)
    untried = set(rng.permutation(evidence)[EVIDENCE_TRIED:].tolist())
    for number, (path, changed, mutant) in enumerate(mutants):
        if number in untried:
            continue
        verdict = it.check(mutant)
        tally[verdict] += 1
        if verdict == "verified":
            assert it.is_true(mutant), f"{path} = {changed!r} is verified"
    tally["subjects"] += 1


def test_they_were_many():
    """Of what the tests above have tried, if all of them were run."""
    if tally["subjects"] == len(SUBJECTS):
        print(dict(tally))
        tried = ("verified", "refuted", "not reproduced", "cannot be read")
        assert sum(tally[verdict] for verdict in tried) >= FEWEST


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(SUBJECTS), st.data())
def test_nor_is_one_with_several_changes(subject, name: str, data: st.DataObject):
    it = subject(name)
    mutant = it.certificate
    for _ in range(data.draw(st.integers(2, 4))):
        paths = [path for path in list_paths(mutant) if path[:2] != ("contraction", "cues")]
        path = data.draw(st.sampled_from(paths))
        value = functools.reduce(lambda found, step: found[step], path, mutant)
        mutant = replace(mutant, path, data.draw(st.sampled_from(twist(value))))
        if not isinstance(mutant, dict):
            break
    if it.check(mutant) == "verified":
        assert it.is_true(mutant)
