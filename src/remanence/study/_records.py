"""Rows of a study's tables: what was found out of one agent, in plain columns."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates import Horizons, LengthSet
from remanence.dynamics import VAA
from remanence.evaluation import name_stability

Columns = dict[str, np.ndarray]
Row = dict[str, Any]

NONE = -1
UNDECIDED = -2


def collect_rows(rows: Sequence[Row]) -> Columns:
    """Rows with the same names as columns."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def record_stability(seed: int, vaa: VAA) -> Row:
    """A row of the table `stability`; a limit that is not known is NaN."""
    return {
        "seed": seed,
        "vaa": vaa.value,
        "vaa_limit": math.nan if vaa.limit is None else vaa.limit,
        "settled": vaa.settled,
        "stability": name_stability(vaa),
    }


def record_certificate(seed: int, found: Mapping[str, Any]) -> Row:
    """A row of the table `certificates`, from a certificate as JSON; -1 stands for none.

    A span counts the lengths from 1 on that are all right: -1 where it is every length, and -2
    where that is undecided. At the first failure no right arm is reached in time; at the first
    waste it may be, but not in the fewest steps.
    """
    compiled, contraction = found["compiled"], found["contraction"]
    solved, optimal = (_read_horizons(compiled[name]) for name in ("solved", "optimal"))
    failure, waste = (compiled["failures"][name] or {} for name in ("solved", "optimal"))
    closures = {cue["cue"]: cue for cue in compiled["cues"]}
    return {
        "seed": seed,
        "solved": solved.verdict,
        "optimal": optimal.verdict,
        "solved_from_2_on": solved.lengths is not None and solved.lengths.covers(2),
        "solved_span": _measure_span(solved),
        "optimal_span": _measure_span(optimal),
        "first_failure": failure.get("length", NONE),
        "failure_kind": failure.get("kind", ""),
        "first_waste": waste.get("length", NONE),
        "waste_kind": waste.get("kind", ""),
        "transient_up": _or_none(closures[-1]["transient"]),
        "transient_down": _or_none(closures[1]["transient"]),
        "period_up": _or_none(closures[-1]["period"]),
        "period_down": _or_none(closures[1]["period"]),
        "merge": _or_none(compiled["merge"]),
        "distance": math.nan if compiled["distance"] is None else compiled["distance"],
        "contraction": "not proved" if contraction is None else "proved",
        "contraction_same": contraction is not None and _is_same(optimal, contraction["optimal"]),
    }


def _read_horizons(found: Any) -> Horizons:
    return Horizons(None if found is None else LengthSet.from_json(found))


def _measure_span(horizons: Horizons) -> int:
    if horizons.lengths is None:
        return UNDECIDED
    missing = horizons.lengths.first_missing
    return NONE if missing is None else missing - 1


def _is_same(optimal: Horizons, proved: Any) -> bool:
    """Whether the lengths without waste are the same with rounding and without."""
    return optimal.lengths == LengthSet.from_json(proved)


def _or_none(number: int | None) -> int:
    return NONE if number is None else number
