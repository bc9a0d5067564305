"""The share of right decisions against how many were taken before, for both ways of acting."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures import (
    GREY,
    STYLE,
    Columns,
    Tables,
    assign_looks,
    make_figure,
    select_rows,
)
from remanence.papers.multistability._looks import MODELS
from remanence.papers.multistability.lookup_tree._tables import KINDS, PREFIXES


def draw_reach(tables: Tables) -> Figure:
    """A row for each way of acting, a column for nonlinear models and one for the others."""
    reach = tables["reach"]
    actings = [acting for acting in PREFIXES if acting in reach["acting"]]
    kinds = {name: linear for name, linear in KINDS.items() if linear in reach["parallelizable"]}
    with mpl.rc_context(STYLE):
        figure = make_figure(7.0, 0.9 + 2.1 * len(actings))
        grid = figure.subplots(len(actings), len(kinds), sharex=True, sharey=True, squeeze=False)
        for row, acting in zip(grid, actings, strict=True):
            for axes, (kind, linear) in zip(row, kinds.items(), strict=True):
                members = select_rows(reach, acting=acting, parallelizable=linear)
                _draw_panel(axes, members)
                axes.set_title(f"{kind} models, {acting} actions", loc="left", fontsize=9)
            row[0].set(ylabel="share of right decisions", ylim=(_find_lowest(reach), 1.02))
        for axes in grid[-1]:
            axes.set(xlabel="number of the decision in its episode")
        _explain(figure, list(grid[0]))
    return figure


def _find_lowest(reach: Columns) -> float:
    """Below all that is shown, and well below guessing."""
    return min(0.35, float(np.nanmin(np.clip(reach["low"], 0, None))) - 0.02)


def _draw_panel(axes: Axes, reach: Columns) -> None:
    axes.set(xscale="log")
    axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
    for model, look in assign_looks(reach["model"].tolist(), MODELS).items():
        members = select_rows(reach, model=model)
        middle = np.sqrt(members["first"] * members["last"].astype(float))
        style = {"marker": look.marker, "markersize": 4, "linewidth": 1.3}
        label = f"{look.name} ({members['num_agents'].max()})"
        axes.plot(middle, members["share"], color=look.colour, label=label, **style)
        band = np.clip([members["low"], members["high"]], 0, 1)
        axes.fill_between(middle, *band, color=look.colour, alpha=0.18, linewidth=0)


def _explain(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for the panels of a row: each model is in one of them."""
    handles = [line for axes in panels for line in axes.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8)
