"""LSTM (Hochreiter and Schmidhuber 1997) with forget gates (Gers et al. 2000)."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence._keys import derive_key
from remanence._numbers import check_whole
from remanence._typing import Key
from remanence.cells._cell import AbstractGatedCell, State
from remanence.cells._weights import Projection, orthogonal_gates
from remanence.errors import InvalidOptionError


class LSTM(AbstractGatedCell):
    """Long short-term memory; gates are stacked in the order i, f, g, o, as PyTorch's are.

        i = σ(W_xi x + W_hi h + b_i)
        f = σ(W_xf x + W_hf h + b_f)
        g = tanh(W_xg x + W_hg h + b_g)
        o = σ(W_xo x + W_ho h + b_o)
        c <- f * c + i * g
        h <- o * tanh(c)

    The state is h, then c. Later layers see h alone, so that an LSTM of `state_size` 10 has 5 units
    and an `output_size` of 5. The forget gate's bias starts at `initial_forget_bias`; above 0 the
    memory is longer at the start of training (Jozefowicz et al. 2015 advise 1).

    >>> from remanence import cells
    >>> cell = cells.LSTM(1, 10, key=jax.random.key(0), initial_forget_bias=1.0)
    >>> state = cell.step(jnp.ones(1), cell.initial_state())
    >>> state.shape, cell.read(state).shape
    ((10,), (5,))
    """

    inputs: Projection
    recurrent_weight: Float[Array, "4 units units"]

    def __init__(
        self, input_size: int, state_size: int, *, key: Key, initial_forget_bias: float = 0.0
    ):
        if check_whole("state_size", state_size, 1) % 2:
            raise InvalidOptionError("state_size", state_size, "an LSTM's must be even: h, then c")
        if not math.isfinite(initial_forget_bias):
            raise InvalidOptionError("initial_forget_bias", initial_forget_bias, "use a number")
        inputs = Projection("ifgo", input_size, state_size // 2, key=derive_key(key, "input"))
        self.inputs = eqx.tree_at(
            lambda it: it.bias, inputs, inputs.bias.at[1].set(initial_forget_bias)
        )
        self.recurrent_weight = orthogonal_gates(
            derive_key(key, "recurrent"), "ifgo", state_size // 2
        )

    @property
    def state_size(self) -> int:
        return 2 * self.output_size

    @property
    def output_size(self) -> int:
        return self.inputs.weight.shape[-2]

    def read(self, state: State) -> Float[Array, " output"]:
        return state[: self.output_size]

    def project(self, input: Float[Array, " input"]) -> Float[Array, "4 units"]:
        return self.inputs.stacked(input)

    def update(self, projected: Float[Array, "4 units"], state: State) -> State:
        h, c = jnp.split(state, 2)
        seen = projected + self.recurrent_weight @ h
        i, f, o = (jax.nn.sigmoid(seen[gate]) for gate in (0, 1, 3))
        c = f * c + i * jnp.tanh(seen[2])
        return jnp.concatenate([o * jnp.tanh(c), c])
