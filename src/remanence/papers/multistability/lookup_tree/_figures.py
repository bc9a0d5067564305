"""The figures of the LookupTreeMaze's report, in its order."""

import functools

from remanence.figures import StudyFigure, draw_learning
from remanence.papers.multistability._environments import draw_environments
from remanence.papers.multistability._looks import LOOKS
from remanence.papers.multistability._radii import Span, draw_radii
from remanence.papers.multistability.lookup_tree._certified import draw_certified
from remanence.papers.multistability.lookup_tree._lost import draw_lost
from remanence.papers.multistability.lookup_tree._reach import draw_reach
from remanence.papers.multistability.lookup_tree._scatter import LOWEST, draw_scatter
from remanence.papers.multistability.lookup_tree._variants import draw_variants

_SCATTER = (
    "A mark for each model: its mean return over all tables, against its VAA, in how many "
    "different states the memories of all tables end (1: each in its own). Models with the same "
    "VAA stand side by side around it. A panel for each number of mazes; training had up to 20. "
    "{acting} Dashed lines are the best return (4) and that of a coin flip (1.95); dotted ones, "
    "what is the best for a model that remembers so many entries of its table. Carets at the lower "
    f"edge are models with less than {LOWEST:g}, which run out of time. The number of models of "
    "each kind is in the legend."
)
_ACTING = {
    "sampled": "Actions are sampled, as in training; the paper does not say how its agents act.",
    "greedy": "Every action is the most likely one. An agent that bumps into a wall and whose "
    "memory then stands still bumps for ever.",
}
_COUNTERPARTS = {"nonlinear": "the paper's figure 4A", "parallelizable": "the paper's figure 4B"}


def _describe_scatter(kind: str, acting: str) -> StudyFigure:
    table = f"{acting}_scores_of_{kind}_models"
    return StudyFigure(
        functools.partial(draw_scatter, table),
        needs=(table,),
        title=f"Return against VAA: {kind} models, {acting} actions",
        caption=_SCATTER.format(acting=_ACTING[acting]),
        counterpart=_COUNTERPARTS[kind],
    )


_SPAN = Span("certified_mazes", "certified span (mazes)", "every\nnumber", least=0.4)

FIGURES = {
    "parallelizable": _describe_scatter("parallelizable", "sampled"),
    "nonlinear": _describe_scatter("nonlinear", "sampled"),
    "reach": StudyFigure(
        draw_reach,
        needs=("reach",),
        title="Right decisions against mazes passed",
        caption="The share of right decisions, by their number in the longest episodes that were "
        "evaluated, for sampled and for greedy actions. Lines are means over as many models as the "
        "legend says, bands their 95% intervals, for which all decisions after one table are one "
        "value, and all tables of a model another. The dashed line is a coin flip. Where models "
        "run out of time, later decisions are of those that got so far.",
    ),
    "lost": StudyFigure(
        draw_lost,
        needs=("lost",),
        title="What is lost when a decision is wrong",
        caption="Every model is led straight through the same mazes, and decides at each junction. "
        "Of its wrong decisions, bars are the share that is right when one thing is shown once "
        "more: the table and the index at the maze's entrance, the index at the junction, or the "
        "flag for a second step; “none” are those that stay wrong in all three. One decision may "
        "be cured by several. Circles are the share of right decisions that the same spoils. Early "
        "mazes are about as many as there are in training, late ones all that follow; numbers are "
        "those of all models of a kind together.",
    ),
    "certified": StudyFigure(
        draw_certified,
        needs=("maze_certificates",),
        title="What is proved for any number of mazes",
        caption="A mark for each model and table that fails in some sequence of mazes: the maze in "
        "which it does, at the earliest where all shorter sequences were looked through. Numbers "
        "to the right of a panel count models and tables for which every sequence, however long, "
        "is proved to end well, and those left undecided. Greedy: every action is the most likely "
        "one, and every arm that is taken the right one; crosses never take an arm. Straight "
        "ahead and any walk: at every junction the right arm is the more likely of the two, when "
        "the model is led there, in the fewest steps or in any way there is.",
        optional=True,
    ),
    "radii": StudyFigure(
        functools.partial(draw_radii, _SPAN),
        needs=("radii",),
        title="Disturbances that memories of tables survive",
        caption="A bar for each model and table. Every number of every observation may be off by a "
        "radius, each step anew. Full markers: a radius that the memory is proved to survive in "
        "every sequence of mazes. Open markers: one at which a disturbance was found that makes it "
        "fail. The truth lies on the bar between them, against the number of mazes that are "
        "certified without any disturbance, for the way of walking in which most tables are: every "
        "number, or as many as come before the first failure, and 0 where that is not known.",
        optional=True,
    ),
    "greedy-parallelizable": _describe_scatter("parallelizable", "greedy"),
    "greedy-nonlinear": _describe_scatter("nonlinear", "greedy"),
    "variants": StudyFigure(
        draw_variants,
        needs=("variants",),
        title="Other arms beside the main arm",
        caption="Mean return against the number of mazes, actions sampled, of the same models and "
        "seeds with one thing changed. Dots are single models, lines their means over as many as "
        "the legend says; dashed lines are the best return and that of a coin flip. No other "
        "figure and no claim sees these arms.",
        optional=True,
    ),
    "learning": StudyFigure(
        functools.partial(draw_learning, looks=LOOKS),
        needs=("curves",),
        title="Learning",
        caption="Mean return of the sampling policy during training, and two standard deviations "
        "between models to either side, cut at the largest and the smallest return there are.",
        counterpart="of which the paper says that all models learn",
    ),
    "environments": StudyFigure(
        draw_environments,
        needs=(),
        title="The two environments",
        caption="A: a T-maze. B: a LookupTreeMaze is a row of T-mazes; the table σ is seen on the "
        "first step alone, and the index η at each maze's entrance says which entry of the table "
        "holds there.",
        counterpart="the paper's figure 2",
    ),
}
