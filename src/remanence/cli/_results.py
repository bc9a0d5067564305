"""`remanence results`: the tables of a study, filtered, grouped and written in any format."""

import csv
import dataclasses
import io
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from remanence.cli._command import OPTIONAL, Command
from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.store import write_rows, write_text
from remanence.study import load_results

if TYPE_CHECKING:
    import duckdb

MOST_ROWS = 60
WIDEST = 400  # of a file, which no screen limits
PARQUET = "parquet"
# They number things, so that their mean says nothing.
_LABELS = ("seed", "cue", "length", "iteration", "num_mazes", "step", "unit", "first", "last")
_WORDS = ("VARCHAR", "BOOLEAN")


@dataclasses.dataclass(frozen=True)
class Results(Command):
    """Query the tables of a study or of a run.

    The table `summary` has a row for each training, `curves` for each seed and iteration,
    and `outcomes` for each agent and length; `evaluations` has one for each episode, `decisions`
    for each agent, length, cue and stretch of decisions, `stability` and `certificates` for each
    agent, and `orbits` for each step of a memory. Of agents that sample their actions there
    are `sampled_outcomes`, `sampled_evaluations` and `sampled_decisions`. A summary counts only
    what is known of all agents of a training.

    Example: remanence results studies/laptop outcomes --where "length = 100" --group-by cell
    """

    study: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="STUDY|RUN")]
    """The directory of a study or of a run."""
    table: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TABLE")] = "summary"
    """The table to show."""
    where: Annotated[str | None, OPTIONAL] = None
    """Only rows for which this SQL condition holds: "cell = 'gru' and length = 100"."""
    group_by: Annotated[tuple[str, ...], OPTIONAL] = ()
    """One row for each combination of these columns: how many rows, and the means of numbers."""
    format: str = "table"
    """table, csv, json (infinite is "inf", unknown is null) or parquet."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Write to this file instead of the screen."""

    def run(self, console: Console) -> None:
        if self.format not in (*_TEXTS, PARQUET):
            raise UnknownNameError("format", self.format, (*_TEXTS, PARQUET))
        relation = load_results(self.study, self.table)
        if self.where is not None:
            relation = _filter(relation, self.where)
        if self.group_by:
            relation = _group(relation, self.group_by)
        self._show(relation, console)

    def _show(self, relation: "duckdb.DuckDBPyRelation", console: Console) -> None:
        if self.format == PARQUET:
            _write_parquet(relation, self.out)
        elif self.format == "table" and self.out is None:
            print_relation(console, relation)
        else:
            self._write(_TEXTS[self.format](relation))

    def _write(self, text: str) -> None:
        if self.out is None:
            sys.stdout.write(text)
        else:
            write_text(self.out, text)


def print_relation(console: Console, relation: "duckdb.DuckDBPyRelation") -> None:
    """The first rows of a relation, and how many more there are.

    As a table if the screen is wide enough for every word and number, else row by row. Variants are
    shown where there are any.
    """
    if "variant" in relation.columns and not _has_variants(relation):
        relation = relation.project(
            ", ".join(f'"{it}"' for it in relation.columns if it != "variant")
        )
    rows = [[_show(value) for value in row] for row in relation.limit(MOST_ROWS).fetchall()]
    (count,) = relation.count("*").fetchall()[0]
    titles = [name.replace("_", " ") for name in relation.columns]
    widths = _fit(list(zip(titles, *rows, strict=True)), console.width)
    if widths is None:
        console.print(_list_rows(titles, rows), highlight=False, markup=False, end="")
    else:
        table = Table(box=None, pad_edge=False)
        for title, width, kind in zip(titles, widths, relation.types, strict=True):
            justify = "left" if str(kind) in _WORDS else "right"
            table.add_column(title, justify=justify, width=width)
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
    if not rows:
        console.print("no rows")
    if count > len(rows):
        console.print(f"{count - len(rows):,} more rows; all with --format csv", highlight=False)


def _has_variants(relation: "duckdb.DuckDBPyRelation") -> bool:
    return bool(relation.filter("variant::varchar <> ''").limit(1).fetchall())


def _fit(columns: Sequence[Sequence[str]], available: int) -> list[int] | None:
    """How wide to make columns of which lines may break between words, and only there.

    None if that is too wide. What is left goes to those first that need least to break nowhere.
    """
    widths = [max(len(word) for text in texts for word in ("", *text.split())) for texts in columns]
    left = available - sum(widths) - 2 * (len(widths) - 1)
    if left < 0:
        return None
    missing = {index: max(map(len, texts)) - widths[index] for index, texts in enumerate(columns)}
    for index, more in sorted(missing.items(), key=lambda it: it[1]):
        widths[index] += min(more, left)
        left -= min(more, left)
    return widths


def _list_rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widest = max(map(len, titles))
    blocks = [
        "".join(f"{title:{widest}}  {text}\n" for title, text in zip(titles, row, strict=True))
        for row in rows
    ]
    return "\n".join(blocks)


def _filter(relation: "duckdb.DuckDBPyRelation", condition: str) -> "duckdb.DuckDBPyRelation":
    import duckdb

    try:
        filtered = relation.filter(condition)
        # Some mistakes, such as a word compared with a number, show only when rows are read.
        filtered.count("*").fetchall()
    except duckdb.PermissionException as error:
        remedy = "a condition can use the columns of the table, and no files"
        raise InvalidOptionError("--where", condition, remedy) from error
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        columns = ", ".join(relation.columns)
        remedy = f'{reason}. The columns are {columns}; a word of SQL needs quotes: "end"'
        raise InvalidOptionError("--where", condition, remedy) from error
    return filtered


def _group(
    relation: "duckdb.DuckDBPyRelation", names: tuple[str, ...]
) -> "duckdb.DuckDBPyRelation":
    for name in names:
        if name not in relation.columns:
            raise UnknownNameError("column", name, relation.columns)
    names = tuple(dict.fromkeys(names))
    groups = [f'"{name}"' for name in names]
    means = [
        f'avg("{name}") as "{name}"'
        for name, kind in zip(relation.columns, relation.types, strict=True)
        if str(kind) in ("DOUBLE", "FLOAT", "BIGINT", "INTEGER") and name not in (*names, *_LABELS)
    ]
    grouped = ", ".join(groups)
    return relation.aggregate(", ".join([*groups, "count(*) as rows", *means]), grouped).order(
        grouped
    )


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def _to_csv(relation: "duckdb.DuckDBPyRelation") -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(relation.columns)
    writer.writerows(relation.fetchall())
    return text.getvalue()


def _to_json(relation: "duckdb.DuckDBPyRelation") -> str:
    """A list of objects; JSON knows neither NaN nor infinity."""
    rows = [
        {name: _to_plain(value) for name, value in zip(relation.columns, row, strict=True)}
        for row in relation.fetchall()
    ]
    return json.dumps(rows, allow_nan=False) + "\n"


def _to_plain(value: Any) -> Any:
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def _to_text(relation: "duckdb.DuckDBPyRelation") -> str:
    console = Console(file=io.StringIO(), width=WIDEST)
    with console.capture() as capture:
        print_relation(console, relation)
    return capture.get()


def _write_parquet(relation: "duckdb.DuckDBPyRelation", out: Path | None) -> None:
    if out is None:
        raise InvalidOptionError("--format", PARQUET, "say with --out which file to write")
    write_rows(out, relation)


_TEXTS: dict[str, Callable[["duckdb.DuckDBPyRelation"], str]] = {
    "table": _to_text,
    "csv": _to_csv,
    "json": _to_json,
}
