"""A policy network as the portable program, from a file of weights or from an agent's arrays."""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from remanence.errors import InvalidOptionError, StoreError
from remanence.portable._arithmetic import apply_affine, apply_affine_between, relu
from remanence.portable._cells import PORTABLE_CELLS, make_cell

_PREFIX = "policy."


class UnportableError(InvalidOptionError):
    """A network that the portable program does not cover.

    >>> from remanence import portable
    >>> portable.PortablePolicy({}, {"cell": "my-cell"})
    Traceback (most recent call last):
    remanence.portable._policy.UnportableError: cell = 'my-cell' is not possible: only gru, ...
    """


class PortablePolicy:
    """Acts as an agent does, up to rounding, and with the same bits everywhere.

    It comes from an agent's file (`load`) or from an agent (`Agent.make_portable`), or is made of
    arrays named as in such a file and of the architecture, as JSON has it. Observations
    (observation,) and states (state,) are vectors, or rows of vectors, but for `act`. The precision
    is that of the weights.

    >>> from remanence import portable
    >>> arrays = {
    ...     "policy.cell.inputs.weight": np.array([[[0.0]], [[1.0]]]),
    ...     "policy.cell.inputs.bias": np.zeros((2, 1)),
    ...     "policy.output.weight": np.array([[-1.0], [1.0]]),
    ...     "policy.output.bias": np.zeros(2),
    ... }
    >>> layers = {"cell": "mingru", "num_layers": 1, "encoder": [], "head": [], "skip": False}
    >>> policy = portable.PortablePolicy(arrays, layers)
    >>> policy.act([3.0], policy.initial_state(), first=True)
    (1, array([1.5]))
    >>> logits, states = policy.step(np.array([[3.0], [-3.0]]), np.zeros((2, 1)))
    >>> logits.tolist()
    [[-1.5, 1.5], [1.5, -1.5]]
    >>> prepared = policy.prepare(np.array([0.0]))
    >>> state = policy.update(prepared, np.array([1.5]))
    >>> policy.decode(prepared, state).tolist()
    [-0.75, 0.75]
    >>> policy.follow(prepared, np.array([1.5]), 2).tolist()
    [[0.75], [0.375]]
    >>> policy.bound(prepared, np.array([-1.0]), np.array([2.0]))
    (array([-1.]), array([2.]))
    >>> features = policy.bound_features(np.array([-1.0]), np.array([1.0]))
    >>> policy.bound_between(features, np.array([-1.0]), np.array([2.0]))
    (array([-1.]), array([2.]))
    >>> policy.cell.bound_gates(*features)[1]
    (array([-1.]), array([1.]))
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
        take_of_cell = lambda name, *instead: self._take(f"cell.{name}", *instead)  # noqa: E731
        self.cell = make_cell(name, architecture["num_layers"], take_of_cell)

    @staticmethod
    def load(path: str | Path) -> "PortablePolicy":
        """The policy in an agent's file, read without JAX.

        >>> from remanence import networks, portable
        >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
        >>> policy = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
        >>> value = networks.make_value(architecture, 1, key=jax.random.key(1))
        >>> agent = networks.Agent(policy, value, architecture)
        >>> agent.save("agent.safetensors")
        >>> portable.PortablePolicy.load("agent.safetensors").initial_state()
        array([0., 0.], dtype=float32)
        """
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
        """The state before an episode, (state,)."""
        return np.zeros(self.cell.state_size, self.dtype)

    def act(self, observation: Any, state: Any, first: bool = False) -> tuple[int, np.ndarray]:
        """The greedy action, and the state after the observation, which opens an episode or not.

        One observation (observation,) at a time, as an array or a list; the state is (state,).
        """
        state = self.initial_state() if first else np.asarray(state, self.dtype)
        logits, state = self.step(np.asarray(observation, self.dtype), state)
        return int(np.argmax(logits)), state

    def step(self, observation: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits (..., actions), and the state (..., state) after an observation."""
        prepared = self.prepare(observation)
        state = self.update(prepared, state)
        return self.decode(prepared, state), state

    def prepare(self, observation: np.ndarray) -> tuple[np.ndarray, Any]:
        """What the network makes of an observation alone; the same one need not be seen twice."""
        features = _apply_dense(self.encoder, observation)
        return features, self.cell.project(features)

    def update(self, prepared: tuple[np.ndarray, Any], state: np.ndarray) -> np.ndarray:
        """The state after an observation, from what `prepare` made of it and the state before."""
        return self.cell.update(prepared[1], state)

    def follow(
        self, prepared: tuple[np.ndarray, Any], state: np.ndarray, num_steps: int
    ) -> np.ndarray:
        """The states (time, state) after the same observation again and again."""
        return self.cell.follow(itertools.repeat(prepared[1], num_steps), state)

    def decode(self, prepared: tuple[np.ndarray, Any], state: np.ndarray) -> np.ndarray:
        """The logits, from what `prepare` made of the observation and the state after it."""
        hidden = self.cell.read(state)
        if self.skip:
            hidden = relu(prepared[0] + hidden)
        return apply_affine(*self.output, _apply_dense(self.head, hidden))

    def bound(
        self, prepared: tuple[np.ndarray, Any], lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on what the output layer sees, (..., units) each, for all states between two.

        Every operation keeps order when it rounds, so that the program itself, at the right ends,
        bounds what it does in between; nothing has to be added for rounding.
        """
        features = prepared[0]
        return self.bound_between((features, features), lower, upper)

    def bound_features(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the features (..., features) of all observations between two."""
        return _bound_dense(self.encoder, lower, upper)

    def bound_between(
        self, features: tuple[np.ndarray, np.ndarray], lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `bound`, for all features between two as well."""
        lower, upper = self.cell.read(lower), self.cell.read(upper)
        if self.skip:
            lower, upper = relu(features[0] + lower), relu(features[1] + upper)
        return _bound_dense(self.head, lower, upper)

    def _take(self, name: str, *instead: None) -> Any:
        return self._arrays.get(name, *instead) if instead else self._arrays[name]

    def _take_dense(self, part: str, num_layers: int) -> list[tuple[np.ndarray, np.ndarray]]:
        names = [f"{part}.{number}" for number in range(num_layers)]
        return [(self._take(f"{name}.weight"), self._take(f"{name}.bias")) for name in names]


def _apply_dense(layers: list[tuple[np.ndarray, np.ndarray]], hidden: np.ndarray) -> np.ndarray:
    for weight, bias in layers:
        hidden = relu(apply_affine(weight, bias, hidden))
    return hidden


def _bound_dense(
    layers: list[tuple[np.ndarray, np.ndarray]], lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    for weight, bias in layers:
        lower, upper = map(relu, apply_affine_between(weight, bias, lower, upper))
    return lower, upper
