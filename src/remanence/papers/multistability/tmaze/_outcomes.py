"""Outcomes at one length: how many models, and how that goes with their stability."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from remanence.figures import (
    GREY,
    STABILITY,
    STYLE,
    Columns,
    Tables,
    count_rows,
    find_look,
    keep_rows,
    make_figure,
    order,
    select_rows,
)
from remanence.papers.multistability._looks import MODELS, TRAININGS

OUTCOMES = {"timeout": "timeout", "random": "acts at\nrandom", "solved": "solved"}
MARKS_PER_ROW = 9
ROW_HEIGHT = 0.075


def draw_outcomes(tables: Tables) -> Figure:
    """Bars of outcomes and scatter of outcome against stability, of nonlinear models."""
    models = select_rows(tables["models"], parallelizable=False)
    models = keep_rows(models, models["outcome"] != "")
    presets = order(models["preset"].tolist(), TRAININGS)
    with mpl.rc_context(STYLE):
        figure = make_figure(6.2, 5.8)
        bars, scatter = figure.subplots(2, 1, height_ratios=(2, 3))
        for place, preset in enumerate(presets):
            shift = (place - (len(presets) - 1) / 2) * 0.4
            trained = select_rows(models, preset=preset)
            _draw_bars(bars, trained, preset, shift)
            _draw_marks(scatter, trained, preset, shift)
        length = f" {models['length'][0]:,}" if count_rows(models) else ""
        bars.set(ylabel="number of models")
        bars.yaxis.set_major_locator(MaxNLocator(integer=True))
        bars.set_title(f"A  Outcome at length{length}", loc="left")
        bars.margins(y=0.2)
        scatter.set_title(f"B  Outcome and stability{_count_others(models)}", loc="left")
        scatter.set(yticks=range(len(STABILITY)), yticklabels=list(STABILITY))
        scatter.set(ylim=(-0.5, len(STABILITY) - 0.5))
        scatter.axhline(0.5, color=GREY, linewidth=0.6, linestyle=":")
        for axes in (bars, scatter):
            axes.set(xticks=range(len(OUTCOMES)), xticklabels=list(OUTCOMES.values()))
            axes.set(xlim=(-0.5, len(OUTCOMES) - 0.5))
        figure.legend(*bars.get_legend_handles_labels(), loc="outside upper center", ncols=2)
        _explain_marks(scatter, models)
    return figure


def _count_others(models: Columns) -> str:
    """Says how many models are not among the marks."""
    others = np.count_nonzero(~np.isin(models["stability"], list(STABILITY)))
    return f" ({others} more whose stability is not known)" if others else ""


def _draw_bars(axes: Axes, models: Columns, preset: str, shift: float) -> None:
    look = find_look(TRAININGS, preset)
    counts = [np.count_nonzero(models["outcome"] == outcome) for outcome in OUTCOMES]
    label = f"{look.name} ({count_rows(models)} models)"
    places = np.arange(len(OUTCOMES)) + shift
    axes.bar_label(axes.bar(places, counts, 0.36, color=look.colour, label=label), padding=2)


def _draw_marks(axes: Axes, models: Columns, preset: str, shift: float) -> None:
    for x, outcome in enumerate(OUTCOMES):
        for y, stability in enumerate(STABILITY):
            members = select_rows(models, outcome=outcome, stability=stability)
            _draw_cluster(axes, members, find_look(TRAININGS, preset).colour, (x + shift, y))


def _draw_cluster(axes: Axes, members: Columns, colour: str, centre: tuple[float, int]) -> None:
    """Marks in rows around a place, model by model, with their number right below."""
    x, y = centre
    names = order(members["model"].tolist(), MODELS)
    ordered = [name for name in names for _ in range(np.count_nonzero(members["model"] == name))]
    num_rows = -(-len(ordered) // MARKS_PER_ROW)
    top = y + 0.05 + ROW_HEIGHT * (num_rows - 1) / 2
    for index, name in enumerate(ordered):
        row, column = divmod(index, MARKS_PER_ROW)
        width = min(len(ordered) - row * MARKS_PER_ROW, MARKS_PER_ROW)
        place = (x + 0.038 * (column - (width - 1) / 2), top - ROW_HEIGHT * row)
        marker = find_look(MODELS, name).marker
        axes.plot(*place, marker, color=colour, markersize=4, markeredgecolor="white", mew=0.4)
    axes.text(x, top - ROW_HEIGHT * num_rows, str(len(ordered)), ha="center", va="top")


def _explain_marks(axes: Axes, models: Columns) -> None:
    names = order(models["model"].tolist(), MODELS)
    looks = [find_look(MODELS, name) for name in names]
    handles = [Line2D([], [], marker=it.marker, color=GREY, linestyle="none") for it in looks]
    counts = [np.count_nonzero(models["model"] == name) for name in names]
    labels = [f"{it.name} ({count})" for it, count in zip(looks, counts, strict=True)]
    axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
