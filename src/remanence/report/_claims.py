"""What the paper says about the T-maze, and how a study's tables decide whether ours agrees.

To add a claim, write its judge into the file of its section and register it there.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from remanence._registry import Registry
from remanence.figures import Columns, Tables, count_rows

AGREES, DISAGREES, UNTESTED = "agrees", "disagrees", "not tested at this size"
VERDICTS = (AGREES, DISAGREES, UNTESTED)
FEWEST_MODELS = 5


@dataclasses.dataclass(frozen=True)
class Finding:
    """What we found, in words, and whether it agrees; None where there is too little to tell."""

    ours: str
    agrees: bool | None

    @property
    def verdict(self) -> str:
        """One of the three verdicts."""
        return UNTESTED if self.agrees is None else AGREES if self.agrees else DISAGREES


Judge = Callable[[Tables], Finding]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and the rule by which ours is said to agree."""

    sentence: str
    place: str
    rule: str
    judge: Judge


claims: Registry[Claim] = Registry("claim")


def judge_claims(tables: Tables) -> dict[str, Finding]:
    """The finding on every claim, by name; a judge that fails is reported as such."""
    return {name: _judge(claims[name], tables) for name in claims}


def _judge(claim: Claim, tables: Tables) -> Finding:
    try:
        return claim.judge(tables)
    except Exception as error:
        return Finding(f"could not be judged: {type(error).__name__}: {error}", None)


def conclude(
    ours: str, agrees: bool | np.bool, *groups: Columns, fewest: int = FEWEST_MODELS
) -> Finding:
    """A finding, without a verdict if one of the groups of models that it rests on is too small."""
    sizes = [count_rows(group) for group in groups]
    if not any(sizes):
        return Finding("there are no such models in this study", None)
    return Finding(ours, bool(agrees) if min(sizes) >= fewest else None)


def count(models: Columns, name: str, value: object = True) -> int:
    """How many models have that value."""
    return int(np.count_nonzero(models[name] == value))


def share(models: Columns, name: str, value: object = True) -> float:
    """Which part of the models has that value; NaN of none."""
    number = count_rows(models)
    return count(models, name, value) / number if number else float("nan")


def show(number: float) -> str:
    """Two decimals, or a dash where there is nothing to average."""
    return "–" if np.isnan(number) else f"{number:,.2f}"


def tell(models: Columns, name: str, value: object = True) -> str:
    """Such as "57 of 90"."""
    return f"{count(models, name, value)} of {count_rows(models)}"
