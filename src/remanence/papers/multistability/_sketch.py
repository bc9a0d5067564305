"""One stable state or two: orbits of two real GRUs, over time and in the plane of their units."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from remanence.cells import GRU
from remanence.dynamics import Basins, IdleMap, idle_map, list_cycle, map_basins
from remanence.figures import BLUE, RED, STYLE, Tables, make_figure

SELF_EXCITATIONS = {"monostable": 0.6, "multistable": 2.4}
# Not the same in both directions, or a start on the diagonal would stay on the basins' boundary.
CROSS_EXCITATIONS = (0.8, 1.0)
# The bias of z: at 2 a unit keeps 88% of its state on each step, and orbits are smooth to look at.
GATE_BIAS = 2.0
NUM_STEPS = 180
RESOLUTION = 128  # of the plane, along each side
STARTS = np.array([[x, y] for x in (-0.9, -0.3, 0.3, 0.9) for y in (-0.8, 0.8)])


def draw_sketch(tables: Tables) -> Figure:
    """A column for each cell: its first unit over time, and its plane with basins."""
    del tables  # the cells are made here
    with mpl.rc_context(STYLE):
        figure = make_figure(6.2, 5.4)
        times, planes = figure.subplots(2, 2, height_ratios=(2, 3), sharey="row")
        columns = zip(SELF_EXCITATIONS.items(), times, planes, strict=True)
        for (name, excitation), time, plane in columns:
            step, basins = _map_cell(excitation)
            colours = _choose_colours(basins)
            _draw_plane(plane, basins, colours)
            _draw_orbits(time, plane, step, basins, colours)
            time.set(title=f"{name}, $W_{{hn}}$ = {excitation:g}", xlabel="step", ylim=(-1, 1))
        times[0].set(ylabel="state of unit 0")
        planes[0].set(ylabel="state of unit 1")
        for letter, axes in (("A", times[0]), ("B", planes[0])):
            axes.text(-0.3, 1.0, letter, transform=axes.transAxes, fontsize=11, va="bottom")
    return figure


@functools.cache
def _map_cell(excitation: float) -> tuple[IdleMap, Basins]:
    """A cell and its plane, the same in every report."""
    step = _excite(excitation)
    return step, map_basins(step, np.zeros(2), np.eye(2), resolution=RESOLUTION)


def _excite(weight: float) -> IdleMap:
    """Two units that excite themselves by `weight` and each other a little, under no input."""
    cell = GRU(input_size=1, state_size=2, key=jax.random.key(0))
    to_first, to_second = CROSS_EXCITATIONS
    matrix = jnp.array([[weight, to_first], [to_second, weight]])
    gates = jnp.stack([jnp.zeros((2, 2)), jnp.zeros((2, 2)), matrix])
    bias = jnp.zeros((3, 2)).at[1].set(GATE_BIAS)
    cell = eqx.tree_at(lambda it: (it.recurrent_weight, it.inputs.bias), cell, (gates, bias))
    return idle_map(cell, np.zeros(1))


def _choose_colours(basins: Basins) -> list[str]:
    """Blue for the attractor that is lowest along the diagonal, red for a second one."""
    ranks = np.argsort(np.argsort([it.points.sum() for it in basins.attractors]))
    return [(BLUE, RED)[rank] for rank in ranks]


def _draw_plane(axes: Axes, basins: Basins, colours: list[str]) -> None:
    axes.pcolormesh(
        basins.u,
        basins.v,
        basins.labels,
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=len(colours) - 0.5,
        alpha=0.2,
        linewidth=0,
        rasterized=True,
    )
    if len(colours) > 1:
        # Told by a line and dashes too, where colours cannot be.
        axes.contour(basins.u, basins.v, basins.labels, [0.5], colors="black", linewidths=0.8)
    for attractor, colour in zip(basins.attractors, colours, strict=True):
        axes.plot(*attractor.points.T, "*", color=colour, markersize=12, markeredgecolor="black")
    axes.set(xlabel="state of unit 0", aspect="equal", xlim=(-1, 1), ylim=(-1, 1))


def _draw_orbits(
    time: Axes, plane: Axes, step: IdleMap, basins: Basins, colours: list[str]
) -> None:
    ends = np.stack([it.points[0] for it in basins.attractors])
    for start in STARTS:
        orbit = list_cycle(step, start, NUM_STEPS)
        colour = colours[np.argmin(np.linalg.norm(ends - orbit[-1], axis=1))]
        style = "--" if colour == RED else "-"
        time.plot(orbit[:, 0], style, color=colour, linewidth=1)
        plane.plot(*orbit.T, f".{style}", color=colour, linewidth=0.8, markersize=2.5)
        plane.plot(*start, "o", color=colour, markerfacecolor="white", markersize=5)
