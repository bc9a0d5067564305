"""How many parameters a module has, and where."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp


class ParameterCount(NamedTuple):
    """One array of parameters: where it is, its shape and its size.

    >>> from remanence import networks
    >>> networks.count_parameters({"bias": jnp.zeros(2)})
    [ParameterCount(path="['bias']", shape=(2,), size=2)]
    """

    path: str
    shape: tuple[int, ...]
    size: int


def count_parameters(module: Any) -> list[ParameterCount]:
    """Every array of parameters in a module, or in its shape, from the input to the output.

    >>> from remanence import cells, networks
    >>> counts = networks.count_parameters(cells.MinGRU(1, 2, key=jax.random.key(0)))
    >>> [count.path for count in counts], sum(count.size for count in counts)
    (['inputs.weight', 'inputs.bias'], 8)
    """
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(module, _is_parameter))
    return [
        ParameterCount(jax.tree_util.keystr(path).lstrip("."), leaf.shape, leaf.size)
        for path, leaf in leaves
    ]


def _is_parameter(leaf: Any) -> bool:
    is_array = isinstance(leaf, jax.Array | jax.ShapeDtypeStruct)
    return is_array and jnp.issubdtype(leaf.dtype, jnp.inexact)
