"""What a certificate says, and what came of it, in words for one screen."""

from collections.abc import Iterator, Mapping
from typing import Any

from . import _lengths

CUES = {-1: "up", 1: "down"}


def describe_claims(claims: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Name, words and value of every statement about a program, as far as they are made."""
    budget = claims.get("budget")
    within = "" if budget is None else f" within {budget:,} steps"
    yield "solved", f"right arm in time: {_lengths.describe(claims['solved'])}", claims["solved"]
    yield "optimal", f"no wasted step: {_lengths.describe(claims['optimal'])}", claims["optimal"]
    for name, title in (("solved", "fails first"), ("optimal", "wastes first")):
        failure, decided = claims["failures"][name], claims[name] is not None
        told = _describe_failure(failure) if failure else "nowhere" if decided else "undecided"
        yield f"failures.{name}", f"{title}: {told}", failure
    for cue in claims["cues"]:
        told = _describe_orbit(cue, within)
        yield f"cues.{cue['cue']}", f"memory of cue {CUES[cue['cue']]}: {told}", cue
    merge, distance = claims["merge"], claims["distance"]
    closed = all(cue["period"] is not None for cue in claims["cues"])
    never = "never" if closed else f"not{within}"
    met = never if merge is None else f"from step {merge:,} on"
    yield "merge", f"the memories are the same: {met}", merge
    apart = f"undecided{within}" if distance is None else f"{distance:.3g} apart"
    yield "distance", f"the memories end: {apart}", distance
    for name in ("compatible", "separating"):
        if name in claims:
            yield name, f"{name}: {_describe_condition(claims[name])}", claims[name]
    for name, holds in claims.get("multistability", {}).items():
        yield f"multistability.{name}", f"{name.replace('_', ' ')}: {_ANSWERS[holds]}", holds


_ANSWERS = {True: "yes", False: "no", None: "undecided"}


def _describe_failure(failure: Mapping[str, Any]) -> str:
    step = f", step {failure['num_steps']:,}" if failure.get("num_steps") else ""
    return f"length {failure['length']:,}, cue {CUES[failure['cue']]}: {failure['kind']}{step}"


def _describe_orbit(cue: Mapping[str, Any], within: str) -> str:
    if cue["transient"] is None:
        return f"has not repeated itself{within}"
    return f"repeats from step {cue['transient']:,}, period {cue['period']:,}"


def _describe_condition(condition: Mapping[str, Any]) -> str:
    witness = condition["witness"]
    if witness is None:
        return _ANSWERS[condition["holds"]]
    return f"no (cue {CUES[witness['cue']]}, step {witness['num_steps']:,})"
