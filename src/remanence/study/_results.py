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
        remedy = f"run {_name_maker(table)}, or wait for the study"
        raise StoreError(path, f"there are no {table} yet", remedy)
    order = "order by all" if table.endswith("outcomes") else ""
    return seal_tables({table: parts}, f'from "{table}" {order}')


def _name_maker(table: str) -> str:
    """What makes a table: a command, or else a stage."""
    if table == "curves":
        return "`remanence train`"
    (stage,) = [name for name in stages if table in stages[name].written]
    return _COMMANDS.get(stage, f"a study whose stages include {stage!r}")


def _collect(entries: Sequence[RunEntry], table: str) -> list[Columns]:
    """The parts of a table, each with columns that say which training it is of."""
    known = [entry for entry in entries if entry.records.can_read(table)]
    return [_label(entry, entry.records.read(table)) for entry in known]


def _label(entry: RunEntry, columns: Columns) -> Columns:
    number = len(columns["seed"])
    labels = {name: getattr(entry, name) for name in IDENTITY if name != "seed"}
    return {name: np.full(number, label) for name, label in labels.items()} | dict(columns)


def _summarize(path: str | Path, entries: Sequence[RunEntry]) -> "duckdb.DuckDBPyRelation":
    tables = {table: _collect(entries, table) for table in _SUMMARIZED}
    if not any(tables.values()):
        raise StoreError(path, "there are no results yet", "wait for the first training to end")
    return summarize(entries, tables)
