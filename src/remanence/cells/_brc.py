"""The bistable recurrent cell and its neuromodulated variant (Vecoven, Ernst and Drion 2021)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.cells._loops import State
from remanence.cells._unitwise import AbstractUnitwiseCell
from remanence.cells._weights import Gates, Projection, split_gates, xavier_gates


class _AbstractBistableCell(AbstractUnitwiseCell):
    """The update that both cells share; they differ in how r and z see the state."""

    def combine(self, projected: Gates, mixed: Gates, state: State) -> State:
        r = 1 + jnp.tanh(projected[0] + mixed[0])
        z = jax.nn.sigmoid(projected[1] + mixed[1])
        n = jnp.tanh(projected[2] + r * state)
        return z * state + (1 - z) * n


class BRC(_AbstractBistableCell):
    """Bistable recurrent cell: each unit feeds back on itself alone.

        r = 1 + tanh(W_r x + w_r * h + b_r)
        z = σ(W_z x + w_z * h + b_z)
        n = tanh(W_n x + r * h + b_n)
        h <- z * h + (1 - z) * n

    As in Vecoven, Ernst and Drion (2021). `inputs` stacks the gates in the order r, z, n;
    `recurrent_weight` r and z.

    >>> from remanence import cells
    >>> cell = cells.BRC(1, 2, key=jax.random.key(0))
    >>> states = [cell.step(jnp.ones(1), jnp.array([0.5, other])) for other in (0.0, 1.0)]
    >>> bool(states[0][0] == states[1][0])  # the first unit does not see the other
    True
    """

    inputs: Projection
    recurrent_weight: Float[Array, "2 state"]

    def __init__(self, input_size: int, state_size: int, *, key: Key):
        self.inputs = Projection("rzn", input_size, state_size, key=derive_key(key, "input"))
        self.recurrent_weight = jnp.ones((2, state_size))

    @property
    def coupled(self) -> bool:
        return False

    def mix(self, state: State) -> Gates:
        return tuple(weight * state for weight in self.recurrent_weight)


class NBRC(_AbstractBistableCell):
    """Neuromodulated bistable recurrent cell: the gates, not the candidate, see all units.

        r = 1 + tanh(W_xr x + W_hr h + b_r)
        z = σ(W_xz x + W_hz h + b_z)
        n = tanh(W_n x + r * h + b_n)
        h <- z * h + (1 - z) * n

    As in Vecoven, Ernst and Drion (2021). `inputs` stacks the gates in the order r, z, n;
    `recurrent_weight` r and z.

    >>> from remanence import cells
    >>> cell = cells.NBRC(1, 2, key=jax.random.key(0))
    >>> states = [cell.step(jnp.ones(1), jnp.array([0.5, other])) for other in (0.0, 1.0)]
    >>> bool(states[0][0] == states[1][0])  # the first unit sees the other
    False
    """

    inputs: Projection
    recurrent_weight: Float[Array, "2 state state"]

    def __init__(self, input_size: int, state_size: int, *, key: Key):
        self.inputs = Projection("rzn", input_size, state_size, key=derive_key(key, "input"))
        recurrent_key = derive_key(key, "recurrent")
        self.recurrent_weight = xavier_gates(recurrent_key, "rz", state_size, state_size)

    def mix(self, state: State) -> Gates:
        return split_gates(self.recurrent_weight @ state)
