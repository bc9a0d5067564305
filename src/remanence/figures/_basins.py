"""Basins of attraction on a plane through state space."""

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from remanence.dynamics import Basins
from remanence.figures._style import GREY, PALETTE, STYLE, make_figure


def draw_basins(
    basins: Basins, axis_names: tuple[str, str] = ("u", "v"), title: str = ""
) -> Figure:
    """The plane, coloured by where orbits end, with the attractors projected onto it.

    Grey is where an orbit did not close; with more attractors than colours, colours come again.

    >>> from remanence import dynamics, figures
    >>> basins = dynamics.map_basins(jnp.sign, np.zeros(2), np.eye(2), resolution=2, smooth=False)
    >>> (axes,) = figures.draw_basins(basins, ("unit 0", "unit 1")).axes
    >>> axes.get_xlabel(), axes.get_legend().get_texts()[0].get_text()
    ('unit 0', 'point, 25% of the plane')
    """
    # Colours by attractor, from 1 on; 0 stands for -1.
    colours = [PALETTE[label % len(PALETTE)] for label in range(len(basins.attractors))]
    labels = basins.labels + 1
    with mpl.rc_context(STYLE):
        figure = make_figure(4.6, 3.6)
        axes = figure.add_subplot()
        axes.pcolormesh(
            basins.u,
            basins.v,
            labels,
            cmap=ListedColormap([GREY, *colours]),
            vmin=-0.5,
            vmax=len(colours) + 0.5,
            alpha=0.45,
            linewidth=0,
            rasterized=True,
        )
        for label, attractor in enumerate(basins.attractors):
            points = basins.project(attractor.points)
            name = "point" if attractor.period == 1 else f"cycle of {attractor.period}"
            share = np.mean(basins.labels == label)
            axes.plot(
                *points.T,
                marker="o",
                linestyle="none",
                color=colours[label],
                markeredgecolor="black",
                clip_on=False,
                label=f"{name}, {share:.0%} of the plane",
            )
        axes.set(xlabel=axis_names[0], ylabel=axis_names[1], title=title)
        axes.set(xlim=basins.u[[0, -1]], ylim=basins.v[[0, -1]], aspect="equal")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    return figure
