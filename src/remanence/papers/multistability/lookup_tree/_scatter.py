"""Return against VAA, a panel for each number of mazes."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from remanence.figures import (
    GREY,
    STYLE,
    Columns,
    Look,
    Tables,
    assign_looks,
    count_agents,
    count_rows,
    keep_rows,
    make_figure,
    select_rows,
)
from remanence.papers.multistability._looks import MODELS
from remanence.papers.multistability.lookup_tree._entries import find_entry_levels

LEVELS = {"optimal": 4.0, "coin flip": 1.95}
# Who decides every maze is hardly ever below it, however badly; who runs out of time is.
LOWEST, HIGHEST = 1.5, 4.15
BELOW = 11  # matplotlib's caret that points down
# Models with one VAA are spread so far to either side of it.
SPREAD = 0.07
MARK: dict[str, Any] = {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.4}


def draw_scatter(table: str, tables: Tables) -> Figure:
    """Return against VAA of the scores in a table."""
    scores = tables[table]
    models = assign_looks(scores["model"].tolist(), MODELS)
    numbers = np.unique(scores["num_mazes"]).tolist()
    levels = LEVELS | _name_entries(tables["task"]["table_size"].item())
    with mpl.rc_context(STYLE):
        figure = make_figure(7.4, 2.7)
        panels = figure.subplots(1, len(numbers), sharex=True, sharey=True, squeeze=False)[0]
        for axes, number in zip(panels, numbers, strict=True):
            _draw_panel(axes, select_rows(scores, num_mazes=number), models, levels)
            axes.set_title(f"{number:,} mazes", fontsize=9)
            axes.set(xlabel="VAA")
        panels[0].set(ylabel="return", xlim=(-0.1, 1.1), ylim=(LOWEST, HIGHEST))
        _name_levels(panels[-1], levels)
        _explain(figure, scores, models)
    return figure


def _name_entries(table_size: int) -> dict[str, float]:
    """What some entries of the table are good for; with none it is a coin flip."""
    known = find_entry_levels(table_size).tolist()[1:-1]
    return {
        "1 entry" if number == 1 else f"{number} entries": level
        for number, level in enumerate(known, start=1)
    }


def _draw_panel(
    axes: Axes, scores: Columns, models: dict[str, Look], levels: dict[str, float]
) -> None:
    for name, level in levels.items():
        line = "--" if name in LEVELS else ":"
        axes.axhline(level, color=GREY, linewidth=0.8, linestyle=line, zorder=0)
    scores = {**scores, "place": _spread(scores)}
    inside = scores["return"] >= LOWEST
    for model, look in models.items():
        mine = scores["model"] == model
        _draw_marks(axes, keep_rows(scores, mine & inside), look)
        _draw_edge(axes, keep_rows(scores, mine & ~inside), look)
    if not inside.all():
        note = f"{np.count_nonzero(~inside)} below"
        axes.text(0.5, 0.04, note, transform=axes.transAxes, ha="center", fontsize=7, color=GREY)


def _spread(scores: Columns) -> np.ndarray:
    """Where to draw each model: at its VAA, or side by side with all others that have the same."""
    places = scores["vaa"].astype(float)
    for vaa in np.unique(np.round(places, 6)):
        same = np.flatnonzero(np.isclose(scores["vaa"], vaa))
        order = same[np.lexsort((scores["seed"][same], scores["model"][same]))]
        if len(order) > 1:
            places[order] += np.linspace(-SPREAD, SPREAD, len(order))
    return places


def _draw_marks(axes: Axes, scores: Columns, look: Look) -> None:
    places = scores["place"], scores["return"]
    size = 8 if look.marker == "*" else 5.5
    axes.plot(*places, look.marker, color=look.colour, markersize=size, label=look.name, **MARK)


def _draw_edge(axes: Axes, scores: Columns, look: Look) -> None:
    """Models whose returns are below all that is shown."""
    if count_rows(scores):
        edge = np.full(count_rows(scores), LOWEST)
        name = f"{look.name}, below"
        shape = {"marker": BELOW, "markersize": 6.5, "clip_on": False}
        axes.plot(scores["place"], edge, color=look.colour, label=name, **shape, **MARK)


def _name_levels(axes: Axes, levels: dict[str, float]) -> None:
    for name, level in levels.items():
        place = {"xytext": (3, -2), "textcoords": "offset points"}
        axes.annotate(
            name, (1, level), xycoords=("axes fraction", "data"), fontsize=7, color=GREY, **place
        )


def _explain(figure: Figure, scores: Columns, models: dict[str, Look]) -> None:
    handles = [
        Line2D(
            [], [], marker=look.marker, color=look.colour, label=f"{look.name} ({number})", **MARK
        )
        for model, look in models.items()
        for number in [count_agents(select_rows(scores, model=model))]
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8)
