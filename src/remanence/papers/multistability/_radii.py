"""How much disturbance each agent survives, against how far its memory is certified to reach.

The same picture of both environments: one has lengths, the other numbers of mazes.
"""

from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures import GREY, STYLE, Columns, Tables, find_look, make_figure, select_rows
from remanence.papers.multistability._looks import LOOKS

FLOOR = 1e-6  # stands for a radius of 0
WIDTH = 1.6  # as a factor, of agents side by side
FAR = 3.0  # times the longest finite span: where "every length" is


class Span(NamedTuple):
    """The column that says how far a memory is certified to reach, and words for it."""

    column: str
    label: str
    everything: str
    least: float  # where a span of less is drawn


def draw_radii(span: Span, tables: Tables) -> Figure:
    """A bar for each row, from the radius that is proved to the one that breaks it."""
    radii = tables["radii"]
    with mpl.rc_context(STYLE):
        figure = make_figure(6.0, 3.6)
        axes = figure.add_subplot()
        spans = np.maximum(radii[span.column], span.least)
        finite = spans[np.isfinite(spans)]
        far = FAR * max(10.0, float(finite.max(initial=1.0)))
        placed = {**radii, "place": _place(spans, far)}
        for model in dict.fromkeys(radii["model"].tolist()):
            _draw_model(axes, model, select_rows(placed, model=model))
        _finish(axes, span, far)
        figure.legend(loc="outside right upper")
    return figure


def _place(spans: np.ndarray, far: float) -> np.ndarray:
    """Where agents stand: those of one span side by side."""
    spans = np.where(np.isfinite(spans), spans, far)
    _, which, counts = np.unique(spans, return_inverse=True, return_counts=True)
    number = np.array([np.sum(which[:row] == which[row]) for row in range(len(which))])
    shares = (number + 0.5) / counts[which] - 0.5
    return spans * WIDTH ** np.where(counts[which] > 1, shares, 0)


def _draw_model(axes: Axes, model: str, rows: Columns) -> None:
    look = find_look(LOOKS.models, model)
    places, low = rows["place"], np.maximum(rows["radius_certified"], FLOOR)
    high = np.maximum(rows["radius_broken"], FLOOR)
    axes.vlines(places, low, np.where(np.isfinite(high), high, low), color=look.colour, alpha=0.5)
    axes.plot(places, low, look.marker, color=look.colour, markersize=5, label=look.name)
    axes.plot(places, high, look.marker, color=look.colour, markersize=5, markerfacecolor="white")


def _finish(axes: Axes, span: Span, far: float) -> None:
    left = 0.8 if span.least == 1 else span.least / WIDTH
    axes.set(xscale="log", yscale="log", xlim=(left, 2 * far), ylim=(FLOOR / 2, None))
    axes.set(xlabel=span.label, ylabel="radius of disturbances")
    axes.set_title("full: survived for ever; open: breaks it", fontsize=8)
    axes.axvline(far / np.sqrt(FAR), color=GREY, linewidth=0.6, linestyle=":")
    axes.axhline(2 * FLOOR, color=GREY, linewidth=0.6, linestyle=":")
    ticks = [10.0**power for power in range(12) if 10.0**power < far / np.sqrt(FAR)]
    named = {tick: f"{int(tick):,}" for tick in ticks} | {far: span.everything}
    named |= {span.least: "0"} if span.least < 1 else {}
    axes.set_xticks(list(named), list(named.values()))
    axes.minorticks_off()
    low = [10.0**power for power in range(-5, 2) if 10.0**power < axes.get_ylim()[1]]
    axes.set_yticks([FLOOR, *low], ["0", *(rf"$10^{{{int(np.log10(tick))}}}$" for tick in low)])
