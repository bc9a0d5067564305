"""Certificates read back from files, and as rows of tables; `remanence.checker` verifies them."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remanence.certificates._certificate import FORMAT, KIND, Horizons
from remanence.certificates._lengths import LengthSet
from remanence.errors import StoreError
from remanence.store import read_json

# What the columns hold in which some values, or all, may be unknown.
ROW_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("solved_span", "optimal_span", "distance"), float),
    **dict.fromkeys(("first_failure", "first_waste", "merge"), int),
    **dict.fromkeys(("transient_up", "transient_down", "period_up", "period_down"), int),
    **dict.fromkeys(("failure_kind", "waste_kind"), str),
}


def read_certificate(path: Path) -> dict[str, Any]:
    """A certificate as JSON has it in the present format; one of format 1 is translated.

    >>> from pathlib import Path
    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificates.certify(agent, envs.make("tmaze")).save("certificate.json")
    >>> certificates.read_certificate(Path("certificate.json"))["contraction"]["optimal"]
    {'listed': 14, 'period': 1, 'runs': [[1, 13]]}
    """
    found = read_json(path)
    kind = (found.get("kind"), found.get("format")) if isinstance(found, dict) else None
    if kind not in ((KIND, FORMAT), (KIND, 1)):
        raise StoreError(path, "this version cannot read this certificate", "make it again")
    try:
        return _translate(found) if kind == (KIND, 1) else found
    except (LookupError, TypeError, AttributeError) as error:
        raise StoreError(path, "parts of this certificate are missing", "make it again") from error


def _translate(found: dict[str, Any]) -> dict[str, Any]:
    """What the first format says of its one program, and of its proof."""
    contraction, environment = found["contraction"], found["environment"]
    proved = contraction["verdict"] == "proved"
    return {
        **found,
        "environment": {
            "name": environment["name"],
            "previous_action": environment["previous_action"],
            "time_limit_factor": environment["params"]["limit_factor"] or None,
        },
        "compiled": found["bitwise"],
        "portable": None,
        "contraction": {"optimal": contraction["optimal"]} if proved else None,
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
        # Whether the lengths without waste are the same with rounding and without.
        "contraction_same": contraction is not None
        and optimal.lengths == LengthSet.from_json(contraction["optimal"]),
    }


def _read_horizons(found: Any) -> Horizons:
    return Horizons(None if found is None else LengthSet.from_json(found))


def _measure_span(horizons: Horizons) -> float | None:
    if horizons.lengths is None:
        return None
    missing = horizons.lengths.first_missing
    return math.inf if missing is None else float(missing - 1)
