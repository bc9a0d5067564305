"""Named arrays in safetensors files, and pytrees as named arrays."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
from safetensors.numpy import save

from remanence.errors import StoreError
from remanence.store._files import write_whole

_HEADER = "remanence"
_DIGEST = "sha256"


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> None:
    """Write arrays, of any shapes, and a header that goes to JSON, as one safetensors file.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.save_arrays(Path("run.safetensors"), {"states": np.zeros((3, 2))}, {"seed": 1})
    >>> arrays, header = store.load_arrays(Path("run.safetensors"))
    >>> arrays["states"].shape, header
    ((3, 2), {'seed': 1})
    """
    # Not `ascontiguousarray`, which makes a vector of a scalar.
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    metadata = {_HEADER: json.dumps(header), _DIGEST: _digest(contiguous)}

    # Not `save_file`, whose files only their owner can read; results are for everyone.
    written = save(contiguous, metadata)

    def write(temporary: Path) -> None:
        temporary.write_bytes(written)

    write_whole(path, write)


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the header that `save_arrays` wrote; a damaged file is refused.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.save_arrays(Path("run.safetensors"), {"alpha": np.ones(2)}, {})
    >>> _ = Path("run.safetensors").write_bytes(Path("run.safetensors").read_bytes()[:-1])
    >>> store.load_arrays(Path("run.safetensors"))
    Traceback (most recent call last):
    remanence.errors.StoreError: run.safetensors: not a whole safetensors file ...
    """
    if not path.exists():
        raise StoreError(path, "there is no such file", "check the path")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    # Numbers of a kind that NumPy does not have are a TypeError.
    except (safetensors.SafetensorError, OSError, TypeError) as error:
        raise StoreError(
            path, f"not a whole safetensors file ({error})", "restore it from a copy"
        ) from error
    if _HEADER not in metadata:
        raise StoreError(path, "this file was not written by remanence", "give one that was")
    if metadata.get(_DIGEST) != _digest(arrays):
        raise StoreError(path, "its contents have been damaged", "restore it from a copy")
    try:
        return arrays, json.loads(metadata[_HEADER])
    except (json.JSONDecodeError, RecursionError) as error:
        problem = f"its header has been damaged ({error})"
        raise StoreError(path, problem, "restore it from a copy") from error


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
        found, wanted = _describe(arrays[name]), _describe(jax.eval_shape(_unwrap_key, leaf))
        if found != wanted:
            raise StoreError(source, f"{name!r} is {found}, not {wanted}", _REMEDY)
        leaves.append(_wrap_key(arrays[name], leaf))
    return jax.tree.unflatten(structure, leaves)


_REMEDY = "use it with the configuration and version that wrote it"


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _unwrap_key(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _wrap_key(array: np.ndarray, like: Any) -> Any:
    return jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(like) else array


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, types, shapes and numbers: safetensors has no checksum of its own."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {_describe(arrays[name])}\n".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def _describe(array: Any) -> str:
    return f"{np.dtype(array.dtype).name}{list(array.shape)}"
