"""Mean return against what grows, split by training, model and stability."""

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures._columns import Columns, Tables, average_over, count_agents, select_rows
from remanence.figures._levels import limit_returns, mark_levels, read_levels
from remanence.figures._looks import EVERY_STABILITY, Look, Looks, assign_looks
from remanence.figures._style import STYLE, make_figure

# Every so many lengths a mean line has its model's marker, each model's at other lengths.
LENGTHS_PER_MARKER = 8


def draw_generalization(tables: Tables, looks: Looks | None = None) -> Figure:
    """Return against what grows: a panel for each training, a line for each kind of model.

    Reads the tables `outcomes`, `growth` and `levels`.
    """
    looks = looks or Looks()
    outcomes, levels = tables["outcomes"], read_levels(tables)
    growth, label = (tables["growth"][name].item() for name in ("name", "label"))
    trainings = assign_looks(outcomes["preset"].tolist(), looks.trainings)
    with mpl.rc_context(STYLE):
        figure = make_figure(7.0, 0.6 + 2.3 * len(trainings))
        panels = figure.subplots(len(trainings), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (preset, training) in zip(panels, trainings.items(), strict=True):
            axes.set(xscale="log", ylabel="return")
            axes.set_title(training.name, loc="left")
            limit_returns(axes, outcomes["return"], levels)
            mark_levels(axes, levels, place=1.0, offset=(3, -3))
            _draw_training(axes, select_rows(outcomes, preset=preset), growth, looks)
        panels[-1].set(xlabel=label)
    return figure


def _draw_training(axes: Axes, outcomes: Columns, growth: str, looks: Looks) -> None:
    most_iterations = max(outcomes["num_iterations"].tolist())
    models = assign_looks(outcomes["model"].tolist(), looks.models)
    for place, (model, look) in enumerate(models.items()):
        for stability in EVERY_STABILITY:
            members = select_rows(outcomes, model=model, stability=stability)
            if count_agents(members):
                _draw_group(axes, members, growth, look, place, most_iterations)
    axes.legend(loc="center left", bbox_to_anchor=(1.12, 0.5), fontsize=8, handlelength=3)


def _draw_group(
    axes: Axes, members: Columns, growth: str, model: Look, place: int, most_iterations: int
) -> None:
    stability = EVERY_STABILITY[members["stability"][0]]
    for seed in sorted(set(members["seed"].tolist())):
        single = select_rows(members, seed=seed)
        axes.plot(single[growth], single["return"], color=model.colour, alpha=0.15, linewidth=0.6)
    lengths, mean, _ = average_over(members, growth, "return")
    axes.plot(
        lengths,
        mean,
        stability.marker,
        color=model.colour,
        linewidth=1.8,
        label=_name_group(members, model, stability, most_iterations),
        marker=model.marker,
        markersize=5,
        markevery=(3 * place % LENGTHS_PER_MARKER, LENGTHS_PER_MARKER),
    )


def _name_group(members: Columns, model: Look, stability: Look, most_iterations: int) -> str:
    """Such as "GRU, bistable (13)", and for how many iterations if for fewer than others."""
    name = f"{model.name}, {stability.name}" if stability.name else model.name
    name = f"{name} ({count_agents(members)})"
    iterations = max(members["num_iterations"].tolist())
    return f"{name},\n{iterations} iterations" if iterations < most_iterations else name
