"""Return against what grows: a panel for each model and training, colours by stability."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from remanence.figures._columns import Columns, Tables, average_over, count_agents, select_rows
from remanence.figures._levels import limit_returns, mark_levels, read_levels
from remanence.figures._looks import EVERY_STABILITY, Look, Looks, assign_looks
from remanence.figures._style import GREY, STYLE, make_figure

# A dot is one agent where it is faintest, and every agent of its kind where it is darkest.
FAINTEST = 0.4
# A thin line leads from mean to mean; nothing was measured along it.
HINT: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.6}
OPEN = ("monostable",)


def draw_generalization(tables: Tables, looks: Looks | None = None) -> Figure:
    """Return against what grows: a row for each model, a column for each training.

    Dots are single agents at the values that were evaluated, markers their means. Reads the tables
    `outcomes`, `growth` and `levels`.

    >>> from remanence import figures
    >>> words = {"preset": "short", "model": "gru", "stability": "bistable"}
    >>> outcomes = {name: np.array([word, word]) for name, word in words.items()}
    >>> outcomes |= {"seed": np.array([1, 1]), "num_iterations": np.array([250, 250])}
    >>> outcomes |= {"delay": np.array([10, 100]), "return": np.array([4.0, 1.95])}
    >>> growth = {"name": np.array(["delay"]), "label": np.array(["delay in steps"])}
    >>> levels = figures.tabulate_levels({"optimal": 4.0})
    >>> tables = {"outcomes": outcomes, "growth": growth, "levels": levels}
    >>> (axes,) = figures.draw_generalization(tables).axes
    >>> axes.get_xlabel(), axes.get_title("left")
    ('delay in steps', 'gru: 1 bistable')
    """
    looks = looks or Looks()
    outcomes, levels = tables["outcomes"], read_levels(tables)
    growth, label = (tables["growth"][name].item() for name in ("name", "label"))
    trainings = assign_looks(outcomes["preset"].tolist(), looks.trainings)
    models = assign_looks(outcomes["model"].tolist(), looks.models)
    most_iterations = max(outcomes["num_iterations"].tolist())
    with mpl.rc_context(STYLE):
        figure = make_figure(min(7.4, 1.8 + 3.2 * len(trainings)), 1.1 + 1.5 * len(models))
        grid = figure.subplots(len(models), len(trainings), sharex=True, sharey=True, squeeze=False)
        for row, (model, look) in zip(grid, models.items(), strict=True):
            for axes, preset in zip(row, trainings, strict=True):
                members = select_rows(outcomes, model=model, preset=preset)
                axes.set(xscale="log")
                axes.set_title(_name_panel(members, look, most_iterations), loc="left", fontsize=8)
                _draw_panel(axes, members, growth)
            row[0].set(ylabel="return")
            limit_returns(row[0], outcomes["return"], levels)
            for axes in row:
                mark_levels(axes, levels, named=axes is row[-1])
        for axes, training in zip(grid[0], trainings.values(), strict=True):
            axes.set_title(f"{training.name}\n", loc="center", fontsize=9)
        for axes in grid[-1]:
            axes.set(xlabel=label)
        _explain(figure, outcomes)
    return figure


def _name_panel(members: Columns, model: Look, most_iterations: int) -> str:
    """Such as "GRU: 13 bistable, 17 monostable", and if it was trained for less than others."""
    counts = {
        look.name or "not measured": count_agents(select_rows(members, stability=kind))
        for kind, look in EVERY_STABILITY.items()
    }
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    iterations = max(members["num_iterations"].tolist(), default=most_iterations)
    brief = f" ({iterations} iterations)" if iterations < most_iterations else ""
    return f"{model.name}{brief}: {kinds or 'not trained'}"


def _draw_panel(axes: Axes, members: Columns, growth: str) -> None:
    for kind, look in EVERY_STABILITY.items():
        group = select_rows(members, stability=kind)
        number = count_agents(group)
        if not number:
            continue
        places = np.stack([group[growth], group["return"]], axis=1)
        places, counts = np.unique(places, axis=0, return_counts=True)
        shades: Any = FAINTEST + (1 - FAINTEST) * counts / number
        axes.scatter(*places.T, s=7, color=look.colour, alpha=shades, linewidths=0)
        sizes, mean, _ = average_over(group, growth, "return")
        axes.plot(sizes, mean, look.marker, color=look.colour, label=look.name, **HINT)
        axes.plot(sizes, mean, "o", **_choose_marker(kind, look))


def _choose_marker(kind: str, look: Look) -> dict[str, Any]:
    face = "white" if kind in OPEN else look.colour
    return {"color": look.colour, "markerfacecolor": face, "markersize": 3.2, "mew": 0.8}


def _choose_hint(look: Look) -> dict[str, Any]:
    return {"linestyle": look.marker, "label": f"{look.name or 'not measured'}, mean"}


def _explain(figure: Figure, outcomes: Columns) -> None:
    found = set(outcomes["stability"].tolist())
    handles = [
        Line2D([], [], marker="o", **_choose_marker(kind, look), **_choose_hint(look))
        for kind, look in EVERY_STABILITY.items()
        if kind in found
    ]
    dot = Line2D(
        [], [], marker=".", color=GREY, linestyle="none", markersize=4, label="single agents"
    )
    figure.legend(handles=[*handles, dot], loc="outside lower center", ncols=4, fontsize=8)
