"""Returns that mean something, such as the best one there is, as lines across a picture."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from remanence.figures._columns import Columns, Tables
from remanence.figures._style import GREY

# Levels that are nearer to each other than this share of the picture's height would be one blot.
NEAREST = 0.05


def read_levels(tables: Tables) -> dict[str, float]:
    """The table `levels` as returns by name.

    >>> from remanence import figures
    >>> figures.read_levels({"levels": figures.tabulate_levels({"optimal": 4.0, "nothing": 0.0})})
    {'optimal': 4.0, 'nothing': 0.0}
    """
    levels = tables["levels"]
    return dict(zip(levels["name"].tolist(), levels["return"].tolist(), strict=True))


def tabulate_levels(levels: Mapping[str, float]) -> Columns:
    """Returns by name as the table `levels`.

    >>> from remanence import figures
    >>> levels = figures.tabulate_levels({"optimal": 4.0, "nothing": 0.0})
    >>> levels["name"].tolist(), levels["return"].tolist()
    (['optimal', 'nothing'], [4.0, 0.0])
    """
    return {
        "name": np.array(list(levels), str),
        "return": np.array(list(levels.values()), float),
    }


def find_limits(returns: np.ndarray, levels: Mapping[str, float]) -> tuple[float, float]:
    """The smallest and the largest return of those that were seen and those that are levels."""
    seen = np.array([*returns[np.isfinite(returns)].tolist(), *levels.values()])
    return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)


def limit_returns(axes: Axes, returns: np.ndarray, levels: Mapping[str, float]) -> None:
    """Let the axis of returns reach a little beyond all that there is to see."""
    low, high = find_limits(returns, levels)
    margin = 0.08 * (high - low) or 0.5
    axes.set(ylim=(low - margin, high + margin))


def mark_levels(
    axes: Axes,
    levels: Mapping[str, float],
    place: float = 1.0,
    offset: tuple[int, int] = (3, -3),
    *,
    named: bool = True,
) -> None:
    """A thin line for each level, and its name at a share of the width; `offset` is in points.

    The axis of returns must have its limits. Of levels that lie close together the highest is
    drawn.
    """
    low, high = axes.get_ylim()
    above = np.inf
    for name, level in sorted(levels.items(), key=lambda item: -item[1]):
        if above - level < NEAREST * (high - low):
            continue
        above = level
        axes.axhline(level, color=GREY, linewidth=0.6, alpha=0.45, zorder=0)
        axes.annotate(
            name if named else "",
            (place, level),
            xycoords=("axes fraction", "data"),
            xytext=offset,
            textcoords="offset points",
            color=GREY,
            fontsize=7,
        )
