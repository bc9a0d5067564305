"""The portable program: an agent's step in IEEE's + - * / and comparisons, in one fixed order.

docs/certificates.md defines it. Each operation is one of NumPy's on arrays of one precision, which
rounds every element correctly and fuses nothing. States and logits are vectors, or rows of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Vector = np.ndarray
Look = tuple[Vector, list[Any]]


def add_up(terms: np.ndarray) -> Vector:
    """Row sums: the right half of the columns is added to the left, until one column is left.

    Of an odd number of columns the middle one stays as it is. `terms` is written over.
    """
    size = terms.shape[-1]
    while size > 1:
        moved = size // 2
        size -= moved
        terms[..., :moved] += terms[..., size : size + moved]
    return terms[..., 0]


def apply(weight: np.ndarray, bias: Vector, x: Vector) -> Vector:
    """W x + b."""
    return add_up(weight * x[..., None, :]) + bias


def rectify(x: Vector) -> Vector:
    """x where x > 0, else 0."""
    return np.where(x > 0, x, np.zeros_like(x))


def tanh(x: Vector) -> Vector:
    """Lambert's fraction of x / 8, six levels deep, doubled three times; x within ±20."""
    x = np.maximum(np.minimum(x, 20.0), -20.0) * 0.125
    square = x * x
    fraction = square / 13.0
    for odd in (11.0, 9.0, 7.0, 5.0, 3.0):
        fraction = square / (fraction + odd)
    x = x / (fraction + 1.0)
    for _ in range(3):
        x = (x + x) / (x * x + 1.0)
    return x


def sigmoid(x: Vector) -> Vector:
    """tanh(x / 2) / 2 + 1/2."""
    return tanh(x * 0.5) * 0.5 + 0.5


def mix(z: Vector, held: Vector, candidate: Vector) -> Vector:
    """z h + (1 - z) n."""
    return z * held + (1.0 - z) * candidate


def read_decay(weights: Mapping[str, np.ndarray], x: Vector) -> Vector:
    """A minGRU's z, of what its gate sees: below its ceiling, if it has one."""
    ceilings = [it for name, it in weights.items() if name.endswith("ceiling")]
    return ceilings[0] * sigmoid(x) if ceilings else sigmoid(x)


def project(cell: str, weights: Mapping[str, np.ndarray], x: Vector) -> list[Any]:
    """What each gate of a cell sees of the input."""
    if cell == "hybrid":
        parts = (("bmru", "cells.0."), ("mingru", "cells.1."))
        return [project(part, _below(weights, prefix), x) for part, prefix in parts]
    gates = zip(weights["inputs.weight"], weights["inputs.bias"], strict=True)
    return [apply(weight, bias, x) for weight, bias in gates]


def update(cell: str, weights: Mapping[str, np.ndarray], x: list[Any], h: Vector) -> Vector:
    """A cell's next state."""
    if cell == "hybrid":
        held, moved = np.split(h, 2, axis=-1)
        held = update("bmru", _below(weights, "cells.0."), x[0], held)
        moved = update("mingru", _below(weights, "cells.1."), x[1], moved)
        return np.concatenate([held, moved], axis=-1)
    if cell == "bmru":
        n, beta, alpha = np.abs(x[0]), np.abs(x[1]), weights["alpha"]
        return np.where(n > beta, np.where(x[0] >= 0, alpha, -alpha), h)
    if cell == "mingru":
        return mix(read_decay(weights, x[0]), h, x[1])
    recurrent = weights["recurrent_weight"]
    h, *c = np.split(h, 2, axis=-1) if cell == "lstm" else [h]
    if cell == "brc":
        seen = [weight * h for weight in recurrent]
    else:
        sums = add_up(recurrent * h[..., None, None, :])
        seen = [sums[..., gate, :] for gate in range(len(recurrent))]
    if cell == "lstm":
        i, f, g, o = (one + other for one, other in zip(x, seen, strict=True))
        i, f, o = sigmoid(np.stack([i, f, o]))
        c = f * c[0] + i * tanh(g)
        return np.concatenate([o * tanh(c), c], axis=-1)
    r, z = x[0] + seen[0], x[1] + seen[1]
    if cell == "gru":
        r, z = sigmoid(np.stack([r, z]))
        return mix(z, h, tanh(x[2] + r * seen[2]))
    return mix(sigmoid(z), h, tanh(x[2] + (tanh(r) + 1.0) * h))


def _below(weights: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}


class Program:
    """A policy network as that program."""

    def __init__(self, weights: Mapping[str, np.ndarray], shape: Mapping[str, Any]):
        self.weights, self.shape = weights, shape
        self.dtype = weights["output.weight"].dtype
        count = shape["num_layers"]
        prefixes = ["cell."] if count == 1 else [f"cell.cells.{n}." for n in range(count)]
        self.layers = [_below(weights, prefix) for prefix in prefixes]
        self.start = np.zeros(count * shape["state_size"], self.dtype)
        # Of an LSTM's state, h and c, the next layer sees h.
        self.outputs = shape["state_size"] // (2 if shape["cell"] == "lstm" else 1)

    def look(self, cue: int, junction: int, previous: int | None) -> Look:
        """What the network makes of an observation of the T-maze."""
        seen = [cue, junction]
        if self.shape["previous_action"]:
            seen += [int(previous == action) for action in range(4)]
        return self.see(seen)

    def see(self, numbers: Sequence[int]) -> Look:
        """What the network makes of any observation."""
        features = self.encode(np.array(numbers, self.dtype))
        return features, project(self.shape["cell"], self.layers[0], features)

    def encode(self, seen: Vector) -> Vector:
        """The features of an observation."""
        return self._dense("encoder", seen)

    def step(self, look: Look, state: Vector) -> tuple[Vector, Vector]:
        """The state after an observation, and the logits."""
        state = self.update(look, state)
        return state, self.decode(look, state)

    def update(self, look: Look, state: Vector) -> Vector:
        """The state after an observation."""
        cell, width = self.shape["cell"], self.shape["state_size"]
        states, seen = [], look[1]
        for number, weights in enumerate(self.layers):
            if number:
                seen = project(cell, weights, states[-1][..., : self.outputs])
            part = state[..., number * width : (number + 1) * width]
            states.append(update(cell, weights, seen, part))
        return np.concatenate(states, axis=-1)

    def decode(self, look: Look, state: Vector) -> Vector:
        """The logits, from an observation and the state after it."""
        hidden = state[..., -self.shape["state_size"] :][..., : self.outputs]
        hidden = rectify(look[0] + hidden) if self.shape["skip"] else hidden
        hidden = self._dense("head", hidden)
        return apply(self.weights["output.weight"], self.weights["output.bias"], hidden)

    def _dense(self, part: str, x: Vector) -> Vector:
        for number in range(len(self.shape[part])):
            weight, bias = (self.weights[f"{part}.{number}.{kind}"] for kind in ("weight", "bias"))
            x = rectify(apply(weight, bias, x))
        return x
