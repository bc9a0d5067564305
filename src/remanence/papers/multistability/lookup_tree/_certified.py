"""For each model and table: right in every sequence of mazes, or failing after how many."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from remanence.figures import (
    STYLE,
    Columns,
    Tables,
    assign_looks,
    count_rows,
    keep_rows,
    make_figure,
    select_rows,
)
from remanence.papers.multistability._looks import MODELS

WALKS = {"greedy": "greedy", "straight": "straight ahead", "any": "any walk"}
SPREAD = 0.3
# With fewer mazes than that there is room for ticks between powers of ten.
FEW = 20


def draw_certified(tables: Tables) -> Figure:
    """A panel for each way of walking, a row of marks for each model."""
    found = tables["maze_certificates"]
    models = assign_looks(found["model"].tolist(), MODELS)
    latest = np.nanmax([2.0, *found["refuted_in"].astype(float)])
    with mpl.rc_context(STYLE):
        figure = make_figure(7.2, 1.0 + 0.45 * len(models))
        panels = figure.subplots(1, len(WALKS), sharey=True, squeeze=False)[0]
        for axes, (walk, name) in zip(panels, WALKS.items(), strict=True):
            axes.set_title(name, loc="left", fontsize=9)
            axes.set(xscale="log", xlim=(0.8, 1.25 * latest), xlabel="fails in maze")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if latest < FEW else (1,)))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            for row, (model, look) in enumerate(models.items()):
                members = select_rows(found, model=model, walk=walk)
                _draw_failures(axes, row, members, look.colour)
                _count(axes, row, members)
            axes.text(1.02, 1.02, "proved,\nopen", fontsize=7, transform=axes.transAxes)
        names = [look.name for look in models.values()]
        panels[0].set(yticks=range(len(names)), yticklabels=names)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def _draw_failures(axes: Axes, row: int, members: Columns, colour: str) -> None:
    refuted = select_rows(members, verdict="refuted")
    heights = row + SPREAD * np.linspace(-1, 1, max(2, count_rows(refuted)))
    heights = heights[: count_rows(refuted)]
    for stalls, marker in ((False, "o"), (True, "x")):
        chosen = (refuted["fails_by"] == "stall") == stalls
        if not chosen.any():
            continue
        failing = keep_rows(refuted, chosen)["refuted_in"].astype(float)
        axes.plot(failing, heights[chosen], marker, color=colour, markersize=3, alpha=0.7)


def _count(axes: Axes, row: int, members: Columns) -> None:
    counts = [np.count_nonzero(members["verdict"] == it) for it in ("certified", "undecided")]
    if count_rows(members):
        note = f"{counts[0]}, {counts[1]} of {count_rows(members)}"
        place = axes.get_yaxis_transform()
        axes.text(1.02, row, note, fontsize=7, va="center", transform=place, clip_on=False)
