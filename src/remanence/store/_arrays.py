"""Named arrays in safetensors files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save

from remanence.errors import StoreError
from remanence.store._files import write_bytes

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
    write_bytes(path, save(contiguous, metadata))


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


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, types, shapes and numbers: safetensors has no checksum of its own."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {describe_array(arrays[name])}\n".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def describe_array(array: Any) -> str:
    """Its type and shape, in a word."""
    return f"{np.dtype(array.dtype).name}{list(array.shape)}"
