"""GRU (Cho et al. 2014), with one bias for each gate."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.cells._loops import State
from remanence.cells._unitwise import AbstractUnitwiseCell
from remanence.cells._weights import Gates, Projection, orthogonal_gates, split_gates


class GRU(AbstractUnitwiseCell):
    """Gated recurrent unit; gates are stacked in the order r, z, n.

    r = σ(W_xr x + W_hr h + b_r)
    z = σ(W_xz x + W_hz h + b_z)
    n = tanh(W_xn x + r * (W_hn h) + b_n)
    h <- z * h + (1 - z) * n

    As in Cho et al. (2014), in the form of their first version and of PyTorch: r multiplies W_hn h,
    and not h itself.

    >>> from remanence import cells
    >>> cell = cells.GRU(1, 2, key=jax.random.key(0))
    >>> state = cell.step(jnp.ones(1), cell.initial_state())
    >>> state.shape, bool((jnp.abs(state) < 1).all())
    ((2,), True)
    """

    inputs: Projection
    recurrent_weight: Float[Array, "3 state state"]

    def __init__(self, input_size: int, state_size: int, *, key: Key):
        self.inputs = Projection("rzn", input_size, state_size, key=derive_key(key, "input"))
        self.recurrent_weight = orthogonal_gates(derive_key(key, "recurrent"), "rzn", state_size)

    def mix(self, state: State) -> Gates:
        return split_gates(self.recurrent_weight @ state)

    def combine(self, projected: Gates, mixed: Gates, state: State) -> State:
        r = jax.nn.sigmoid(projected[0] + mixed[0])
        z = jax.nn.sigmoid(projected[1] + mixed[1])
        n = jnp.tanh(projected[2] + r * mixed[2])
        return z * state + (1 - z) * n
