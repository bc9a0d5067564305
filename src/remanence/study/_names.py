"""What jobs, models and variants are called, and which names can be those of files."""

import re
from collections.abc import Sequence
from typing import Any

from remanence.errors import InvalidOptionError
from remanence.networks import architectures
from remanence.training import presets

PLAIN_NETWORK = "small"
# File systems take 255 bytes, of which endings and those of temporary files need some.
LONGEST_NAME = 200
LONGEST_VARIANT = 40
_VARIANT = rf"(?:[a-z0-9][a-z0-9_-]{{0,{LONGEST_VARIANT - 1}}})?"


def check_file_name(option: str, name: Any) -> None:
    """Raise unless a name can be that of a file in a directory of ours, and in no other.

    Plans may come from others, and their names become parts of paths.
    """
    harmless = (
        isinstance(name, str)
        and name.isprintable()  # which rules out NUL, line breaks and what is no UTF-8
        and not set(name) & set("/\\")
        and not name.startswith(".")
        and 0 < len(name.encode()) <= LONGEST_NAME
    )
    if not harmless:
        remedy = (
            f"files are named after it; use 1 to {LONGEST_NAME} letters, digits and marks, none of "
            "them a slash or backslash, and no dot at the start"
        )
        raise InvalidOptionError(option, name, remedy)


def check_variant(name: Any) -> None:
    """Raise unless it names a variant, or nothing, as the main arm is called."""
    if not isinstance(name, str) or not re.fullmatch(_VARIANT, name):
        remedy = (
            f"use 1 to {LONGEST_VARIANT} lower-case letters, digits, '-' and '_', such as "
            "paper-step, or leave it out for the study's main arm"
        )
        raise InvalidOptionError("variant", name, remedy)


def name_job(
    preset: str,
    network: str,
    cell: str,
    variant: str = "",
    seeds: Sequence[int] | None = None,
) -> str:
    """A job's id, such as preset-gru-variant; with seeds if there are other jobs for others."""
    arm = f"-{variant}" if variant else ""
    batch = f"-s{seeds[0]}-{seeds[-1]}" if seeds else ""
    return f"{preset}-{name_model(preset, network, cell)}{arm}{batch}"


def name_model(preset: str, network: str, cell: str) -> str:
    """The cell's name in the preset's network, and another network's where it has its own cell.

    A preset that only its author has is taken to be one of small networks.
    """
    plain = presets[preset].architecture if preset in presets else PLAIN_NETWORK
    own = network in architectures and architectures[network].cell == cell
    return cell if network == plain else network if own else f"{network}-{cell}"
