"""Options of environments and cells as they are typed: `length=10 num_mazes=1:20`."""

import json
from collections.abc import Sequence
from typing import Any

from remanence.errors import InvalidOptionError


def parse_options(assignments: Sequence[str]) -> dict[str, Any]:
    """Name and value of each `name=value`; a value is JSON, a range low:high, or a word."""
    options = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name:
            raise InvalidOptionError("--set", assignment, "write name=value, such as length=10")
        options[name.replace("-", "_")] = _parse_value(text)
    return options


def _parse_value(text: str) -> Any:
    low, colon, high = text.partition(":")
    if colon:
        return _parse_value(low), _parse_value(high)
    if text == "none":
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
