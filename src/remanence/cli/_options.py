"""What is typed: options of environments and cells (`length=10 num_mazes=1:20`), seeds."""

import json
import re
from collections.abc import Sequence
from typing import Any

from remanence.errors import InvalidOptionError
from remanence.training import LARGEST_SEED, MOST_SEEDS, check_seeds


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
    return check_seeds(parse_numbers("seeds", text, 0))


def parse_numbers(name: str, text: str, least: int) -> list[int]:
    """Whole numbers from `least` on, as they are typed: 7, 1-30, or 1,4,10-12."""
    ranges = [_parse_range(name, text, part, least) for part in text.split(",")]
    # Counted before they are listed, as a slip of the hand asks for billions.
    if sum(map(len, ranges)) > MOST_SEEDS:
        raise InvalidOptionError(name, text, f"at most {MOST_SEEDS:,} are possible")
    return [number for numbers in ranges for number in numbers]


def _parse_range(name: str, text: str, part: str, least: int) -> range:
    low, dash, high = part.partition("-")
    try:
        first, last = int(low), int(high if dash else low)
    except ValueError as error:
        raise InvalidOptionError(name, text, "write 7, 1-30 or 1,4,10-12") from error
    if not least <= first <= last <= LARGEST_SEED:
        remedy = f"use numbers from {least} to {LARGEST_SEED:,}, the smaller one of a range first"
        raise InvalidOptionError(name, text, remedy)
    return range(first, last + 1)
