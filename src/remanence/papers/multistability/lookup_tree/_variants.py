"""Other arms of a study beside its main arm: the same models and seeds, one thing changed."""

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures import (
    BLUE,
    GREY,
    ORANGE,
    STYLE,
    Columns,
    Tables,
    average_over,
    count_agents,
    find_look,
    make_figure,
    order,
    select_rows,
)
from remanence.papers.multistability._looks import MODELS
from remanence.papers.multistability.lookup_tree._scatter import LEVELS
from remanence.papers.multistability.lookup_tree._tables import MAIN_ARM

# Apart on the axis, so that seeds of both arms can be told apart.
SHIFT = 1.12


def draw_variants(tables: Tables) -> Figure:
    """A row for each variant, a panel for each model: return against the number of mazes."""
    scores = tables["variants"]
    variants = sorted(set(scores["beside"].tolist()))
    models = order(scores["model"].tolist(), MODELS)
    with mpl.rc_context(STYLE):
        figure = make_figure(max(4.0, 1.0 + 2.1 * len(models)), 0.7 + 2.1 * len(variants))
        grid = figure.subplots(len(variants), len(models), sharex=True, sharey=True, squeeze=False)
        for row, variant in zip(grid, variants, strict=True):
            for axes, model in zip(row, models, strict=True):
                members = select_rows(scores, beside=variant, model=model)
                _draw_panel(axes, members, variant)
                axes.set_title(find_look(MODELS, model).name, loc="left", fontsize=9)
            row[0].set(ylabel="return")
        for axes in grid[-1]:
            axes.set(xlabel="number of mazes")
    return figure


def _draw_panel(axes: Axes, scores: Columns, variant: str) -> None:
    axes.set(xscale="log", ylim=(-0.15, 4.25))
    for level in LEVELS.values():
        axes.axhline(level, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
    for arm, colour, shift in ((MAIN_ARM, BLUE, 1 / SHIFT), (variant, ORANGE, SHIFT)):
        members = select_rows(scores, variant=arm)
        number = count_agents(members)
        if not number:
            continue
        places = members["num_mazes"] * shift
        axes.plot(places, members["return"], ".", color=colour, alpha=0.5, markersize=5)
        numbers, mean, _ = average_over(members, "num_mazes", "return")
        label = f"{arm or 'main arm'} ({number})"
        marker = {"marker": "o", "markersize": 4, "linewidth": 1.2}
        axes.plot(numbers * shift, mean, color=colour, label=label, **marker)
    if len(scores["seed"]):
        axes.legend(fontsize=7, loc="lower left")
    else:
        place = {"ha": "center", "va": "center", "transform": axes.transAxes}
        axes.text(0.5, 0.25, f"none with “{variant}”", color=GREY, fontsize=8, **place)
