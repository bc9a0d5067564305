"""An agent's network in floats, intervals or intervals with slopes, for the search for proofs."""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates._intervals import (
    SMALLEST,
    Interval,
    UndecidedError,
    affine,
    blend,
    concatenate,
    relu,
    sigmoid,
    switch,
    tanh,
)
from remanence.certificates._walker import DOWN, NUM_ACTIONS, RIGHT, UP

GOAL_ARMS = {-1: UP, 1: DOWN}

# A second argument stands for a weight that is not there.
Weights = Callable[..., Any]


class GatedCell:
    """A cell of one layer; states are columns, and all of them may be intervals."""

    gates: int
    discrete = False  # whether its states are always known exactly

    def __init__(self, weights: Weights):
        self.weight, self.bias = weights("inputs.weight"), weights("inputs.bias")
        self.state_size = self.weight.shape[1]

    def project(self, x: Any) -> list[Any]:
        """What each gate sees of the input."""
        return [affine(w, x, b) for w, b in zip(self.weight, self.bias, strict=True)]

    def mask(self) -> np.ndarray:
        """Which components of the state are discrete."""
        return np.full(self.state_size, self.discrete)

    def read(self, state: Any) -> Any:
        """What later layers see of a state."""
        return state


class GRU(GatedCell):
    """Gates r, z, n; n = tanh(x + r * (W h))."""

    gates = 3

    def __init__(self, weights: Weights):
        super().__init__(weights)
        self.recurrent = weights("recurrent_weight")
        self.rows = np.concatenate(self.recurrent)  # of all gates, one below the other

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        seen, size = self.rows @ h, self.state_size
        gates = sigmoid(concatenate(x[:2]) + seen[: 2 * size])
        return blend(gates[size:], h, tanh(x[2] + gates[:size] * seen[2 * size :]))


class LSTM(GRU):
    """Gates i, f, g, o; the state is h, which later layers see, and c."""

    gates = 4

    def __init__(self, weights: Weights):
        super().__init__(weights)
        self.output_size = self.state_size
        self.state_size = 2 * self.output_size

    def update(self, x: Any, h: Any) -> Any:
        size = self.output_size
        h, c = self.read(h), h[size:]
        seen = concatenate(x) + self.rows @ h
        gates = sigmoid(seen)
        c = gates[size : 2 * size] * c + gates[:size] * tanh(seen[2 * size : 3 * size])
        return concatenate([gates[3 * size :] * tanh(c), c])

    def read(self, state: Any) -> Any:
        return state[: self.output_size]


class NBRC(GRU):
    """Gates r, z, n; n = tanh(x + r * h) with r = 1 + tanh(x + W h)."""

    def recur(self, h: Any) -> Any:
        """What both gates see of the state, one below the other."""
        return self.rows @ h

    def update(self, x: Any, h: Any) -> Any:
        seen = concatenate(x[:2]) + self.recur(h)
        r, z = 1 + tanh(seen[: self.state_size]), sigmoid(seen[self.state_size :])
        return blend(z, h, tanh(x[2] + r * h))


class BRC(NBRC):
    """As NBRC, but the gates of a unit see that unit alone."""

    def recur(self, h: Any) -> Any:
        return concatenate([weight[:, None] * h for weight in self.recurrent])


class MinGRU(GatedCell):
    """Gates z, n, which see the input alone."""

    gates = 2

    def __init__(self, weights: Weights):
        super().__init__(weights)
        self.ceiling = weights("ceiling", None)
        if self.ceiling is not None and not np.all((self.ceiling > 0) & (self.ceiling <= 1)):
            raise UndecidedError("a ceiling of the decay is not between 0 and 1")

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        z = sigmoid(x[0])
        return blend(z if self.ceiling is None else self.ceiling[:, None] * z, h, x[1])


class BMRU(GatedCell):
    """Gates n, β; a unit is set where |n| > |β|, and holds elsewhere."""

    gates, discrete = 2, True

    def __init__(self, weights: Weights):
        super().__init__(weights)
        self.alpha = weights("alpha")

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        return switch(x[0], x[1], self.alpha[:, None], h)


class Composition:
    """Cells whose states are side by side in one vector."""

    def __init__(self, cells: Sequence[Any]):
        self.cells = cells
        ends = list(itertools.accumulate(cell.state_size for cell in cells))
        self.state_size = ends[-1]
        self.parts = [slice(*pair) for pair in itertools.pairwise([0, *ends])]

    def mask(self) -> np.ndarray:
        """Which components of the state are discrete."""
        return np.concatenate([cell.mask() for cell in self.cells])


class Parallel(Composition):
    """All cells see the input."""

    def project(self, x: Any) -> list[Any]:
        """What each cell makes of the input."""
        return [cell.project(x) for cell in self.cells]

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        steps = zip(self.cells, x, self.parts, strict=True)
        return concatenate([cell.update(seen, h[part]) for cell, seen, part in steps])

    def read(self, state: Any) -> Any:
        """What later layers see of a state."""
        return state


class Stack(Composition):
    """Each cell sees what the one before it has become."""

    def project(self, x: Any) -> Any:
        """What the first cell makes of the input."""
        return self.cells[0].project(x)

    def update(self, x: Any, h: Any) -> Any:
        """One step."""
        states = [self.cells[0].update(x, h[self.parts[0]])]
        for below, cell, part in zip(self.cells, self.cells[1:], self.parts[1:], strict=False):
            states.append(cell.update(cell.project(below.read(states[-1])), h[part]))
        return concatenate(states)

    def read(self, state: Any) -> Any:
        """What later layers see of a state: the last cell's."""
        return self.cells[-1].read(state[self.parts[-1]])


CELLS = {"gru": GRU, "lstm": LSTM, "brc": BRC, "nbrc": NBRC, "mingru": MinGRU, "bmru": BMRU}


def _make_cell(name: str, weights: Weights) -> Any:
    if name == "hybrid":
        parts = [("bmru", "cells.0."), ("mingru", "cells.1.")]
        return Parallel([_make_cell(cell, _below(weights, prefix)) for cell, prefix in parts])
    if name not in CELLS:
        raise UndecidedError(f"nothing is proved about this cell: {name!r}")
    return CELLS[name](weights)


def _below(weights: Weights, prefix: str) -> Weights:
    return lambda name, *instead: weights(prefix + name, *instead)


class Policy:
    """The policy network of an agent, mostly of the T-maze, in floats or in intervals."""

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        architecture: Mapping[str, Any],
        previous_action: bool = False,
    ):
        self._arrays = arrays
        self.architecture, self.previous_action = dict(architecture), previous_action
        self.encoder = self._take_dense("encoder")
        self.cell = self._take_cell()
        self.head = self._take_dense("head")
        self.output = (self._take("policy.output.weight"), self._take("policy.output.bias"))
        self.discrete = self.cell.mask()
        self.followed: dict[tuple[int, bool], tuple[list[Any], Iterator[Any]]] = {}

    @functools.cached_property
    def corridor(self) -> dict[str, Any]:
        """What the T-maze's corridor looks like."""
        return self.prepare([0, 0], RIGHT)

    @functools.cached_property
    def junction(self) -> dict[str, Any]:
        """What the T-maze's junction looks like."""
        return self.prepare([0, 1], RIGHT)

    @property
    def feedforward(self) -> bool:
        """Whether units see only themselves and layers below, so that boxes do not wrap."""
        return self.architecture["cell"] in ("mingru", "bmru", "hybrid")

    def prepare(self, seen: Sequence[int], previous: int | None = None) -> dict[str, Any]:
        """What the network makes of an observation alone, in floats and in intervals."""
        action = [float(number == previous) for number in range(NUM_ACTIONS)]
        numbers = [*seen, *action] if self.previous_action else seen
        column = np.array(numbers, np.float64)[:, None]
        features = {"floats": column, "intervals": Interval(column)}
        for weight, bias in self.encoder:
            features = {k: relu(affine(weight, x, bias)) for k, x in features.items()}
        return {k: (x, self.cell.project(x)) for k, x in features.items()}

    def update(self, prepared: Mapping[str, Any], state: Any) -> Any:
        """The state after an observation."""
        return self.cell.update(_choose(prepared, state)[1], state)

    def decode(self, prepared: Mapping[str, Any], state: Any) -> Any:
        """The logits, from the observation and the state after it."""
        hidden = self.cell.read(state)
        if self.architecture["skip"]:
            hidden = relu(_choose(prepared, state)[0] + hidden)
        for weight, bias in self.head:
            hidden = relu(affine(weight, hidden, bias))
        return affine(self.output[0], hidden, self.output[1])

    def open(self, cue: int, at_junction: int = 0) -> tuple[dict[str, Any], np.ndarray]:
        """The first observation, and the state before it."""
        return self.prepare([cue, at_junction]), np.zeros((self.cell.state_size, 1))

    def _take(self, name: str, *instead: None) -> Any:
        if instead and name not in self._arrays:
            return None
        array = np.asarray(self._arrays[name], np.float64)
        if not np.isfinite(array).all():
            raise UndecidedError(f"the weights {name!r} are not finite")
        if np.any((array != 0) & (np.abs(array) < SMALLEST)):
            raise UndecidedError(f"the weights {name!r} have numbers that some programs take for 0")
        return array

    def _take_dense(self, part: str) -> list[tuple[np.ndarray, np.ndarray]]:
        names = [f"policy.{part}.{number}." for number in range(len(self.architecture[part]))]
        return [(self._take(name + "weight"), self._take(name + "bias")) for name in names]

    def _take_cell(self) -> Any:
        name, layers = self.architecture["cell"], self.architecture["num_layers"]
        if layers == 1:
            return _make_cell(name, _below(self._take, "policy.cell."))
        prefixes = [f"policy.cell.cells.{number}." for number in range(layers)]
        return Stack([_make_cell(name, _below(self._take, prefix)) for prefix in prefixes])


def _choose(prepared: Mapping[str, Any], state: Any) -> Any:
    return prepared["floats" if isinstance(state, np.ndarray) else "intervals"]
