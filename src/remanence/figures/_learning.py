"""Learning curves: mean return and two standard deviations between agents."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures._columns import Columns, Tables, average_over, count_agents, select_rows
from remanence.figures._levels import find_limits, limit_returns, read_levels
from remanence.figures._looks import Look, Looks, assign_looks
from remanence.figures._style import GREY, STYLE, make_figure

NUM_SIGMAS = 2


def draw_learning(tables: Tables, looks: Looks | None = None) -> Figure:
    """Mean return during training: a panel for each training (row) and model (column).

    Reads the tables `curves` and `levels`.

    >>> from remanence import figures
    >>> curves = {"preset": np.array(["short"] * 2), "model": np.array(["gru"] * 2)}
    >>> curves |= {"seed": np.array([1, 1]), "iteration": np.array([1, 2])}
    >>> curves |= {"return": np.array([0.5, 4.0])}
    >>> tables = {"curves": curves, "levels": figures.tabulate_levels({"optimal": 4.0})}
    >>> (axes,) = figures.draw_learning(tables).axes
    >>> axes.get_title(), axes.get_ylabel()
    ('gru (1)', 'return, mean ± 2σ')
    """
    looks = looks or Looks()
    curves, levels = tables["curves"], read_levels(tables)
    limits = find_limits(curves["return"], levels)
    trainings = assign_looks(curves["preset"].tolist(), looks.trainings)
    models = assign_looks(curves["model"].tolist(), looks.models)
    with mpl.rc_context(STYLE):
        figure = make_figure(max(4.0, 1.2 * len(models)), 0.7 + 1.6 * len(trainings))
        parts = figure.subfigures(len(trainings), 1, squeeze=False)[:, 0]
        for part, (preset, training) in zip(parts, trainings.items(), strict=True):
            part.suptitle(training.name, fontsize=9, x=0.01, ha="left")
            panels = part.subplots(1, len(models), sharex=True, sharey=True, squeeze=False)[0]
            for axes, (model, look) in zip(panels, models.items(), strict=True):
                limit_returns(axes, curves["return"], levels)
                _draw_panel(axes, select_rows(curves, preset=preset, model=model), look, limits)
            panels[0].set_ylabel("return, mean ± 2σ", fontsize=8)
            part.supxlabel("iteration of training", fontsize=8)
    return figure


def _draw_panel(axes: Axes, members: Columns, look: Look, limits: tuple[float, float]) -> None:
    number = count_agents(members)
    axes.set_title(f"{look.name} ({number})", fontsize=8)
    axes.axhline(limits[1], color=GREY, linewidth=0.7, linestyle=":")
    axes.tick_params(labelsize=7)
    if not number:
        axes.text(0.5, 0.5, "not trained", ha="center", transform=axes.transAxes, color=GREY)
        return
    iterations, mean, sigma = average_over(members, "iteration", "return")
    # A line between fewer than two points cannot be seen.
    marker = "." if len(iterations) == 1 else None
    axes.plot(iterations, mean, color=look.colour, linewidth=1.4, marker=marker)
    # No return lies beyond the limits, so the band does not either.
    band = np.clip([mean - NUM_SIGMAS * sigma, mean + NUM_SIGMAS * sigma], *limits)
    axes.fill_between(iterations, *band, color=look.colour, alpha=0.25, linewidth=0)
