"""GRU (Cho et al. 2014), with one bias for each gate."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.cells._cell import AbstractGatedCell
from remanence.cells._weights import Projection, orthogonal_gates


class GRU(AbstractGatedCell):
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

    def update(
        self, projected: Float[Array, "3 state"], state: Float[Array, " state"]
    ) -> Float[Array, " state"]:
        recurrent = self.recurrent_weight @ state
        r, z = jax.nn.sigmoid(projected[:2] + recurrent[:2])
        n = jnp.tanh(projected[2] + r * recurrent[2])
        return z * state + (1 - z) * n
