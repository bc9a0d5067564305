"""Readers for untrusted JSON: every field is there, known, of its type and within bounds.

What cannot be read so is refused with a `CertificateError`; nothing is skipped or guessed.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

Reader = Callable[[Any, str], Any]
Check = Callable[[dict[str, Any], str], None]


class CertificateError(ValueError):
    """A certificate or a file of weights that cannot be read as one.

    >>> from remanence import checker
    >>> checker.check("certificate.json", "agent.safetensors")
    Traceback (most recent call last):
    remanence.checker._fields.CertificateError: certificate.json: No such file or directory
    """


def demand(holds: bool, problem: str) -> None:
    """Refuse what is not as it should be."""
    if not holds:
        raise CertificateError(problem)


def read_bytes(path: str | Path, most: int) -> bytes:
    """A file's contents, if it is not too large to be what it should be."""
    path = Path(path)
    try:
        size = path.stat().st_size
        demand(path.is_file(), f"{path} is not a file")
        demand(size <= most, f"{path} has {size:,} bytes, and no more than {most:,} are read")
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror or error}") from error


def parse_json(text: bytes | str, what: str) -> Any:
    """JSON without repeated names, and without numbers that are not finite."""
    try:
        return json.loads(
            text, object_pairs_hook=_make_object, parse_constant=_refuse, parse_float=_parse_float
        )
    except RecursionError as error:
        raise CertificateError(f"{what} is nested too deeply") from error
    except ValueError as error:
        raise CertificateError(f"{what} is not the JSON it should be: {error}") from error


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands in an object twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


def _parse_float(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def record(*checks: Check, **fields: Reader) -> Reader:
    """An object with exactly these fields, each read by its reader; all of it is then checked."""

    def read(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise misfit(name, "an object", value)
        if value.keys() != fields.keys():
            odd = sorted(value.keys() ^ fields.keys())
            known = "lacks" if odd[0] in fields else "has an unknown field"
            raise CertificateError(f"{name} {known} {odd[0]!r}")
        found = {field: read(value[field], f"{name}.{field}") for field, read in fields.items()}
        for check in checks:
            check(found, name)
        return found

    return read


def whole(low: int, high: int) -> Reader:
    """Whole numbers within bounds; true and 1.0 are none."""

    def read(value: Any, name: str) -> int:
        if not (type(value) is int and low <= value <= high):
            raise misfit(name, f"a whole number from {low:,} to {high:,}", value)
        return value

    return read


def choice(*values: Any) -> Reader:
    """One of some values, of the same type."""

    def read(value: Any, name: str) -> Any:
        if not any(value == known and type(value) is type(known) for known in values):
            raise misfit(name, f"one of {list(values)}", value)
        return value

    return read


def text(value: Any, name: str) -> str:
    """Some plain text of a sensible length, which may be printed."""
    fits = isinstance(value, str) and len(value) <= 1_000 and value.isprintable()
    if not (fits and value.isascii()):
        raise misfit(name, "plain text", value)
    return value


def number(value: Any, name: str) -> float:
    """A finite number."""
    if not (type(value) in (int, float) and abs(value) <= 1e300):
        raise misfit(name, "a number", value)
    return float(value)


def optional(reader: Reader) -> Reader:
    """The same, or null."""
    return lambda value, name: None if value is None else reader(value, name)


def several(reader: Reader, low: int, high: int) -> Reader:
    """A list of so many."""

    def read(value: Any, name: str) -> list[Any]:
        if not (isinstance(value, list) and low <= len(value) <= high):
            raise misfit(name, f"a list of {low:,} to {high:,}", value)
        entry = f"an entry of {name}"
        return [reader(part, entry) for part in value]

    return read


def misfit(name: str, wanted: str, value: Any) -> CertificateError:
    """The refusal of a field that is not what is wanted; in words only once it is one."""
    return CertificateError(f"{name} should be {wanted}, not {show(value)}")


def show(value: Any) -> str:
    """A value for an error message, cut short."""
    if isinstance(value, dict | list):
        return f"a{'n object' if isinstance(value, dict) else ' list'} of {len(value):,}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        return "a huge number"
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
