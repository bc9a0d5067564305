"""What one unit of each kind keeps of a cue, and how a GRU's stable states come and go."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.cells import BMRU, GRU, AbstractCell, MinGRU
from remanence.dynamics import Bifurcation, IdleMap, idle_map, trace_bifurcation
from remanence.figures import BLUE, GREY, RED, STYLE, Tables, make_figure
from remanence.papers.multistability._looks import CUES

WEIGHTS = {"monostable": 1.5, "bistable": 3.0}
# With the weights above, and without 2, where orbits take for ever to settle.
SWEEP = 0.3 * np.arange(14)
NUM_STEPS = 30
CUE_VALUES = {0: -1.0, 1: 1.0}


def draw_single_units(tables: Tables) -> Figure:
    """Four units after two cues, and below them the bifurcation of the GRU."""
    del tables  # the units are made here
    units: dict[str, AbstractCell] = {
        f"GRU, $W_{{hn}}$ = {weight:g}: {name}": make_gru(jnp.float32(weight))
        for name, weight in WEIGHTS.items()
    }
    units["minGRU: monostable"] = make_mingru()
    units["BMRU: bistable, settled at once"] = make_bmru()
    with mpl.rc_context(STYLE):
        figure = make_figure(6.6, 6.2)
        panels = figure.subplot_mosaic([[0, 2], [1, 3], ["all", "all"]])
        for index, (name, cell) in enumerate(units.items()):
            _draw_unit(panels[index], cell)
            panels[index].set_title(f"{'ABCD'[index]}  {name}", loc="left")
        panels[0].legend(loc="upper right", ncols=2)
        _draw_bifurcation(panels["all"])
        panels["all"].set_title("E  Fixed points of the GRU", loc="left")
    return figure


def make_gru(weight: Float[Array, ""]) -> GRU:
    """A unit whose candidate sees its state by `weight`, and whose gates see nothing."""
    cell = GRU(input_size=1, state_size=1, key=jax.random.key(0))
    zero = jnp.zeros_like(weight)
    recurrent = jnp.stack([zero, zero, weight])[:, None, None]
    inputs = jnp.array([0.0, 0.0, 3.0])[:, None, None]
    # At 1 the unit keeps 73% of its state on each step.
    bias = jnp.array([0.0, 1.0, 0.0])[:, None]
    return eqx.tree_at(
        lambda it: (it.recurrent_weight, it.inputs.weight, it.inputs.bias),
        cell,
        (recurrent, inputs, bias),
    )


def make_mingru() -> MinGRU:
    """A unit that keeps 82% of its state on each step, and takes in its input."""
    cell = MinGRU(input_size=1, state_size=1, key=jax.random.key(0))
    values = (jnp.array([0.0, 5.0])[:, None, None], jnp.array([1.5, 0.0])[:, None])
    return eqx.tree_at(lambda it: (it.inputs.weight, it.inputs.bias), cell, values)


def make_bmru() -> BMRU:
    """A unit that an input of 1 sets, and that holds what it was set to."""
    cell = BMRU(input_size=1, state_size=1, key=jax.random.key(0))
    values = (jnp.array([1.0, 0.0])[:, None, None], jnp.array([0.0, 0.5])[:, None])
    return eqx.tree_at(lambda it: (it.inputs.weight, it.inputs.bias), cell, values)


def _draw_unit(axes: Axes, cell: AbstractCell) -> None:
    for cue, look in CUES.items():
        inputs = jnp.zeros((NUM_STEPS, 1)).at[1].set(CUE_VALUES[cue])
        first = jnp.arange(NUM_STEPS) == 0
        states = cell.run(inputs, first, cell.initial_state())
        axes.plot(
            np.arange(NUM_STEPS) - 1,
            np.asarray(states[:, 0]),
            look.marker,
            marker="o",
            markersize=2.5,
            color=look.colour,
            label=look.name,
        )
    axes.set(xlabel="step after the cue", ylabel="state", ylim=(-1.3, 1.3))


def _draw_bifurcation(axes: Axes) -> None:
    found = _trace_gru()
    for stable, colour, face in ((True, BLUE, BLUE), (False, RED, "white")):
        rows = found.stable == stable
        axes.plot(
            found.parameter[rows],
            found.point[rows, 0],
            "o",
            markersize=4,
            color=colour,
            markerfacecolor=face,
            label="stable" if stable else "unstable",
        )
    for name, weight in WEIGHTS.items():
        axes.axvline(weight, color=GREY, linestyle=":")
        axes.text(weight, 1.22, f" {name}", color=GREY, fontsize=8, va="top")
    axes.set(xlabel="weight $W_{hn}$ of a GRU", ylabel="state without input", ylim=(-1.3, 1.3))
    axes.legend(loc="lower left")


@functools.cache
def _trace_gru() -> Bifurcation:
    """The same in every report."""
    return trace_bifurcation(_make_map, SWEEP, np.linspace(-1, 1, 9)[:, None])


def _make_map(weight: Float[Array, ""]) -> IdleMap:
    return idle_map(make_gru(weight), np.zeros(1))
