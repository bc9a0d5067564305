"""How models, trainings and kinds of stability look and are called in every figure."""

from collections.abc import Iterable
from typing import NamedTuple

from remanence.figures._style import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, YELLOW


class Look(NamedTuple):
    """A name to print, a colour, and a marker for readers who see no colours."""

    name: str
    colour: str
    marker: str = "o"


MODELS = {
    "gru": Look("GRU", BLUE, "o"),
    "lstm": Look("LSTM", GREY, "X"),
    "brc": Look("BRC", ORANGE, "s"),
    "nbrc": Look("nBRC", GREEN, "^"),
    "mingru": Look("minGRU", PINK, "D"),
    "deep-mingru": Look("deep minGRU", SKY, "P"),
    "bmru": Look("BMRU", RED, "*"),
    "hybrid": Look("hybrid", YELLOW, "v"),
}
TRAININGS = {
    "tmaze-short": Look("trained on lengths 1–3", BLUE),
    "tmaze-long": Look("trained on length 100", ORANGE, "s"),
}
STABILITY = {
    "monostable": Look("monostable", PINK, "--"),
    "bistable": Look("bistable", GREEN, "-"),
}
CUES = {0: Look("cue up", BLUE, "-"), 1: Look("cue down", RED, "--")}


def find_look(looks: dict[str, Look], name: str) -> Look:
    """The look of that name, or a plain one for a name that only its user knows."""
    return looks.get(name, Look(name, GREY))


def order(names: Iterable[str], looks: dict[str, Look]) -> list[str]:
    """Each name once, known ones first and in the order of their looks."""
    known = list(looks)
    return sorted(set(names), key=lambda name: (name not in looks, *_place(known, name)))


def _place(known: list[str], name: str) -> tuple[int, str]:
    return (known.index(name) if name in known else 0, name)
