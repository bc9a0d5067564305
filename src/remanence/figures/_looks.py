"""How models, trainings and kinds of stability look and are called in figures.

What is known of stability is the same everywhere; names of models and trainings are an
experiment's, which hands them in as `Looks`.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from remanence.figures._style import GREEN, GREY, MARKERS, PALETTE, PINK


class Look(NamedTuple):
    """A name to print, a colour, and a marker for readers who see no colours.

    >>> from remanence import figures
    >>> figures.Look("GRU", figures.BLUE)
    Look(name='GRU', colour='#0072B2', marker='o')
    """

    name: str
    colour: str
    marker: str = "o"


@dataclasses.dataclass(frozen=True)
class Looks:
    """How an experiment's models and trainings look; names that are not there look plain.

    >>> from remanence import figures
    >>> looks = figures.Looks(models={"gru": figures.Look("GRU", figures.BLUE)})
    >>> figures.find_look(looks.models, "gru").name
    'GRU'
    """

    models: Mapping[str, Look] = dataclasses.field(default_factory=dict)
    trainings: Mapping[str, Look] = dataclasses.field(default_factory=dict)


# Of stability the marker is the style of a line; "" is where it was not measured.
STABILITY = {
    "monostable": Look("monostable", PINK, "--"),
    "bistable": Look("bistable", GREEN, "-"),
}
EVERY_STABILITY = STABILITY | {
    "multistable": Look("multistable", GREEN, "-"),
    "not finite": Look("not finite", GREY, ":"),
    "": Look("", GREY, "-."),
}


def find_look(looks: Mapping[str, Look], name: str) -> Look:
    """The look of that name, or a plain one for a name that only its user knows.

    >>> from remanence import figures
    >>> figures.find_look({}, "my-cell")
    Look(name='my-cell', colour='#777777', marker='o')
    """
    return looks.get(name, Look(name, GREY))


def order(names: Iterable[str], looks: Mapping[str, Look]) -> list[str]:
    """Each name once, known ones first and in the order of their looks.

    >>> from remanence import figures
    >>> looks = {name: figures.Look(name.upper(), figures.BLUE) for name in ("gru", "bmru")}
    >>> figures.order(["a-cell", "bmru", "gru", "gru"], looks)
    ['gru', 'bmru', 'a-cell']
    """
    known = list(looks)
    return sorted(set(names), key=lambda name: (name not in looks, *_place(known, name)))


def assign_looks(names: Iterable[str], looks: Mapping[str, Look]) -> dict[str, Look]:
    """A look for each name, in order: its own, or else a colour and a marker of its own.

    >>> from remanence import figures
    >>> looks = {"gru": figures.Look("GRU", figures.BLUE)}
    >>> [look.name for look in figures.assign_looks(["my-cell", "gru"], looks).values()]
    ['GRU', 'my-cell']
    """
    assigned = {}
    for name in order(names, looks):
        place = sum(other not in looks for other in assigned)
        plain = Look(name, PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)])
        assigned[name] = looks.get(name, plain)
    return assigned


def _place(known: list[str], name: str) -> tuple[int, str]:
    return (known.index(name) if name in known else 0, name)
