"""Options of environments and cells as they are typed: `length=10 num_mazes=1:20`."""

import json
import re
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
    if re.fullmatch(r"-?\d+:-?\d+", text):
        low, _, high = text.partition(":")
        return int(low), int(high)
    if text == "none":
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def parse_seeds(text: str) -> list[int]:
    """Seeds as they are typed: 7, 1-30, or 1,4,10-12."""
    seeds = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        try:
            seeds += range(int(low), int(high if dash else low) + 1)
        except ValueError as error:
            raise InvalidOptionError("seeds", text, "write 7, 1-30 or 1,4,10-12") from error
    return seeds
