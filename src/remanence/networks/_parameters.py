"""How many parameters a module has, and where."""

from typing import Any, NamedTuple

import equinox as eqx
import jax


class ParameterCount(NamedTuple):
    """One array of parameters: where it is, its shape and its size."""

    path: str
    shape: tuple[int, ...]
    size: int


def count_parameters(module: Any) -> list[ParameterCount]:
    """Every array of parameters in a module, from the input to the output."""
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(module, eqx.is_inexact_array))
    return [
        ParameterCount(jax.tree_util.keystr(path).lstrip("."), leaf.shape, leaf.size)
        for path, leaf in leaves
    ]
