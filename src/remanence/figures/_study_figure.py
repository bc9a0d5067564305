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

    `counterpart` says which figure of a paper it is ours of, if there is one.
    """

    draw: Callable[[Tables], Figure]
    needs: tuple[str, ...]
    title: str
    caption: str
    counterpart: str = ""

    def list_absent(self, tables: Tables) -> list[str]:
        """The tables that it needs and that have no rows."""
        return [need for need in self.needs if not count_rows(tables.get(need, {}))]


def draw_figure(figure: StudyFigure, tables: Tables) -> Figure:
    """Draw a figure from tables that must have rows."""
    for need in figure.list_absent(tables):
        remedy = f"the figure {figure.title!r} needs rows in {need!r}"
        raise InvalidOptionError("tables", list(tables), remedy)
    return figure.draw(tables)
