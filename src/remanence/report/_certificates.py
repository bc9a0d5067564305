"""Certificates in a few words, as a table of the report has them."""

from collections.abc import Mapping
from typing import Any

from remanence.evaluation import LengthSet


def describe_certificate(certificate: Mapping[str, Any]) -> dict[str, str]:
    """What a row of the report's tables of certificates says."""
    bitwise, contraction = certificate["bitwise"], certificate["contraction"]
    settled = [
        "open" if cue["transient"] is None else f"{cue['transient']:,}" for cue in bitwise["cues"]
    ]
    return {
        "solved": _show_lengths(bitwise["solved"]),
        "optimal": _show_lengths(bitwise["optimal"]),
        "failure": _show_failure(bitwise),
        "settled": " / ".join(settled),
        "merge": _show_merge(bitwise["merge"], "open" in settled),
        "contraction": contraction["verdict"],
    }


def _show_failure(bitwise: Mapping[str, Any]) -> str:
    """Where it first takes no right arm in time; if nowhere, where it first wastes a step."""
    failure, waste = (bitwise["failures"][name] for name in ("solved", "optimal"))
    if failure is not None:
        return f"{failure['kind']} at {failure['length']:,}"
    found = "not known" if bitwise["solved"] is None else "none"
    return f"{found}; first waste: {waste['kind']} at {waste['length']:,}" if waste else found


def _show_merge(merge: int | None, is_open: bool) -> str:
    if merge is None:
        return "open" if is_open else "never"
    return f"{merge:,}"


def _show_lengths(lengths: dict[str, Any] | None) -> str:
    return "undecided" if lengths is None else str(LengthSet.from_json(lengths))
