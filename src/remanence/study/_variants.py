"""Variants of a whole study: options that are changed one at a time, and combinations of them."""

from collections.abc import Mapping
from typing import Any

from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.study._names import check_variant

Changes = dict[str, Any]


def read_variants(given: Mapping[str, Any]) -> dict[str, Changes]:
    """What each variant changes: a table of options, or those of the variants that a list names.

    >>> from remanence import study
    >>> given = {"short": {"length": 2}, "blunt": {"discount": 0.9}, "both": ["short", "blunt"]}
    >>> study.read_variants(given)["both"]
    {'length': 2, 'discount': 0.9}
    """
    for name in given:
        if not name:
            raise InvalidOptionError("variants", name, "the main arm has no name; name the others")
        check_variant(name)
    single = {name: it for name, it in given.items() if isinstance(it, Mapping)}
    return {
        name: dict(it) if name in single else _combine(name, it, single)
        for name, it in given.items()
    }


def _combine(name: str, parts: Any, single: Mapping[str, Mapping[str, Any]]) -> Changes:
    if not isinstance(parts, list) or len(parts) < 2:
        remedy = "give a table of options, or a list of two or more variants to combine"
        raise InvalidOptionError(f"variants.{name}", parts, remedy)
    changes: Changes = {}
    for part in parts:
        if not isinstance(part, str) or part not in single:
            raise UnknownNameError("variant", str(part), single)
        twice = changes.keys() & single[part].keys()
        if twice:
            remedy = f"two of them change {', '.join(sorted(twice))}; leave one out"
            raise InvalidOptionError(f"variants.{name}", parts, remedy)
        changes |= single[part]
    return changes
