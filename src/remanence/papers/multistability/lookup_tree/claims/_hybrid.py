"""Claims about the hybrid, half minGRU and half BMRU."""

import numpy as np

from remanence.figures import Columns, Tables
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.lookup_tree.claims._models import (
    FEW,
    LITTLE,
    MANY,
    MUCH,
    NEARLY_OPTIMAL,
    NUMBERS,
    are_more,
    are_nearly_optimal,
    compare_returns,
    find_models,
    judge_by_sampling,
    say_means,
)
from remanence.report import (
    CHANCE,
    Claim,
    Finding,
    say_number,
    say_share,
)

PLACE = "The synergy between transient dynamics and multistability in THG"
KINDS = {"hybrid": "hybrid", "mingru": "minGRU", "bmru": "BMRU"}
# The paper says "some models".
SOME_MODELS = 2


def judge_combines(tables: Tables, acting: str) -> Finding:
    """The hybrid beside minGRU on few mazes, and beside BMRU on many."""
    hybrid, mingru, bmru = groups = _find_kinds(tables, acting, FEW, MANY)
    few, _ = compare_returns(hybrid, mingru, FEW)
    many, _ = compare_returns(hybrid, bmru, MANY)
    return conclude(_say_groups(groups, FEW, MANY), min(few, many) >= -LITTLE, *groups)


def judge_outperforms(tables: Tables, acting: str) -> Finding:
    """The hybrid beside both on 10,000 mazes."""
    hybrid, *others = groups = _find_kinds(tables, acting, MANY)
    found = [compare_returns(hybrid, other, MANY) for other in others]
    chances = ", ".join(say_number(chance, ".2g") for _, chance in found)
    agrees = all(gap >= MUCH and chance < CHANCE for gap, chance in found)
    return conclude(f"{_say_groups(groups, MANY)}; p = {chances}", agrees, *groups)


def judge_almost_optimal(tables: Tables, acting: str) -> Finding:
    """Hybrids that are nearly optimal at every number of mazes."""
    models = find_models(tables, acting, *NUMBERS, model="hybrid")
    able = are_nearly_optimal(models, *NUMBERS)
    ours = f"{say_share(able)} have {NEARLY_OPTIMAL:g} or more up to {MANY:,} mazes"
    return conclude(ours, np.count_nonzero(able) >= SOME_MODELS, models)


def judge_synergy(tables: Tables, acting: str) -> Finding:
    """Hybrids that are nearly optimal at every number of mazes, beside minGRUs and BMRUs."""
    groups = _find_kinds(tables, acting, *NUMBERS)
    able = [are_nearly_optimal(models, *NUMBERS) for models in groups]
    more, chance = are_more(able[0], np.concatenate(able[1:]))
    parts = [f"{say_share(it)} ({name})" for it, name in zip(able, KINDS.values(), strict=True)]
    return conclude(f"{', '.join(parts)}; p = {chance:.2g}", more, *groups)


def _find_kinds(tables: Tables, acting: str, *numbers: int) -> list[Columns]:
    return [find_models(tables, acting, *numbers, model=model) for model in KINDS]


def _say_groups(groups: list[Columns], *numbers: int) -> str:
    parts = [
        f"{say_means(models, *numbers)} ({name})"
        for models, name in zip(groups, KINDS.values(), strict=True)
    ]
    return f"mean return {', '.join(parts)}"


CLAIMS = {
    "hybrid-combines": Claim(
        "This hybrid architecture combines the capabilities of both minGRU and BMRU: THG with high "
        "performance on a small number of T-mazes.",
        f"the mean return of hybrids is at most {LITTLE:g} lower than that of minGRUs on 10 mazes, "
        "and than that of BMRUs on 10,000",
        judge_by_sampling(judge_combines),
        brief="The hybrid has the best of both",
        place=PLACE,
    ),
    "hybrid-outperforms": Claim(
        "It even largely outperforms both architectures for a high number of T-mazes […]",
        f"on 10,000 mazes the mean return of hybrids is at least {MUCH:g} higher than that of "
        "minGRUs and than that of BMRUs, by more than chance (Mann and Whitney's test at 5%)",
        judge_by_sampling(judge_outperforms),
        brief="The hybrid is far better on 10,000 mazes",
        place=PLACE,
    ),
    "hybrid-almost-optimal": Claim(
        "[…] some models maintaining an almost optimal policy to up to 10,000 T-mazes.",
        f"at least two hybrids have a return of {NEARLY_OPTIMAL:g} or more on 10, 100, 1,000 and "
        "10,000 mazes, where 19 in 20 decisions are right",
        judge_by_sampling(judge_almost_optimal),
        brief="Some hybrids are nearly optimal throughout",
        place=PLACE,
    ),
    "synergy": Claim(
        "These results highlight an essential synergy between transient dynamics and "
        "multistability in solving long-horizon, potentially complex tasks.",
        f"a larger share of the hybrids than of minGRUs and BMRUs has a return of "
        f"{NEARLY_OPTIMAL:g} or more on 10, 100, 1,000 and 10,000 mazes, by more than chance "
        "(Fisher's exact test at 5%)",
        judge_by_sampling(judge_synergy),
        brief="Hybrids last more often than their parts",
        place=PLACE,
    ),
}
