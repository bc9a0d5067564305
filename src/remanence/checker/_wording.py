"""What a certificate says, and what came of it, in words for one screen."""

from collections.abc import Iterator, Mapping
from typing import Any

from . import _lengths

CUES = {-1: "up", 1: "down"}


def describe_claims(claims: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Name, words and value of every statement about a program, as far as they are made."""
    yield "solved", f"right arm in time: {_lengths.describe(claims['solved'])}", claims["solved"]
    yield "optimal", f"no wasted step: {_lengths.describe(claims['optimal'])}", claims["optimal"]
    for name, title in (("solved", "fails first"), ("optimal", "wastes first")):
        failure = claims["failures"][name]
        yield f"failures.{name}", f"{title}: {_describe_failure(failure)}", failure
    for cue in claims["cues"]:
        yield f"cues.{cue['cue']}", f"memory of cue {CUES[cue['cue']]}: {_describe_orbit(cue)}", cue
    merge, distance = claims["merge"], claims["distance"]
    met = "no" if merge is None else f"from step {merge:,} on"
    yield "merge", f"the memories are the same: {met}", merge
    apart = "unknown" if distance is None else f"{distance:.3g}"
    yield "distance", f"where they end, they are apart by: {apart}", distance
    for name in ("compatible", "separating"):
        if name in claims:
            yield name, f"{name}: {_describe_condition(claims[name])}", claims[name]
    for name, holds in claims.get("multistability", {}).items():
        yield f"multistability.{name}", f"{name.replace('_', ' ')}: {_ANSWERS[holds]}", holds


_ANSWERS = {True: "yes", False: "no", None: "undecided"}


def _describe_failure(failure: Mapping[str, Any] | None) -> str:
    if failure is None:
        return "nowhere, or unknown"
    step = f", step {failure['num_steps']:,}" if failure.get("num_steps") else ""
    return f"length {failure['length']:,}, cue {CUES[failure['cue']]}: {failure['kind']}{step}"


def _describe_orbit(cue: Mapping[str, Any]) -> str:
    if cue["transient"] is None:
        return "has not repeated itself"
    return f"repeats from step {cue['transient']:,}, period {cue['period']:,}"


def _describe_condition(condition: Mapping[str, Any]) -> str:
    witness = condition["witness"]
    if witness is None:
        return _ANSWERS[condition["holds"]]
    return f"no (cue {CUES[witness['cue']]}, step {witness['num_steps']:,})"
