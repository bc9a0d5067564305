"""What can be said of any study, and of a plain run, whatever it is about."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from remanence.figures import (
    Columns,
    StudyFigure,
    Tables,
    count_rows,
    draw_generalization,
    draw_learning,
    keep_rows,
)
from remanence.report._claims import Finding, count, say_number
from remanence.report._common_tables import derive_common_tables
from remanence.report._experiment import Experiment
from remanence.report._records import Records

GENERALIZATION = StudyFigure(
    draw_generalization,
    needs=("outcomes",),
    title="Return against what grows",
    caption="Return of the greedy policy where it was evaluated. Markers are means over as many "
    "agents as the panel says, full where their memories stay apart and open where they do not; "
    "the thin lines only lead from one to the next, and nothing was measured along them. Dots are "
    "single agents: the darker, the more of them.",
)
LEARNING = StudyFigure(
    draw_learning,
    needs=("curves",),
    title="Learning",
    caption="Mean return of the sampling policy during training, and two standard deviations "
    "between agents to either side, cut at the largest and the smallest return there are.",
)


def describe_any_study(name: str) -> Experiment:
    """An experiment without claims: curves, returns against what grows, and what they say."""
    return Experiment(
        name=name,
        title=f"What was found in “{name}”",
        about="",
        profiles=Path(__file__).parent / "profiles",
        derive_tables=_derive_tables,
        figures={"returns": GENERALIZATION, "learning": LEARNING},
        claims={},
        summarize=summarize_any_study,
    )


def _derive_tables(records: Records) -> Tables:
    return {**derive_common_tables(records), "certificates": records.tables["certificates"]}


def summarize_any_study(tables: Tables, findings: Mapping[str, Finding]) -> Sequence[str]:
    """How many agents there are, what they learned, and how far their memories reach."""
    del findings  # there are no claims
    agents = tables["agents"]
    if not count_rows(agents):
        curves = tables["curves"]
        if not count_rows(curves):
            return ["Nothing is known of any agent yet."]
        agents = keep_rows(curves, curves["iteration"] == curves["iteration"].max())
    alone = count_rows(agents) == 1
    sentences = (
        _say_who(agents),
        _say_learned(tables["curves"], alone),
        _say_stability(tables["agents"], alone),
        _say_reach(tables, alone),
        _say_certified(tables["certificates"], alone),
    )
    return [sentence for sentence in sentences if sentence]


def _say_who(agents: Columns) -> str:
    counts, number = Counter(agents["model"].tolist()), count_rows(agents)
    if number == 1:
        return f"One agent was looked at: {next(iter(counts))}."
    if len(counts) == 1:
        return f"{number} agents were looked at, all of them {next(iter(counts))}."
    parts = [f"{number} {model}" for model, number in counts.items()]
    return f"{number} agents were looked at: {', '.join(parts)}."


def _say_learned(curves: Columns, alone: bool) -> str:
    if not count_rows(curves):
        return ""
    last = keep_rows(curves, curves["iteration"] > 0.9 * curves["num_iterations"])
    found = last["return"] if count_rows(last) else curves["return"]
    mean, low, high = (say_number(float(it)) for it in (found.mean(), found.min(), found.max()))
    spread = "" if low == high else f" (from {low} to {high})"
    when = "At the end of training" if count_rows(last) else "So far"
    return f"{when} {'its' if alone else 'their'} mean return is {mean}{spread}."


def _say_stability(agents: Columns, alone: bool) -> str:
    counts = Counter(word for word in agents["stability"].tolist() if word)
    if not counts:
        return ""
    if alone:
        return f"Its memory is {next(iter(counts))}."
    total = sum(counts.values())
    if len(counts) == 1 and total > 1:
        return f"All {total} that were measured are {next(iter(counts))}."
    parts = [f"{number} {'is' if number == 1 else 'are'} {kind}" for kind, number in counts.items()]
    return f"Of those that were measured, {' and '.join(parts)}."


def _say_reach(tables: Tables, alone: bool) -> str:
    """Who still solves the task where most has grown, of what was evaluated."""
    outcomes, growth = tables["outcomes"], tables["growth"]
    if not count_rows(outcomes):
        return ""
    sizes = outcomes[growth["name"].item()]
    furthest = keep_rows(outcomes, sizes == sizes.max())
    solved = count(furthest, "outcome", "solved")
    # Without its unit, which is in brackets.
    label = growth["label"].item().partition(" (")[0]
    told = f"{solved} of {count_rows(furthest)} {'solves' if solved == 1 else 'solve'}"
    if alone:
        told = "it solves" if solved else "it does not solve"
    return f"At the furthest that was evaluated ({label}: {sizes.max():,}), {told} the task."


def _say_certified(certificates: Columns, alone: bool) -> str:
    if not count_rows(certificates):
        return ""
    forever = count(certificates, "solved", "every length")
    told = f"{forever} of {count_rows(certificates)} {'is' if forever == 1 else 'are'}"
    if alone:
        told = "It is" if forever else "It is not"
    return f"{told} certified to solve the task at every length."
