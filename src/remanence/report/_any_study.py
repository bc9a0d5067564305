"""What can be said of any study, and of a plain run, whatever it is about."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from remanence.figures import (
    Columns,
    StudyFigure,
    Tables,
    count_rows,
    draw_generalization,
    draw_learning,
    keep_rows,
)
from remanence.report._claims import Finding, say_number, say_plain_count
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
    sentences = (
        _say_who(agents),
        _say_learned(tables["curves"]),
        _say_stability(tables["agents"]),
        _say_reach(tables),
        _say_certified(tables["certificates"]),
    )
    return [sentence for sentence in sentences if sentence]


def _say_who(agents: Columns) -> str:
    counts = Counter(agents["model"].tolist())
    parts = [f"{number} {model}" for model, number in counts.items()]
    number = count_rows(agents)
    noun = "agent was" if number == 1 else "agents were"
    return f"{number} {noun} looked at: {', '.join(parts)}."


def _say_learned(curves: Columns) -> str:
    if not count_rows(curves):
        return ""
    last = keep_rows(curves, curves["iteration"] > 0.9 * curves["num_iterations"])
    returns = last["return"] if count_rows(last) else curves["return"]
    spread = f"from {say_number(float(returns.min()))} to {say_number(float(returns.max()))}"
    when = "At the end of training" if count_rows(last) else "So far"
    return f"{when} their mean return is {say_number(float(returns.mean()))} ({spread})."


def _say_stability(agents: Columns) -> str:
    counts = Counter(word for word in agents["stability"].tolist() if word)
    parts = [f"{number} {'is' if number == 1 else 'are'} {kind}" for kind, number in counts.items()]
    return f"Of those that were measured {' and '.join(parts)}." if parts else ""


def _say_reach(tables: Tables) -> str:
    """Who still solves the task where most has grown, of what was evaluated."""
    outcomes, growth = tables["outcomes"], tables["growth"]
    if not count_rows(outcomes):
        return ""
    sizes = outcomes[growth["name"].item()]
    furthest = keep_rows(outcomes, sizes == sizes.max())
    solved = say_plain_count(furthest, "outcome", "solved")
    # Without its unit, which is in brackets.
    label = growth["label"].item().partition(" (")[0]
    return (
        f"At the furthest that was evaluated ({label}: {sizes.max():,}), {solved} solve the task."
    )


def _say_certified(certificates: Columns) -> str:
    if not count_rows(certificates):
        return ""
    forever = int(np.count_nonzero(certificates["solved"] == "every length"))
    return f"{forever} of {count_rows(certificates)} are certified to solve it however long it is."
