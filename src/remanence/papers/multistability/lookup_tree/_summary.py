"""What a study of the LookupTreeMaze found, in five sentences."""

from collections.abc import Mapping, Sequence

import numpy as np

from remanence.figures import (
    Columns,
    Tables,
    count_rows,
    find_look,
    keep_rows,
    order,
    select_rows,
)
from remanence.papers.multistability._judging import join_words, say_verdicts
from remanence.papers.multistability._looks import MODELS
from remanence.papers.multistability.lookup_tree._tables import INTERVENTIONS, SAMPLED
from remanence.papers.multistability.lookup_tree._task import name_task
from remanence.papers.multistability.lookup_tree.claims._models import NEARLY_OPTIMAL
from remanence.report import Finding, say_number

_SHOWN = {"table": "the table", "index": "the index", "flag": "the junction's flag"}


def summarize(tables: Tables, findings: Mapping[str, Finding]) -> Sequence[str]:
    """Who was trained, what they earn on few and on many mazes, what is lost, what agrees."""
    agents = tables["agents"]
    if not count_rows(agents):
        return ["Nothing is known of any agent yet."]
    sentences = [
        _say_who(tables),
        _say_returns(tables["groups"]),
        _say_lasting(tables["scores"]),
        _say_lost(tables["lost"]),
        say_verdicts(findings),
    ]
    return [sentence for sentence in sentences if sentence]


def _say_who(tables: Tables) -> str:
    agents = tables["agents"]
    names = order(agents["model"].tolist(), MODELS)
    counts = [f"{np.count_nonzero(agents['model'] == name)} {_name(name)}" for name in names]
    noun = "agent" if count_rows(agents) == 1 else "agents"
    return (
        f"This study has {count_rows(agents)} {noun} ({join_words(counts)}), trained on up to 20 "
        f"mazes ({name_task(tables)})."
    )


def _say_returns(groups: Columns) -> str:
    """Mean returns with the fewest and with the most mazes, model by model."""
    sampled = select_rows(groups, acting=SAMPLED)
    if not count_rows(sampled):
        return ""
    numbers = sorted(set(sampled["num_mazes"].tolist()))
    parts = [
        f"on {number:,} mazes {_list_returns(select_rows(sampled, num_mazes=number))}"
        for number in dict.fromkeys((numbers[0], numbers[-1]))
    ]
    return (
        f"With sampled actions their mean return is {'; '.join(parts)} (optimal is 4, chance 1.95)."
    )


def _list_returns(groups: Columns) -> str:
    pairs = zip(groups["model"].tolist(), groups["return"].tolist(), strict=True)
    return ", ".join(f"{say_number(value)} ({_name(model)})" for model, value in pairs)


def _say_lasting(scores: Columns) -> str:
    """Who is nearly optimal with the most mazes."""
    sampled = select_rows(scores, acting=SAMPLED)
    if not count_rows(sampled):
        return ""
    most = sampled["num_mazes"].max()
    last = select_rows(sampled, num_mazes=most)
    able = keep_rows(last, last["return"] >= NEARLY_OPTIMAL)
    names = order(able["model"].tolist(), MODELS)
    if not names:
        return f"None of them is nearly optimal ({NEARLY_OPTIMAL:g} or more) on {most:,} mazes."
    counts = [
        f"{np.count_nonzero(able['model'] == name)} of "
        f"{np.count_nonzero(last['model'] == name)} {_name(name)}"
        for name in names
    ]
    return f"Nearly optimal ({NEARLY_OPTIMAL:g} or more) on {most:,} mazes: {join_words(counts)}."


def _say_lost(lost: Columns) -> str:
    """What cures late wrong decisions when it is shown again, of all models together."""
    late = select_rows(lost, when="late") if count_rows(lost) else lost
    wrong = int(late["num_wrong"].sum()) if count_rows(late) else 0
    if not wrong:
        return ""
    right = int(late["num_decisions"].sum()) - wrong
    parts = [
        f"{_SHOWN[part]} {late[f'cured_by_{part}'].sum() / wrong:.0%} and "
        f"{late[f'spoiled_by_{part}'].sum() / max(1, right):.0%}"
        for part in INTERVENTIONS
    ]
    return (
        f"Of {wrong:,} wrong decisions in mazes beyond the number of training, showing one thing "
        f"again cures some, and it spoils some right ones: {', '.join(parts)}."
    )


def _name(model: str) -> str:
    return find_look(MODELS, model).name
