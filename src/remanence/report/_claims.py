"""Sentences that a study can be held against, and how its tables decide whether it agrees.

Which sentences there are is an experiment's; what all judges share is here.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import stats

from remanence.figures import Columns, Tables, count_rows, keep_rows

AGREES, DISAGREES, UNTESTED = "agrees", "disagrees", "not tested at this size"
VERDICTS = (AGREES, DISAGREES, UNTESTED)
FEWEST_MODELS = 5
# Where the claim is a number of models, and not only that there are more of one kind.
FEWEST_COUNTED = 30
UNDECIDED = "undecided"
CHANCE = 0.05


@dataclasses.dataclass(frozen=True)
class Finding:
    """What we found, in words, and whether it agrees; None where there is too little to tell.

    `trained_less` says that some of the models were trained for less than those of the claim.
    """

    ours: str
    agrees: bool | None
    trained_less: bool = False

    @property
    def verdict(self) -> str:
        """One of the three verdicts."""
        return UNTESTED if self.agrees is None else AGREES if self.agrees else DISAGREES


Judge = Callable[[Tables], Finding]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence, the rule by which ours is said to agree, its judge, and where it stands.

    A claim about `how_many` models learn something cannot be tested on trainings that were cut
    short; one about what models do that have learned can.
    """

    sentence: str
    rule: str
    judge: Judge
    place: str
    how_many: bool = False


def judge_claims(claims: Mapping[str, Claim], tables: Tables) -> dict[str, Finding]:
    """The finding on every claim, by name; a judge that fails is reported as such."""
    return {name: _judge(claim, tables) for name, claim in claims.items()}


def _judge(claim: Claim, tables: Tables) -> Finding:
    try:
        finding = claim.judge(tables)
    except Exception as error:
        return Finding(f"could not be judged: {type(error).__name__}: {error}", None)
    if claim.how_many and finding.trained_less:
        return dataclasses.replace(finding, agrees=None)
    return finding


def conclude(
    ours: str,
    agrees: bool | np.bool | None,
    *groups: Columns,
    fewest: int = FEWEST_MODELS,
    trained_less: Sequence[str] = (),
) -> Finding:
    """A finding, without a verdict if one of the groups of models that it rests on is too small.

    If it cannot be told whether it agrees (None), there is none either. `trained_less` names the
    models that were trained for less than those of the claim, and for how much.
    """
    sizes = [count_rows(group) for group in groups]
    if not any(sizes):
        return Finding("there are no such models in this study", None)
    if trained_less:
        ours = f"{ours} ({', '.join(trained_less)})"
    enough = agrees is not None and min(sizes) >= fewest
    return Finding(ours, bool(agrees) if enough else None, bool(trained_less))


def keep_known(models: Columns, name: str) -> Columns:
    """The models of which that was found out: measured, and decided."""
    return keep_rows(models, (models[name] != "") & (models[name] != UNDECIDED))


def count(models: Columns, name: str, value: object = True) -> int:
    """How many models have that value."""
    return int(np.count_nonzero(models[name] == value))


def share(models: Columns, name: str, value: object = True) -> float:
    """Which part of the models has that value; NaN of none."""
    number = count_rows(models)
    return count(models, name, value) / number if number else float("nan")


def say_count(models: Columns, name: str, value: object = True) -> str:
    """Such as "57 of 90"."""
    return f"{count(models, name, value)} of {count_rows(models)}"


def say_number(number: float, form: str = ",.2f") -> str:
    """A number, or a dash where there is nothing to average."""
    return "–" if np.isnan(number) else f"{number:{form}}"


def compare_counts(found: int, total: int, other: tuple[int, int]) -> float:
    """The p-value of Fisher's exact test that two counts, such as 57 of 90, have one proportion."""
    number, size = other
    table = [[found, total - found], [number, size - number]]
    return float(stats.fisher_exact(table).pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def compare_groups(
    groups: Sequence[Columns], counts: Sequence[tuple[int, int]], name: str, value: object = True
) -> float:
    """The p-value that so many models of each group have that value as the given counts say."""
    return combine_chances(
        [
            compare_counts(count(models, name, value), count_rows(models), numbers)
            for models, numbers in zip(groups, counts, strict=True)
            if count_rows(models)
        ]
    )


def combine_chances(chances: Sequence[float]) -> float:
    """One p-value for several tests (Fisher's method); NaN of none."""
    if not chances:
        return float("nan")
    return float(stats.combine_pvalues(chances).pvalue)  # pyright: ignore[reportAttributeAccessIssue]
