"""Return against horizon: a line for each agent, coloured by its stability."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from remanence.figures._looks import STABILITY
from remanence.figures._style import GREY, STYLE, make_figure

COLOURS = {name: look.colour for name, look in STABILITY.items()}
COLOURS |= {"multistable": COLOURS["bistable"], "not finite": GREY}
MARKS = {4.0: "optimal", 1.95: "coin flip", 0.0: "no arm in time"}
LABELS = {"length": "length of the maze (cells)", "num_mazes": "number of mazes"}


def draw_returns(
    summary: Mapping[str, np.ndarray], stability: Mapping[Any, str], title: str = ""
) -> Figure:
    """Mean return against length, from the columns of an evaluation's summary.

    `stability` names that of each agent. Lines that fall on each other are counted at their end.
    """
    axis = next(name for name in LABELS if name in summary)
    with mpl.rc_context(STYLE):
        figure = make_figure()
        axes = figure.add_subplot()
        for agent, kind in stability.items():
            _draw_agent(axes, summary, axis, agent, COLOURS[kind])
        _mark_levels(axes)
        _count_ends(axes, summary, axis, list(stability))
        axes.set(xscale="log", xlabel=LABELS[axis], ylabel="return", title=title, ylim=(-0.3, 4.3))
        _explain_colours(axes, stability)
    return figure


def _draw_agent(
    axes: Axes, summary: Mapping[str, np.ndarray], axis: str, agent: Any, colour: str
) -> None:
    members = summary["agent"] == agent
    lengths, returns = summary[axis][members], summary["return"][members]
    axes.plot(lengths, returns, color=colour, alpha=0.6, linewidth=1.2, label=f"agent {agent}")
    low, high = summary["low"][members], summary["high"][members]
    if np.any(high > low):
        axes.fill_between(lengths, low, high, color=colour, alpha=0.15, linewidth=0)


def _mark_levels(axes: Axes) -> None:
    for level, name in MARKS.items():
        axes.axhline(level, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
        axes.annotate(
            name,
            (0, level),
            xycoords=("axes fraction", "data"),
            xytext=(3, -9),
            textcoords="offset points",
            color=GREY,
            fontsize=7,
        )


def _count_ends(
    axes: Axes, summary: Mapping[str, np.ndarray], axis: str, agents: list[Any]
) -> None:
    """How many lines end where, beside the right end."""
    longest = summary[axis].max()
    last = summary[axis] == longest
    ends = np.sort(summary["return"][last])
    # Ends that are nearer than a line of text share one label.
    for group in np.split(ends, np.flatnonzero(np.diff(ends) > 0.2) + 1):
        axes.annotate(
            f"{len(group)} of {len(agents)}",
            (longest, group.mean()),
            xytext=(4, -3),
            textcoords="offset points",
            fontsize=7,
        )


def _explain_colours(axes: Axes, stability: Mapping[Any, str]) -> None:
    counts = Counter(stability.values())
    handles = [Line2D([], [], color=COLOURS[kind]) for kind in counts]
    labels = [f"{kind} ({count})" for kind, count in counts.items()]
    axes.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(labels))
