"""Figures of a study by name. To add one, write its file and register it here.

A figure is drawn from tables, each a mapping from names to columns of equal length. Columns that
say which agent a row is about come first in every table but the last: `preset`, `model`, `cell`,
`seed`, `parallelizable`, `stability` ("monostable", "bistable", or "" where it was not measured).

models     a row for each agent: `outcome` ("solved", "random", "timeout", or "") at `length`,
           the evaluated length nearest to 100
outcomes   a row for each agent and evaluated `length`: mean `return`, `outcome`
curves     a row for each agent and `iteration` of its training: `return`
lengths    a row for each stretch of lengths, from `low` to `high` (inf: for ever), at which an
           agent is certified to act right; `kind` is "solved" or "optimal", `share` how much of
           the stretch that is. An agent of which nothing is certified has a row with `kind` ""
states     a row for each `step` and `unit` of some agents, after each `cue`: `state`
"""

import dataclasses
from collections.abc import Callable

from matplotlib.figure import Figure

from remanence._registry import Registry
from remanence.errors import InvalidOptionError
from remanence.figures._columns import Tables, count_rows
from remanence.figures._environments import draw_environments
from remanence.figures._generalization import draw_nonlinear, draw_parallelizable
from remanence.figures._learning import draw_learning
from remanence.figures._outcomes import draw_outcomes
from remanence.figures._single_units import draw_single_units
from remanence.figures._sketch import draw_sketch
from remanence.figures._spans import draw_spans
from remanence.figures._transients import draw_transients


@dataclasses.dataclass(frozen=True)
class StudyFigure:
    """How a figure is drawn, from which tables, and what is said below it."""

    draw: Callable[[Tables], Figure]
    needs: tuple[str, ...]
    title: str
    caption: str
    paper: str = ""


registry: Registry[StudyFigure] = Registry("figure")
register = registry.register

register(
    "sketch",
    StudyFigure(
        draw_sketch,
        needs=(),
        title="One stable state or two",
        caption="Two GRUs of two units under no input, that differ in one number: how strongly "
        "each unit excites itself (W_hn). A: the first unit over time, from many starts. B: the "
        "same orbits in the plane of both units, from open dots to the stable states (stars). "
        "Colours are basins of attraction: all starts of one colour end in one state.",
        paper="figure 1B–C",
    ),
)
register(
    "environments",
    StudyFigure(
        draw_environments,
        needs=(),
        title="The two environments",
        caption="A: in a T-maze the cue σ, seen on the first step alone, says which arm holds the "
        "reward; T steps lie between cue and decision. B: a LookupTreeMaze is a row of "
        "T-mazes; the table σ is seen on the first step alone, and the index η at each maze's "
        "entrance says which entry of the table holds there.",
        paper="figure 2",
    ),
)
register(
    "outcomes",
    StudyFigure(
        draw_outcomes,
        needs=("models",),
        title="What nonlinear models do at length 100",
        caption="A: how many models run out of time, reach the junction but not always the right "
        "arm, or take the right arm after both cues. B: the same models by outcome and "
        "stability; a mark for each, and how many.",
        paper="figure 3A",
    ),
)
register(
    "nonlinear",
    StudyFigure(
        draw_nonlinear,
        needs=("outcomes",),
        title="Return against length: nonlinear models",
        caption="Mean return of the greedy policy, exact, over as many models as the legend says: "
        "full lines are bistable models, dashed ones monostable. Faint lines are single models, "
        "of which many lie on each other. A model that is right after one cue and takes no arm "
        "after the other has 2.",
        paper="figure 3B",
    ),
)
register(
    "parallelizable",
    StudyFigure(
        draw_parallelizable,
        needs=("outcomes",),
        title="Return against length: parallelizable models",
        caption="As before, for models whose update is linear in the state. A line ends at the "
        "longest maze that its models were evaluated at.",
        paper="figure 3C",
    ),
)
register(
    "spans",
    StudyFigure(
        draw_spans,
        needs=("lengths",),
        title="Certified memory of every agent",
        caption="One row for each agent. Its bar covers the lengths at which it is certified to "
        "take the right arm after both cues: dark where it wastes no step, pale where it does. "
        "The fainter a bar, the smaller the share of the lengths there. Bars that end in an arrow "
        "go on for ever; counted are agents that are right at every length from 2 on, the shortest "
        "at which the cue is not seen at the junction. This is about all lengths that there are, "
        "not about a sample of them.",
    ),
)
register(
    "single-units",
    StudyFigure(
        draw_single_units,
        needs=(),
        title="Single units",
        caption="A unit after two opposite cues, with no input from step 1 on. A GRU forgets (A) "
        "or remembers (B) as its weight W_hn decides. E: its stable (full) and unstable (open) "
        "states for each weight, and the two weights shown. A minGRU always forgets (C); a BMRU "
        "is where it will stay after one step (D).",
        paper="supplementary figure 1",
    ),
)
register(
    "learning",
    StudyFigure(
        draw_learning,
        needs=("curves",),
        title="Learning",
        caption="Mean return of the sampling policy during training, and two standard deviations "
        "between models to either side, cut at the largest and the smallest return there are.",
        paper="supplementary figure 2A",
    ),
)
register(
    "transients",
    StudyFigure(
        draw_transients,
        needs=("states",),
        title="How two bistable models settle",
        caption="The state of each unit (a panel each, of the first eight) in a corridor without "
        "end, after either cue. Each model is the one with the median transient among the bistable "
        "nonlinear models of its training that solve length 100; it has settled when its states "
        "repeat to the bit.",
        paper="supplementary figure 2B",
    ),
)


def draw_figure(name: str, tables: Tables) -> Figure:
    """The figure of that name, from tables that must have rows."""
    figure = registry[name]
    for need in figure.needs:
        if not count_rows(tables.get(need, {})):
            raise InvalidOptionError("tables", list(tables), f"{name!r} needs rows in {need!r}")
    return figure.draw(tables)
