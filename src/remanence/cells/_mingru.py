"""minGRU (Feng et al. 2024), in the form without the positivity transform."""

import jax
import jax.numpy as jnp

from remanence._keys import derive_key
from remanence._numbers import is_number
from remanence._typing import Key
from remanence.cells._cell import AbstractGatedCell, AbstractLinearCell, State
from remanence.cells._weights import Gates, Projection
from remanence.errors import InvalidOptionError

NO_CEILING = 1.0


class MinGRU(AbstractGatedCell, AbstractLinearCell):
    """A GRU whose gate and candidate see the input alone; monostable by construction.

        z = σ(W_z x + b_z)
        n = W_n x + b_n
        h <- z * h + (1 - z) * n

    As in Feng et al. (2024), whose z is our 1 - z. `inputs` stacks z and n in that order.

    With a `decay_ceiling` c below 1, z = c σ(W_z x + b_z), so that nothing is remembered for much
    longer than 1 / (1 - c) steps. It is kept with the weights, as `ceiling`, and is not trained.

    A new cell without input halves its state:

    >>> from remanence import cells
    >>> cell = cells.MinGRU(1, 2, key=jax.random.key(0))
    >>> cell.step(jnp.zeros(1), jnp.array([1.0, -1.0]))
    Array([ 0.5, -0.5], dtype=float32)
    """

    inputs: Projection
    ceiling: State | None

    def __init__(
        self, input_size: int, state_size: int, *, key: Key, decay_ceiling: float = NO_CEILING
    ):
        if not is_number(decay_ceiling) or not 0 < decay_ceiling <= NO_CEILING:
            raise InvalidOptionError(
                "decay_ceiling", decay_ceiling, "use a number above 0 and up to 1, which is none"
            )
        self.inputs = Projection("zn", input_size, state_size, key=derive_key(key, "input"))
        self.ceiling = None if decay_ceiling == NO_CEILING else jnp.full(state_size, decay_ceiling)

    def coefficients(self, projected: Gates) -> tuple[State, State]:
        z, n = jax.nn.sigmoid(projected[0]), projected[1]
        if self.ceiling is not None:
            z = jax.lax.stop_gradient(self.ceiling) * z
        return z, (1 - z) * n
