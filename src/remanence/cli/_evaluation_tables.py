"""What an evaluation found, for the screen: rows are agents, columns values of what grows."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rich.table import Table

from remanence.cli._command import open_table
from remanence.evaluation import Evaluation

MOST_COLUMNS = 7
VISIBLE = 0.005  # with two digits
_COLOURS = {"solved": "green", "random": "yellow", "timeout": "red"}

Row = dict[str, Any]


def tabulate_returns(evaluation: Evaluation, stability: Mapping[int, str]) -> Table:
    """Returns, and what kind of memory each agent has, where that is known."""
    known = any(stability.values())
    rows = _list_rows(evaluation)
    table = _begin_table(evaluation, *(["stability"] if known else []))
    for seed, kind in stability.items():
        cells = [_show_return(row, evaluation.exact) for row in rows[seed]]
        table.add_row(str(seed), *([kind] if known else []), *cells)
    return table


def tabulate_decisions(evaluation: Evaluation) -> Table:
    """What a return does not tell apart: deciding well, and getting to where one decides."""
    table = _begin_table(evaluation, "decisions")
    for seed, rows in _list_rows(evaluation).items():
        for number, (title, show) in enumerate(_DECISIONS.items()):
            table.add_row("" if number else str(seed), title, *map(show, rows))
    return table


def choose_columns(lengths: np.ndarray) -> list[int]:
    """Of many lengths the ones nearest to powers of ten, else some spread over them."""
    if len(lengths) <= MOST_COLUMNS:
        return lengths.tolist()
    spread = np.geomspace(lengths[0], lengths[-1], MOST_COLUMNS)
    decades = 10.0 ** np.arange(np.ceil(np.log10(lengths[0])), np.log10(lengths[-1]) + 1e-9)
    wanted = decades if 2 < len(decades) <= MOST_COLUMNS else spread
    nearest = [int(lengths[np.argmin(np.abs(np.log(lengths / goal)))]) for goal in wanted]
    return list(dict.fromkeys(nearest))


def _begin_table(evaluation: Evaluation, *titles: str) -> Table:
    return open_table(">seed", *titles, *(f">{it:,}" for it in _choose_values(evaluation)))


def _choose_values(evaluation: Evaluation) -> list[int]:
    return choose_columns(np.unique(evaluation.episodes[evaluation.axis]))


def _list_rows(evaluation: Evaluation) -> dict[int, list[Row]]:
    """For each agent its rows of the summary, at the values that are shown."""
    summary, shown = evaluation.summarize(), _choose_values(evaluation)
    rows: dict[int, dict[int, Row]] = {}
    for row in zip(*(column.tolist() for column in summary.values()), strict=True):
        seed, value, *_ = row
        rows.setdefault(seed, {})[value] = dict(zip(summary, row, strict=True))
    return {seed: [found[value] for value in shown] for seed, found in rows.items()}


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
