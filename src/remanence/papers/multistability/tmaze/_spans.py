"""The lengths at which every agent is certified to act right, a row for each agent."""

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from remanence.figures import (
    GREY,
    STABILITY,
    STYLE,
    Columns,
    Look,
    Tables,
    count_rows,
    find_look,
    keep_rows,
    make_figure,
    order,
    select_rows,
)
from remanence.papers.multistability._looks import MODELS, TRAININGS

LEFT_END, RIGHT_END = 0.9, 1e7
# Stability is told by a dot before the row too, where colours cannot be told apart.
MARKED, DOTS = "bistable", 0.75
SHADES = {"solved": 0.35, "optimal": 1.0}
GAP_ROWS = 1.5
FINEST = 10**0.01  # a hundredth of a decade is about a dot in print


def draw_spans(tables: Tables) -> Figure:
    """A panel for each training; agents in groups by model, longest spans on top."""
    lengths = tables["lengths"]
    presets = order(lengths["preset"].tolist(), TRAININGS)
    panels = {preset: select_rows(lengths, preset=preset) for preset in presets}
    num_rows = max(_count_rows_needed(panel) for panel in panels.values())
    with mpl.rc_context(STYLE):
        figure = make_figure(max(6.6, 0.4 + 3.5 * len(presets)), min(9.0, 1.5 + 0.09 * num_rows))
        grid = figure.subplots(1, len(presets), sharey=False, squeeze=False)[0]
        for axes, (preset, panel) in zip(grid, panels.items(), strict=True):
            _draw_training(axes, panel)
            axes.set_title(find_look(TRAININGS, preset).name, loc="left")
        _explain(figure)
    return figure


def _count_rows_needed(panel: Columns) -> float:
    agents = set(zip(panel["model"].tolist(), panel["seed"].tolist(), strict=True))
    return len(agents) + GAP_ROWS * len(set(panel["model"].tolist()))


def _draw_training(axes: Axes, panel: Columns) -> None:
    top, ticks, names = 0.0, [], []
    for model in order(panel["model"].tolist(), MODELS):
        group = select_rows(panel, model=model)
        seeds = _sort_agents(group)
        for row, seed in enumerate(seeds):
            _draw_agent(axes, select_rows(group, seed=seed), top + row)
        forever = sum(_lasts(select_rows(group, seed=seed)) for seed in seeds)
        ticks.append(top + (len(seeds) - 1) / 2)
        names.append(f"{find_look(MODELS, model).name}\n{forever} of {len(seeds)}\nright from 2 on")
        top += len(seeds) + GAP_ROWS
    axes.set(xscale="log", xlim=(LEFT_END, RIGHT_END), ylim=(top - GAP_ROWS + 0.2, -1.2))
    axes.set(xlabel="length of the maze (cells)", xticks=10.0 ** np.arange(0, 7))
    axes.set_yticks(ticks, names, fontsize=7)
    axes.tick_params(axis="y", length=0, pad=7)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.5)


def _sort_agents(group: Columns) -> list[int]:
    """Seeds, those first that are known to solve most of the logarithmic axis."""
    return sorted(
        set(group["seed"].tolist()), key=lambda seed: -_measure(select_rows(group, seed=seed))
    )


def _measure(agent: Columns) -> float:
    # What is done without waste is solved too, and may be all that is known.
    kind = "optimal" if _is_undecided(agent) else "solved"
    stretches = select_rows(agent, kind=kind)
    high = np.minimum(stretches["high"], RIGHT_END)
    return float(np.sum(stretches["share"] * np.log((high + 0.5) / (stretches["low"] - 0.5))))


def _lasts(agent: Columns) -> bool:
    """Whether it is right from length 2 on; at length 1 the cue is seen at the junction."""
    solved = select_rows(agent, kind="solved", share=1.0)
    return bool(np.any((solved["low"] <= 2) & np.isinf(solved["high"])))


def _is_undecided(agent: Columns) -> bool:
    return bool(np.any(agent["kind"] == ""))


def _draw_agent(axes: Axes, agent: Columns, row: float) -> None:
    colour = _find_colour(agent)
    if agent["stability"][0] == MARKED:
        axes.plot(DOTS, row, "o", color="black", markersize=1.6, clip_on=False)
    shown = keep_rows(agent, agent["share"] > 0)
    if _is_undecided(agent):
        end = 1.5 * min(shown["high"].max(), RIGHT_END) if count_rows(shown) else 1.0
        axes.plot(end, row, marker="$?$", color="black", markersize=4, markeredgewidth=0.4)
    elif not count_rows(shown):
        axes.plot(1, row, marker="x", color=GREY, markersize=3, markeredgewidth=0.7)
    for kind, shade in SHADES.items():
        for left, right, share in _list_bars(select_rows(agent, kind=kind)):
            axes.barh(row, right - left, 0.8, left, color=colour, alpha=shade * share)
    endless = keep_rows(agent, np.isinf(agent["high"]) & (agent["kind"] == "solved"))
    if count_rows(endless):
        axes.plot(RIGHT_END, row, ">", color=colour, markersize=3, clip_on=False)


def _list_bars(stretches: Columns) -> Iterator[tuple[float, float, float]]:
    """Ends and share of each bar; stretches that nobody could tell apart are one, as a shade."""
    # A length is a whole number, and its bar reaches half-way to its neighbours.
    low, high = stretches["low"] - 0.45, np.minimum(stretches["high"], RIGHT_END) + 0.45
    left = right = covered = 0.0
    for start, end, share in sorted(zip(low, high, stretches["share"], strict=True)):
        if left and end > FINEST * left:
            yield left, right, covered / (right - left)
            left = 0.0
        if not left:
            left, covered = start, 0.0
        right, covered = end, covered + share * (end - start)
    if left:
        yield left, right, covered / (right - left)


def _find_colour(agent: Columns) -> str:
    return STABILITY.get(agent["stability"][0], Look("", GREY)).colour


def _explain(figure: Figure) -> None:
    handles: list[Artist] = [
        Patch(color=look.colour, alpha=shade, label=f"{look.name}, {words}")
        for look in STABILITY.values()
        for shade, words in ((1.0, "no wasted step"), (SHADES["solved"], "right arm"))
    ]
    handles += [
        Line2D([], [], marker=mark, color=colour, linestyle="none", markersize=4, label=words)
        for mark, colour, words in (
            ("x", GREY, "no length"),
            ("$?$", "black", "undecided from there on"),
            (".", "black", MARKED),
        )
    ]
    spacing = {"columnspacing": 1.2, "handlelength": 1.4}
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8, **spacing)
