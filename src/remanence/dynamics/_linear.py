"""What the form of linear cells tells of their long run, without a step of it."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from remanence.cells import AbstractCell, AbstractLinearCell, Stack
from remanence.dynamics._maps import IdleMap, State, Step, is_smooth, to_jax, use_precision


def find_sole_attractor(step: Step) -> Float[np.ndarray, " state"] | None:
    """The state that every orbit tends to, where linear layers leave no other; else None.

    A linear cell's state tends to drive / (1 - decay) if each |decay| < 1, wherever it starts. So
    the layer above sees an input that settles, and its own state settles too. That takes
    coefficients that are continuous in the input, as a minGRU's are. A BMRU's jump, and nothing is
    said of it; a cell of one's own is believed not to. To settle may take far longer than anyone
    would wait: the steps of a decay of 1 - 1e-6 are counted in millions.

    >>> from remanence import cells, dynamics
    >>> linear = cells.MinGRU(1, 2, key=jax.random.key(0))
    >>> dynamics.find_sole_attractor(dynamics.idle_map(linear, np.zeros(1)))
    array([0., 0.])
    >>> jumping = cells.BMRU(1, 2, key=jax.random.key(0))
    >>> dynamics.find_sole_attractor(dynamics.idle_map(jumping, np.zeros(1))) is None
    True
    """
    if not isinstance(step, IdleMap) or not is_smooth(step.cell):
        return None
    with use_precision(step.input.dtype):
        states = _settle(*to_jax((step.cell, step.input)))
        return None if states is None else np.asarray(jnp.concatenate(states))


def _settle(cell: AbstractCell, input: Float[Array, " input"]) -> list[State] | None:
    """The states of all layers in the end, the lowest first."""
    if type(cell) is Stack:  # one with ways of its own may be anything
        states = []
        for layer in cell.cells:
            settled = _settle(layer, input)
            if settled is None:
                return None
            states += settled
            input = layer.read(jnp.concatenate(settled))
        return states
    if not isinstance(cell, AbstractLinearCell):
        return None
    decay, drive = cell.coefficients(cell.project(input))
    limit = drive / (1 - decay)
    return [limit] if bool(jnp.all((jnp.abs(decay) < 1) & jnp.isfinite(limit))) else None
