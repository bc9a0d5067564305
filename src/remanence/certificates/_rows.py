"""Certificates as rows of a table, in plain columns; None is unknown."""

import math
from collections.abc import Mapping
from typing import Any

from remanence.certificates._certificate import Horizons
from remanence.certificates._lengths import LengthSet

# What the columns hold in which some values, or all, may be unknown.
ROW_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("solved_span", "optimal_span", "distance"), float),
    **dict.fromkeys(("first_failure", "first_waste", "merge"), int),
    **dict.fromkeys(("transient_up", "transient_down", "period_up", "period_down"), int),
    **dict.fromkeys(("failure_kind", "waste_kind"), str),
}


def make_row(found: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table of certificates, from a certificate as JSON.

    A span counts the lengths from 1 on that are all right, and is infinite where every length is.
    At the first failure no right arm is reached in time; at the first waste it may be, but not in
    the fewest steps.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> made = certificates.certify(agent, envs.make("tmaze"))
    >>> row = certificates.make_row(made.to_json())
    >>> row["solved_span"], row["first_failure"], row["failure_kind"]
    (13.0, 14, 'forgets')
    """
    compiled, contraction = found["compiled"], found["contraction"]
    solved, optimal = (_read_horizons(compiled[name]) for name in ("solved", "optimal"))
    failure, waste = (compiled["failures"][name] or {} for name in ("solved", "optimal"))
    closures = {cue["cue"]: cue for cue in compiled["cues"]}
    return {
        "solved": solved.verdict,
        "optimal": optimal.verdict,
        "solved_from_2_on": solved.lengths is not None and solved.lengths.covers(2),
        "solved_span": _measure_span(solved),
        "optimal_span": _measure_span(optimal),
        "first_failure": failure.get("length"),
        "failure_kind": failure.get("kind"),
        "first_waste": waste.get("length"),
        "waste_kind": waste.get("kind"),
        "transient_up": closures[-1]["transient"],
        "transient_down": closures[1]["transient"],
        "period_up": closures[-1]["period"],
        "period_down": closures[1]["period"],
        "merge": compiled["merge"],
        "distance": compiled["distance"],
        "contraction": "not proved" if contraction is None else "proved",
        "contraction_same": contraction is not None and _is_same(optimal, contraction["optimal"]),
    }


def _read_horizons(found: Any) -> Horizons:
    return Horizons(None if found is None else LengthSet.from_json(found))


def _measure_span(horizons: Horizons) -> float | None:
    if horizons.lengths is None:
        return None
    missing = horizons.lengths.first_missing
    return math.inf if missing is None else float(missing - 1)


def _is_same(optimal: Horizons, proved: Any) -> bool:
    """Whether the lengths without waste are the same with rounding and without."""
    return optimal.lengths == LengthSet.from_json(proved)
