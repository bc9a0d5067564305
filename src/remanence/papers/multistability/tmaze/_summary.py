"""What a study of the T-maze found, in five sentences."""

from collections.abc import Mapping, Sequence

from remanence.figures import (
    STABILITY,
    Columns,
    Tables,
    count_rows,
    find_look,
    order,
    select_rows,
)
from remanence.papers.multistability._judging import join_words, say_verdicts
from remanence.papers.multistability._looks import MODELS, TRAININGS
from remanence.papers.multistability.tmaze._lengths import YES
from remanence.papers.multistability.tmaze._tables import LENGTH
from remanence.report import Finding, count, keep_known, say_plain_count

_RESTS = {"bistable": "with two states to rest in", "monostable": "with only one"}


def summarize(tables: Tables, findings: Mapping[str, Finding]) -> Sequence[str]:
    """Who was trained, what stability has to do with it, what lasts, and how many claims agree."""
    models = tables["models"]
    if not count_rows(models):
        return ["Nothing is known of any agent yet."]
    sentences = [
        _say_who(models),
        _say_probe(models),
        _say_lasting(models, "bistable"),
        _say_lasting(models, "monostable"),
        say_verdicts(findings),
    ]
    return [sentence for sentence in sentences if sentence]


def _say_who(models: Columns) -> str:
    names = [find_look(MODELS, name).name for name in order(models["model"].tolist(), MODELS)]
    parts = [
        f"{count_rows(select_rows(models, preset=preset))} {_name_training(preset)}"
        for preset in order(models["preset"].tolist(), TRAININGS)
    ]
    noun = "agent" if count_rows(models) == 1 else "agents"
    return f"This study has {count_rows(models)} {noun} ({', '.join(names)}): {join_words(parts)}."


def _say_probe(models: Columns) -> str:
    """Of those whose stability is known, how many of each kind solve length 100."""
    known = keep_known(keep_known(models, "stability"), "outcome")
    parts = [
        f"{say_plain_count(group, 'outcome', 'solved')} whose memory is {kind} ({_RESTS[kind]})"
        for kind in STABILITY
        if count_rows(group := select_rows(known, stability=kind))
    ]
    if not parts:
        return ""
    return f"Length {known['length'][0]:,} is solved by {join_words(parts[::-1])}."


def _say_lasting(models: Columns, stability: str) -> str:
    """How many of a kind are certified for every length, by training."""
    known = keep_known(select_rows(models, stability=stability), "lasting")
    parts = [
        f"{say_plain_count(group, 'lasting', YES)} {_name_training(preset)}"
        for preset in order(known["preset"].tolist(), TRAININGS)
        if count_rows(group := select_rows(known, preset=preset))
    ]
    if not parts:
        return ""
    if not count(known, "lasting", YES):
        return f"None of the {count_rows(known)} {stability} ones is certified for every {LENGTH}."
    return (
        f"Of the {stability} ones, {join_words(parts)} are certified to take the right arm at "
        f"every {LENGTH}, however long the maze is."
    )


def _name_training(preset: str) -> str:
    return find_look(TRAININGS, preset).name
