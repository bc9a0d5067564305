"""Learning curves: mean return and two standard deviations between agents."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures._columns import Columns, Tables, average_over, count_agents, select_rows
from remanence.figures._looks import MODELS, TRAININGS, find_look, order
from remanence.figures._style import GREY, STYLE, make_figure

NUM_SIGMAS = 2
# Returns that are possible, at which a band is cut.
LOWEST, HIGHEST = -0.1, 4.0


def draw_learning(tables: Tables) -> Figure:
    """A panel for each training (row) and model (column)."""
    curves = tables["curves"]
    presets = order(curves["preset"].tolist(), TRAININGS)
    models = order(curves["model"].tolist(), MODELS)
    with mpl.rc_context(STYLE):
        figure = make_figure(max(4.0, 1.2 * len(models)), 0.7 + 1.6 * len(presets))
        parts = figure.subfigures(len(presets), 1, squeeze=False)[:, 0]
        for part, preset in zip(parts, presets, strict=True):
            part.suptitle(find_look(TRAININGS, preset).name, fontsize=9, x=0.01, ha="left")
            panels = part.subplots(1, len(models), sharex=True, sharey=True, squeeze=False)[0]
            for axes, model in zip(panels, models, strict=True):
                _draw_panel(axes, select_rows(curves, preset=preset, model=model), model)
            panels[0].set_ylabel("return, mean ± 2σ", fontsize=8)
            part.supxlabel("iteration of training", fontsize=8)
    return figure


def _draw_panel(axes: Axes, members: Columns, model: str) -> None:
    look, number = find_look(MODELS, model), count_agents(members)
    axes.set_title(f"{look.name} ({number})", fontsize=8)
    axes.axhline(HIGHEST, color=GREY, linewidth=0.7, linestyle=":")
    axes.tick_params(labelsize=7)
    axes.set(ylim=(LOWEST - 0.2, HIGHEST + 0.2))
    if not number:
        axes.text(0.5, 0.5, "not trained", ha="center", transform=axes.transAxes, color=GREY)
        return
    iterations, mean, sigma = average_over(members, "iteration", "return")
    axes.plot(iterations, mean, color=look.colour, linewidth=1.4)
    low, high = mean - NUM_SIGMAS * sigma, mean + NUM_SIGMAS * sigma
    band = np.clip([low, high], LOWEST, HIGHEST)
    axes.fill_between(iterations, *band, color=look.colour, alpha=0.25, linewidth=0)
