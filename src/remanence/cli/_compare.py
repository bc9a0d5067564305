"""`remanence compare`: runs side by side."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from remanence.cli._command import Command, open_table
from remanence.cli._evaluation_tables import choose_columns
from remanence.errors import InvalidOptionError
from remanence.study import RunEntry, find_lasting, list_entries

# Who is counted, by which table says it.
_COUNTED = {
    "multistable": ("stability", "those whose memory has more than one stable state"),
    "every_length": ("certificates", "those that are certified to act right at every length"),
    "every_row_of_mazes": (
        "maze_certificates",
        "those whose memory is certified for every table and any number of mazes",
    ),
}


@dataclasses.dataclass(frozen=True)
class Compare(Command):
    """Set runs beside each other: how well they learned, what they remember, how far that reaches.

    A study stands for all of its runs. What `remanence evaluate` or `remanence certify` has not
    found out yet is left blank.

    Example: remanence compare runs/gru runs/bmru
    """

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="RUN ...", help_behavior_hint=""),
    ]
    """Directories of runs or studies."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        if not self.runs:
            raise InvalidOptionError("RUN", [], "give two runs or more, or a study")
        entries = {path: list_entries(path) for path in self.runs}
        named = [
            (str(path) if len(found) == 1 else f"{path}: {entry.id}", entry)
            for path, found in entries.items()
            for entry in found
        ]
        rows = {name: summarize_run(entry) for name, entry in named}
        if self.json:
            print(json.dumps(rows, allow_nan=False))
            return
        counted = _choose_counted([entry for _, entry in named])
        console.print(_tabulate(rows, counted))
        console.print(f"\n{_explain(rows, counted)}", highlight=False)


def summarize_run(entry: RunEntry) -> dict[str, Any]:
    """What is known of all agents of a run together; None where nothing is."""
    growth = entry.about["growth"]
    return {
        "cell": entry.cell,
        "variant": entry.variant,
        "agents": len(entry.seeds),
        "iterations": entry.num_iterations,
        "trained": _measure_training(entry),
        "grows": growth and growth["name"],
        "returns": _average_returns(entry, "outcomes"),
        "sampled_returns": _average_returns(entry, "sampled_outcomes"),
        "multistable": _count(entry, "stability", "stability", ("bistable", "multistable")),
        "every_length": _count(entry, "certificates", "solved", ("every length",)),
        "every_row_of_mazes": _count_lasting(entry),
    }


def _measure_training(entry: RunEntry) -> float | None:
    if not entry.run.curves_path.exists():
        return None
    curves = entry.run.load_curves()
    last = curves["return"][curves["iteration"] == curves["iteration"].max()]
    return float(np.nanmean(last)) if np.isfinite(last).any() else None


def _average_returns(entry: RunEntry, table: str) -> dict[int, float]:
    growth = entry.about["growth"]
    if not growth or not entry.records.can_read(table):
        return {}
    outcomes, axis = entry.records.read(table), growth["name"]
    values = np.unique(outcomes[axis]).tolist()
    return {value: float(outcomes["return"][outcomes[axis] == value].mean()) for value in values}


def _count(
    entry: RunEntry, table: str, column: str, wanted: Sequence[str]
) -> dict[str, int] | None:
    """How many agents are such, of those of which that was found out."""
    if not entry.records.can_read(table):
        return None
    found = entry.records.read(table)[column]
    return {"count": int(np.isin(found, wanted).sum()), "of": len(found)}


def _count_lasting(entry: RunEntry) -> dict[str, int] | None:
    """How many agents' memories are certified for all tables, however they walk."""
    if not entry.records.can_read("maze_certificates"):
        return None
    lasting = find_lasting(entry.records.read("maze_certificates"))
    return {"count": sum(lasting.values()), "of": len(lasting)}


def _choose_counted(entries: Sequence[RunEntry]) -> list[str]:
    """Which agents to count: those that are such in some run, or can be found to be."""
    return [
        fact for fact, (table, _) in _COUNTED.items() if any(it.can_have(table) for it in entries)
    ]


def _explain(rows: dict[str, dict[str, Any]], counted: Sequence[str]) -> str:
    """What the rows are that are shown."""
    sampled = any(row["sampled_returns"] for row in rows.values())
    how = "when evaluated greedily or with sampled actions" if sampled else "when evaluated"
    certifiable = {"every_length", "every_row_of_mazes"} & set(counted)
    sentences = (
        f"Returns are means over agents, at the end of training and {how}.",
        _explain_counted(counted),
        f"Where there is nothing, run `remanence evaluate`"
        f"{' or `remanence certify`' if certifiable else ''}.",
    )
    return " ".join(filter(None, sentences))


def _explain_counted(counted: Sequence[str]) -> str:
    if not counted:
        return ""
    names = " and ".join(f"`{_title(fact)}`" for fact in counted)
    told = ", and ".join(_COUNTED[fact][1] for fact in counted)
    return f"{names} {'count' if len(counted) > 1 else 'counts'} agents: {told}."


def _title(fact: str) -> str:
    return fact.replace("_", " ")


def _tabulate(rows: dict[str, dict[str, Any]], counted: Sequence[str]) -> Table:
    """A column for each run, since their names are long and the facts are few."""
    table = open_table("")
    for name in rows:
        # A study's runs are told apart by their own names, which come last.
        table.add_column(name.replace(": ", ":\n"), justify="right", overflow="fold")
    varied = ("variant",) if any(row["variant"] for row in rows.values()) else ()
    for fact in ("cell", *varied, "agents", "iterations"):
        table.add_row(fact, *(str(row[fact]) for row in rows.values()))
    table.add_row("return, trained", *(_show(row["trained"]) for row in rows.values()))
    for kind, title in (("returns", "return"), ("sampled_returns", "sampled")):
        for axis, value in _choose_values(rows, kind):
            shown = (_show(_get(row, kind, axis, value)) for row in rows.values())
            table.add_row(f"{title}, {_name_value(axis, value)}", *shown)
    for fact in counted:
        table.add_row(_title(fact), *(_share(row[fact]) for row in rows.values()))
    return table


def _name_value(axis: str, value: int) -> str:
    """`length 10`, or `10 mazes` and `1 maze` of what is a number of something."""
    words = axis.replace("_", " ")
    if not axis.startswith("num_"):
        return f"{words} {_shorten(value)}"
    things = words.removeprefix("num ")
    return f"{_shorten(value)} {things if value != 1 else things.removesuffix('s')}"


def _choose_values(rows: dict[str, dict[str, Any]], kind: str) -> list[tuple[str, int]]:
    """Of each thing that grows some of the values at which runs were evaluated."""
    values: dict[str, set[int]] = {}
    for row in rows.values():
        values.setdefault(row["grows"], set()).update(row[kind])
    return [
        (axis, value)
        for axis, found in values.items()
        if found
        for value in choose_columns(np.array(sorted(found)))
    ]


def _shorten(value: int) -> str:
    """1,000 as it is, and 1,000,000 as 1e6."""
    power = len(str(value)) - 1
    return f"1e{power}" if power > 4 and value == 10**power else f"{value:,}"


def _get(row: dict[str, Any], kind: str, axis: str, value: int) -> float | None:
    return row[kind].get(value) if row["grows"] == axis else None


def _show(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}"


def _share(found: dict[str, int] | None) -> str:
    return "" if found is None else f"{found['count']} of {found['of']}"
