"""Policies in arithmetic of 300 bits (FLINT's balls), and agents that walk to the junction.

Everything is a loop over numbers, written from the cells' equations.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import flint
import numpy as np

BITS = 300
GOAL_ARMS = {-1: 1, 1: 3}

Arrays = Mapping[str, np.ndarray]
Vector = list[Any]
Walker = tuple[dict[str, np.ndarray], dict[str, Any]]


def ball(number: Any) -> Any:
    return _make_ball(float(number))


_make_ball = functools.lru_cache(2**16)(flint.arb)  # exact, whatever the precision


def apply(matrix: np.ndarray, vector: Vector) -> Vector:
    rows = matrix.tolist()
    return [sum((ball(w) * x for w, x in zip(row, vector, strict=True)), ball(0)) for row in rows]


def affine(arrays: Arrays, name: str, vector: Vector) -> Vector:
    bias = arrays[name + "bias"]
    return [x + ball(b) for x, b in zip(apply(arrays[name + "weight"], vector), bias, strict=True)]


def sigmoid(u: Any) -> Any:
    return 1 / (1 + (-u).exp())


def relu(vector: Vector) -> Vector:
    return [x if x > 0 else ball(0) for x in vector]


def step_cell(arrays: Arrays, cell: str, prefix: str, x: Vector, h: Vector) -> Vector:
    """One step of a cell of one layer, or of the hybrid."""
    if cell == "hybrid":
        half = len(h) // 2
        return step_cell(arrays, "bmru", prefix + "cells.0.", x, h[:half]) + step_cell(
            arrays, "mingru", prefix + "cells.1.", x, h[half:]
        )
    weights, biases = arrays[prefix + "inputs.weight"], arrays[prefix + "inputs.bias"]
    gates = [
        [g + ball(b) for g, b in zip(apply(weight, x), bias, strict=True)]
        for weight, bias in zip(weights, biases, strict=True)
    ]
    units = range(len(h))
    if cell == "lstm":
        half = len(h) // 2
        h, c = h[:half], h[half:]
        seen = [
            [a + b for a, b in zip(gate, apply(matrix, h), strict=True)]
            for gate, matrix in zip(gates, arrays[prefix + "recurrent_weight"], strict=True)
        ]
        i, f, o = ([sigmoid(u) for u in seen[gate]] for gate in (0, 1, 3))
        c = [f[n] * c[n] + i[n] * seen[2][n].tanh() for n in range(half)]
        return [o[n] * c[n].tanh() for n in range(half)] + c
    if cell == "bmru":
        n, beta = gates
        alpha = [ball(a) for a in arrays[prefix + "alpha"]]
        chosen = [alpha[i] if n[i] >= 0 else -alpha[i] for i in units]
        return [chosen[i] if abs(n[i]) > abs(beta[i]) else h[i] for i in units]
    if cell == "mingru":
        z, n = [sigmoid(u) for u in gates[0]], gates[1]
        if prefix + "ceiling" in arrays:
            z = [ball(c) * u for c, u in zip(arrays[prefix + "ceiling"], z, strict=True)]
    else:
        recurrent = arrays[prefix + "recurrent_weight"]
        if cell == "brc":
            fed = [[ball(w) * u for w, u in zip(row, h, strict=True)] for row in recurrent]
        else:
            fed = [apply(matrix, h) for matrix in recurrent]
        z = [sigmoid(gates[1][i] + fed[1][i]) for i in units]
        if cell == "gru":
            r = [sigmoid(gates[0][i] + fed[0][i]) for i in units]
            n = [(gates[2][i] + r[i] * fed[2][i]).tanh() for i in units]
        else:
            r = [1 + (gates[0][i] + fed[0][i]).tanh() for i in units]
            n = [(gates[2][i] + r[i] * h[i]).tanh() for i in units]
    return [z[i] * h[i] + (1 - z[i]) * n[i] for i in units]


def step_policy(
    arrays: Arrays, architecture: Mapping[str, Any], observation: Sequence[float], state: Vector
) -> tuple[Vector, Vector]:
    """The logits after an observation, and the state."""
    features = [ball(x) for x in observation]
    for number in range(len(architecture["encoder"])):
        features = relu(affine(arrays, f"policy.encoder.{number}.", features))
    layers, cell = architecture["num_layers"], architecture["cell"]
    prefixes = ["policy.cell."]
    if layers > 1:
        prefixes = [f"policy.cell.cells.{number}." for number in range(layers)]
    size = len(state) // layers
    hidden, states = features, []
    for number, prefix in enumerate(prefixes):
        part = state[number * size : (number + 1) * size]
        hidden = step_cell(arrays, cell, prefix, hidden, part)
        states += hidden
        hidden = hidden[: size // 2] if cell == "lstm" else hidden
    if architecture["skip"]:
        hidden = relu([a + b for a, b in zip(features, hidden, strict=True)])
    for number in range(len(architecture["head"])):
        hidden = relu(affine(arrays, f"policy.head.{number}.", hidden))
    return affine(arrays, "policy.output.", hidden), states


def choose(logits: Vector) -> int:
    """The action, if 300 bits tell it; of logits that are exactly the same, the first."""
    best = max(range(len(logits)), key=lambda action: float(logits[action].mid()))
    for action, logit in enumerate(logits):
        gap = logits[best] - logit
        same = gap.is_exact() and gap == 0 and best < action
        assert action == best or gap > 0 or same, "300 bits do not tell"
    return best


def list_optimal(
    arrays: Arrays,
    architecture: Mapping[str, Any],
    num_lengths: int,
    previous_action: bool = False,
) -> np.ndarray:
    """Whether the agent is optimal at lengths 1, 2, ..., by walking through all of them."""
    right = [1, 0, 0, 0] if previous_action else []
    none = [0, 0, 0, 0] if previous_action else []
    optimal = np.ones(num_lengths, bool)
    with flint.ctx.workprec(BITS):
        for cue, arm in GOAL_ARMS.items():
            zeros = [ball(0)] * architecture["num_layers"] * architecture["state_size"]
            logits, _ = step_policy(arrays, architecture, [cue, 1, *none], zeros)
            optimal[0] &= choose(logits) == arm
            logits, state = step_policy(arrays, architecture, [cue, 0, *none], zeros)
            for length in range(2, num_lengths + 1):
                if choose(logits) != 0:
                    optimal[length - 1 :] = False
                    break
                at_junction, _ = step_policy(arrays, architecture, [0, 1, *right], state)
                optimal[length - 1] &= choose(at_junction) == arm
                logits, state = step_policy(arrays, architecture, [0, 0, *right], state)
    return optimal


def describe(cell: str, state_size: int, **changes: Any) -> dict[str, Any]:
    """An architecture as JSON has it."""
    plain = {"encoder": [], "head": [], "skip": False, "dropout": 0.0, "cell_options": {}}
    return {"cell": cell, "state_size": state_size, "num_layers": 1, **plain, **changes}


def describe_units(cell: str, num_units: int) -> dict[str, Any]:
    """The same by the number of units, of which an LSTM's have two numbers each."""
    return describe(cell, 2 * num_units if cell == "lstm" else num_units)


NUM_GATES = {"gru": 3, "lstm": 4, "brc": 3, "nbrc": 3, "mingru": 2, "bmru": 2}


def draw_cell(
    rng: np.random.Generator, cell: str, inputs: int, size: int, gain: float
) -> dict[str, np.ndarray]:
    """Random weights of one layer of so many units."""
    if cell == "hybrid":
        halves = [("cells.0.", "bmru"), ("cells.1.", "mingru")]
        drawn = [(p, draw_cell(rng, kind, inputs, size // 2, gain)) for p, kind in halves]
        return {prefix + name: array for prefix, part in drawn for name, array in part.items()}
    gates = NUM_GATES[cell]
    arrays = {
        "inputs.weight": gain * rng.normal(size=(gates, size, inputs)),
        "inputs.bias": 0.3 * rng.normal(size=(gates, size)),
    }
    shapes = {"gru": (3, size, size), "nbrc": (2, size, size), "brc": (2, size)}
    shapes["lstm"] = (4, size, size)
    if cell in shapes:
        arrays["recurrent_weight"] = gain * rng.normal(size=shapes[cell])
    if cell == "bmru":
        arrays["alpha"] = rng.normal(size=size)
    return arrays


def mark_junction(arrays: dict[str, np.ndarray], cell: str) -> None:
    """Make of unit 0 one that is near 1 at the junction and near -1 elsewhere."""
    if cell == "hybrid":
        part = {k.removeprefix("cells.0."): a for k, a in arrays.items() if "cells.0." in k}
        return mark_junction(part, "bmru")
    weight, bias = arrays["inputs.weight"], arrays["inputs.bias"]
    weight[:, 0], bias[:, 0] = 0, 0
    candidate = {"bmru": 0, "lstm": 2}.get(cell, -1)
    if cell == "bmru":
        arrays["alpha"][0] = 1
    elif cell == "lstm":
        bias[:, 0] = [6, -6, 0, 6]
    else:
        bias[:-1, 0] = -6
    weight[candidate, 0, 1], bias[candidate, 0] = 6, -3
    if "recurrent_weight" in arrays:
        arrays["recurrent_weight"][:, 0] = 0
    return None


def make_walker(
    cell: str,
    seed: int,
    gain: float = 2.0,
    size: int = 4,
    previous_action: bool = False,
) -> Walker:
    """An agent that mostly walks to the junction, and decides there by whatever its units do."""
    rng = np.random.default_rng(seed)
    inputs = 6 if previous_action else 2
    arrays = draw_cell(rng, cell, inputs, size, gain)
    mark_junction(arrays, cell)
    return finish_walker(arrays, describe_units(cell, size), rng.normal(size=size))


def finish_walker(
    cell_arrays: Mapping[str, np.ndarray],
    architecture: dict[str, Any],
    readout: np.ndarray,
    bias: float = 0.0,
) -> Walker:
    """Give a cell an output: right unless unit 0 is up, then down or up by the readout's sign."""
    output = np.zeros((4, len(readout)))
    output[1], output[3] = -readout, readout
    output[:, 0] = [-6, 0, 0, 0]
    named = {f"policy.cell.{name}": array for name, array in cell_arrays.items()}
    named |= {"policy.output.weight": output, "policy.output.bias": np.array([0, 0, -20, bias])}
    return {name: array.astype(np.float32) for name, array in named.items()}, architecture


def make_latch(cell: str, bias: float = 0.0, feedback: float = 4.0) -> Walker:
    """An agent of two units: one marks the junction, one keeps the cue by feeding back on itself.

    At a negative feedback it flips at every step. `bias` moves the border between up and down.
    """
    rng = np.random.default_rng(0)
    arrays = {name: np.zeros_like(array) for name, array in draw_cell(rng, cell, 2, 2, 0).items()}
    mark_junction(arrays, cell)
    arrays["inputs.weight"][2, 1, 0] = 8
    if cell in ("gru", "lstm"):
        arrays["recurrent_weight"][2, 1, 1] = feedback
    if cell == "gru":
        arrays["inputs.bias"][:2, 1] = [20, -2]
    elif cell == "lstm":
        # c <- f c + (1 - f) tanh(feedback tanh(c)), as σ(2) = 1 - σ(-2).
        arrays["inputs.bias"][:, 1] = [2, -2, 0, 20]
    else:
        arrays["inputs.bias"][0, 1] = np.arctanh(feedback - 1)
    return finish_walker(arrays, describe_units(cell, 2), np.array([0, 2.0]), bias)


def make_skipper() -> Walker:
    """A BMRU with a skip connection that goes right at the cue, and turns wherever it is later.

    Its state stands still from the cue on; what it does is decided by what it sees besides.
    """
    cell: dict[str, np.ndarray] = {
        "inputs.weight": np.zeros((2, 2, 2)),
        "inputs.bias": np.zeros((2, 2)),
        "alpha": np.ones(2),
    }
    cell["inputs.weight"][0], cell["inputs.bias"][1] = [[2, -2], [-2, 2]], 1
    named = {f"policy.cell.{name}": array for name, array in cell.items()}
    named["policy.encoder.0.weight"] = np.array([[1, 0], [-1, 0]])
    named["policy.encoder.0.bias"] = np.zeros(2)
    # Features and state add up to 2 at the cue, and to 1 later.
    named["policy.output.weight"] = np.array([[10, 10], [0, 1], [0, 0], [1, 0]])
    named["policy.output.bias"] = np.array([-15, 0, -100, 0])
    arrays = {name: array.astype(np.float32) for name, array in named.items()}
    return arrays, describe("bmru", 2, encoder=[2], skip=True)


def make_leak(gate_bias: float, drift: float, bias: float = 0.0) -> Walker:
    """A minGRU that starts at ±5 and forgets: h <- z h + (1 - z) drift with z = σ(gate_bias)."""
    arrays = {"inputs.weight": np.zeros((2, 2, 2)), "inputs.bias": np.zeros((2, 2))}
    mark_junction(arrays, "mingru")
    arrays["inputs.weight"][0, 1, 0] = 0
    arrays["inputs.weight"][1, 1, 0] = 5 / (1 - 1 / (1 + np.exp(-gate_bias)))
    arrays["inputs.bias"][:, 1] = [gate_bias, drift]
    return finish_walker(arrays, describe("mingru", 2), np.array([0, 0.5]), bias)


def make_holder(drive: float, threshold: float) -> Walker:
    """A BMRU that the cue sets, and that is driven while idle, not at the junction."""
    arrays: dict[str, np.ndarray] = {
        "inputs.weight": np.zeros((2, 2, 2)),
        "inputs.bias": np.zeros((2, 2)),
        "alpha": np.ones(2),
    }
    mark_junction(arrays, "bmru")
    arrays["inputs.weight"][0, 1, 0] = 20
    arrays["inputs.weight"][1, 1, 1] = 8 * np.sign(threshold)
    arrays["inputs.bias"][:, 1] = [drive, threshold]
    return finish_walker(arrays, describe("bmru", 2), np.array([0, 2.0]))
