"""Attractors as one weight is moved."""

import matplotlib as mpl
from matplotlib.figure import Figure

from remanence.dynamics import Bifurcation
from remanence.figures._style import BLUE, RED, STYLE, make_figure


def draw_bifurcation(
    bifurcation: Bifurcation, unit: int = 0, parameter_name: str = "weight", title: str = ""
) -> Figure:
    """One unit of every equilibrium and cycle against the parameter: filled where stable.

    >>> from remanence import dynamics, figures
    >>> found = dynamics.trace_bifurcation(
    ...     lambda gain: lambda state: gain * state, [-1.0], np.ones((1, 1)), smooth=False
    ... )
    >>> (axes,) = figures.draw_bifurcation(found, parameter_name="gain").axes
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('gain', 'state of unit 0')
    """
    with mpl.rc_context(STYLE):
        figure = make_figure(4.6, 3.2)
        axes = figure.add_subplot()
        for stable, colour, face, name in (
            (True, BLUE, BLUE, "stable"),
            (False, RED, "white", "unstable"),
        ):
            rows = bifurcation.stable == stable
            axes.plot(
                bifurcation.parameter[rows],
                bifurcation.point[rows, unit],
                marker="o",
                markersize=3,
                linestyle="none",
                color=colour,
                markerfacecolor=face,
                label=name,
            )
        axes.set(xlabel=parameter_name, ylabel=f"state of unit {unit}", title=title)
        axes.legend(loc="best")
    return figure
