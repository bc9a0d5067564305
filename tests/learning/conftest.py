"""A cell without memory, to show that the memory probes need some."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from remanence import cells


class Forgetful(cells.AbstractCell):
    weight: jax.Array
    input_size: int = eqx.field(static=True)
    state_size: int = eqx.field(static=True)

    def __init__(self, input_size, state_size, *, key):
        self.input_size, self.state_size = input_size, state_size
        self.weight = jax.random.normal(key, (state_size, input_size))

    def update(self, projected, state):
        return jnp.tanh(self.weight @ projected)


@pytest.fixture(autouse=True)
def forgetful_cell():
    cells.register("forgetful", Forgetful)
    yield
    cells.registry.unregister("forgetful")
