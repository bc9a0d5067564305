"""How much disturbance each agent survives, against how far its memory is certified to reach."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remanence.figures import GREY, STYLE, Columns, Tables, find_look, make_figure, select_rows
from remanence.papers.multistability._looks import LOOKS

FLOOR = 1e-6  # stands for a radius of 0
FAR = 3.0  # times the longest finite span: where "every length" is


def draw_radii(tables: Tables) -> Figure:
    """A bar for each agent, from the radius that is proved to the one that breaks it."""
    radii = tables["radii"]
    with mpl.rc_context(STYLE):
        figure = make_figure(6.0, 3.6)
        axes = figure.add_subplot()
        finite = radii["solved_span"][np.isfinite(radii["solved_span"])]
        far = FAR * max(10.0, float(finite.max(initial=1.0)))
        for model in dict.fromkeys(radii["model"].tolist()):
            _draw_model(axes, model, select_rows(radii, model=model), far)
        _finish(axes, far)
        figure.legend(loc="outside right upper")
    return figure


def _draw_model(axes: Axes, model: str, rows: Columns, far: float) -> None:
    look = find_look(LOOKS.models, model)
    # Agents of one span stand side by side.
    shift = 1.03 ** (np.arange(len(rows["seed"])) - len(rows["seed"]) / 2)
    spans = np.where(np.isfinite(rows["solved_span"]), np.maximum(rows["solved_span"], 1), far)
    places, low = spans * shift, np.maximum(rows["radius_certified"], FLOOR)
    high = np.maximum(rows["radius_broken"], FLOOR)
    axes.vlines(places, low, np.where(np.isfinite(high), high, low), color=look.colour, alpha=0.5)
    axes.plot(places, low, look.marker, color=look.colour, markersize=5, label=look.name)
    axes.plot(places, high, look.marker, color=look.colour, markersize=5, markerfacecolor="white")


def _finish(axes: Axes, far: float) -> None:
    axes.set(xscale="log", yscale="log", xlim=(0.8, 2 * far), ylim=(FLOOR / 2, None))
    axes.set(xlabel="certified span (lengths from 1 on)", ylabel="radius of disturbances")
    axes.axvline(far / np.sqrt(FAR), color=GREY, linewidth=0.6, linestyle=":")
    axes.axhline(2 * FLOOR, color=GREY, linewidth=0.6, linestyle=":")
    ticks = [10.0**power for power in range(12) if 10.0**power < far / np.sqrt(FAR)]
    axes.set_xticks([*ticks, far], [*(f"{int(tick):,}" for tick in ticks), "every\nlength"])
    axes.minorticks_off()
    low = [10.0**power for power in range(-5, 2) if 10.0**power < axes.get_ylim()[1]]
    axes.set_yticks([FLOOR, *low], ["0", *(f"{tick:g}" for tick in low)])
