"""Random policies, and the programs that compute them: by JAX, and by the two portable ones."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from remanence.checker._program import Program
from remanence.checker._weights import take_policy
from remanence.networks import Architecture, make_policy
from remanence.portable import PortablePolicy
from remanence.store import name_leaves
from tests.certificates import high_precision as precise

CELLS = (*precise.NUM_GATES, "hybrid")
SHAPES = {
    **{cell: precise.describe(cell, 6, head=[5]) for cell in CELLS},
    "deep gru": precise.describe("gru", 4, num_layers=2, encoder=[7]),
    "deep lstm": precise.describe("lstm", 6, num_layers=2, encoder=[3], head=[4], skip=True),
    "deep brc": precise.describe("brc", 5, num_layers=2),
    "deep nbrc": precise.describe("nbrc", 3, num_layers=4, head=[4, 3]),
    "deep bmru": precise.describe("bmru", 4, num_layers=3, encoder=[5], head=[3]),
    "deep mingru": precise.describe("mingru", 8, num_layers=4, encoder=[8], head=[6], skip=True),
    **{
        f"capped {cell}": precise.describe(cell, 6, cell_options={"decay_ceiling": 0.5})
        for cell in ("mingru", "hybrid")
    },
    "deep hybrid": precise.describe("hybrid", 6, num_layers=2, encoder=[6], head=[3], skip=True),
}


class Subject:
    """A policy of random weights, in every way that it can be computed."""

    def __init__(
        self,
        name: str,
        seed: int = 0,
        gain: float = 1.0,
        previous_action: bool = False,
        dtype: Any = np.float32,
    ):
        self.architecture = SHAPES[name]
        self.shape = {**self.architecture, "previous_action": previous_action}
        self.inputs, rng = 6 if previous_action else 2, np.random.default_rng(seed)
        template = _make_template(name, self.inputs)
        leaves, self._structure = jax.tree.flatten(template)
        names = name_leaves({"policy": eqx.filter(template, eqx.is_array)})
        drawn = [(gain * rng.normal(size=leaf.shape)).astype(dtype) for leaf in leaves]
        self.arrays = dict(zip(names, drawn, strict=True))
        for name in names:
            if name.endswith(".ceiling"):
                size = self.arrays[name].shape
                self.arrays[name] = rng.uniform(0.1, 1, size).astype(dtype)
        self.weights = take_policy(self.arrays, self.shape)

    @property
    def walker(self) -> precise.Walker:
        """Arrays and architecture."""
        return self.arrays, self.architecture

    @functools.cached_property
    def policy(self) -> Any:
        """The network of JAX."""
        return jax.tree.unflatten(self._structure, map(jnp.asarray, self.arrays.values()))

    @functools.cached_property
    def portable(self) -> PortablePolicy:
        """The portable program of the library."""
        return PortablePolicy(self.arrays, self.architecture)

    @functools.cached_property
    def program(self) -> Program:
        """The portable program of the checker."""
        return Program(self.weights, self.shape)


@functools.cache
def _make_template(name: str, inputs: int) -> Any:
    return make_policy(Architecture(**SHAPES[name]), inputs, 4, key=jax.random.key(0))


@eqx.filter_jit
def step_compiled(policy: Any, observation: jax.Array, state: jax.Array) -> Any:
    """Logits and state after an observation, compiled."""
    return policy.step(observation, state)
