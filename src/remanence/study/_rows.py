"""Rows of tables: what was found out about one agent, in plain columns; None is unknown."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates import Horizons, LengthSet
from remanence.dynamics import VAA
from remanence.evaluation import name_stability

Columns = Mapping[str, np.ndarray]
Row = dict[str, Any]


# What a column holds in which some values, or all, may be unknown.
_KINDS = {
    **dict.fromkeys(("vaa_limit", "solved_span", "optimal_span", "distance"), float),
    **dict.fromkeys(("first_failure", "first_waste", "merge"), int),
    **dict.fromkeys(("transient_up", "transient_down", "period_up", "period_down"), int),
    **dict.fromkeys(("failure_kind", "waste_kind"), str),
}


def collect_rows(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Rows with the same names as columns (rows,); what is None in some of them is masked there.

    None is for columns of what may be unknown, such as `merge` and `vaa_limit`.

    >>> from remanence import study
    >>> columns = study.collect_rows([{"seed": 1, "merge": None}, {"seed": 2, "merge": 40}])
    >>> {name: column.tolist() for name, column in columns.items()}
    {'seed': [1, 2], 'merge': [None, 40]}
    """
    return {name: _collect([row[name] for row in rows], _KINDS.get(name)) for name in rows[0]}


def _collect(values: Sequence[Any], kind: type | None) -> np.ndarray:
    if kind is None:
        return np.array(values)
    unknown = [value is None for value in values]
    known = np.array([kind() if value is None else kind(value) for value in values])
    return np.ma.masked_array(known, unknown) if any(unknown) else known


def record_stability(seed: int, vaa: VAA) -> Row:
    """A row of the table `stability`."""
    return {
        "seed": seed,
        "vaa": vaa.value,
        "vaa_limit": vaa.limit,
        "settled": vaa.settled,
        "stability": name_stability(vaa),
    }


def record_certificate(seed: int, found: Mapping[str, Any]) -> Row:
    """A row of the table `certificates`, from a certificate as JSON.

    A span counts the lengths from 1 on that are all right, and is infinite where every length is.
    At the first failure no right arm is reached in time; at the first waste it may be, but not in
    the fewest steps.
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
