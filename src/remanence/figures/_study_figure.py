"""A figure of a study: drawn from tables, each a mapping from names to columns of equal length.

Columns that say which agent a row is about come first in every table about agents: `preset` (the
training), `model`, `cell`, `seed`, `parallelizable`, `num_iterations`, `stability` ("monostable",
"bistable", ..., or "" where it was not measured).

outcomes   a row for each agent and value of what grows: mean `return`, `outcome`
curves     a row for each agent and `iteration` of its training: `return`
growth     one row: the `name` of the column of what grows, and its `label` in print
levels     a row for each return that means something: `name`, `return`

An experiment may have tables of its own besides.
"""

import dataclasses
from collections.abc import Callable

from matplotlib.figure import Figure

from remanence.errors import InvalidOptionError
from remanence.figures._columns import Tables, count_rows


@dataclasses.dataclass(frozen=True)
class StudyFigure:
    """How a figure is drawn, which tables must have rows, and what is said below it.

    `counterpart` says which figure of a paper it is ours of, if there is one. An `optional` figure
    is about what only some studies have, and is not missed in others.

    >>> from remanence import figures
    >>> figure = figures.StudyFigure(figures.draw_learning, ("curves",), "Learning", "Mean return.")
    >>> figure.list_absent({"curves": {"seed": np.zeros(0, int)}})
    ['curves']
    """

    draw: Callable[[Tables], Figure]
    needs: tuple[str, ...]
    title: str
    caption: str
    counterpart: str = ""
    optional: bool = False

    def list_absent(self, tables: Tables) -> list[str]:
        """The tables that it needs and that have no rows."""
        return [need for need in self.needs if not count_rows(tables.get(need, {}))]


def draw_figure(figure: StudyFigure, tables: Tables) -> Figure:
    """Draw a figure from tables that must have rows.

    >>> from remanence import figures
    >>> def draw(tables):
    ...     drawn = figures.make_figure()
    ...     drawn.add_subplot(ylabel="return").plot(tables["curves"]["return"])
    ...     return drawn
    >>> figure = figures.StudyFigure(draw, ("curves",), title="Returns", caption="Of one agent.")
    >>> tables = {"curves": {"return": np.array([0.5, 4.0])}}
    >>> figures.draw_figure(figure, tables).axes[0].get_ylabel()
    'return'
    """
    for need in figure.list_absent(tables):
        remedy = f"the figure {figure.title!r} needs rows in {need!r}"
        raise InvalidOptionError("tables", list(tables), remedy)
    return figure.draw(tables)
