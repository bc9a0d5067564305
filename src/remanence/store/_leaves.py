"""Pytrees as named arrays: all of this room that needs JAX, which is slow to import."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from remanence.errors import StoreError
from remanence.store._arrays import describe_array

_REMEDY = "use it with the configuration and version that wrote it"


def name_leaves(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a pytree, by their paths in it; of random keys, their words.

    >>> from remanence import store
    >>> leaves = store.name_leaves({"layers": [jnp.zeros(2)], "key": jax.random.key(0)})
    >>> {name: leaf.shape for name, leaf in leaves.items()}
    {'key': (2,), 'layers.0': (2,)}
    """
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {_name(path): np.asarray(_unwrap_key(leaf)) for path, leaf in leaves}


def restore_leaves(template: Any, arrays: Mapping[str, np.ndarray], source: Path) -> Any:
    """A pytree like `template` (arrays or their shapes), filled with arrays by path.

    Names, shapes and types must be the template's; the error names `source`, the arrays' file.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> template = {"layers": [jnp.zeros(2)]}
    >>> store.restore_leaves(template, {"layers.0": np.ones(2, np.float32)}, Path("some file"))
    {'layers': [array([1., 1.], dtype=float32)]}
    """
    paths, structure = jax.tree_util.tree_flatten_with_path(template)
    names = [_name(path) for path, _ in paths]
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))[0]
        raise StoreError(source, f"does not fit what is asked for, as to {odd!r}", _REMEDY)
    leaves = []
    for name, (_, leaf) in zip(names, paths, strict=True):
        found = describe_array(arrays[name])
        wanted = describe_array(jax.eval_shape(_unwrap_key, leaf))
        if found != wanted:
            raise StoreError(source, f"{name!r} is {found}, not {wanted}", _REMEDY)
        leaves.append(_wrap_key(arrays[name], leaf))
    return jax.tree.unflatten(structure, leaves)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _unwrap_key(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _wrap_key(array: np.ndarray, like: Any) -> Any:
    return jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(like) else array
