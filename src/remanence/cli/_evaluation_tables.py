"""What an evaluation found, for the screen: rows are agents, columns values of what grows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from remanence.cli._command import open_table
from remanence.evaluation import Evaluation

MOST_COLUMNS = 7
VISIBLE = 0.005  # with two digits
_UNLIMITED = 10_000  # characters
_COLOURS = {"solved": "green", "random": "yellow", "timeout": "red"}

Row = dict[str, Any]
Rows = dict[int, dict[int, Row]]


def tabulate_evaluation(
    console: Console, evaluation: Evaluation, stability: Mapping[int, str]
) -> tuple[list[Table], bool]:
    """Tables of which the screen cuts nothing, and whether it is too narrow for all columns."""
    rows, values = _index_rows(evaluation), np.unique(evaluation.episodes[evaluation.axis])
    usual = shown = choose_columns(values)
    while True:
        tables = [_tabulate_returns(rows, shown, stability, evaluation.exact)]
        if evaluation.decides_often:
            tables.append(_tabulate_decisions(rows, shown))
        if len(shown) == 1 or all(_find_width(console, it) <= console.width for it in tables):
            return tables, shown != usual
        shown = choose_columns(values, len(shown) - 1)


def _find_width(console: Console, table: Table) -> int:
    """How wide a table is of which nothing is cut."""
    return console.measure(table, options=console.options.update(width=_UNLIMITED)).maximum


def _tabulate_returns(
    rows: Rows, values: Sequence[int], stability: Mapping[int, str], exact: bool
) -> Table:
    """Returns, and what kind of memory each agent has, where that is known."""
    known = any(stability.values())
    table = _begin_table(values, *(["stability"] if known else []))
    for seed, kind in stability.items():
        cells = [_show_return(rows[seed][value], exact) for value in values]
        table.add_row(str(seed), *([kind] if known else []), *cells)
    return table


def _tabulate_decisions(rows: Rows, values: Sequence[int]) -> Table:
    """What a return does not tell apart: deciding well, and getting to where one decides."""
    table = _begin_table(values, "decisions")
    for seed, found in rows.items():
        for number, (title, show) in enumerate(_DECISIONS.items()):
            cells = [show(found[value]) for value in values]
            table.add_row("" if number else str(seed), title, *cells)
    return table


def choose_columns(lengths: np.ndarray, most: int = MOST_COLUMNS) -> list[int]:
    """Of many lengths the ones nearest to powers of ten, else some spread over them."""
    if len(lengths) <= most:
        return lengths.tolist()
    spread = np.geomspace(lengths[0], lengths[-1], most)
    decades = 10.0 ** np.arange(np.ceil(np.log10(lengths[0])), np.log10(lengths[-1]) + 1e-9)
    wanted = decades if 2 < len(decades) <= most else spread
    nearest = [int(lengths[np.argmin(np.abs(np.log(lengths / goal)))]) for goal in wanted]
    return list(dict.fromkeys(nearest))


def _begin_table(values: Sequence[int], *titles: str) -> Table:
    return open_table(">seed", *titles, *(f">{it:,}" for it in values))


def _index_rows(evaluation: Evaluation) -> Rows:
    """The rows of the summary, by agent and value of what grows."""
    summary = evaluation.summarize()
    rows: Rows = {}
    for row in zip(*(column.tolist() for column in summary.values()), strict=True):
        seed, value, *_ = row
        rows.setdefault(seed, {})[value] = dict(zip(summary, row, strict=True))
    return rows


def _show_return(row: Row, exact: bool) -> str:
    colour = _COLOURS[row["outcome"]]
    margin = row["high"] - row["return"]
    shown = "" if exact and margin < VISIBLE else f"±{margin:.2f}"
    return f"[{colour}]{row['return']:.2f}{shown}[/{colour}]"


def _show_share(row: Row) -> str:
    share, high = row["share_right"], row["share_high"]
    return "" if np.isnan(share) else f"{100 * share:.0f}±{100 * (high - share):.0f}%"


def _show_number(row: Row) -> str:
    number = row["num_decisions"]
    return f"{number:,.1f}" if number < 100 else f"{number:,.0f}"


def _show_timeouts(row: Row) -> str:
    return f"{100 * row['timeouts']:.0f}%"


_DECISIONS: dict[str, Callable[[Row], str]] = {
    "right": _show_share,
    "taken": _show_number,
    "timeouts": _show_timeouts,
}
