"""Whether files are whole, and whether two directories are the same to the bit."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from remanence.cli import main
from remanence.errors import StoreError
from remanence.store import load_arrays, read_table

# What tells when and by which process something was done, and so differs by right; nothing else.
_LEFT_OUT = {
    "run.json": {"started"},
    "study.json": {"started", "continued"},
    "status": {"started", "updated", "seconds", "pid"},
}
# What changes until the work is done; every other file, once there, is as it will be.
_CHANGING = ("checkpoint.safetensors", "curves.parquet", "status", "study.json")
_END_OF_PNG = b"IEND\xaeB`\x82"

Bits = dict[str, Any]


def list_files(directory: Path) -> list[str]:
    """The names of all files, hidden ones included, but for holds, which tell who worked here."""
    files = [it for it in directory.rglob("*") if it.is_file() and not it.match(".lock.*")]
    return sorted(str(file.relative_to(directory)) for file in files)


def is_part(name: str) -> bool:
    """Whether a file is what a killed process had not finished writing."""
    return name.endswith(".part")


def read_directory(directory: Path) -> Bits:
    """All that files hold, as values that compare exactly."""
    return {name: _read(directory / name) for name in list_files(directory) if not is_part(name)}


def find_damage(directory: Path, before: Bits, reference: Bits) -> list[str]:
    """What is wrong with a directory in the middle of the work, in words.

    Files must be whole; one that does not change in the course of the work must be as it was
    before or as it is in the end.
    """
    problems = []
    for name in list_files(directory):
        if is_part(name):
            continue
        try:
            found = _read(directory / name)
        except FileNotFoundError:  # of workers that live on
            continue
        except (StoreError, ValueError) as error:
            problems.append(f"{name} is not whole: {error}")
            continue
        final = not any(part in _CHANGING for part in Path(name).parts)
        if final and found not in (before.get(name), reference.get(name)):
            problems.append(f"{name} is neither as it was nor as it is to be")
    lost = [name for name in before if not (directory / name).exists()]
    return problems + [f"{name} is gone" for name in lost]


def find_differences(directory: Path, reference: Bits, *, parts: bool) -> list[str]:
    """Where a directory differs from the reference; `parts` says whether leftovers may be there."""
    names = {name for name in list_files(directory) if not (parts and is_part(name))}
    problems = [f"{name} is missing" for name in sorted(reference.keys() - names)]
    problems += [f"{name} is too many" for name in sorted(names - reference.keys())]
    for name in sorted(names & reference.keys()):
        try:
            if _read(directory / name) != reference[name]:
                problems.append(f"{name} differs")
        except (StoreError, ValueError) as error:
            problems.append(f"{name} is not whole: {error}")
    return problems


def find_status_crash(study: Path) -> list[str]:
    """What `remanence status` dies of, if it does; that there is no study yet is no crash."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(["status", str(study)])
    except SystemExit as end:
        if (study / "study.json").exists():
            return [f"`remanence status` ends with {end.code}"]
    except Exception as error:
        return [f"`remanence status` dies of {error!r}"]
    return []


def _read(file: Path) -> Any:
    return _READERS.get(file.suffix, Path.read_bytes)(file)


def _read_arrays(file: Path) -> Any:
    """Not the file's bytes, in which names come in any order."""
    arrays, header = load_arrays(file)
    if isinstance(header.get("run"), dict):  # a checkpoint repeats its run's description
        header = header | {"run": _leave_out(header["run"], "run.json")}
    return {name: _describe(array) for name, array in arrays.items()}, json.dumps(header)


def _read_columns(file: Path) -> Any:
    return {name: _describe(column) for name, column in read_table(file).items()}


def _describe(array: np.ndarray) -> tuple[str, tuple[int, ...], Any]:
    bits = array.tolist() if array.dtype.kind == "O" else array.tobytes()
    return array.dtype.str, array.shape, bits


def _read_json(file: Path) -> str:
    kind = file.name if file.name in _LEFT_OUT else file.parent.name
    return json.dumps(_leave_out(json.loads(file.read_text()), kind))


def _leave_out(found: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: found[name] for name in found if name not in _LEFT_OUT.get(kind, set())}


def _read_picture(file: Path) -> bytes:
    read = file.read_bytes()
    if not read.endswith(_END_OF_PNG):
        raise ValueError("it has no end")
    return read


_READERS: dict[str, Callable[[Path], Any]] = {
    ".safetensors": _read_arrays,
    ".parquet": _read_columns,
    ".json": _read_json,
    ".png": _read_picture,
}
