"""What is proved agrees with closed forms, and what cannot be proved is not.

Every proof is derived again by the checker's kernel; see `proofs.prove`.
"""

import math
from pathlib import Path

import equinox as eqx
import flint
import jax
import numpy as np
import pytest

from remanence import cells, envs
from remanence.certificates import _contraction as contraction
from remanence.checker._kernel import UndecidedError
from remanence.errors import InvalidOptionError
from remanence.networks import Agent, Architecture, make_policy, make_value
from remanence.store import name_leaves
from tests.certificates import high_precision as precise
from tests.certificates.agents import load_walker
from tests.certificates.proofs import (
    EVER,
    assert_true,
    derive_in_kernel,
    make_kernel,
    prove,
    write,
)


@pytest.mark.parametrize("cell", ["gru", "lstm", "nbrc", "brc"])
def test_latch_holds_for_ever(cell: str):
    walker = precise.make_latch(cell, feedback=4.0 if cell in ("gru", "lstm") else 1.9)
    proof = prove(walker)
    assert proof.optimal == EVER
    assert_true(walker, proof)
    assert all(part.phases for part in proof.evidence)


@pytest.mark.parametrize("previous_action", [False, True])
def test_proof_of_an_agent(tmp_path: Path, previous_action: bool):
    inputs = 6 if previous_action else 2
    arrays, architecture = precise.make_latch("gru")
    weight = arrays["policy.cell.inputs.weight"]
    arrays["policy.cell.inputs.weight"] = np.concatenate(
        [weight, np.full((3, 2, inputs - 2), 0.25, np.float32)], axis=-1
    )
    agent = load_walker((arrays, architecture), tmp_path, inputs)
    env, params = envs.make("tmaze", previous_action=previous_action)
    proof = contraction.prove_contraction(agent, env, params)
    assert_true((arrays, architecture), proof, previous_action=previous_action)
    assert list_lengths(proof, 9).any()


def list_lengths(proof: contraction.Contraction, count: int) -> np.ndarray:
    assert proof.optimal is not None, proof.reason
    return proof.optimal.unfold(count)[:count]


@pytest.mark.parametrize("gate_bias", [-1.0, 2.0, 3.5])
@pytest.mark.parametrize("drift", [-0.75, 0.0625])
def test_mingru_forgets_when_its_closed_form_says(gate_bias: float, drift: float):
    walker = precise.make_leak(gate_bias, drift)
    proof = prove(walker)
    arrays, _ = walker
    with flint.ctx.workprec(300):
        z = precise.sigmoid(precise.ball(arrays["policy.cell.inputs.bias"][0, 1]))
        weight = precise.ball(arrays["policy.cell.inputs.weight"][1, 1, 0])
        starts = [(1 - z) * (cue * weight + precise.ball(drift)) for cue in (-1, 1)]
        signs = [
            [(drift + z**steps * (start - drift)) * cue > 0 for steps in range(1, 200)]
            for cue, start in zip((-1, 1), starts, strict=True)
        ]
    # At length L the junction's update is the (L - 1)th after the cue's.
    lasts = np.all(signs, axis=0)
    np.testing.assert_array_equal(list_lengths(proof, 200)[1:], lasts)
    assert not list_lengths(proof, 10**4)[-1]


def test_memory_in_rounding_is_not_taken_for_memory():
    # In float32 σ(20) is 1, and the state stays for ever; on the reals it decays.
    walker = precise.make_leak(20.0, 0.5)
    assert np.float32(1 / (1 + math.exp(-20))) == 1
    proof = prove(walker)
    assert proof.optimal is None
    assert "it contracts by 0.999999998 a round" in str(proof.reason)


@pytest.mark.parametrize("drift", [-0.75, 0.0625])
def test_what_rounding_may_decide_is_not_proved(drift: float):
    # The state crosses the border so slowly that a program right to binary32's precision, with σ
    # right to 2^-18, may be on either side of it.
    proof = prove(precise.make_leak(4.0, drift))
    assert proof.optimal is None
    assert "it is undecided whether the agent succeeds" in str(proof.reason)


@pytest.mark.parametrize(
    ("drive", "threshold"), [(0.0, 0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.25), (-0.75, 0.5)]
)
def test_bmru_holds_up_to_its_threshold(drive: float, threshold: float):
    walker = precise.make_holder(drive, threshold)
    proof = prove(walker)
    assert (proof.optimal == EVER) == (abs(drive) <= abs(threshold))
    assert_true(walker, proof)


def test_bmru_too_near_its_threshold_is_not_proved():
    arrays, architecture = precise.make_holder(0.5, 0.5)
    # The threshold is now 0.25 + 0.25 by way of an input, and so only known up to rounding.
    arrays["policy.cell.inputs.bias"][:, 1] = [0.25, 0.5]
    weight = np.zeros((2, 2, 6), np.float32)
    weight[:, :, :2] = arrays["policy.cell.inputs.weight"]
    weight[0, 1, 2] = 0.25
    arrays["policy.cell.inputs.weight"] = weight
    proof = prove((arrays, architecture), previous_action=True)
    assert proof.optimal is None
    assert "too near its threshold" in str(proof.reason)


def test_flipping_agent_is_optimal_at_every_other_length():
    walker = precise.make_latch("gru", feedback=-6.0)
    proof = prove(walker)
    assert proof.optimal is not None
    assert proof.optimal.period == 2
    assert_true(walker, proof)


def make_spiral(damping: float) -> precise.Walker:
    """A GRU whose units 1 and 2 turn by one radian a step around 0."""
    rng = np.random.default_rng(0)
    arrays = {name: np.zeros_like(a) for name, a in precise.draw_cell(rng, "gru", 2, 3, 0).items()}
    precise.mark_junction(arrays, "gru")
    cosine, sine = damping * np.cos(1.0), damping * np.sin(1.0)
    arrays["recurrent_weight"][2, 1:, 1:] = [[cosine, -sine], [sine, cosine]]
    arrays["inputs.bias"][:2, 1:] = [[20], [-20]]
    arrays["inputs.weight"][2, 1, 0] = 2
    return precise.finish_walker(arrays, precise.describe("gru", 3), np.array([0, 1.0, 0]), 0.125)


def test_spiral_needs_several_sets():
    walker = make_spiral(0.97)
    proof = prove(walker)
    assert len(proof.evidence[0].phases) > 1
    assert proof.optimal is not None
    assert len(proof.optimal.list_runs()) > 1
    assert_true(walker, proof, 100)


def test_defective_slope_is_no_obstacle():
    arrays, architecture = make_spiral(0.0)
    # A Jordan block: both eigenvalues 0.5, one eigenvector.
    arrays["policy.cell.recurrent_weight"][2, 1:, 1:] = [[0.5, 8], [0, 0.5]]
    assert_true((arrays, architecture), prove((arrays, architecture)))


@pytest.mark.parametrize("feedback", [0.999, 1.0, 1.001])
def test_near_its_bifurcation_nothing_false_is_proved(feedback: float):
    # At 1 and below the state decays to the border between up and down, and never crosses it.
    proof = prove(precise.make_latch("gru", feedback=feedback), max_steps=300)
    assert proof.optimal in (None, EVER)


def test_one_cue_that_fails_for_ever_suffices():
    walker = precise.make_walker("brc", 5, gain=4.0)
    proof = prove(walker, max_steps=400)
    assert [not part.phases for part in proof.evidence] == [False, True]
    assert_true(walker, proof)


def test_stack_and_skip():
    architecture = precise.describe("mingru", 8, num_layers=3, encoder=[8], head=[6], skip=True)
    key = jax.random.key(3)
    policy = make_policy(Architecture(**architecture), 2, 4, key=key)
    arrays = name_leaves({"policy": eqx.filter(policy, eqx.is_array)})
    arrays["policy.output.weight"] = 100 * arrays["policy.output.weight"]
    arrays["policy.output.bias"] = np.array([4, 0, 0, 0], np.float32)
    proof = prove((arrays, architecture))
    assert_true((arrays, architecture), proof, 30)
    assert proof.evidence[0].phases


def test_what_is_done_at_the_cue_counts():
    """A BMRU that remembers, and decides well, but goes left where it sees the cue 1."""
    fields = precise.describe("bmru", 4, encoder=[4], skip=True)
    arrays = {
        "policy.encoder.0.weight": np.array([[0, 1], [0, 0], [1, 0], [-1, 0]]),
        "policy.encoder.0.bias": np.zeros(4),
        "policy.cell.inputs.weight": np.zeros((2, 4, 4)),
        "policy.cell.inputs.bias": np.array([[0.0] * 4, [0.5] * 4]),
        "policy.cell.alpha": np.ones(4),
        "policy.output.weight": np.zeros((4, 4)),
        "policy.output.bias": np.array([4, 0.5, 0, 0]),
    }
    arrays["policy.cell.inputs.weight"][0, 1, 2:] = [5, -5]
    arrays["policy.output.weight"][[0, 3, 2], [0, 1, 2]] = [-8, 2, 9]
    walker = ({name: array.astype(np.float32) for name, array in arrays.items()}, fields)
    proof = prove(walker)
    assert_true(walker, proof)
    assert not list_lengths(proof, 9).any()
    # The same agent without that whim.
    walker[0]["policy.output.weight"][2, 2] = 0
    assert prove(walker).optimal == EVER


class Leaky(cells.AbstractCell):
    """A cell that the checker does not know."""

    weight: jax.Array
    input_size: int = eqx.field(static=True)
    state_size: int = eqx.field(static=True)

    def __init__(self, input_size: int, state_size: int, *, key: jax.Array):
        self.input_size, self.state_size = input_size, state_size
        self.weight = jax.random.normal(key, (state_size, input_size))

    def update(self, projected: jax.Array, state: jax.Array) -> jax.Array:
        return 0.9 * state + 0.1 * self.weight @ projected


@pytest.fixture
def leaky_cell():
    cells.register("leaky", Leaky)
    yield "leaky"
    cells.registry.unregister("leaky")


def test_own_cell_and_other_environment(leaky_cell):
    architecture = Architecture(cell=leaky_cell, head=())
    key = jax.random.key(0)
    agent = Agent(
        policy=make_policy(architecture, 2, 4, key=key),
        value=make_value(architecture, 2, key=key),
        architecture=architecture,
    )
    proof = contraction.prove_contraction(agent, *envs.make("tmaze"))
    assert proof.optimal is None
    assert "nothing is proved about this cell" in str(proof.reason)
    with pytest.raises(InvalidOptionError, match="T-maze"):
        contraction.prove_contraction(agent, *envs.make("lookup-tree-maze"))


def drive(n: float, beta: float) -> precise.Walker:
    """A BMRU that holds its cue unless n exceeds the threshold beta."""
    walker = precise.make_holder(0.0, 0.5)
    walker[0]["policy.cell.inputs.bias"][:, 1] = [n, beta]
    walker[0]["policy.cell.inputs.weight"][1, 1, 1] = 8
    return walker


def test_what_programs_may_take_for_zero_is_not_proved(tmp_path: Path):
    """XLA's programs flush subnormal numbers to 0, and the portable one does not."""
    # |n| and |β| are numbers that everybody has, and their difference is not.
    walker = drive(2.0**-110 * (1 + 2.0**-23), 2.0**-110)
    assert prove(walker).optimal is None
    cues = write(prove(drive(0.5, 0.25)))["cues"]
    derive_in_kernel(drive(0.5, 0.25), cues)
    with pytest.raises(UndecidedError, match="too near its threshold"):
        derive_in_kernel(walker, cues)
    # Of these n is 0 for some programs.
    walker = drive(1e-40, 0.0)
    found = contraction.prove_contraction(load_walker(walker, tmp_path), *envs.make("tmaze"))
    assert "numbers that some programs take for 0" in str(found.reason)
    with pytest.raises(UndecidedError, match="numbers that some programs take for 0"):
        make_kernel(walker)
