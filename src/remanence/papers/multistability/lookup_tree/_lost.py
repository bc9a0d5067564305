"""What is lost when a decision is wrong: is it the table, the index or the flag that cures it?"""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from remanence.figures import (
    BLUE,
    GREY,
    ORANGE,
    STYLE,
    Columns,
    Tables,
    count_rows,
    find_look,
    make_figure,
    order,
    select_rows,
)
from remanence.papers.multistability._looks import MODELS
from remanence.papers.multistability.lookup_tree._tables import INTERVENTIONS

COLOURS = {"early": BLUE, "late": ORANGE}
CURES = (*INTERVENTIONS, "none")
WIDTH = 0.38
COLUMNS = 3


def draw_lost(tables: Tables) -> Figure:
    """A panel for each model: of its early and late wrong decisions, what cures them."""
    lost = tables["lost"]
    models = order(lost["model"].tolist(), MODELS)
    num_rows = -(-len(models) // COLUMNS)
    with mpl.rc_context(STYLE):
        figure = make_figure(7.2, 0.8 + 1.9 * num_rows)
        grid = figure.subplots(
            num_rows, min(COLUMNS, len(models)), sharex=True, sharey=True, squeeze=False
        )
        for axes, model in zip(grid.ravel(), models, strict=False):
            _draw_panel(axes, select_rows(lost, model=model))
            axes.set_title(find_look(MODELS, model).name, loc="left", fontsize=9)
        for axes in grid.ravel()[len(models) :]:
            axes.axis("off")
        for row in grid:
            row[0].set_ylabel("share of wrong decisions\nthat it cures", fontsize=8)
        grid[0, 0].set(
            ylim=(-0.03, 1.3),
            yticks=np.linspace(0, 1, 6),
            xticks=range(len(CURES)),
            xticklabels=CURES,
        )
        _explain(figure, lost)
    return figure


def _draw_panel(axes: Axes, lost: Columns) -> None:
    counts = []
    for when, shift in (("early", -WIDTH / 2), ("late", WIDTH / 2)):
        found = select_rows(lost, when=when)
        if not count_rows(found):
            continue
        wrong, right = _count(found, "num_wrong"), _count_right(found)
        counts.append(f"{when}: {wrong:,} of {wrong + right:,} wrong")
        places = np.arange(len(CURES)) + shift
        if wrong:
            shares = [_count(found, f"cured_by_{cure}") / wrong for cure in CURES]
            axes.bar(places, shares, WIDTH, color=COLOURS[when], label=when)
        if right:
            spoiled = [_count(found, f"spoiled_by_{part}") / right for part in INTERVENTIONS]
            axes.plot(places[: len(spoiled)], spoiled, "o", **_CONTROL)
    note = "\n".join(counts)
    axes.text(0.98, 0.97, note, fontsize=7, ha="right", va="top", transform=axes.transAxes)


_CONTROL = {"color": GREY, "markerfacecolor": "white", "markersize": 4, "mew": 1.0}


def _count(found: Columns, name: str) -> int:
    return int(found[name].sum())


def _count_right(found: Columns) -> int:
    return _count(found, "num_decisions") - _count(found, "num_wrong")


def _explain(figure: Figure, lost: Columns) -> None:
    handles = [
        Patch(color=COLOURS[when], label=f"{when} ({_say_ends(when, found)})")
        for when in COLOURS
        if count_rows(found := select_rows(lost, when=when))
    ]
    control = Line2D(
        [],
        [],
        linestyle="none",
        marker="o",
        label="share of right decisions that it spoils",
        **_CONTROL,
    )
    figure.legend(handles=[*handles, control], loc="outside upper center", ncols=3, fontsize=8)


def _say_ends(when: str, found: Columns) -> str:
    if when == "late":
        return f"from decision {found['first'].min():,} on"
    return f"decisions {found['first'].min():,}–{found['last'].max():,}"
