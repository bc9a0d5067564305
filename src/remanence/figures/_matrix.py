"""What holds in which variant: claims down, variants across, a verdict in each cell."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch

from remanence.figures._columns import Tables, select_rows
from remanence.figures._style import BLUE, GREY, RED, STYLE, make_figure

AGREES, DISAGREES, UNTESTED = "agrees", "disagrees", "untested"
# Where a verdict is not sure, its colour is pale and its mark is dark.
LOOKS = {
    (AGREES, True): (BLUE, "white", "✓"),
    (AGREES, False): ("#B9D7EA", BLUE, "✓"),
    (DISAGREES, True): (RED, "white", "✗"),
    (DISAGREES, False): ("#F6CDB3", RED, "✗"),
    (UNTESTED, True): ("#F1F1EF", GREY, "–"),
}
LEGEND = {
    "agrees": LOOKS[AGREES, True],
    "… too few models to tell": LOOKS[AGREES, False],
    "disagrees": LOOKS[DISAGREES, True],
    "… too few models to tell ": LOOKS[DISAGREES, False],
    "not tested": LOOKS[UNTESTED, True],
}
CELL_WIDTH, CELL_HEIGHT = 0.62, 0.27
# The legend is as wide.
NARROWEST = 6.5


def draw_matrix(tables: Tables) -> Figure:
    """Claims that depend on the variant first, then those that agree in none; others are counted.

    The table `verdicts` has a row for each claim and variant: `claim`, `label`, `variant`,
    `verdict`, and whether it is `sure`; both are in the order in which they are to be shown.

    >>> from remanence import figures
    >>> verdicts = {"claim": ["a", "a", "b", "b"], "label": ["A", "A", "B", "B"]}
    >>> verdicts |= {"variant": ["default", "other"] * 2, "sure": [True] * 4}
    >>> verdicts |= {"verdict": ["agrees", "disagrees", "agrees", "agrees"]}
    >>> columns = {name: np.array(values) for name, values in verdicts.items()}
    >>> (axes,) = figures.draw_matrix({"verdicts": columns}).axes
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['A', '1 more agrees wherever it is tested']
    """
    found = tables["verdicts"]
    variants = list(dict.fromkeys(found["variant"].tolist()))
    grid = _fill_grid(tables, variants)
    groups = _group(grid)
    shown = [*groups["depends"], *groups["never"]]
    rest = {AGREES: len(groups["always"]), UNTESTED: len(groups["open"])}
    rest = {verdict: number for verdict, number in rest.items() if number}
    labels = [grid[claim][0] for claim in shown] + [_say_rest(*it) for it in rest.items()]
    with mpl.rc_context(STYLE):
        width = max(NARROWEST, 3.6 + CELL_WIDTH * len(variants))
        figure = make_figure(width, 1.9 + CELL_HEIGHT * len(labels))
        axes = figure.subplots()
        _draw_rows(axes, [grid[claim][1] for claim in shown])
        for place, verdict in enumerate(rest):
            # One bar for claims that are the same in all columns.
            row, colour = len(shown) + place, LOOKS[verdict, True][0]
            _draw_cell(axes, -0.45, row - 0.42, len(variants) - 0.1, colour)
        if groups["depends"] and groups["never"]:
            axes.axhline(len(groups["depends"]) - 0.5, color=GREY, linewidth=0.8)
        _label(axes, labels, variants, grid)
        _draw_legend(figure)
    return figure


Cells = list[tuple[str, bool]]


def _fill_grid(tables: Tables, variants: Sequence[str]) -> dict[str, tuple[str, Cells]]:
    """The label of every claim, and its verdicts in the order of the variants."""
    found = tables["verdicts"]
    grid = {}
    for claim in dict.fromkeys(found["claim"].tolist()):
        rows = select_rows(found, claim=claim)
        cells = dict(
            zip(
                rows["variant"].tolist(),
                zip(rows["verdict"].tolist(), rows["sure"].tolist(), strict=True),
                strict=True,
            )
        )
        grid[claim] = (rows["label"][0].item(), [cells[variant] for variant in variants])
    return grid


def _group(grid: dict[str, tuple[str, Cells]]) -> dict[str, list[str]]:
    """Claims by what they depend on; those that do, from where few variants agree to many."""
    groups: dict[str, list[str]] = {"depends": [], "never": [], "always": [], "open": []}
    for claim, (_, cells) in grid.items():
        tested = {verdict for verdict, _ in cells if verdict != UNTESTED}
        kind = {1: "always" if AGREES in tested else "never", 2: "depends"}.get(len(tested), "open")
        groups[kind].append(claim)
    groups["depends"].sort(key=lambda claim: _order(grid[claim][1]))
    return groups


def _order(cells: Cells) -> tuple[float, list[str]]:
    tested = [verdict for verdict, _ in cells if verdict != UNTESTED]
    return tested.count(AGREES) / len(tested), [verdict for verdict, _ in cells]


def _say_rest(verdict: str, number: int) -> str:
    if verdict == UNTESTED:
        return f"{number} more tested in no column"
    agree = "agrees wherever it is" if number == 1 else "agree wherever they are"
    return f"{number} more {agree} tested"


def _draw_rows(axes: Axes, rows: Sequence[Cells]) -> None:
    for row, cells in enumerate(rows):
        for column, (verdict, sure) in enumerate(cells):
            colour, ink, mark = LOOKS.get((verdict, sure), LOOKS[UNTESTED, True])
            _draw_cell(axes, column - 0.45, row - 0.42, 0.9, colour)
            style = {"ha": "center", "va": "center_baseline", "fontsize": 10, "weight": "bold"}
            axes.text(column, row + 0.03, mark, color=ink, **style)


def _draw_cell(axes: Axes, x: float, y: float, width: float, colour: str) -> None:
    rounded = "round,pad=0,rounding_size=0.12"
    axes.add_patch(FancyBboxPatch((x, y), width, 0.84, rounded, facecolor=colour, linewidth=0))


def _label(
    axes: Axes,
    labels: Sequence[str],
    variants: Sequence[str],
    grid: dict[str, tuple[str, Cells]],
) -> None:
    axes.set(xlim=(-0.5, len(variants) - 0.5), ylim=(len(labels) - 0.5, -0.5))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xticks(range(len(variants)), variants, rotation=38, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for column in range(len(variants)):
        verdicts = [cells[column][0] for _, cells in grid.values()]
        agree, tested = verdicts.count(AGREES), len(verdicts) - verdicts.count(UNTESTED)
        _write_below(axes, column, -3, f"{agree}", ha="center", weight="bold")
        _write_below(axes, column, -15, f"of {tested}", ha="center", fontsize=7, color=GREY)
    _write_below(axes, -0.6, -3, "agree", ha="right")


def _write_below(axes: Axes, column: int | float, points: int, text: str, **style: Any) -> None:
    """Below the axes, however high they are."""
    below = ("data", "axes fraction")
    axes.annotate(
        text,
        (column, 0),
        (0, points),
        xycoords=below,
        textcoords="offset points",
        va="top",
        annotation_clip=False,
        **style,
    )


def _draw_legend(figure: Figure) -> None:
    handles = [
        Line2D([], [], linestyle="", marker="s", markersize=9, color=colour, label=name.strip())
        for name, (colour, _, _) in LEGEND.items()
    ]
    style = {"fontsize": 8, "handletextpad": 0.3, "columnspacing": 1.0}
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), **style)
