"""Certificates with one thing changed, in every way that changes what it means."""

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from remanence.certificates import LengthSet

Path = tuple[str | int, ...]
WORDS = (
    ("gru", "lstm", "brc", "nbrc", "mingru", "bmru", "hybrid"),
    ("forgets", "wrong arm", "turns early", "steps back", "stalls at the junction"),
    ("right", "up", "left", "down"),
    ("boxes", "parallelepipeds"),
    ("binary32", "binary64"),
    ("portable", "compiled"),
)
EVERY, NONE = ({"listed": 1, "period": 1, "runs": runs} for runs in ([[1, 1]], []))


def list_mutants(certificate: dict[str, Any]) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
    """Where it was changed, into what, and the whole certificate."""
    for path in list_paths(certificate):
        value = find(certificate, path)
        for changed in twist(value):
            if json.dumps(changed) != json.dumps(value):
                yield path, changed, replace(certificate, path, changed)


def list_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """All places in a certificate, the whole of it first."""
    yield path
    if isinstance(value, dict):
        for name, part in value.items():
            yield from list_paths(part, (*path, name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from list_paths(part, (*path, place))


def find(value: Any, path: Path) -> Any:
    """What is at a place."""
    for step in path:
        value = value[step]
    return value


def replace(certificate: Any, path: Path, changed: Any) -> Any:
    """The certificate with something else at a place; it shares with the old one what is equal."""
    if not path:
        return changed
    whole = copy.copy(certificate)
    whole[path[0]] = replace(certificate[path[0]], path[1:], changed)
    return whole


def twist(value: Any) -> list[Any]:
    """Values that mean something else than this one, or nothing."""
    match value:
        case bool():
            return [not value, None, int(value), str(value).lower()]
        case int():
            near = [value + 1, value - 1, 2 * value + 1, -value, value + 10**6, 10**12]
            return [*near, value + 0.5, float(value), str(value), None, True, [value]]
        case float():
            near = [math.nextafter(value, math.inf), 2 * value + 1, -value, 0.0, 1e300]
            return [*near, str(value), None, True, [value]]
        case str():
            others = [word for words in WORDS if value in words for word in words]
            return [*others, value + "x", value.upper(), value.title(), value[:-1], "", None, 1]
        case None:
            return [0, 1, 0.5, True, False, "", [], {}, EVERY, NONE]
        case list():
            fewer = [value[:-1], value[1:], value[::-1], value + value[-1:], [], None, {}]
            return fewer
        case _:
            return list(twist_object(value))


def twist_object(value: dict[str, Any]) -> Iterator[Any]:
    yield from ([], None, {}, {**value, "more": 1})
    for name in value:
        rest = {other: part for other, part in value.items() if other != name}
        yield from (rest, {**rest, name.title() if name != name.title() else "x": value[name]})
    if set(value) == {"listed", "period", "runs"}:
        yield from twist_lengths(value)


def twist_lengths(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Other sets of lengths, each in its one right form."""
    lengths = LengthSet.from_json(found)
    listed = lengths.unfold(len(lengths.listed) + lengths.period)
    for place in sorted({0, 1, len(listed) // 2, len(lengths.listed) - 1, len(listed) - 1}):
        odd = listed.copy()
        odd[place % len(odd)] ^= True
        yield LengthSet(odd, lengths.period).to_json()
    for tail in (True, False):
        yield LengthSet(np.append(listed, tail), 1).to_json()
        yield LengthSet(np.append(lengths.unfold(150_000), tail), 1).to_json()
    yield from (EVERY, NONE)
