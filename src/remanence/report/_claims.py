"""What the paper says about the T-maze, and how a study's tables decide whether ours agrees.

To add a claim, write its judge into the file of its section and register it there.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from remanence._registry import Registry
from remanence.figures import Columns, Tables, count_rows, keep_rows

AGREES, DISAGREES, UNTESTED = "agrees", "disagrees", "not tested at this size"
VERDICTS = (AGREES, DISAGREES, UNTESTED)
FEWEST_MODELS = 5
# Where the claim is a number of models, and not only that there are more of one kind.
FEWEST_COUNTED = 30
PAPER_ITERATIONS = 250
UNDECIDED = "undecided"
CHANCE = 0.05
MOST = 0.9
# The paper evaluates from length 2 on; at length 1 the cue is seen at the junction.
LENGTH = "length from 2 on"


@dataclasses.dataclass(frozen=True)
class Finding:
    """What we found, in words, and whether it agrees; None where there is too little to tell.

    `cut` says that some of the models were trained for fewer iterations than the paper's.
    """

    ours: str
    agrees: bool | None
    cut: bool = False

    @property
    def verdict(self) -> str:
        """One of the three verdicts."""
        return UNTESTED if self.agrees is None else AGREES if self.agrees else DISAGREES


Judge = Callable[[Tables], Finding]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and the rule by which ours is said to agree.

    A claim about `how_many` models learn something cannot be tested on trainings that were cut
    short; one about what models do that have learned can.
    """

    sentence: str
    place: str
    rule: str
    judge: Judge
    how_many: bool = False


claims: Registry[Claim] = Registry("claim")


def register_claim(
    name: str, sentence: str, rule: str, judge: Judge, *, place: str, how_many: bool = False
) -> None:
    """Register a claim of one section of the paper."""
    claims.register(name, Claim(sentence, place, rule, judge, how_many))


def judge_claims(tables: Tables) -> dict[str, Finding]:
    """The finding on every claim, by name; a judge that fails is reported as such."""
    return {name: _judge(claims[name], tables) for name in claims}


def _judge(claim: Claim, tables: Tables) -> Finding:
    try:
        finding = claim.judge(tables)
    except Exception as error:
        return Finding(f"could not be judged: {type(error).__name__}: {error}", None)
    if claim.how_many and finding.cut:
        return dataclasses.replace(finding, agrees=None)
    return finding


def conclude(
    ours: str, agrees: bool | np.bool | None, *groups: Columns, fewest: int = FEWEST_MODELS
) -> Finding:
    """A finding, without a verdict if one of the groups of models that it rests on is too small.

    If it cannot be told whether it agrees (None), there is none either. Where some of them were
    trained for fewer iterations than the paper's, it says so.
    """
    sizes = [count_rows(group) for group in groups]
    if not any(sizes):
        return Finding("there are no such models in this study", None)
    cut = _list_cut_trainings(groups)
    words = f"{ours} ({', '.join(cut)})" if cut else ours
    told = agrees is not None and min(sizes) >= fewest
    return Finding(words, bool(agrees) if told else None, bool(cut))


def _list_cut_trainings(groups: Sequence[Columns]) -> list[str]:
    """Such as "long-trained for 100 of 250 iterations"."""
    kinds = {
        kind
        for group in groups
        for kind in zip(
            *(group[name].tolist() for name in ("num_iterations", "preset", "model")), strict=True
        )
    }
    cut = {
        (number, "deep minGRU" if model == "deep-mingru" else TRAINED.get(preset, preset))
        for number, preset, model in kinds
        if number < PAPER_ITERATIONS
    }
    return [f"{who} for {number} of {PAPER_ITERATIONS} iterations" for number, who in sorted(cut)]


TRAINED = {"tmaze-short": "short-trained", "tmaze-long": "long-trained"}


def know(models: Columns, name: str) -> Columns:
    """The models of which that was found out: measured, and decided."""
    return keep_rows(models, (models[name] != "") & (models[name] != UNDECIDED))


def count(models: Columns, name: str, value: object = True) -> int:
    """How many models have that value."""
    return int(np.count_nonzero(models[name] == value))


def share(models: Columns, name: str, value: object = True) -> float:
    """Which part of the models has that value; NaN of none."""
    number = count_rows(models)
    return count(models, name, value) / number if number else float("nan")


def compare_counts(found: int, total: int, paper: tuple[int, int]) -> float:
    """The p-value of Fisher's exact test that two counts, such as 57 of 90, have one proportion."""
    number, size = paper
    table = [[found, total - found], [number, size - number]]
    return float(stats.fisher_exact(table).pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def compare_with_paper(
    groups: Sequence[Columns], paper: Sequence[tuple[int, int]], name: str, value: object = True
) -> float:
    """The p-value that so many models of each group have that value as the paper counts."""
    return combine_chances(
        [
            compare_counts(count(models, name, value), count_rows(models), numbers)
            for models, numbers in zip(groups, paper, strict=True)
            if count_rows(models)
        ]
    )


def combine_chances(chances: Sequence[float]) -> float:
    """One p-value for several tests (Fisher's method); NaN of none."""
    if not chances:
        return float("nan")
    return float(stats.combine_pvalues(chances).pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def show(number: float, form: str = ",.2f") -> str:
    """A number, or a dash where there is nothing to average."""
    return "–" if np.isnan(number) else f"{number:{form}}"


def tell(models: Columns, name: str, value: object = True) -> str:
    """Such as "57 of 90"."""
    return f"{count(models, name, value)} of {count_rows(models)}"
