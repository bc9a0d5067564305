"""Mean return against length, split by training, model and stability."""

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures._columns import Columns, Tables, average_over, count_agents, select_rows
from remanence.figures._looks import MODELS, STABILITY, TRAININGS, find_look, order
from remanence.figures._style import GREY, STYLE, make_figure

# Every so many lengths a mean line has its model's marker, each model's at other lengths.
LENGTHS_PER_MARKER = 8
LEVELS = {4.0: "optimal", 1.95: "coin flip", 0.0: "no arm in time"}


def draw_nonlinear(tables: Tables) -> Figure:
    """Return against length for cells whose update is not linear in the state."""
    return _draw(select_rows(tables["outcomes"], parallelizable=False))


def draw_parallelizable(tables: Tables) -> Figure:
    """Return against length for cells whose update is linear in the state."""
    return _draw(select_rows(tables["outcomes"], parallelizable=True))


def _draw(outcomes: Columns) -> Figure:
    presets = order(outcomes["preset"].tolist(), TRAININGS)
    with mpl.rc_context(STYLE):
        figure = make_figure(7.0, 0.6 + 2.3 * len(presets))
        if not presets:
            figure.text(0.5, 0.5, "no such models in this study", ha="center", color=GREY)
            return figure
        panels = figure.subplots(len(presets), 1, sharex=True, squeeze=False)[:, 0]
        for axes, preset in zip(panels, presets, strict=True):
            _draw_training(axes, select_rows(outcomes, preset=preset))
            axes.set(xscale="log", ylabel="return", ylim=(-0.35, 4.35))
            axes.set_title(find_look(TRAININGS, preset).name, loc="left")
        panels[-1].set(xlabel="length of the maze (cells)")
    return figure


def _draw_training(axes: Axes, outcomes: Columns) -> None:
    for level, name in LEVELS.items():
        axes.axhline(level, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
        axes.annotate(
            name,
            (1, level),
            xycoords=("axes fraction", "data"),
            xytext=(3, -3),
            textcoords="offset points",
            color=GREY,
            fontsize=7,
        )
    most_iterations = max(outcomes["num_iterations"].tolist())
    for place, model in enumerate(order(outcomes["model"].tolist(), MODELS)):
        for stability in STABILITY:
            members = select_rows(outcomes, model=model, stability=stability)
            _draw_group(axes, members, place, most_iterations)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1.12, 0.5), fontsize=8, handlelength=3)


def _draw_group(axes: Axes, members: Columns, place: int, most_iterations: int) -> None:
    number = count_agents(members)
    if not number:
        return
    model = find_look(MODELS, members["model"][0])
    stability = STABILITY[members["stability"][0]]
    for seed in sorted(set(members["seed"].tolist())):
        single = select_rows(members, seed=seed)
        axes.plot(single["length"], single["return"], color=model.colour, alpha=0.15, linewidth=0.6)
    lengths, mean, _ = average_over(members, "length", "return")
    label = f"{model.name}, {stability.name} ({number})"
    iterations = max(members["num_iterations"].tolist())
    if iterations < most_iterations:
        label = f"{label},\n{iterations} iterations"
    axes.plot(
        lengths,
        mean,
        stability.marker,
        color=model.colour,
        linewidth=1.8,
        label=label,
        marker=model.marker,
        markersize=5,
        markevery=(3 * place % LENGTHS_PER_MARKER, LENGTHS_PER_MARKER),
    )
