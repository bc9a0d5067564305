"""The arithmetic of the search encloses exact arithmetic, and believes no evidence."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import equinox as eqx
import flint
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.certificates._enclosures import NO, UNKNOWN, YES, Region, judge, map_region
from remanence.certificates._interval_policy import Policy
from remanence.certificates._intervals import Interval, UndecidedError
from remanence.networks import Agent, Architecture, make_policy, make_value
from remanence.store import name_leaves
from tests.certificates import high_precision as precise
from tests.certificates import proofs

numbers = st.floats(allow_nan=False, allow_infinity=False)
pairs = st.tuples(numbers, numbers).map(sorted)
small = st.floats(-1e12, 1e12)
small_pairs = st.tuples(small, small).map(sorted)
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
@given(st.lists(st.tuples(numbers, pairs) | st.tuples(small, small_pairs), min_size=1, max_size=6))
def test_product_of_matrix_encloses_fractions(terms: Any):
    matrix = np.array([[weight for weight, _ in terms]])
    ends = np.array([ends for _, ends in terms])
    with np.errstate(all="ignore"):
        try:
            result = matrix @ Interval(ends[:, :1], ends[:, 1:])
        except UndecidedError:
            sizes = [abs(Fraction(w)) * max(abs(Fraction(x)) for x in pair) for w, pair in terms]
            assert sum(sizes) > 2**98  # binary32 may overflow
            return
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
def test_policy_is_that_of_jax(name: str, agents: dict[str, Agent]):
    agent = agents[name]
    policy = Policy(name_arrays(agent), ARCHITECTURES[name])
    first = jnp.arange(len(OBSERVATIONS)) == 0
    run = eqx.filter_jit(type(agent.policy).run)
    observations = jnp.asarray(OBSERVATIONS, jnp.float32)
    logits, states = run(agent.policy, observations, first, agent.policy.initial_state())
    state = policy.open(1)[1]
    for observation, logit, expected in zip(OBSERVATIONS, logits, states, strict=True):
        prepared = policy.prepare(observation.tolist())
        state = policy.update(prepared, state)
        np.testing.assert_allclose(state[:, 0], expected, 1e-5, 1e-6)
        np.testing.assert_allclose(policy.decode(prepared, state)[:, 0], logit, 1e-5, 1e-5)


def name_arrays(agent: Agent) -> dict[str, np.ndarray]:
    return name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_policy_encloses_high_precision(name: str, agents: dict[str, Agent]):
    arrays = name_arrays(agents[name])
    policy = Policy(arrays, ARCHITECTURES[name])
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
    arrays = name_arrays(agents[name])
    policy, rng = Policy(arrays, ARCHITECTURES[name]), np.random.default_rng(0)
    moving = ~policy.discrete
    size = int(moving.sum())
    if not size:
        return
    basis = rng.normal(size=(size, size))
    region = Region(0.5 * rng.normal(size=len(moving)), np.full(size, 1e-3), basis)
    image = map_region(policy, region)
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


@pytest.mark.parametrize("basis", [None, "identity"])
def test_passing_by_is_not_staying(basis: Any):
    """A set that the orbit enters, on which the agent decides well, and which it leaves again."""
    walker = precise.make_leak(4.0, -0.75)
    policy, cues = Policy(*walker), []
    for cue in (-1, 1):
        prepared, state = policy.open(cue)
        state = policy.update(policy.corridor, policy.update(prepared, state))
        box = {"centre": state[:, 0].tolist(), "radius": [1e-2, 1e-2], "basis": basis}
        cues.append({"cue": cue, "steps": 1, "enclosure": "boxes", "attractor": [box]})
    with pytest.raises(UndecidedError, match="not mapped into the next"):
        proofs.derive_in_intervals(walker, cues)


def test_held_state_must_be_that_of_the_orbit():
    walker = precise.make_holder(0.0, 0.5)
    cues = proofs.write(proofs.prove(walker, 10))["cues"]
    cues[0]["attractor"] = cues[1]["attractor"]
    with pytest.raises(UndecidedError, match="the orbit is not in the attractor's set"):
        proofs.derive_in_intervals(walker, cues)


def test_near_tie_is_not_decided():
    logits = Interval(
        np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([[0.0], [1.5], [0.0], [1.2]])
    )
    assert judge(logits, 1)[0] == UNKNOWN
    assert judge(logits, 3)[0] == UNKNOWN
    assert judge(logits, 0)[0] == NO
    assert judge(logits[:3], 1)[0] == YES
