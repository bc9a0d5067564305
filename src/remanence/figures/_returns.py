"""Return against what grows: a line for each agent, coloured by its stability."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from remanence.figures._levels import limit_returns, mark_levels
from remanence.figures._looks import EVERY_STABILITY
from remanence.figures._style import STYLE, make_figure

COLOURS = {name: look.colour for name, look in EVERY_STABILITY.items()}
# What an evaluation's summary has besides what grows.
OTHER_COLUMNS = ("agent", "return", "low", "high", "num_steps", "outcome")


def draw_returns(
    summary: Mapping[str, np.ndarray],
    stability: Mapping[Any, str],
    title: str = "",
    *,
    axis: str | None = None,
    label: str | None = None,
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Mean return against what grows, from the columns of an evaluation's summary.

    `stability` names that of each agent, `axis` the column of what grows, `label` what that is,
    and `levels` returns that mean something. Lines that fall on each other are counted where they
    end.

    >>> from remanence import figures
    >>> columns = {"agent": [1, 1], "delay": [10, 100], "return": [4.0, 1.95]}
    >>> columns |= {"low": [4.0, 1.95], "high": [4.0, 1.95]}
    >>> summary = {name: np.array(column) for name, column in columns.items()}
    >>> figure = figures.draw_returns(summary, {1: "monostable"}, label="delay in steps")
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('delay in steps', 'return')
    """
    axis = axis or next(name for name in summary if name not in OTHER_COLUMNS)
    with mpl.rc_context(STYLE):
        figure = make_figure()
        axes = figure.add_subplot()
        for agent, kind in stability.items():
            _draw_agent(axes, summary, axis, agent, COLOURS[kind])
        limit_returns(axes, summary["return"], levels or {})
        mark_levels(axes, levels or {}, place=0.0, offset=(3, -9))
        _count_ends(axes, summary, axis, list(stability))
        axes.set(xscale="log", xlabel=label or axis, ylabel="return", title=title)
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
