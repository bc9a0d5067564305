"""Sentences that a study can be held against, and how its tables decide whether it agrees.

Which sentences there are is an experiment's; what all judges share is here.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import stats

from remanence.figures import Columns, Tables, count_rows, keep_rows
from remanence.report._intervals import say_share

AGREES, DISAGREES, UNTESTED = "agrees", "disagrees", "not tested at this size"
VERDICTS = (AGREES, DISAGREES, UNTESTED)
FEWEST_MODELS = 5
# Where the claim is a number of models, and not only that there are more of one kind.
FEWEST_COUNTED = 30
UNDECIDED = "undecided"
CHANCE = 0.05
# A verdict that fewer of the studies drawn from the models of this one come to is not sure.
SURE = 0.95


@dataclasses.dataclass(frozen=True)
class Finding:
    """What we found, in words, and whether it agrees; None where there is too little to tell.

    `trained_less` says that some of the models were trained for less than those of the claim,
    `num_models` is the size of the smallest group that the finding rests on. `sureness` says how
    far the verdict can be told from its opposite with so many models (`weigh_findings`), NaN where
    nobody has asked.

    >>> from remanence import report
    >>> report.Finding("57 of 90", agrees=True).verdict
    'agrees'
    >>> report.Finding("1 of 2", agrees=None).verdict
    'not tested at this size'
    >>> report.Finding("5 of 8", agrees=True, sureness=0.7).sure
    False
    """

    ours: str
    agrees: bool | None
    trained_less: bool = False
    num_models: int = 0
    sureness: float = float("nan")

    @property
    def sure(self) -> bool:
        """Whether there are enough models to tell the verdict from its opposite."""
        return not self.sureness < SURE

    @property
    def verdict(self) -> str:
        """One of the three verdicts."""
        return UNTESTED if self.agrees is None else AGREES if self.agrees else DISAGREES


Judge = Callable[[Tables], Finding]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence, the rule by which ours is said to agree, its judge, and where it stands.

    A claim about `how_many` models learn something cannot be tested on trainings that were cut
    short; one about what models do that have learned can. `overturned` is the verdict, if any, that
    a single model more could turn into its opposite: that a claim about all models agrees, or that
    one about some does not. `brief` says it in a few words, for tables of many claims.

    >>> from remanence import report
    >>> claim = report.Claim(
    ...     sentence="Most models are bistable.",
    ...     rule="more than half are",
    ...     judge=lambda tables: report.Finding("57 of 90", agrees=57 > 45),
    ...     place="section 5",
    ... )
    >>> claim.judge({}).verdict
    'agrees'
    """

    sentence: str
    rule: str
    judge: Judge
    place: str
    how_many: bool = False
    overturned: str = ""
    brief: str = ""


def judge_claims(claims: Mapping[str, Claim], tables: Tables) -> dict[str, Finding]:
    """The finding on every claim, by name; a judge that fails is reported as such.

    >>> from remanence import report
    >>> def judge(tables):
    ...     models = tables["agents"]
    ...     most = report.share(models, "stability", "bistable") > 0.5
    ...     return report.conclude(report.say_count(models, "stability", "bistable"), most, models)
    >>> claims = {"most": report.Claim("Most are bistable.", "more than half are", judge, "")}
    >>> report.judge_claims(claims, {"agents": {"stability": np.array(["bistable"] * 6)}})
    {'most': Finding(ours='6 of 6 [61–100%]', agrees=True, trained_less=False, num_models=6, ...)}
    >>> report.judge_claims(claims, {})["most"].ours
    "could not be judged: KeyError: 'agents'"
    """
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

    >>> from remanence import report
    >>> models = {"stability": np.array(["bistable", "bistable", "monostable", ""])}
    >>> report.conclude("2 of 4", True, models, fewest=4).verdict
    'agrees'
    >>> report.conclude("2 of 4", True, models).verdict
    'not tested at this size'
    """
    sizes = [count_rows(group) for group in groups]
    if not any(sizes):
        return Finding("there are no such models in this study", None)
    if trained_less:
        ours = f"{ours} ({', '.join(trained_less)})"
    enough = agrees is not None and min(sizes) >= fewest
    return Finding(ours, bool(agrees) if enough else None, bool(trained_less), min(sizes))


def keep_known(models: Columns, name: str) -> Columns:
    """The models of which that was found out: measured, and decided.

    >>> from remanence import report
    >>> models = {"stability": np.array(["bistable", "bistable", "monostable", ""])}
    >>> report.keep_known(models, "stability")["stability"].tolist()
    ['bistable', 'bistable', 'monostable']
    """
    return keep_rows(models, (models[name] != "") & (models[name] != UNDECIDED))


def count(models: Columns, name: str, value: object = True) -> int:
    """How many models have that value.

    >>> from remanence import report
    >>> models = {"stability": np.array(["bistable", "bistable", "monostable", ""])}
    >>> report.count(models, "stability", "bistable")
    2
    """
    return int(np.count_nonzero(models[name] == value))


def share(models: Columns, name: str, value: object = True) -> float:
    """Which part of the models has that value; NaN of none.

    >>> from remanence import report
    >>> models = {"stability": np.array(["bistable", "bistable", "monostable", ""])}
    >>> report.share(models, "stability", "bistable")
    0.5
    """
    number = count_rows(models)
    return count(models, name, value) / number if number else float("nan")


def say_count(models: Columns, name: str, value: object = True) -> str:
    """How many models have that value, with the interval of their share.

    >>> from remanence import report
    >>> models = {"stability": np.array(["bistable", "bistable", "monostable", ""])}
    >>> report.say_count(models, "stability", "bistable")
    '2 of 4 [15–85%]'
    """
    return say_share(models[name] == value)


def say_plain_count(models: Columns, name: str, value: object = True) -> str:
    """The same without an interval, for summaries.

    >>> from remanence import report
    >>> models = {"stability": np.array(["bistable", "bistable", "monostable", ""])}
    >>> report.say_plain_count(models, "stability", "bistable")
    '2 of 4'
    """
    return f"{count(models, name, value)} of {count_rows(models)}"


def say_number(number: float, form: str = ",.2f") -> str:
    """A number, or a dash where there is nothing to average.

    >>> from remanence import report
    >>> report.say_number(1234.5), report.say_number(0.5, ".0%"), report.say_number(float("nan"))
    ('1,234.50', '50%', '–')
    """
    return "–" if np.isnan(number) else f"{number:{form}}"


def compare_counts(found: int, total: int, other: tuple[int, int]) -> float:
    """The p-value that two counts, such as 57 of 90, have one proportion.

    Fisher's exact test, two-sided (Fisher 1935).

    >>> from remanence import report
    >>> round(report.compare_counts(8, 10, (1, 6)), 4)
    0.035
    """
    number, size = other
    table = [[found, total - found], [number, size - number]]
    return float(stats.fisher_exact(table).pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def compare_groups(
    groups: Sequence[Columns], counts: Sequence[tuple[int, int]], name: str, value: object = True
) -> float:
    """The p-value that so many models of each group have that value as the given counts say.

    Each count is a pair such as (57, 90). The tests of all groups are combined into one.

    >>> from remanence import report
    >>> models = {"bistable": np.array([True] * 8 + [False] * 2)}
    >>> round(report.compare_groups([models], [(1, 6)], "bistable"), 4)
    0.035
    """
    return combine_chances(
        [
            compare_counts(count(models, name, value), count_rows(models), numbers)
            for models, numbers in zip(groups, counts, strict=True)
            if count_rows(models)
        ]
    )


def combine_chances(chances: Sequence[float]) -> float:
    """One p-value for several tests; NaN of none.

    Fisher's method (Fisher 1932): -2 times the sum of their logarithms is chi-squared, with two
    degrees of freedom for each test.

    >>> from remanence import report
    >>> round(report.combine_chances([0.1, 0.2]), 4)
    0.0982
    """
    if not chances:
        return float("nan")
    return float(stats.combine_pvalues(chances).pvalue)  # pyright: ignore[reportAttributeAccessIssue]
