"""Numbers as users give them: one check for all options."""

import numbers
from typing import Any

import numpy as np

from remanence.errors import InvalidOptionError


def is_number(value: Any) -> bool:
    """Whether it is a real number; true and false are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(number: Any, lowest: int, highest: int | None = None) -> bool:
    """Whether it is a whole number between these; true and false are none."""
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        return False
    return bool(lowest <= number and (highest is None or number <= highest))


def check_whole(option: str, number: Any, lowest: int, highest: int | None = None) -> int:
    """The number, if it is whole and between these; an error that names the option if not."""
    if not is_whole(number, lowest, highest):
        ends = f"of {lowest:,} or more" if highest is None else f"from {lowest:,} to {highest:,}"
        raise InvalidOptionError(option, number, f"use a whole number {ends}")
    return int(number)
