"""The figures of the T-maze's report, in its order: first what it is about."""

import functools

from matplotlib.figure import Figure

from remanence.figures import (
    StudyFigure,
    Tables,
    draw_generalization,
    draw_learning,
)
from remanence.papers.multistability._environments import draw_environments
from remanence.papers.multistability._looks import LOOKS
from remanence.papers.multistability._radii import Span, draw_radii
from remanence.papers.multistability._single_units import draw_single_units
from remanence.papers.multistability._sketch import draw_sketch
from remanence.papers.multistability.tmaze._outcomes import draw_outcomes
from remanence.papers.multistability.tmaze._spans import draw_spans
from remanence.papers.multistability.tmaze._transients import draw_transients


def _draw_outcomes_of(table: str, tables: Tables) -> Figure:
    return draw_generalization({**tables, "outcomes": tables[table]}, LOOKS)


_SPAN = Span("solved_span", "certified span (lengths from 1 on)", "every\nlength", least=1)

FIGURES = {
    "nonlinear": StudyFigure(
        functools.partial(_draw_outcomes_of, "nonlinear_outcomes"),
        needs=("nonlinear_outcomes",),
        title="Return against length: nonlinear models",
        caption="Return of the greedy policy, exact, at the lengths that were evaluated. Markers "
        "are means over as many models as the panel says, full for bistable and open for "
        "monostable ones; the thin lines only lead from one to the next, and nothing was measured "
        "along them. Dots are single models: the darker, the more of them. A model that is right "
        "after one cue and takes no arm after the other has 2.",
        counterpart="the paper's figure 3B",
    ),
    "parallelizable": StudyFigure(
        functools.partial(_draw_outcomes_of, "parallelizable_outcomes"),
        needs=("parallelizable_outcomes",),
        title="Return against length: parallelizable models",
        caption="The same for models whose update is linear in the state. Where markers end, their "
        "models were evaluated no further.",
        counterpart="the paper's figure 3C",
    ),
    "outcomes": StudyFigure(
        draw_outcomes,
        needs=("models",),
        title="What nonlinear models do at length 100",
        caption="A: how many models run out of time, reach the junction but not always the right "
        "arm, or take the right arm after both cues. B: the same models by outcome and "
        "stability; a mark for each, and how many.",
        counterpart="the paper's figure 3A",
    ),
    "spans": StudyFigure(
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
    "radii": StudyFigure(
        functools.partial(draw_radii, _SPAN),
        needs=("radii",),
        title="Disturbances that agents survive",
        caption="Every number of every observation may be off by a radius, each step anew. Full "
        "markers: a radius that an agent is proved to survive at every length from 2 on. Open "
        "markers: one at which a disturbance was found that makes it act wrong. The truth lies "
        "on the bar between them, against the lengths from 1 on at which the agent is certified "
        "to take the right arm without any disturbance.",
        optional=True,
    ),
    "learning": StudyFigure(
        functools.partial(draw_learning, looks=LOOKS),
        needs=("curves",),
        title="Learning",
        caption="Mean return of the sampling policy during training, and two standard deviations "
        "between models to either side, cut at the largest and the smallest return there are.",
        counterpart="the paper's supplementary figure 2A",
    ),
    "transients": StudyFigure(
        draw_transients,
        needs=("states",),
        title="How two bistable models settle",
        caption="The state of each unit (a panel each, of the first eight) in a corridor without "
        "end, after either cue. Each model is the one with the median transient among the bistable "
        "nonlinear models of its training that solve length 100; it has settled when its states "
        "repeat to the bit.",
        counterpart="the paper's supplementary figure 2B",
    ),
    "sketch": StudyFigure(
        draw_sketch,
        needs=(),
        title="One stable state or two",
        caption="Two GRUs of two units under no input, that differ in one number: how strongly "
        "each unit excites itself (W_hn). A: the first unit over time, from many starts. B: the "
        "same orbits in the plane of both units, from open dots to the stable states (stars). "
        "Colours are basins of attraction: all starts of one colour end in one state.",
        counterpart="the paper's figure 1B–C",
    ),
    "single-units": StudyFigure(
        draw_single_units,
        needs=(),
        title="Single units",
        caption="A unit after two opposite cues, with no input from step 1 on. A GRU forgets (A) "
        "or remembers (B) as its weight W_hn decides. E: its stable (full) and unstable (open) "
        "states for each weight, and the two weights shown. A minGRU always forgets (C); a BMRU "
        "is where it will stay after one step (D).",
        counterpart="the paper's supplementary figure 1",
    ),
    "environments": StudyFigure(
        draw_environments,
        needs=(),
        title="The two environments",
        caption="A: in a T-maze the cue σ, seen on the first step alone, says which arm holds the "
        "reward; T steps lie between cue and decision. B: a LookupTreeMaze is a row of "
        "T-mazes; the table σ is seen on the first step alone, and the index η at each maze's "
        "entrance says which entry of the table holds there.",
        counterpart="the paper's figure 2",
    ),
}
