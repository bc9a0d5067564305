"""How every unit of some agents settles after either cue."""

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures import STYLE, Columns, Tables, find_look, make_figure, order, select_rows
from remanence.papers.multistability._looks import CUES, MODELS, TRAININGS

MOST_UNITS = 8


def draw_transients(tables: Tables) -> Figure:
    """A column for each training, a panel for each unit of its agent."""
    states = tables["states"]
    presets = order(states["preset"].tolist(), TRAININGS)
    num_units = min(MOST_UNITS, int(states["unit"].max()) + 1)
    with mpl.rc_context(STYLE):
        figure = make_figure(6.6, 1.0 + 0.85 * num_units)
        grid = figure.subplots(num_units, len(presets), sharex=True, sharey=True, squeeze=False)
        for column, preset in enumerate(presets):
            members = select_rows(states, preset=preset)
            grid[0, column].set_title(_name_agent(members), fontsize=9)
            for unit in range(num_units):
                _draw_unit(grid[unit, column], select_rows(members, unit=unit))
            grid[-1, column].set(xlabel="step after the cue")
        for unit in range(num_units):
            grid[unit, 0].set_ylabel(f"state of\nunit {unit}", fontsize=8)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(CUES))
    return figure


def _name_agent(members: Columns) -> str:
    model, training = (
        find_look(looks, members[name][0]).name
        for looks, name in ((MODELS, "model"), (TRAININGS, "preset"))
    )
    settled = f"settles after {members['transient'][0]:,g} steps"
    return f"{model}, seed {members['seed'][0]}, {training}\n{settled}"


def _draw_unit(axes: Axes, members: Columns) -> None:
    for cue, look in CUES.items():
        orbit = select_rows(members, cue=cue)
        axes.plot(orbit["step"], orbit["state"], look.marker, color=look.colour, label=look.name)
    axes.tick_params(labelsize=7)
    axes.margins(y=0.1)
