"""An agent's file of weights, read with suspicion."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._certificates import architecture
from ._fields import choice, demand, parse_json, read_bytes, record, several, whole

LARGEST_FILE, LARGEST_HEADER = 512 * 2**20, 2**20  # bytes
MOST_NUMBERS = 10**8


def read_agent(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of an agent's safetensors file, and the architecture that its header names."""
    content = read_bytes(path, LARGEST_FILE)
    end = 8 + int.from_bytes(content[:8], "little")
    demand(8 < end <= len(content), f"{path} is not a safetensors file")
    demand(end <= LARGEST_HEADER, f"the header of {path} has {end:,} bytes, which is too many")
    entries = parse_json(content[8:end], f"the header of {path}")
    demand(isinstance(entries, dict), f"the header of {path} is not an object")
    metadata = entries.pop("__metadata__", None)
    ours = isinstance(metadata, dict) and isinstance(metadata.get("remanence"), str)
    demand(ours, f"{path} was not written by remanence")
    header = parse_json(metadata["remanence"], f"what remanence wrote to {path}")
    demand(isinstance(header, dict), f"what remanence wrote to {path} is not an object")
    data = memoryview(content)[end:]
    taken = sum(_count_bytes(entry) for entry in entries.values())
    demand(taken <= len(data), f"the arrays of {path} overlap")
    arrays = {name: _read_array(data, entry, name) for name, entry in entries.items()}
    return arrays, architecture(header.get("architecture"), "architecture")


def _count_bytes(entry: Any) -> int:
    found = entry.get("data_offsets") if isinstance(entry, dict) else None
    pair = isinstance(found, list) and len(found) == 2 and all(type(end) is int for end in found)
    return found[1] - found[0] if found and pair else 0


def _read_array(data: memoryview, entry: Any, name: str) -> np.ndarray:
    read = record(
        dtype=choice("F32", "F64"),
        shape=several(whole(0, MOST_NUMBERS), 0, 8),
        data_offsets=several(whole(0, len(data)), 2, 2),
    )
    found = read(entry, f"array {name!r}")
    dtype = np.dtype("<f4" if found["dtype"] == "F32" else "<f8")
    first, last = found["data_offsets"]
    count = math.prod(found["shape"])
    fits = last - first == count * dtype.itemsize
    demand(fits, f"array {name!r} has {last - first} bytes, not those of its shape")
    return np.frombuffer(data[first:last], dtype).reshape(found["shape"]).astype(dtype.type)


def take_policy(
    arrays: Mapping[str, np.ndarray], shape: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """The policy's weights, which must be finite and exactly those of the architecture."""
    weights = {
        name.removeprefix("policy."): array
        for name, array in arrays.items()
        if name.startswith("policy.")
    }
    # A minGRU has a ceiling of its decay, or has none.
    wanted = {
        name: size
        for name, size in _list_shapes(shape)
        if name in weights or not name.endswith(".ceiling")
    }
    odd = sorted(set(weights) ^ set(wanted))
    demand(not odd, f"the weights do not fit the architecture, as to {odd[:1]}")
    for name, array in weights.items():
        fits = list(array.shape) == wanted[name]
        demand(fits, f"{name!r} has the shape {list(array.shape)}, not {wanted[name]}")
        demand(bool(np.isfinite(array).all()), f"{name!r} is not finite")
        fits = not name.endswith(".ceiling") or bool(np.all((array > 0) & (array <= 1)))
        demand(fits, f"{name!r} is not between 0 and 1")
    demand(len({array.dtype for array in weights.values()}) == 1, "the precision is not the same")
    return weights


def _list_shapes(shape: Mapping[str, Any]) -> Sequence[tuple[str, list[int]]]:
    """Name and shape of each of a policy's arrays."""
    inputs = shape["inputs"] if "inputs" in shape else 6 if shape["previous_action"] else 2
    # An LSTM's state is two numbers of each unit.
    width = shape["state_size"] // (2 if shape["cell"] == "lstm" else 1)
    found, size = [], inputs
    for place, layer in enumerate(shape["encoder"]):
        found += [(f"encoder.{place}.weight", [layer, size]), (f"encoder.{place}.bias", [layer])]
        size = layer
    for layer in range(shape["num_layers"]):
        prefix = "cell." if shape["num_layers"] == 1 else f"cell.cells.{layer}."
        found += _list_cell(shape["cell"], prefix, width, size)
        size = width
    for place, layer in enumerate(shape["head"]):
        found += [(f"head.{place}.weight", [layer, size]), (f"head.{place}.bias", [layer])]
        size = layer
    if shape["skip"]:
        last = shape["encoder"][-1] if shape["encoder"] else inputs
        demand(last == width, "with skip, the encoder's last size should be the cell's")
    return [*found, ("output.weight", [4, size]), ("output.bias", [4])]


def _list_cell(cell: str, prefix: str, width: int, size: int) -> list[tuple[str, list[int]]]:
    if cell == "hybrid":
        bmru = _list_cell("bmru", f"{prefix}cells.0.", width // 2, size)
        return bmru + _list_cell("mingru", f"{prefix}cells.1.", width // 2, size)
    gates = {"gru": 3, "brc": 3, "nbrc": 3, "lstm": 4}.get(cell, 2)
    found = [(f"{prefix}inputs.weight", [gates, width, size])]
    found.append((f"{prefix}inputs.bias", [gates, width]))
    recurrent = {"gru": [3, width, width], "nbrc": [2, width, width], "brc": [2, width]}
    recurrent["lstm"] = [4, width, width]
    if cell in recurrent:
        found.append((f"{prefix}recurrent_weight", recurrent[cell]))
    if cell in ("bmru", "mingru"):
        found.append((f"{prefix}{'alpha' if cell == 'bmru' else 'ceiling'}", [width]))
    return found


def find_discrete(shape: Mapping[str, Any]) -> np.ndarray:
    """Which components of the state are a BMRU's."""
    width = shape["state_size"]
    held = {"bmru": width, "hybrid": width // 2}.get(shape["cell"], 0)
    return np.tile(np.arange(width) < held, shape["num_layers"])


def hash_policy(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the names, types, shapes and numbers of the policy's arrays."""
    digest = hashlib.sha256()
    for name in sorted(name for name in arrays if name.startswith("policy.")):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.name}{list(array.shape)}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
