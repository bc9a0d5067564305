"""The cells in portable arithmetic: `project` what the input does, `update` the state with it."""

import abc
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from remanence.portable._arithmetic import (
    apply_affine,
    apply_affine_between,
    blend,
    multiply_each,
    sigmoid,
    tanh,
)

# A weight by its name within the cell; a second argument stands for one that is not there.
Take = Callable[..., Any]


class AbstractPortableCell(abc.ABC):
    """A cell; inputs and states are vectors, or rows of them."""

    state_size: int

    @abc.abstractmethod
    def project(self, x: np.ndarray) -> Any:
        """What depends on the input alone."""

    @abc.abstractmethod
    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        """The next state."""

    def project_each(self, x: np.ndarray) -> Iterable[Any]:
        """What depends on each of some inputs alone."""
        return zip(*self.project(x), strict=True)

    def follow(self, projected: Iterable[Any], state: np.ndarray) -> np.ndarray:
        """The states (time, state) after inputs that come one after the other."""
        states = []
        for seen in projected:
            state = self.update(seen, state)
            states.append(state)
        return np.stack(states)

    def read(self, state: np.ndarray) -> np.ndarray:
        """What later layers see of a state."""
        return state


class _GatedCell(AbstractPortableCell):
    """A cell that sees its input through one affine projection for each gate."""

    def __init__(self, take: Take):
        self.weight, self.bias = take("inputs.weight"), take("inputs.bias")
        self.state_size = self.weight.shape[1]

    def project(self, x: np.ndarray) -> list[np.ndarray]:
        gates = zip(self.weight, self.bias, strict=True)
        return [apply_affine(weight, bias, x) for weight, bias in gates]

    def bound_gates(
        self, lower: np.ndarray, upper: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Bounds on what each gate sees of all inputs between two, before any σ."""
        gates = zip(self.weight, self.bias, strict=True)
        return [apply_affine_between(weight, bias, lower, upper) for weight, bias in gates]


class _GRU(_GatedCell):
    def __init__(self, take: Take):
        super().__init__(take)
        self.recurrent = take("recurrent_weight")

    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        seen = multiply_each(self.recurrent, state)
        r, z = sigmoid(np.stack([projected[gate] + seen[gate] for gate in (0, 1)]))
        return blend(z, state, tanh(projected[2] + r * seen[2]))


class _LSTM(_GRU):
    def __init__(self, take: Take):
        super().__init__(take)
        self.output_size = self.state_size
        self.state_size = 2 * self.output_size

    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        h, c = self.read(state), state[..., self.output_size :]
        seen = multiply_each(self.recurrent, h)
        i, f, g, o = (x + y for x, y in zip(projected, seen, strict=True))
        i, f, o = sigmoid(np.stack([i, f, o]))
        c = f * c + i * tanh(g)
        return np.concatenate([o * tanh(c), c], axis=-1)

    def read(self, state: np.ndarray) -> np.ndarray:
        return state[..., : self.output_size]


class _NBRC(_GatedCell):
    def __init__(self, take: Take):
        super().__init__(take)
        self.recurrent = take("recurrent_weight")

    def recur(self, state: np.ndarray) -> Any:
        return multiply_each(self.recurrent, state)

    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        seen = self.recur(state)
        r = tanh(projected[0] + seen[0]) + 1.0
        z = sigmoid(projected[1] + seen[1])
        return blend(z, state, tanh(projected[2] + r * state))


class _BRC(_NBRC):
    def recur(self, state: np.ndarray) -> Any:
        return [weight * state for weight in self.recurrent]


class _MinGRU(_GatedCell):
    def __init__(self, take: Take):
        super().__init__(take)
        self.ceiling = take("ceiling", None)

    def project(self, x: np.ndarray) -> list[np.ndarray]:
        z, n = super().project(x)
        z = sigmoid(z)
        return [z if self.ceiling is None else self.ceiling * z, n]

    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        return blend(projected[0], state, projected[1])


class _BMRU(_GatedCell):
    def __init__(self, take: Take):
        super().__init__(take)
        self.alpha = take("alpha")

    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        n, beta = projected
        value = np.where(n >= 0, self.alpha, -self.alpha)
        return np.where(np.abs(n) > np.abs(beta), value, state)


class _Composition(AbstractPortableCell):
    """Cells whose states are one after the other in one vector."""

    def __init__(self, cells: Sequence[AbstractPortableCell]):
        self.cells = cells
        ends = list(itertools.accumulate(cell.state_size for cell in cells))
        self.state_size = ends[-1]
        self.parts = [slice(*pair) for pair in itertools.pairwise([0, *ends])]


class _Parallel(_Composition):
    def project(self, x: np.ndarray) -> list[Any]:
        return [cell.project(x) for cell in self.cells]

    def project_each(self, x: np.ndarray) -> Iterable[Any]:
        return zip(*(cell.project_each(x) for cell in self.cells), strict=True)

    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        steps = zip(self.cells, projected, self.parts, strict=True)
        return np.concatenate([c.update(seen, state[..., part]) for c, seen, part in steps], -1)


class _Stack(_Composition):
    def project(self, x: np.ndarray) -> Any:
        return self.cells[0].project(x)

    def update(self, projected: Any, state: np.ndarray) -> np.ndarray:
        states = [self.cells[0].update(projected, state[..., self.parts[0]])]
        for (below, cell), part in zip(itertools.pairwise(self.cells), self.parts[1:], strict=True):
            projected = cell.project(below.read(states[-1]))
            states.append(cell.update(projected, state[..., part]))
        return np.concatenate(states, axis=-1)

    def follow(self, projected: Iterable[Any], state: np.ndarray) -> np.ndarray:
        """Layer by layer, so that what one sees of the one below is projected all at once."""
        states = [self.cells[0].follow(projected, state[self.parts[0]])]
        for (below, cell), part in zip(itertools.pairwise(self.cells), self.parts[1:], strict=True):
            projected = cell.project_each(below.read(states[-1]))
            states.append(cell.follow(projected, state[part]))
        return np.concatenate(states, axis=-1)

    def read(self, state: np.ndarray) -> np.ndarray:
        return self.cells[-1].read(state[..., self.parts[-1]])


_CELLS = {"gru": _GRU, "lstm": _LSTM, "brc": _BRC, "nbrc": _NBRC, "mingru": _MinGRU, "bmru": _BMRU}
PORTABLE_CELLS = (*_CELLS, "hybrid")


def make_cell(name: str, num_layers: int, take: Take) -> AbstractPortableCell:
    """The recurrent part of a network, from its weights."""
    if num_layers == 1:
        return _make_layer(name, take)
    return _Stack([_make_layer(name, _below(take, f"cells.{n}.")) for n in range(num_layers)])


def _make_layer(name: str, take: Take) -> AbstractPortableCell:
    if name == "hybrid":
        return _Parallel([_BMRU(_below(take, "cells.0.")), _MinGRU(_below(take, "cells.1."))])
    return _CELLS[name](take)


def _below(take: Take, prefix: str) -> Take:
    return lambda name, *instead: take(prefix + name, *instead)
