"""Every statement of a certificate against an agent's weights.

A statement is verified, refuted, not reproduced (another program or arithmetic may be right), or
not checked. Nothing else is said.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _format1, _lengths
from ._certificates import FORMAT, read_certificate, shape_evidence
from ._fields import demand, parse_json, read_bytes
from ._findings import find
from ._kernel import Policy, UndecidedError, prove
from ._maze_check import check_findings, count_inputs
from ._maze_fields import KIND as MAZES
from ._maze_fields import read_certificate as read_maze_certificate
from ._maze_radius import KIND as MAZE_RADIUS
from ._maze_radius import check_maze_radius, read_maze_radius
from ._orbits import Machine
from ._program import Program
from ._radius import KIND as RADIUS
from ._radius import check_radius, read_radius
from ._statements import (
    NOT_CHECKED,
    NOT_REPRODUCED,
    REFUTED,
    VERIFIED,
    Judgement,
    Statement,
    describe_claims,
    judge,
)
from ._weights import find_discrete, hash_policy, read_agent, take_policy

LARGEST_FILE = 32 * 2**20  # bytes
# Runs the compiled program anew, in an environment and for some steps at most: what it claims.
Rerun = Callable[[Mapping[str, Any], int | None], Mapping[str, Any]]


def check(
    certificate_path: str | Path, agent_path: str | Path, rerun: Rerun | None = None
) -> Judgement:
    """Check every statement; raises `CertificateError` for what cannot be read.

    >>> from remanence import certificates, checker, envs, networks
    >>> weights = "examples/agents/mingru/agents/seed-1.safetensors"
    >>> agent = networks.Agent.load(weights)
    >>> certificates.find_radius(agent, envs.make("tmaze")).save("radius.json")
    >>> found = checker.check("radius.json", weights)
    >>> found.verdict, found.exit_code, found.statements[-1].part
    ('verified', 0, 'broken')
    """
    content = read_bytes(certificate_path, LARGEST_FILE)
    certificate = _read(parse_json(content, str(certificate_path)))
    arrays, architecture = read_agent(agent_path)
    check_arithmetic()
    with np.errstate(all="ignore"):
        statements = tuple(_check(certificate, arrays, architecture, rerun))
    compiled = certificate.get("compiled")
    return Judgement(
        format=certificate["format"],
        environment=certificate["environment"],
        architecture=certificate["agent"]["architecture"],
        program=None if compiled is None else compiled["program"],
        statements=statements,
        kind="radius" if certificate["kind"] in (RADIUS, MAZE_RADIUS) else "certificate",
    )


def _read(found: Any) -> dict[str, Any]:
    about = found if isinstance(found, dict) else {}
    for kind, read in _OTHER_KINDS.items():
        if about.get("kind") == kind:
            return read(found)
    first = type(about.get("format")) is int and about["format"] == 1
    return _format1.read(found) if first else read_certificate(found)


_OTHER_KINDS = {
    MAZES: read_maze_certificate,
    RADIUS: read_radius,
    MAZE_RADIUS: read_maze_radius,
}


def _name_precision(weights: Mapping[str, np.ndarray]) -> str:
    return f"binary{8 * weights['output.weight'].itemsize}"


def check_arithmetic() -> None:
    """Some libraries turn subnormal numbers off, and nothing here would then be sure."""
    tiny = np.nextafter(np.zeros(1), 1) * np.ones(1)
    demand(bool(tiny[0] > 0), "this process rounds subnormal numbers to 0; start a fresh one")


def _check(
    certificate: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    architecture: Mapping[str, Any],
    rerun: Rerun | None,
) -> Iterator[Statement]:
    environment, kind = certificate["environment"], certificate["kind"]
    identity = tuple(_judge_agent(certificate["agent"], arrays, architecture))
    yield from identity
    if any(statement.status != VERIFIED for statement in identity):
        return
    if kind in (MAZES, MAZE_RADIUS):
        shape = {**architecture, "inputs": count_inputs(environment)}
        weights, claimed = take_policy(arrays, shape), certificate["program"]["precision"]
        same = claimed == _name_precision(weights)
        yield judge("agent", "program", f"its program runs in {claimed}", same)
        by = check_findings if kind == MAZES else check_maze_radius
        yield from by(certificate, Program(weights, shape))
        return
    shape = {**architecture, "previous_action": environment["previous_action"]}
    weights = take_policy(arrays, shape)
    if kind == RADIUS:
        yield from check_radius(certificate, weights, shape)
    else:
        yield from _check_certificate(certificate, weights, shape, rerun)


def _check_certificate(
    certificate: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    shape: Mapping[str, Any],
    rerun: Rerun | None,
) -> Iterator[Statement]:
    environment = certificate["environment"]
    factor = environment["time_limit_factor"]
    proof = None
    if certificate["contraction"] is not None:
        proof, statement = _check_contraction(certificate["contraction"], weights, shape)
        yield statement
    if certificate["portable"] is not None:
        yield from _check_portable(certificate["portable"], weights, shape, factor, proof)
    if certificate["compiled"] is not None:
        found = None
        if rerun is not None:
            claims = rerun(environment, certificate["compiled"].get("budget"))
            found = parse_json(json.dumps(claims), "what the program claims")
        yield from _check_compiled(certificate["compiled"], proof, found)
    if certificate["format"] < FORMAT:
        yield Statement(
            "compiled", "conditions", "the conditions of the theorems and all remarks", NOT_CHECKED
        )


def _judge_agent(
    agent: Mapping[str, Any], arrays: Mapping[str, np.ndarray], architecture: Mapping[str, Any]
) -> Iterator[Statement]:
    """Whether these are the weights and the network of the agent that is spoken of."""
    same_weights = agent["sha256"] == hash_policy(arrays)
    yield judge("agent", "sha256", "it is the agent with these weights", same_weights)
    same_network = agent["architecture"] == architecture
    yield judge("agent", "architecture", f"it is a {_name_network(agent)}", same_network)


def _name_network(agent: Mapping[str, Any]) -> str:
    found = agent["architecture"]
    layers = "" if found["num_layers"] == 1 else f", {found['num_layers']} layers"
    return f"{found['cell']} of {found['state_size']} units{layers}"


@dataclasses.dataclass(frozen=True)
class Proof:
    """Lengths on which every program is optimal, and on which every one takes the wrong arm."""

    optimal: _lengths.Lengths
    wrong: _lengths.Lengths


def _check_contraction(
    claim: Mapping[str, Any], weights: Mapping[str, np.ndarray], shape: Mapping[str, Any]
) -> tuple[Proof | None, Statement]:
    says = f"no wasted step: {_lengths.describe(claim['optimal'])}"
    evidence = [shape_evidence(cue, find_discrete(shape)) for cue in claim["cues"]]
    try:
        proof = derive(Policy(weights, shape), evidence)
    except (UndecidedError, np.linalg.LinAlgError) as error:
        note = f"the evidence does not prove it: {error}"
        return None, Statement("contraction", "optimal", says, NOT_REPRODUCED, note)
    found = proof.optimal.write()
    note = None if found == claim["optimal"] else f"proved: {_lengths.describe(found)}"
    return proof, judge("contraction", "optimal", says, note is None, note)


def derive(policy: Policy, evidence: list[dict[str, Any]]) -> Proof:
    """What follows for every length from the evidence for both cues."""
    tracks = [prove(policy, cue["cue"], cue) for cue in evidence]
    periods = [max(1, len(cue["attractor"])) for cue in evidence]
    period = math.lcm(*periods)
    size = max(optimal.shape[1] for optimal, _ in tracks) + period
    if size > _lengths.MOST_LISTED:
        raise UndecidedError(f"a list of more than {_lengths.MOST_LISTED:,} lengths")
    # What is sure and what is possible, with the last lengths repeated.
    unfold = [
        [part[:, _count_round(part.shape[1], count, size)] for part in track]
        for track, count in zip(tracks, periods, strict=True)
    ]
    (one, wrong), (other, also_wrong) = unfold
    surely, possibly = one & other
    if not np.array_equal(surely, possibly):
        raise UndecidedError(f"length {int((surely != possibly).argmax()) + 1:,} is not decided")
    return Proof(
        _lengths.Lengths(surely, period), _lengths.Lengths((wrong | also_wrong)[0], period)
    )


def _count_round(listed: int, period: int, size: int) -> np.ndarray:
    """0, 1, ... up to a size, where from `listed` on the last ones are counted again and again."""
    places = np.arange(size)
    return np.where(places < listed, places, listed - period + (places - listed) % period)


def _check_portable(
    claims: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    shape: Mapping[str, Any],
    factor: int | None,
    proof: Proof | None,
) -> Iterator[Statement]:
    named = claims["program"]["precision"] == _name_precision(weights)
    yield judge("portable", "program", f"it runs in {claims['program']['precision']}", named)
    closed = [sum(filter(None, (cue["transient"], cue["period"]))) + 1 for cue in claims["cues"]]
    budget = claims["budget"] or max(closed)
    try:
        found = {
            "budget": claims["budget"],
            **find(Machine(Program(weights, shape)), factor, budget),
        }
    except _lengths.TooLongError as error:
        for name, says, _ in describe_claims(claims):
            yield Statement("portable", name, says, NOT_REPRODUCED, f"found here: {error}")
        return
    again = {name: (says, value) for name, says, value in describe_claims(found)}
    # Two ways to the same truth: where they part, nobody is to be believed.
    contradicted = {} if proof is None else dict(_contradict(claims, proof))
    for name, says, value in describe_claims(claims):
        says_here, value_here = again[name]
        if contradicted.get(name, (VERIFIED,))[0] == REFUTED:
            yield Statement("portable", name, says, *contradicted[name])
        elif value == value_here:
            yield Statement("portable", name, says, VERIFIED)
        else:
            # What is left open may be found by looking longer; that makes it no falsehood.
            kind = name.removeprefix("failures.")
            left_open = kind in LENGTHS and None in (claims[kind], found[kind])
            status = NOT_REPRODUCED if left_open else REFUTED
            yield Statement("portable", name, says, status, f"found here: {says_here}")


LENGTHS = ("optimal", "solved")


def _check_compiled(
    claims: Mapping[str, Any], proof: Proof | None, found: Mapping[str, Any] | None
) -> Iterator[Statement]:
    # On other processors a product may be rounded to less than binary32.
    covered = proof is not None and _name_backend(claims) == "cpu"
    contradicted = dict(_contradict(claims, proof)) if proof is not None and covered else {}
    again = {} if found is None else {n: (s, v) for n, s, v in describe_claims(found)}
    same = found is not None and found["program"] == claims["program"]
    for name, says, value in describe_claims(claims):
        proved = contradicted.get(name)
        if proved is not None and (proved[0] == REFUTED or name not in again):
            yield Statement("compiled", name, says, *proved)
        elif name not in again:
            yield Statement("compiled", name, says, NOT_CHECKED)
        else:
            says_here, value_here = again[name]
            agrees = _agree(value, value_here)
            if same:
                note = None if agrees else f"run again: {says_here}"
                yield judge("compiled", name, says, agrees, note)
            else:
                note = "the same here, by another program" if agrees else f"here: {says_here}"
                yield Statement("compiled", name, says, NOT_REPRODUCED, note)


def _name_backend(claims: Mapping[str, Any]) -> str:
    """What the program runs on; the first format says so elsewhere."""
    return claims["backend"] if claims["program"] is None else claims["program"]["backend"]


def _agree(claimed: Any, found: Any) -> bool:
    """Whether two values are the same; the first format knows less of a failure."""
    if isinstance(claimed, Mapping) and isinstance(found, Mapping) and "kind" in claimed:
        return all(found[name] == value for name, value in claimed.items())
    return claimed == found


def _contradict(
    claims: Mapping[str, Any], proof: Proof
) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """What the proof for every program says of this one."""
    if claims["optimal"] is not None:
        proved = proof.optimal.write()
        note = f"proved for every program: {_lengths.describe(proved)}"
        same = claims["optimal"] == proved
        yield "optimal", (VERIFIED, "by the proof") if same else (REFUTED, note)
    if claims["solved"] is not None:
        solved = _lengths.read(claims["solved"])
        period = math.lcm(solved.period, proof.optimal.period)
        size = max(len(solved.members), len(proof.optimal.members)) + period
        if size <= _lengths.MOST_LISTED:
            members, optimal, wrong = (s.unfold(size) for s in (solved, proof.optimal, proof.wrong))
            odd = np.flatnonzero((optimal & ~members) | (wrong & members))
            if len(odd):
                length = int(odd[0]) + 1
                arm = "right" if optimal[odd[0]] else "wrong"
                yield "solved", (REFUTED, f"every program takes the {arm} arm at length {length:,}")
