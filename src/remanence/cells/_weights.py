"""The weights of cells and how they start. The paper does not say how; these choices are ours."""

import functools
from collections.abc import Callable, Iterable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence._keys import derive_keys
from remanence._numbers import check_whole
from remanence._typing import Key, Keys

Gates = tuple[Float[Array, " state"], ...]

_xavier = jax.nn.initializers.glorot_uniform(in_axis=-1, out_axis=-2)
_orthogonal = jax.nn.initializers.orthogonal()


class Projection(eqx.Module):
    """What every gate sees of the input, W x + b, gates stacked in a cell's own order.

    From (input,) to a vector (state,) for each gate. The gates are named, as each draws its weights
    by its name: uniform, as in Glorot and Bengio (2010); biases start at 0.

    >>> from remanence import cells
    >>> projection = cells.Projection("rzn", 1, 2, key=jax.random.key(0))
    >>> [gate.shape for gate in projection(jnp.ones(1))]
    [(2,), (2,), (2,)]
    """

    weight: Float[Array, "gates state input"]
    bias: Float[Array, "gates state"]

    def __init__(self, gates: Sequence[str], input_size: int, state_size: int, *, key: Key):
        check_whole("input_size", input_size, 1)
        check_whole("state_size", state_size, 1)
        self.weight = xavier_gates(key, gates, state_size, input_size)
        self.bias = jnp.zeros((len(gates), state_size))

    def __call__(self, input: Float[Array, " input"]) -> Gates:
        return tuple(self.stacked(input))

    def stacked(self, input: Float[Array, " input"]) -> Float[Array, "gates state"]:
        """The same as one array.

        >>> from remanence import cells
        >>> projection = cells.Projection("rzn", 1, 2, key=jax.random.key(0))
        >>> projection.stacked(jnp.ones(1)).shape
        (3, 2)
        """
        # The input comes first, so that the outputs of a batch are rows as its inputs are.
        return jnp.tensordot(input, self.weight, (0, 2)) + self.bias

    def over(
        self, inputs: Float[Array, "*batch input"]
    ) -> tuple[Float[Array, "*batch state"], ...]:
        """The same of all inputs at once, with a faster gradient but none in forward mode.

        >>> from remanence import cells
        >>> projection = cells.Projection("rzn", 1, 2, key=jax.random.key(0))
        >>> [gate.shape for gate in projection.over(jnp.ones((5, 4, 1)))]
        [(5, 4, 2), (5, 4, 2), (5, 4, 2)]
        """
        num_gates, size, width = self.weight.shape
        rows = _multiply_rows(inputs.reshape(-1, width), self.weight.reshape(-1, width))
        gates = jax.lax.split(rows + self.bias.reshape(1, -1), (size,) * num_gates, axis=1)
        return tuple(gate.reshape(*inputs.shape[:-1], size) for gate in gates)


@jax.custom_vjp
def _multiply_rows(
    rows: Float[Array, "rows input"], weight: Float[Array, "output input"]
) -> Float[Array, "rows output"]:
    return rows @ weight.T


def _multiply_rows_back(residuals: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
    rows, weight = residuals
    # Rows of inputs are transposed here; JAX would transpose those of all gates, which are longer.
    return cotangent @ weight, (rows.T @ cotangent).T


_multiply_rows.defvjp(lambda *given: (_multiply_rows(*given), given), _multiply_rows_back)


def split_gates(gates: Float[Array, "gates state"]) -> Gates:
    """Each gate as an array of its own.

    XLA's CPU backend does not vectorise loops that read several gates out of one array, and takes
    up to seven times as long for them. Gradients are concatenated, where those of slices would be
    padded and added up.
    """
    num_gates, size = gates.shape
    return tuple(jax.lax.split(gates.reshape(-1), (size,) * num_gates))


def xavier_gates(
    key: Key, gates: Iterable[str], rows: int, columns: int
) -> Float[Array, "gates {rows} {columns}"]:
    """One Xavier-uniform matrix for each gate (Glorot and Bengio 2010)."""
    return _draw(_xavier, derive_keys(key, gates), (rows, columns))


def orthogonal_gates(
    key: Key, gates: Iterable[str], size: int
) -> Float[Array, "gates {size} {size}"]:
    """One orthogonal matrix for each gate (Saxe et al. 2014)."""
    return _draw(_orthogonal, derive_keys(key, gates), (size, size))


@functools.partial(jax.jit, static_argnums=(0, 2))
def _draw(initializer: Callable[..., Array], keys: Keys, shape: tuple[int, int]) -> Array:
    """A matrix for each key, by one program: operation by operation, each would be compiled."""
    return jax.vmap(lambda key: initializer(key, shape))(keys)
