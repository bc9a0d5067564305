"""minGRU (Feng et al. 2024), in the form without the positivity transform."""

import jax

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.cells._cell import AbstractGatedCell, AbstractLinearCell, State
from remanence.cells._weights import Gates, Projection


class MinGRU(AbstractGatedCell, AbstractLinearCell):
    """A GRU whose gate and candidate see the input alone; monostable by construction.

        z = σ(W_z x + b_z)
        n = W_n x + b_n
        h <- z * h + (1 - z) * n

    As in Feng et al. (2024), whose z is our 1 - z. `inputs` stacks z and n in that order. A new
    cell without input halves its state:

    >>> from remanence import cells
    >>> cell = cells.MinGRU(1, 2, key=jax.random.key(0))
    >>> cell.step(jnp.zeros(1), jnp.array([1.0, -1.0]))
    Array([ 0.5, -0.5], dtype=float32)
    """

    inputs: Projection

    def __init__(self, input_size: int, state_size: int, *, key: Key):
        self.inputs = Projection("zn", input_size, state_size, key=derive_key(key, "input"))

    def coefficients(self, projected: Gates) -> tuple[State, State]:
        z, n = jax.nn.sigmoid(projected[0]), projected[1]
        return z, (1 - z) * n
