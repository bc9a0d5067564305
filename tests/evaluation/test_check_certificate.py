"""The checker's arithmetic encloses exact arithmetic, and it believes no certificate."""

import ast
import copy
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import equinox as eqx
import flint
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.evaluation import _contraction as contraction
from remanence.evaluation import check_certificate as checker
from remanence.evaluation.check_certificate import Interval
from remanence.networks import Agent, Architecture, make_policy, make_value
from remanence.store import name_leaves, save_arrays
from tests.evaluation import high_precision as precise

numbers = st.floats(allow_nan=False, allow_infinity=False)
pairs = st.tuples(numbers, numbers).map(sorted)
quick = settings(max_examples=200, deadline=None)

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def interval(ends: Any) -> Interval:
    return Interval(np.array([ends[0]]), np.array([ends[1]]))


@pytest.mark.parametrize("name", OPERATIONS)
@quick
@given(pairs, pairs)
def test_arithmetic_encloses_fractions(name: str, one: Any, other: Any):
    apply = OPERATIONS[name]
    if name == "/" and other[0] <= 0 <= other[1]:
        return
    with np.errstate(all="ignore"):
        result = apply(interval(one), interval(other))
    if name == "/" and np.isnan([result.lower, result.upper]).any():
        return  # 0 times an overflow; nothing is decided by such an interval
    for a in one:
        for b in other:
            exact = apply(Fraction(a), Fraction(b))
            assert result.lower[0] <= exact <= result.upper[0]


@quick
@given(st.lists(st.tuples(numbers, pairs), min_size=1, max_size=6))
def test_product_of_matrix_encloses_fractions(terms: Any):
    matrix = np.array([[weight for weight, _ in terms]])
    ends = np.array([ends for _, ends in terms])
    with np.errstate(all="ignore"):
        result = matrix @ Interval(ends[:, :1], ends[:, 1:])
    if not np.isfinite([result.lower, result.upper]).all():
        return  # an overflow; nothing is decided by such an interval
    low = sum(min(Fraction(w) * Fraction(a), Fraction(w) * Fraction(b)) for w, (a, b) in terms)
    high = sum(max(Fraction(w) * Fraction(a), Fraction(w) * Fraction(b)) for w, (a, b) in terms)
    assert result.lower[0, 0] <= low
    assert high <= result.upper[0, 0]


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@quick
@given(pairs | st.tuples(st.floats(-40, 40), st.floats(-40, 40)).map(sorted))
def test_curves_enclose_high_precision(name: str, ends: Any):
    result = getattr(interval(ends), name)()
    with flint.ctx.workprec(400):
        for end in ends:
            # Beyond ±800 the balls would need thousands of bits, and the curves are flat.
            x = precise.ball(np.clip(end, -800, 800))
            exact = x.tanh() if name == "tanh" else precise.sigmoid(x)
            assert not exact < precise.ball(result.lower[0])
            assert not exact > precise.ball(result.upper[0])
    assert result.upper[0] - result.lower[0] <= abs(ends[1] - ends[0]) + 1e-13


ARCHITECTURES = {
    **{cell: precise.describe(cell, 4, head=[3]) for cell in (*precise.NUM_GATES, "hybrid")},
    "stack": precise.describe("hybrid", 4, num_layers=2, encoder=[4], head=[3, 3], skip=True),
    "deep gru": precise.describe("gru", 3, num_layers=2, encoder=[5]),
}


@pytest.fixture(scope="module")
def agents() -> dict[str, Agent]:
    made = {}
    for name, fields in ARCHITECTURES.items():
        architecture, key = Architecture(**fields), jax.random.key(len(name))
        policy = make_policy(architecture, 2, 4, key=key)
        leaves, structure = jax.tree.flatten(policy)
        keys = jax.random.split(key, len(leaves))
        drawn = [jax.random.normal(k, x.shape) for k, x in zip(keys, leaves, strict=True)]
        value = make_value(architecture, 2, key=key)
        made[name] = Agent(jax.tree.unflatten(structure, drawn), value, architecture)
    return made


OBSERVATIONS = np.array([[-1, 0], [0, 0], [0, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_policy_is_that_of_jax(name: str, agents: dict[str, Agent], tmp_path: Path):
    agent = agents[name]
    agent.save(tmp_path / "agent.safetensors")
    arrays, header = checker.read_weights(tmp_path / "agent.safetensors")
    policy = checker.Policy(arrays, header["architecture"], dtype=np.float32)
    first = jnp.arange(len(OBSERVATIONS)) == 0
    run = eqx.filter_jit(type(agent.policy).run)
    observations = jnp.asarray(OBSERVATIONS, jnp.float32)
    logits, states = run(agent.policy, observations, first, agent.policy.initial_state())
    state = policy.open(1)[1]
    for observation, logit, expected in zip(OBSERVATIONS, logits, states, strict=True):
        prepared = policy.prepare(observation.tolist())
        state = policy.update(prepared, state)
        assert state.dtype == np.float32
        np.testing.assert_allclose(state[:, 0], expected, 1e-5, 1e-6)
        np.testing.assert_allclose(policy.decode(prepared, state)[:, 0], logit, 1e-5, 1e-5)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_policy_encloses_high_precision(name: str, agents: dict[str, Agent]):
    arrays = name_leaves({"policy": eqx.filter(agents[name].policy, eqx.is_array)})
    policy = checker.Policy(arrays, ARCHITECTURES[name])
    state = Interval(policy.open(1)[1])
    exact = [precise.ball(0)] * len(state.lower)
    with flint.ctx.workprec(precise.BITS):
        for observation in OBSERVATIONS.tolist():
            prepared = policy.prepare(observation)
            state = policy.update(prepared, state)
            logits, exact = precise.step_policy(arrays, ARCHITECTURES[name], observation, exact)
            assert_encloses(state[:, 0], exact)
            assert_encloses(policy.decode(prepared, state)[:, 0], logits)
            np.testing.assert_array_less(state.upper - state.lower, 1e-11)


def assert_encloses(found: Interval, exact: list[Any]):
    for lower, upper, number in zip(found.lower, found.upper, exact, strict=True):
        assert precise.ball(lower) <= number
        assert number <= precise.ball(upper)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_slopes_enclose_differences(name: str, agents: dict[str, Agent]):
    """Of points all over a box, and of directions that are not the axes."""
    arrays = name_leaves({"policy": eqx.filter(agents[name].policy, eqx.is_array)})
    policy, rng = checker.Policy(arrays, ARCHITECTURES[name]), np.random.default_rng(0)
    moving = ~policy.discrete
    size = int(moving.sum())
    if not size:
        return
    basis = rng.normal(size=(size, size))
    region = checker.Region(0.5 * rng.normal(size=len(moving)), np.full(size, 1e-3), basis)
    image = checker.map_region(policy, region)
    assert image.slope is not None
    with flint.ctx.workprec(precise.BITS):
        tiny = flint.arb(10) ** -40
        for _ in range(3):
            point = region.centre.copy()
            point[moving] += basis @ (1e-3 * rng.uniform(-1, 1, size))
            for column in range(size):
                direction = np.zeros(len(moving))
                direction[moving] = basis[:, column]
                ahead, behind = (
                    step_idle(
                        arrays,
                        name,
                        [
                            precise.ball(p) + sign * tiny * precise.ball(d)
                            for p, d in zip(point, direction, strict=True)
                        ],
                    )
                    for sign in (1, -1)
                )
                slopes = [(a - b) / (2 * tiny) for a, b in zip(ahead, behind, strict=True)]
                chosen = [slope for slope, moves in zip(slopes, moving, strict=True) if moves]
                assert_encloses(image.slope[:, column], chosen)
    np.testing.assert_array_less(image.slope.upper - image.slope.lower, 0.5)


def step_idle(arrays: precise.Arrays, name: str, state: list[Any]) -> list[Any]:
    return precise.step_policy(arrays, ARCHITECTURES[name], [0, 0], state)[1]


@quick
@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_lengths_are_written_and_read(members: list[bool], data: st.DataObject):
    period = data.draw(st.integers(1, len(members)))
    unfolded = members + (members[-period:] * 60)[: 60 - len(members)]
    lengths = checker.write_lengths(np.array(members), period)
    assert checker.read_lengths(lengths, 60).tolist() == unfolded
    assert checker.write_lengths(np.array(unfolded[: len(members) + period]), period) == lengths
    listed, shortest = lengths["listed"], lengths["period"]
    for p in range(1, listed + 1):
        for m in range(p, listed + 1):
            repeats = all(unfolded[n] == unfolded[n - p] for n in range(m, 60))
            assert not repeats or (p, m) >= (shortest, listed)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arrays, fields = precise.make_latch("gru", bias=0.25, feedback=1.2)
    header = {"kind": "agent", "format": 1, "architecture": fields}
    path = tmp_path_factory.mktemp("certificate") / "agent.safetensors"
    save_arrays(path, arrays | {"value.output.bias": np.zeros(1, np.float32)}, header)
    return path


@pytest.fixture(scope="module")
def certificate(weights: Path) -> dict[str, Any]:
    arrays, header = checker.read_weights(weights)
    policy = checker.Policy(arrays, header["architecture"])
    environment = {"name": "tmaze", "options": {}, "previous_action": False}
    ever = {"listed": 1, "period": 1, "runs": [[1, 1]]}
    cues = [{"cue": cue, "transient": 9, "period": 1} for cue in (-1, 1)]
    return {
        "kind": "remanence certificate",
        "format": 1,
        "agent": {
            "sha256": checker.hash_policy(arrays),
            "architecture": header["architecture"],
        },
        "environment": environment | {"sha256": checker.hash_environment(environment)},
        "bitwise": {"optimal": ever, "cues": cues},
        "contraction": contraction.search_proof(policy, 300),
    }


def change(data: Any, path: str, edit: Callable[[Any], Any]) -> Any:
    changed = copy.deepcopy(data)
    *parents, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    place = changed
    for key in parents:
        place = place[key]
    place[last] = edit(place[last])
    return changed


def check_file(certificate: Any, weights: Path, tmp_path: Path) -> int:
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    return checker.main([str(tmp_path / "certificate.json"), str(weights)])


PHASE = "contraction/cues/0/attractor/0/"
NONE = {"listed": 1, "period": 1, "runs": []}


@pytest.mark.parametrize(
    ("path", "edit"),
    [
        (PHASE + "radius", lambda radius: [1e6 * r for r in radius]),
        (PHASE + "radius", lambda radius: [1e-30 * r for r in radius]),
        (PHASE + "centre", lambda centre: [c + 0.5 for c in centre]),
        (PHASE + "basis", lambda basis: [[0.0 for _ in row] for row in basis]),
        ("contraction/cues/0/attractor", lambda _: None),
        ("contraction/cues/0/steps", lambda _: 1),
        ("contraction/optimal", lambda _: NONE),
        ("agent/sha256", lambda digest: digest[::-1]),
        ("agent/architecture/state_size", lambda size: size + 1),
        ("environment/previous_action", lambda _: True),
    ],
)
def test_false_claim_does_not_hold(
    certificate: Any, weights: Path, tmp_path: Path, path: str, edit: Any
):
    assert check_file(certificate, weights, tmp_path) == 0
    assert check_file(change(certificate, path, edit), weights, tmp_path) == 1


@pytest.mark.parametrize("basis", [None, "identity"])
def test_passing_by_is_not_staying(basis: Any):
    """A set that the orbit enters, on which the agent decides well, and which it leaves again."""
    policy = checker.Policy(*precise.make_leak(4.0, -0.75))
    cues = []
    for cue in (-1, 1):
        prepared, state = policy.open(cue)
        state = policy.update(policy.corridor, policy.update(prepared, state))
        box = {"centre": state[:, 0].tolist(), "radius": [1e-3, 1e-3], "basis": basis}
        cues.append({"cue": cue, "steps": 1, "enclosure": "boxes", "attractor": [box]})
    report = checker.verify_contraction(policy, {"cues": cues})
    assert not report["verified"]
    assert "not mapped into the next" in report["reason"]


def test_held_state_must_be_that_of_the_orbit():
    policy = checker.Policy(*precise.make_holder(0.0, 0.5))
    proof = contraction.search_proof(policy, 10)
    cues = proof["cues"]
    cues[0]["attractor"] = cues[1]["attractor"]
    report = checker.verify_contraction(policy, {"cues": cues})
    assert "the orbit is not in the attractor's set" in report["reason"]


def test_near_tie_is_not_decided():
    logits = Interval(
        np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([[0.0], [1.5], [0.0], [1.2]])
    )
    assert checker.judge(logits, 1)[0] == checker.UNKNOWN
    assert checker.judge(logits, 3)[0] == checker.UNKNOWN
    assert checker.judge(logits, 0)[0] == checker.NO
    assert checker.judge(logits[:3], 1)[0] == checker.YES


def test_other_weights_do_not_pass(certificate: Any, weights: Path, tmp_path: Path):
    arrays, header = checker.read_weights(weights)
    other = {name: array.copy() for name, array in arrays.items()}
    other["policy.output.bias"][3] = np.nextafter(other["policy.output.bias"][3], 1)
    save_arrays(tmp_path / "other.safetensors", other, header)
    assert check_file(certificate, tmp_path / "other.safetensors", tmp_path) == 1
    # Values are no part of the policy.
    other = {**arrays, "value.output.bias": np.ones(1, np.float32)}
    save_arrays(tmp_path / "other.safetensors", other, header)
    assert check_file(certificate, tmp_path / "other.safetensors", tmp_path) == 0


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        ("kind", lambda _: "letter", "not a certificate"),
        ("format", lambda _: 2, "not a certificate"),
        ("agent", lambda _: None, "agent: this should be a JSON object"),
        ("environment/name", lambda _: "lookup-tree-maze", "only the T-maze"),
        ("contraction/cues", lambda cues: cues[:1], "speaks of the cues -1 and 1"),
        ("contraction/cues/0/steps", lambda _: 0, "steps are 1 or more"),
        ("contraction/cues/0/enclosure", lambda _: "magic", "an enclosure is by"),
        (PHASE + "radius", lambda radius: radius[1:], "numbers of shape"),
        (PHASE + "radius/0", lambda _: float("inf"), "must be finite"),
        (PHASE + "centre/0", lambda _: "x", "not numbers"),
        ("bitwise/optimal/period", lambda _: 0, "at least its period"),
        ("bitwise/optimal/runs", lambda _: [[1]], "pairs of lengths"),
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
    assert check_file(change(certificate, path, edit), weights, tmp_path) == 2
    assert message in capsys.readouterr().err


def test_bad_files_are_refused(certificate: Any, weights: Path, tmp_path: Path):
    assert check_file(certificate, tmp_path / "nowhere", tmp_path) == 2
    (tmp_path / "odd.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0 not safetensors")
    assert check_file(certificate, tmp_path / "odd.safetensors", tmp_path) == 2
    (tmp_path / "certificate.json").write_text("{")
    assert checker.main([str(tmp_path / "certificate.json"), str(weights)]) == 2


def test_policy_that_does_not_fit_is_refused():
    arrays, fields = precise.make_latch("gru")
    with pytest.raises(checker.CertificateError, match="do not fit each other"):
        checker.Policy(arrays, fields, previous_action=True)
    with pytest.raises(checker.CertificateError, match="lack"):
        checker.Policy(arrays, fields | {"head": [3]})
    with pytest.raises(checker.CertificateError, match="do not fit the architecture"):
        checker.Policy(arrays | {"policy.head.0.bias": np.zeros(2)}, fields)
    with pytest.raises(checker.CertificateError, match="cannot check this cell: 'lstm'"):
        checker.Policy(arrays, fields | {"cell": "lstm"})


def test_bitwise_claim_is_rerun(certificate: Any, weights: Path):
    arrays, header = checker.read_weights(weights)
    policy = checker.Policy(arrays, header["architecture"])
    rerun = checker.rerun_bitwise(policy, certificate["bitwise"])
    assert rerun["closed"]
    assert rerun["first_difference"] is None
    assert not rerun["cues"][0]["same"]
    claim = change(certificate["bitwise"], "cues", lambda _: rerun["cues"])
    claim["optimal"] = {"listed": 4, "period": 1, "runs": [[1, 3]]}
    rerun = checker.rerun_bitwise(policy, claim)
    assert all(cue["same"] for cue in rerun["cues"])
    assert rerun["first_difference"] == 4
    cut = checker.rerun_bitwise(policy, claim, limit=2)
    assert (cut["closed"], cut["lengths_compared"]) == (False, 3)
    assert cut["cues"][0]["transient"] is None


def test_rerun_finds_the_first_return(weights: Path):
    """A flipping agent by brute force: all pairs of states, bit by bit."""
    policy = checker.Policy(*precise.make_latch("gru", feedback=-6.0), dtype=np.float32)
    prepared, state = policy.open(1)
    states = [policy.update(prepared, state)]
    for _ in range(100):
        states.append(policy.update(policy.corridor, states[-1]))
    returns = [
        (n, m - n)
        for m in range(len(states))
        for n in range(m)
        if states[n].tobytes() == states[m].tobytes()
    ]
    claim = {"optimal": None, "cues": [{"cue": c, "transient": 0, "period": 0} for c in (-1, 1)]}
    found = checker.rerun_bitwise(policy, claim)["cues"][1]
    assert (found["transient"], found["period"]) == min(returns)


def test_checker_stands_alone(certificate: Any, weights: Path, tmp_path: Path):
    file = Path(str(checker.__file__))
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - {"numpy"} <= set(sys.stdlib_module_names)
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    command = [sys.executable, "-I", str(file), str(tmp_path / "certificate.json"), str(weights)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert report["holds"]
    assert report["contraction"]["optimal"] == certificate["contraction"]["optimal"]
