"""Tables as earlier versions of remanence wrote them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from remanence.evaluation import summarize_episodes
from remanence.study._rows import Columns

# A study labelled all rows of its tables; now a run knows what it is.
_LABELS = ("preset", "network", "cell")
# Decisions were not counted.
_COUNTS = ("num_right", "num_decisions")
_SHARES = ("share_right", "share_low", "share_high", "num_decisions", "timeouts")
_EPISODE = ("seed", "cue", "return", "num_steps", "end", *_COUNTS)
_SPANS = ("solved_span", "optimal_span")
_STEPS = (
    *("first_failure", "first_waste", "merge"),
    *("transient_up", "transient_down", "period_up", "period_down"),
)


def find_older_table(run: Path, table: str) -> Path | None:
    """Where `remanence evaluate` once wrote what it found out about a run."""
    return run / "evaluation.parquet" if table == "evaluations" else None


def list_older_tables(study: Path, id: str) -> dict[str, Path]:
    """Where a study once kept what it found out about the agents of a job."""
    return {table: study / table / f"{id}.parquet" for table in ("evaluations", "stability")} | {
        "certificates": study / "certificates" / f"{id}.parquet"
    }


def modernize(table: str, columns: Mapping[str, np.ndarray]) -> Columns:
    """A table with the columns and the nulls that the present version gives it."""
    found = {name: column for name, column in columns.items() if name not in _LABELS}
    if table.endswith("evaluations"):
        found = _complete(found, _COUNTS, np.ma.masked_all(_count(found), int))
    if table.endswith("outcomes"):
        found = _complete(found, _SHARES, np.full(_count(found), np.nan))
    if table == "evaluations":
        found = {"seed" if name == "agent" else name: it for name, it in found.items()}
        found.pop("stability", None)
    if table == "certificates" and not np.issubdtype(found["solved_span"].dtype, np.floating):
        found |= {name: _read_spans(found[name]) for name in _SPANS}
        found |= {name: _mask(found[name], -1) for name in _STEPS}
        found |= {name: _mask(found[name], "") for name in ("failure_kind", "waste_kind")}
    return found


def derive_outcomes(evaluations: Columns) -> Columns:
    """The outcome of each agent at each value of what grows, which used not to be written."""
    (axis,) = [name for name in evaluations if name not in _EPISODE]
    names = [name for name in ("seed", axis, "cue") if name in evaluations]
    groups = np.stack([evaluations[name] for name in names], axis=1)
    exact = len(np.unique(groups, axis=0)) == len(groups)
    return summarize_episodes(evaluations, axis, exact=exact)


def _complete(columns: Columns, names: Sequence[str], nothing: np.ndarray) -> dict[str, np.ndarray]:
    """The columns, and those of which an earlier version knew nothing."""
    return {**columns, **{name: nothing for name in names if name not in columns}}


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _read_spans(codes: np.ndarray) -> np.ndarray:
    """-1 stood for every length, and -2 for undecided."""
    return np.where(codes == -1, np.inf, np.where(codes == -2, np.nan, codes))


def _mask(column: np.ndarray, code: object) -> np.ndarray:
    unknown = column == code
    return np.ma.masked_array(column, unknown) if unknown.any() else column
