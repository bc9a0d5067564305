"""The two environments as drawings, with the horizons between what is seen and what is decided."""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from remanence.figures import BLUE, GREEN, GREY, ORANGE, RED, STYLE, Tables, make_figure

FLOOR, WALL = "#ECEAE4", "#4A5058"
TMAZE_LENGTH = 11
TREE_LENGTHS, TREE_GOALS, TREE_INDICES = (3, 4, 3), (1, -1, 1), (2, 0, 1)
TABLE = "↓↑↑↓"


def draw_environments(tables: Tables) -> Figure:
    """A T-maze, and the first mazes of a LookupTreeMaze."""
    del tables  # nothing of a study is shown
    with mpl.rc_context(STYLE):
        figure = make_figure(7.0, 6.0)
        upper, lower = figure.subplots(2, 1, height_ratios=(1, 1.3))
        _draw_tmaze(upper)
        _draw_tree(lower)
        for axes in (upper, lower):
            axes.set(aspect="equal")
            axes.axis("off")
    return figure


def _draw_tmaze(axes: Axes) -> None:
    axes.set_title("A   T-maze", loc="left")
    _draw_maze(axes, 0.0, TMAZE_LENGTH, goal=1)
    _draw_agent(axes, 0.0)
    _draw_note(axes, 0.0, "cue σ = ↑", ORANGE)
    _draw_horizon(axes, 0.0, TMAZE_LENGTH - 1.0, -1.9, "horizon T", GREY)
    axes.text(TMAZE_LENGTH + 0.1, 1, "+4", color=GREEN, va="center", weight="bold")
    axes.text(TMAZE_LENGTH + 0.1, -1, "−0.1", color=RED, va="center", weight="bold")
    axes.set(xlim=(-0.8, 13), ylim=(-2.7, 1.9))


def _draw_tree(axes: Axes) -> None:
    axes.set_title("B   LookupTreeMaze", loc="left")
    left = end = 0.0
    for number, (length, goal, index) in enumerate(
        zip(TREE_LENGTHS, TREE_GOALS, TREE_INDICES, strict=True), start=1
    ):
        _draw_maze(axes, left, length, goal)
        _draw_note(axes, left, rf"index $\eta_{number}$ = {index}", BLUE)
        _draw_horizon(axes, left, left + length - 1, -1.9, rf"$T_{{\eta_{number}}}$", BLUE)
        end = left + length - 1
        left += length + 1.0
    axes.text(left - 0.3, 0, "…", fontsize=16, va="center", color=GREY)
    _draw_agent(axes, 0.0)
    _draw_horizon(axes, 0.0, end, -3.0, r"$T_\sigma$", ORANGE)
    table = "  ".join(f"{index}:{arrow}" for index, arrow in enumerate(TABLE))
    axes.text(-0.5, 1.95, f"table σ =  {table}", color="black", va="center", bbox=_box(ORANGE))
    axes.set(xlim=(-0.8, 13), ylim=(-3.8, 2.3))


def _draw_maze(axes: Axes, left: float, length: int, goal: int) -> None:
    """A corridor from `left` on, and two arms at its end; goal 1 is the upper one."""
    end = left + length - 1
    cells = [(left + index, 0.0) for index in range(length)]
    colours = [FLOOR] * length + [GREEN, FLOOR]
    for (x, y), colour in zip([*cells, (end, goal), (end, -goal)], colours, strict=True):
        square = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor=WALL, linewidth=1)
        axes.add_patch(square)
    axes.plot(end, goal, "*", color="white", markersize=11)
    axes.plot(end, -goal, "x", color=RED, markersize=7, markeredgewidth=2)


def _draw_agent(axes: Axes, x: float) -> None:
    axes.plot(x, 0, "o", color=BLUE, markersize=13, markeredgecolor="white")


def _draw_note(axes: Axes, x: float, text: str, colour: str) -> None:
    axes.text(x - 0.5, 0.75, text, fontsize=8, va="center", bbox=_box(colour))


def _draw_horizon(axes: Axes, start: float, end: float, y: float, text: str, colour: str) -> None:
    ends: Sequence[tuple[float, float]] = ((start, y), (end, y))
    arrow = FancyArrowPatch(*ends, arrowstyle="<|-|>", mutation_scale=9, color=colour)
    axes.add_patch(arrow)
    middle = (start + end) / 2
    axes.text(middle, y - 0.12, text, ha="center", va="top", fontsize=8, color="black")


def _box(colour: str) -> dict[str, object]:
    return {"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.25"}
