"""The tables that the T-maze's figures and claims are made from, derived from a study's records.

Besides those that every experiment has:

models      a row for each agent: `outcome` ("solved", "random", "timeout", or "") at `length`, the
            evaluated length nearest to 100, and at the `longest`; whether it has `learned` what it
            was trained on, from `trained_low` to `trained_high`; whether it solves every shorter
            and longer length and every one from 2 on ("yes", "no", or "" where that is not known)
lengths     a row for each stretch of lengths, from `low` to `high` (inf: for ever), at which an
            agent is certified to act right; `kind` is "solved" or "optimal", `share` how much of
            the stretch that is. An agent of which nothing is certified has a row with `kind` ""
radii       a row for each agent whose robustness was looked at: `radius_certified`,
            `radius_broken`, and its `solved_span`, the number of lengths from 1 on that are solved
states      a row for each `step` and `unit` of two typical agents, after each `cue`: `state`
nonlinear_outcomes, parallelizable_outcomes
            `outcomes` of models whose update is not, or is, linear in the state
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from remanence.certificates import LengthSet
from remanence.figures import Columns, Tables, keep_rows, select_rows, tabulate_levels
from remanence.papers.multistability._judging import TRAINED
from remanence.papers.multistability.tmaze._lengths import SolvedLengths, list_stretches
from remanence.papers.multistability.tmaze._typical import select_typical_orbits
from remanence.report import (
    AGENT_COLUMNS,
    IDENTITY,
    Records,
    derive_common_tables,
    index_by_agent,
    list_rows,
    stack_rows,
)

# The length at which the paper counts outcomes.
PROBE = 100
# A maze without a decision in time ends with nothing.
NO_ARM = {"no arm in time": 0.0}
# The paper evaluates from length 2 on; at length 1 the cue is seen at the junction.
LENGTH = "length from 2 on"
# An empty table has columns too.
LENGTH_COLUMNS = (*IDENTITY, "stability", "kind", "low", "high", "share")
RADIUS_COLUMNS = (*IDENTITY, "stability", "solved_span", "radius_certified", "radius_broken")
MODEL_COLUMNS = (
    *(*AGENT_COLUMNS, "length", "outcome", "longest", "outcome_longest", "return_longest"),
    *("trained_low", "trained_high", "learned", "solves_shorter", "solves_longer"),
    *("lasting", "last_miss", "transient"),
)

Row = dict[str, Any]


def derive_tables(records: Records) -> Tables:
    """All tables, by name."""
    common = derive_common_tables(records)
    models = list(_list_models(records, common))
    lengths = [row for model in models for row in _list_lengths(records, model)]
    columns = stack_rows(models, MODEL_COLUMNS)
    return {
        **common,
        "levels": tabulate_levels({**records.levels, **NO_ARM}),
        "models": columns,
        "lengths": stack_rows(lengths, LENGTH_COLUMNS),
        "radii": stack_rows(list(_list_radii(records, models)), RADIUS_COLUMNS),
        "states": select_typical_orbits(records.tables["orbits"], columns),
        "nonlinear_outcomes": select_rows(common["outcomes"], parallelizable=False),
        "parallelizable_outcomes": select_rows(common["outcomes"], parallelizable=True),
    }


def _list_models(records: Records, common: Tables) -> Iterator[Row]:
    """A row for each agent of which anything is known."""
    certificates = index_by_agent(records.tables["certificates"])
    outcomes: dict[tuple[str, int], list[Row]] = {}
    for row in list_rows(common["outcomes"]):
        outcomes.setdefault((row["job"], row["seed"]), []).append(row)
    for agent in list_rows(common["agents"]):
        key = agent["job"], agent["seed"]
        rows = outcomes.get(key, [])
        solved = SolvedLengths.gather(records.certificates.get(key), rows)
        trained = records.trained.get(agent["job"])
        low, high = trained or (np.nan, np.nan)
        yield agent | {
            **_summarize(rows),
            "trained_low": float(low),
            "trained_high": float(high),
            "learned": _has_learned(trained, solved),
            "solves_shorter": solved.covers(2, PROBE - 1),
            "solves_longer": solved.covers(PROBE + 1),
            "lasting": solved.covers(2),
            "last_miss": solved.find_last_miss(),
            "transient": _find_transient(certificates.get(key, {})),
        }


def _list_radii(records: Records, models: Iterable[Row]) -> Iterator[Row]:
    """What disturbances each agent survives, where that was looked at and spans are known."""
    certificates = index_by_agent(records.tables["certificates"])
    found = index_by_agent(records.tables.get("radii", {name: np.zeros(0) for name in IDENTITY}))
    for model in models:
        key = model["job"], model["seed"]
        if key in found and key in certificates:
            row = model | found[key] | {"solved_span": certificates[key]["solved_span"]}
            yield {name: row[name] for name in RADIUS_COLUMNS}


def _summarize(rows: list[Row]) -> Row:
    """What an agent does at length 100, or nearby, and at the longest."""
    rows = sorted(rows, key=lambda row: row["length"])
    by_length = {row["length"]: row for row in rows}
    probe = by_length.get(_find_probe(by_length), {})
    return {
        "length": probe.get("length", PROBE),
        "outcome": probe.get("outcome", ""),
        "longest": rows[-1]["length"] if rows else 0,
        "outcome_longest": rows[-1]["outcome"] if rows else "",
        "return_longest": rows[-1]["return"] if rows else np.nan,
    }


def _find_probe(lengths: Iterable[int]) -> int | None:
    """The length that is nearest to 100, if one is near."""
    near = [length for length in lengths if abs(length - PROBE) <= 0.1 * PROBE]
    return min(near, key=lambda length: abs(length - PROBE), default=None)


def _has_learned(trained: tuple[int, int] | None, solved: SolvedLengths) -> bool:
    """Whether it solves what it was trained on: by its certificate, else where it was evaluated.

    Where that is not known, length 100 stands for it.
    """
    low, high = trained or (PROBE, PROBE)
    if solved.certified is not None:
        return solved.certified.covers(low, high)
    evaluated = solved.evaluated
    inside = [length for length in evaluated if low <= length <= high]
    if not inside and low == PROBE:
        inside = [length for length in evaluated if length == _find_probe(evaluated)]
    return bool(inside) and all(evaluated[length] for length in inside)


def _find_transient(certified: Row) -> float:
    """Steps until the memories of both cues repeat: infinity if they do not within the budget.

    NaN where there is no certificate.
    """
    if not certified:
        return np.nan
    steps = [certified[f"transient_{cue}"] for cue in ("up", "down")]
    return float(max(steps)) if all(step >= 0 for step in steps) else np.inf


def _list_lengths(records: Records, model: Row) -> Iterator[Row]:
    """The stretches of lengths that an agent's certificate is about.

    Where it is undecided which lengths are solved, a row of no kind says so.
    """
    found = records.certificates.get((model["job"], model["seed"]))
    if found is None:
        return
    identity = {name: model[name] for name in (*IDENTITY, "stability")}
    nothing = identity | {"kind": "", "low": 1.0, "high": 1.0, "share": 0.0}
    decided = {kind: found["compiled"][kind] for kind in ("solved", "optimal")}
    rows = [
        identity | {"kind": kind, "low": low, "high": high, "share": share}
        for kind, lengths in decided.items()
        if lengths is not None
        for low, high, share in list_stretches(LengthSet.from_json(lengths))
    ]
    yield from rows
    if decided["solved"] is None:
        yield nothing
    elif not rows:
        yield nothing | {"kind": "solved"}


def find_agents(tables: Tables, **wanted: Any) -> Columns:
    """The models with the given values whose outcome at length 100 is known."""
    models = select_rows(tables["models"], **wanted)
    return keep_rows(models, models["outcome"] != "")


def find_both(tables: Tables, **wanted: Any) -> tuple[Columns, Columns]:
    """Such models, short-trained and long-trained ones."""
    short, long = (find_agents(tables, preset=preset, **wanted) for preset in TRAINED)
    return short, long
