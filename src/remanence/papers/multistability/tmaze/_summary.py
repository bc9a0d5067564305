"""What a study of the T-maze found, in five sentences."""

from collections.abc import Mapping, Sequence

from remanence.figures import Columns, Tables, count_rows, find_look, order, select_rows
from remanence.papers.multistability._looks import MODELS, TRAININGS
from remanence.papers.multistability.tmaze._lengths import YES
from remanence.report import VERDICTS, Finding, keep_known, say_count


def summarize(tables: Tables, findings: Mapping[str, Finding]) -> Sequence[str]:
    """Who was trained, what stability has to do with it, what lasts, and how many claims agree."""
    models = tables["models"]
    if not count_rows(models):
        return ["Nothing is known of any agent yet."]
    sentences = [
        _say_who(models),
        _say_stability(models),
        _say_lasting(models, "bistable"),
        _say_lasting(models, "monostable"),
        _say_verdicts(findings),
    ]
    return [sentence for sentence in sentences if sentence]


def _say_who(models: Columns) -> str:
    names = [find_look(MODELS, name).name for name in order(models["model"].tolist(), MODELS)]
    trainings = [
        f"{count_rows(select_rows(models, preset=preset))} {find_look(TRAININGS, preset).name}"
        for preset in order(models["preset"].tolist(), TRAININGS)
    ]
    return f"{count_rows(models)} agents ({', '.join(names)}) were looked at: {_join(trainings)}."


def _say_stability(models: Columns) -> str:
    """Of those whose stability is known, how many of each kind solve length 100."""
    known = keep_known(keep_known(models, "stability"), "outcome")
    if not count_rows(known):
        return ""
    parts = [
        f"{say_count(group, 'outcome', 'solved')} {kind} ones"
        for kind in ("bistable", "monostable")
        if count_rows(group := select_rows(known, stability=kind))
    ]
    return f"At length {known['length'][0]:,} the task is solved by {_join(parts)}."


def _say_lasting(models: Columns, stability: str) -> str:
    """How many of a kind are certified for every length, by training."""
    known = keep_known(select_rows(models, stability=stability), "lasting")
    parts = [
        f"{say_count(group, 'lasting', YES)} {find_look(TRAININGS, preset).name}"
        for preset in order(known["preset"].tolist(), TRAININGS)
        if count_rows(group := select_rows(known, preset=preset))
    ]
    if not parts:
        return ""
    return (
        f"Of the {stability} ones {_join(parts)} are certified to take the right arm at every "
        "length from 2 on, however long."
    )


def _say_verdicts(findings: Mapping[str, Finding]) -> str:
    verdicts = [finding.verdict for finding in findings.values()]
    agree, disagree, untested = (verdicts.count(verdict) for verdict in VERDICTS)
    if untested == len(verdicts):
        return f"The study is too small to test any of the paper's {untested} claims."
    return (
        f"Of the paper's {len(verdicts)} claims {agree} agree with what was found here, {disagree} "
        f"disagree, and {untested} could not be tested."
    )


def _join(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
