"""A policy network as the portable program, from a file of weights or from an agent's arrays."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from remanence.errors import InvalidOptionError, StoreError
from remanence.portable._arithmetic import apply_affine, relu
from remanence.portable._cells import PORTABLE_CELLS, make_cell

_PREFIX = "policy."


class UnportableError(InvalidOptionError):
    """A network that the portable program does not cover."""


class PortablePolicy:
    """Acts as an agent does, up to rounding, and with the same bits everywhere.

    Observations and states are vectors, or rows of vectors. The precision is that of the weights.

    >>> policy = PortablePolicy.load("agents/seed-1.safetensors")  # doctest: +SKIP
    >>> state = policy.initial_state()  # doctest: +SKIP
    >>> action, state = policy.act(state, [1.0, 0.0], first=True)  # doctest: +SKIP
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], architecture: Mapping[str, Any]):
        name = architecture["cell"]
        if name not in PORTABLE_CELLS:
            remedy = f"only {', '.join(PORTABLE_CELLS)} have a portable program"
            raise UnportableError("cell", name, remedy)
        self._arrays = {
            name.removeprefix(_PREFIX): np.asarray(array)
            for name, array in arrays.items()
            if name.startswith(_PREFIX)
        }
        self.dtype = self._take("output.weight").dtype
        self.skip = architecture["skip"]
        self.encoder = self._take_dense("encoder", len(architecture["encoder"]))
        self.head = self._take_dense("head", len(architecture["head"]))
        self.output = (self._take("output.weight"), self._take("output.bias"))
        take_of_cell = lambda name: self._take(f"cell.{name}")  # noqa: E731
        self.cell = make_cell(name, architecture["num_layers"], take_of_cell)

    @staticmethod
    def load(path: str | Path) -> "PortablePolicy":
        """Read the policy from an agent's file, without JAX."""
        try:
            with safetensors.safe_open(path, framework="numpy") as file:
                header = json.loads((file.metadata() or {})["remanence"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return PortablePolicy(arrays, header["architecture"])
        except (safetensors.SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidOptionError):
                raise
            raise StoreError(Path(path), f"not an agent's file ({error})", "give one") from error

    def initial_state(self) -> np.ndarray:
        """The state before an episode."""
        return np.zeros(self.cell.state_size, self.dtype)

    def act(self, state: Any, observation: Any, first: bool = False) -> tuple[int, np.ndarray]:
        """The greedy action, and the state after the observation, which opens an episode or not."""
        state = self.initial_state() if first else np.asarray(state, self.dtype)
        logits, state = self.step(np.asarray(observation, self.dtype), state)
        return int(np.argmax(logits)), state

    def step(self, observation: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits, and the state after an observation."""
        prepared = self.prepare(observation)
        state = self.update(prepared, state)
        return self.decode(prepared, state), state

    def prepare(self, observation: np.ndarray) -> tuple[np.ndarray, Any]:
        """What the network makes of an observation alone; the same one need not be seen twice."""
        features = _apply_dense(self.encoder, observation)
        return features, self.cell.project(features)

    def update(self, prepared: tuple[np.ndarray, Any], state: np.ndarray) -> np.ndarray:
        """The state after an observation."""
        return self.cell.update(prepared[1], state)

    def decode(self, prepared: tuple[np.ndarray, Any], state: np.ndarray) -> np.ndarray:
        """The logits, from the observation and the state after it."""
        hidden = self.cell.read(state)
        if self.skip:
            hidden = relu(prepared[0] + hidden)
        return apply_affine(*self.output, _apply_dense(self.head, hidden))

    def _take(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def _take_dense(self, part: str, num_layers: int) -> list[tuple[np.ndarray, np.ndarray]]:
        names = [f"{part}.{number}" for number in range(num_layers)]
        return [(self._take(f"{name}.weight"), self._take(f"{name}.bias")) for name in names]


def _apply_dense(layers: list[tuple[np.ndarray, np.ndarray]], hidden: np.ndarray) -> np.ndarray:
    for weight, bias in layers:
        hidden = relu(apply_affine(weight, bias, hidden))
    return hidden
