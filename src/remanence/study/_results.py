"""Tables over all runs of a study, or of one run, as DuckDB relations."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import StoreError, UnknownNameError
from remanence.store import seal_tables
from remanence.study._entries import RunEntry, list_entries
from remanence.study._rows import Columns
from remanence.study._stages import stages
from remanence.study._summary import IDENTITY, summarize
from remanence.training import RunDirectory

if TYPE_CHECKING:
    import duckdb

_SUMMARIZED = (
    *("curves", "stability", "certificates", "outcomes"),
    *("sampled_outcomes", "maze_certificates"),
)
_COMMANDS = {
    "evaluate": "`remanence evaluate`",
    "stability": "`remanence evaluate`",
    "sample": "`remanence evaluate --sampled`",
    "limits": "`remanence certify --sampled`",
    "radius": "`remanence certify --radius`",
    "certify": "`remanence certify`",
    "certify-mazes": "`remanence certify`",
}
# Why the rest of a stage may be there without them.
_NOTHING_TO_WRITE = dict.fromkeys(
    ("decisions", "sampled_decisions"), "no episode that was evaluated has more than one"
)
_UNKNOWN = "whether there can be any is not known without its environment"


def list_tables() -> tuple[str, ...]:
    """The names of all tables that there may be.

    >>> from remanence import study
    >>> study.list_tables()[:5]
    ('summary', 'curves', 'evaluations', 'outcomes', 'decisions')
    """
    return ("summary", "curves", *(table for name in stages for table in stages[name].written))


def load_results(path: str | Path, table: str = "evaluations") -> "duckdb.DuckDBPyRelation":
    """A table of the study, or of the run, in a directory, as far as there is one.

    `evaluations` has a row for each episode, `outcomes` for each agent and value of what grows,
    `decisions` for each cue and bin of decisions besides (where an episode has more than one),
    `stability` and `certificates` for each agent, `orbits` for each step of a memory, `curves` for
    each seed and iteration, `summary` for each training; `sampled_evaluations`, `sampled_outcomes`
    and `sampled_decisions` are of agents that sample their actions; so is `sampled_limits`, what
    they come to after each cue in corridors without end. `radii` has how much disturbance of its
    observations each agent survives. `.fetchnumpy()`, `.df()`, `.pl()` and
    `.arrow()` of the relation turn it into columns of NumPy, pandas, Polars and Arrow, as far as
    those are installed, and `.filter`, `.aggregate` and the rest query it. Every row has the
    `preset`, `network`, `cell` and `variant` of its agents; the last is empty in a study's main arm
    and of runs by themselves, so that `.filter("variant = ''")` keeps the main arm. A span of every
    length is infinite; what is undecided or unknown is null, as is a count in `summary` of what is
    not known of all agents. A query of it reads no file, whoever wrote it.

    >>> from remanence import study
    >>> curves = study.load_results("examples/agents/mingru", "curves")
    >>> curves.aggregate("cell, max(iteration)").fetchall()
    [('mingru', 250)]
    """
    if table not in list_tables():
        raise UnknownNameError("table", table, list_tables())
    entries = list_entries(path)
    if table == "summary":
        return _summarize(path, entries)
    parts = _collect(entries, table)
    if not parts:
        raise _explain_absence(Path(path), entries, table)
    order = "order by all" if table.endswith("outcomes") else ""
    return seal_tables({table: parts}, f'from "{table}" {order}')


def _explain_absence(path: Path, entries: Sequence[RunEntry], table: str) -> StoreError:
    """Why no run has a table, and what can be done about it."""
    problem = f"there are no {table}"
    reason = "" if table == "curves" else _find_obstacle(entries, table)
    if reason == _UNKNOWN:
        return StoreError(path, f"{problem}, and {reason}", "import its code (--import FILE)")
    if reason:
        there = [name for name in list_tables() if any(it.records.can_read(name) for it in entries)]
        remedy = f"choose a table that is there: {', '.join(['summary', *there])}"
        return StoreError(path, f"{problem}: {reason}", remedy)
    waiting = "" if RunDirectory(path).exists else ", or wait for the study"
    return StoreError(path, f"{problem} yet", f"run {_name_maker(table)}{waiting}")


def _find_obstacle(entries: Sequence[RunEntry], table: str) -> str:
    """Why runs cannot have a table, or have none although its stage is done; else nothing."""
    if not any(entry.can_have(table) or table in entry.tables for entry in entries):
        known = all(entry.environment for entry in entries)
        return "in this environment there cannot be any" if known else _UNKNOWN
    stage = stages[_find_stage(table)]
    asked = all(entry.records.can_read(name) for entry in entries for name in stage.tables)
    if table in stage.optional_tables and asked:
        return _NOTHING_TO_WRITE.get(table, f"{stage.doing} made none")
    return ""


def _name_maker(table: str) -> str:
    """What makes a table: a command, or else a stage."""
    if table == "curves":
        return "`remanence train`"
    stage = _find_stage(table)
    return _COMMANDS.get(stage, f"a study whose stages include {stage!r}")


def _find_stage(table: str) -> str:
    (stage,) = [name for name in stages if table in stages[name].written]
    return stage


def _collect(entries: Sequence[RunEntry], table: str) -> list[Columns]:
    """The parts of a table, each with columns that say which training it is of."""
    known = [entry for entry in entries if entry.records.can_read(table)]
    return [_label(entry, entry.records.read(table)) for entry in known]


def _label(entry: RunEntry, columns: Columns) -> Columns:
    number = len(columns["seed"])
    labels = {name: np.full(number, getattr(entry, name)) for name in IDENTITY if name != "seed"}
    unknown = [name for name in ("preset", "network") if not getattr(entry, name)]
    masked = {name: np.ma.masked_array(labels[name], mask=True) for name in unknown}
    return labels | masked | dict(columns)


def _summarize(path: str | Path, entries: Sequence[RunEntry]) -> "duckdb.DuckDBPyRelation":
    tables = {table: _collect(entries, table) for table in _SUMMARIZED}
    if not any(tables.values()):
        raise StoreError(path, "there are no results yet", "wait for the first training to end")
    return summarize(entries, tables)
