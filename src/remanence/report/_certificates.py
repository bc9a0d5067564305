"""Certificates in a few words, as a table of the report has them."""

from collections.abc import Mapping
from typing import Any

from remanence.certificates import LengthSet


def describe_certificate(certificate: Mapping[str, Any]) -> dict[str, str]:
    """What a row of the report's tables of certificates says."""
    compiled, contraction = certificate["compiled"], certificate["contraction"]
    settled = [
        "open" if cue["transient"] is None else f"{cue['transient']:,}" for cue in compiled["cues"]
    ]
    return {
        "solved": _show_lengths(compiled["solved"]),
        "optimal": _show_lengths(compiled["optimal"]),
        "failure": _show_failure(compiled),
        "settled": " / ".join(settled),
        "merge": _show_merge(compiled["merge"], "open" in settled),
        "contraction": "not proved" if contraction is None else "proved",
    }


def _show_failure(compiled: Mapping[str, Any]) -> str:
    """Where it is first not right in time; if nowhere, where it first wastes a step."""
    failure, waste = (compiled["failures"][name] for name in ("solved", "optimal"))
    if failure is not None:
        return f"{failure['kind']} at {failure['length']:,}"
    found = "not known" if compiled["solved"] is None else "none"
    return f"{found}; first waste: {waste['kind']} at {waste['length']:,}" if waste else found


def _show_merge(merge: int | None, is_open: bool) -> str:
    if merge is None:
        return "open" if is_open else "never"
    return f"{merge:,}"


def _show_lengths(lengths: dict[str, Any] | None) -> str:
    return "undecided" if lengths is None else str(LengthSet.from_json(lengths))
