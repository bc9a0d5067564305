"""Claims about nonlinear models, and what their VAA has to do with it."""

from typing import Any

import numpy as np
from scipy import stats

from remanence.figures import Columns, Tables, keep_rows, select_rows
from remanence.papers.multistability._judging import MOST, conclude
from remanence.papers.multistability.lookup_tree.claims._models import (
    FEW,
    LITTLE,
    MANY,
    MULTISTABLE,
    NEARLY_OPTIMAL,
    NUMBERS,
    are_nearly_optimal,
    average,
    find_models,
    judge_by_sampling,
    keep_multistable,
    say_means,
)
from remanence.report import (
    AGREES,
    CHANCE,
    Claim,
    Finding,
    say_mean,
    say_number,
    say_share,
)

PLACE = "Nonlinear RNNs on the LookupTreeMaze"
REASONABLE = 3.0
OUT_OF_SCOPE = 1.5
SOME = 0.1


def judge_few(tables: Tables, acting: str) -> Finding:
    """Returns of nonlinear models on 10 mazes."""
    models = find_models(tables, acting, FEW, parallelizable=False)
    returns = models[f"return_{FEW}"]
    lowest = f"lowest: {say_number(returns.min())}" if len(returns) else ""
    ours = f"{say_share(returns >= REASONABLE)} have {REASONABLE:g} or more ({lowest})"
    return conclude(ours, np.all(returns >= REASONABLE), models)


def judge_falls(tables: Tables, acting: str) -> Finding:
    """Mean returns of nonlinear models as mazes grow in number."""
    models = find_models(tables, acting, *NUMBERS, parallelizable=False)
    means = [average(models, f"return_{number}") for number in NUMBERS]
    chance = _compare_ends(models)
    ours = f"mean return {say_means(models, *NUMBERS)}; p = {chance:.2g}"
    return conclude(ours, np.all(np.diff(means) <= 0) and chance < CHANCE, models)


def _compare_ends(models: Columns) -> float:
    """The p-value that returns on 10,000 mazes are no lower than on 10.

    Wilcoxon's signed-rank test (1945), one-sided.
    """
    lost = _measure_loss(models, MANY)
    if not np.any(lost):
        return 1.0
    found = stats.wilcoxon(lost, alternative="greater")
    return float(found.pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def judge_low_vaa(tables: Tables, acting: str) -> Finding:
    """Rank correlation of the VAA with the return that is lost on the way."""
    models = find_models(tables, acting, *NUMBERS, parallelizable=False)
    models = keep_rows(models, np.isfinite(models["vaa"]))
    numbers = (1_000, MANY)
    found = {number: _correlate(models, number) for number in numbers}
    parts = [
        f"ρ = {say_number(rho)} on {number:,} mazes (p = {say_number(chance, '.2g')})"
        for number, (rho, chance) in found.items()
    ]
    rho, chance = found[MANY]
    agrees = None if np.isnan(rho) else rho < 0 and chance < CHANCE
    return conclude(f"VAA and loss: {', '.join(parts)}", agrees, models)


def _correlate(models: Columns, number: int) -> tuple[float, float]:
    """Spearman's rank correlation (1904) of VAA and loss, and its p-value; NaN of a constant."""
    vaa, lost = models["vaa"], _measure_loss(models, number)
    if len(vaa) < 3 or not np.ptp(vaa) or not np.ptp(lost):
        return np.nan, np.nan
    found: Any = stats.spearmanr(vaa, lost)
    return float(found.statistic), float(found.pvalue)


def judge_multistable_fall(tables: Tables, acting: str) -> Finding:
    """What models with a high VAA lose between 10 and 10,000 mazes."""
    models = keep_multistable(find_models(tables, acting, FEW, MANY, parallelizable=False))
    lost = _measure_loss(models, MANY)
    ours = f"they lose {say_mean(lost)} on average: {say_means(models, FEW, MANY)}"
    return conclude(ours, len(lost) > 0 and lost.mean() >= LITTLE, models)


def judge_not_sufficient(tables: Tables, acting: str) -> Finding:
    """Models with a high VAA that are nearly optimal on 10 mazes, at 10,000."""
    models = keep_multistable(find_models(tables, acting, FEW, MANY, parallelizable=False))
    models = keep_rows(models, are_nearly_optimal(models, FEW))
    able = are_nearly_optimal(models, MANY)
    ours = f"{say_share(able)} that are nearly optimal on {FEW} mazes are on {MANY:,}"
    return conclude(ours, np.mean(able) < MOST if len(able) else None, models)


def judge_between(tables: Tables) -> Finding:
    """VAA of nonlinear models that are neither the lowest there is nor 1."""
    models = select_rows(tables["agents"], parallelizable=False)
    models = keep_rows(models, np.isfinite(models["vaa"]))
    lowest = 1 / tables["task"]["num_tables"].item()
    vaa = models["vaa"]
    between = ~np.isclose(vaa, lowest) & ~np.isclose(vaa, 1)
    ours = f"{say_share(between)} have a VAA between {lowest:.2g}, the lowest there is, and 1"
    return conclude(ours, np.count_nonzero(between) >= SOME * len(vaa), models)


def judge_out_of_scope(tables: Tables, acting: str) -> Finding:
    """Points far below a coin flip's because episodes run out of time, of all models."""
    models = find_models(tables, acting, *NUMBERS)
    returns = np.stack([models[f"return_{number}"] for number in NUMBERS])
    timeouts = np.stack([models[f"timeouts_{number}"] for number in NUMBERS])
    below = (returns < OUT_OF_SCOPE) & (timeouts > 0)
    ours = f"{say_share(below.ravel())} points"
    return conclude(ours, 0 < np.count_nonzero(below) <= SOME * below.size, models)


def _measure_loss(models: Columns, number: int) -> np.ndarray:
    return models[f"return_{FEW}"] - models[f"return_{number}"]


CLAIMS = {
    "nonlinear-few": Claim(
        "All nonlinear models perform reasonably well with 10 T-mazes, which is the mean number "
        "they saw during training.",
        f"each of them has a return of {REASONABLE:g} or more there, three quarters of the best",
        judge_by_sampling(judge_few),
        brief="Nonlinear models do well on 10 mazes",
        overturned=AGREES,
        place=PLACE,
        how_many=True,
    ),
    "nonlinear-fall": Claim(
        "Model performance tends to decrease when the number of T-mazes increase […]",
        "the mean return of nonlinear models rises from none of 10, 100, 1,000 and 10,000 mazes to "
        "the next, and is lower on 10,000 than on 10 by more than chance (Wilcoxon's signed-rank "
        "test at 5%)",
        judge_by_sampling(judge_falls),
        brief="Nonlinear models get worse with more mazes",
        place=PLACE,
    ),
    "low-vaa-falls": Claim(
        "[…] but the degradation is more present for models with a low VAA, which highlights the "
        "important role played by multistability.",
        "the lower a nonlinear model's VAA, the more return it loses between 10 and 10,000 mazes "
        "(Spearman's rank correlation is negative, at 5%)",
        judge_by_sampling(judge_low_vaa),
        brief="The lower the VAA, the more is lost",
        place=PLACE,
    ),
    "multistable-fall": Claim(
        "Degradation is however also present in highly multistable models […]",
        f"nonlinear models with a VAA of {MULTISTABLE:g} or more lose at least {LITTLE:g} of their "
        "mean return between 10 and 10,000 mazes, a tenth of what lies between the best and a coin "
        "flip's",
        judge_by_sampling(judge_multistable_fall),
        brief="Multistable models get worse too",
        place=PLACE,
    ),
    "not-sufficient": Claim(
        "[…] showing that multistability alone in not sufficient in more complex environments […]",
        f"of nonlinear models with a VAA of {MULTISTABLE:g} or more and a return of "
        f"{NEARLY_OPTIMAL:g} or more on 10 mazes, fewer than nine in ten have it on 10,000",
        judge_by_sampling(judge_not_sufficient),
        brief="Multistability is not enough",
        place=PLACE,
    ),
    "no-clear-kinds": Claim(
        "The information to encode in this task is no longer a single bit, therefore there is not "
        "anymore a clear distinction between monostable or multistable models.",
        "at least a tenth of the nonlinear models have a VAA that is neither 1 nor the lowest "
        "there is",
        judge_between,
        brief="VAA has values in between",
        place=PLACE,
    ),
    "out-of-scope": Claim(
        "A few points are out of scope (rewards axis) due to models timing out.",
        f"at least one point of figure 4, and at most a tenth, has a return below {OUT_OF_SCOPE:g} "
        "and episodes that ran out of time (the paper does not say where its axis ends)",
        judge_by_sampling(judge_out_of_scope),
        brief="A few models time out",
        place="figure 4",
    ),
}
