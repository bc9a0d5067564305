"""The tables that figures and claims are made from, derived from the records of a study."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from remanence.certificates import LengthSet
from remanence.figures import Columns, Tables, keep_rows, select_rows
from remanence.report._records import IDENTITY, Records

PROBE = 100
TRAINED_LENGTHS = {"tmaze-short": (1, 3), "tmaze-long": (100, 100)}
# An empty table has columns too.
OUTCOME_COLUMNS = (*IDENTITY, "length", "stability", "return", "outcome")
LENGTH_COLUMNS = (*IDENTITY, "stability", "kind", "low", "high", "share")
MODEL_COLUMNS = (
    *(*IDENTITY, "stability", "vaa", "vaa_limit", "length", "outcome", "longest"),
    *("outcome_longest", "return_longest", "learned", "solves_shorter", "solves_longer"),
    *("lasting", "last_miss", "transient"),
)
YES, NO = "yes", "no"

Row = dict[str, Any]
Key = tuple[str, int]


def derive_tables(records: Records) -> Tables:
    """`models`, `outcomes`, `curves` and `lengths`, as `remanence.figures` has them."""
    stability = _list_by_agent(records.tables["stability"])
    outcomes = list(_list_outcomes(records.tables["evaluations"], stability))
    models = list(_list_models(records, stability, outcomes))
    return {
        "models": _stack(models, MODEL_COLUMNS),
        "outcomes": _stack(outcomes, OUTCOME_COLUMNS),
        "curves": records.tables["curves"],
        "lengths": _stack(
            [row for model in models for row in _list_lengths(records, model)], LENGTH_COLUMNS
        ),
    }


def _stack(rows: list[Row], names: tuple[str, ...]) -> Columns:
    return {name: np.array([row[name] for row in rows]) for name in names}


def _list_by_agent(columns: Columns) -> dict[Key, Row]:
    """The row of every agent in a table that has one for each."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    return {(row["job"], row["seed"]): row for row in named}


def _list_outcomes(evaluations: Columns, stability: Mapping[Key, Row]) -> Iterator[Row]:
    """A row for each agent and length, both cues together."""
    names = (*IDENTITY, "length", "return", "end")
    episodes: dict[tuple, list[tuple[float, str]]] = {}
    for *key, gained, end in zip(*(evaluations[name].tolist() for name in names), strict=True):
        episodes.setdefault(tuple(key), []).append((gained, end))
    for key, group in episodes.items():
        row = dict(zip(names, key, strict=False))
        ends = [end for _, end in group]
        measured = stability.get((row["job"], row["seed"]), {})
        yield row | {
            "stability": measured.get("stability", ""),
            "return": float(np.mean([gained for gained, _ in group])),
            "outcome": (
                "timeout" if "timeout" in ends else "random" if "wrong" in ends else "solved"
            ),
        }


def _list_models(
    records: Records, stability: Mapping[Key, Row], outcomes: list[Row]
) -> Iterator[Row]:
    """A row for each agent of which anything is known."""
    certificates = _list_by_agent(records.tables["certificates"])
    by_agent: dict[Key, list[Row]] = {}
    for row in outcomes:
        by_agent.setdefault((row["job"], row["seed"]), []).append(row)
    identities = {key: row for rows in (stability, certificates) for key, row in rows.items()}
    identities |= {key: rows[0] for key, rows in by_agent.items()}
    for key, known in sorted(identities.items()):
        identity = {name: known[name] for name in IDENTITY}
        measured = stability.get(key, {})
        rows = by_agent.get(key, [])
        knowledge = Knowledge.gather(records.certificates.get(key), rows)
        yield identity | {
            "stability": measured.get("stability", ""),
            "vaa": measured.get("vaa", np.nan),
            "vaa_limit": measured.get("vaa_limit", np.nan),
            **_summarize(rows),
            "learned": _has_learned(identity["preset"], knowledge),
            "solves_shorter": knowledge.solves(2, PROBE - 1),
            "solves_longer": knowledge.solves(PROBE + 1),
            "lasting": knowledge.solves(2),
            "last_miss": knowledge.find_last_miss(),
            "transient": _find_transient(certificates.get(key, {})),
        }


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


@dataclasses.dataclass(frozen=True)
class Knowledge:
    """The lengths an agent solves: all of them where its certificate tells, else those it was
    evaluated at.
    """

    certified: LengthSet | None
    evaluated: Mapping[int, bool]

    @classmethod
    def gather(cls, certificate: Mapping[str, Any] | None, rows: list[Row]) -> "Knowledge":
        """From a certificate, if there is one, and the outcomes at some lengths."""
        found = None if certificate is None else certificate["compiled"]["solved"]
        evaluated = {row["length"]: row["outcome"] == "solved" for row in rows}
        return cls(None if found is None else LengthSet.from_json(found), evaluated)

    def solves(self, low: int, high: int | None = None) -> str:
        """Whether all lengths from one on, up to another if there is one; empty if not known.

        One length that fails is enough to know, and any number that do not is not.
        """
        if self.certified is not None:
            return YES if self.certified.covers(low, high) else NO
        missed = (length for length, solved in self.evaluated.items() if not solved)
        return NO if any(low <= length <= (high or length) for length in missed) else ""

    def find_last_miss(self) -> float:
        """The last length from 2 on that fails: 0 if none does, infinite if there is no last one.

        NaN if not known.
        """
        if self.certified is None:
            return np.nan
        if not self.certified.cofinite:
            return np.inf
        missed = np.flatnonzero(~self.certified.listed[1:])
        return float(missed[-1] + 2) if len(missed) else 0.0


def _has_learned(preset: str, knowledge: Knowledge) -> bool:
    """Whether it solves what it was trained on: by its certificate, else where it was evaluated."""
    low, high = TRAINED_LENGTHS.get(preset, (PROBE, PROBE))
    if knowledge.certified is not None:
        return knowledge.certified.covers(low, high)
    evaluated = knowledge.evaluated
    trained = [length for length in evaluated if low <= length <= high]
    if not trained and low == PROBE:
        trained = [length for length in evaluated if length == _find_probe(evaluated)]
    return bool(trained) and all(evaluated[length] for length in trained)


def _find_transient(certified: Row) -> float:
    """Steps until the memories of both cues repeat: infinity if they do not within the budget.

    NaN where there is no certificate.
    """
    if not certified:
        return np.nan
    steps = [certified[f"transient_{cue}"] for cue in ("up", "down")]
    return np.inf if min(steps) < 0 else float(max(steps))


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


def list_stretches(lengths: LengthSet) -> Iterator[tuple[float, float, float]]:
    """First length, last length and share of each stretch; the last may go on for ever."""
    tail = lengths.listed[-lengths.period :]
    endless = len(lengths.listed) + 1
    for low, high in lengths.list_runs():
        if high == len(lengths.listed) and tail.all():
            endless = low
        else:
            yield float(low), float(high), 1.0
    if tail.any():
        yield float(endless), np.inf, float(tail.mean())


def find_agents(tables: Tables, **wanted: Any) -> Columns:
    """The models with the given values whose outcome at length 100 is known."""
    models = select_rows(tables["models"], **wanted)
    return keep_rows(models, models["outcome"] != "")


def find_both(tables: Tables, **wanted: Any) -> tuple[Columns, Columns]:
    """Such models, short-trained and long-trained ones."""
    short, long = (find_agents(tables, preset=preset, **wanted) for preset in TRAINED_LENGTHS)
    return short, long
