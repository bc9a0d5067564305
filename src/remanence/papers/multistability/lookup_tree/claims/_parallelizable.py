"""Claims about minGRU, which has transients alone, and BMRU, which is multistable alone."""

import numpy as np

from remanence.figures import Tables, count_rows, select_rows
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.lookup_tree._intervals import find_interval
from remanence.papers.multistability.lookup_tree.claims._models import (
    COIN_FLIP,
    FEW,
    LITTLE,
    MANY,
    MUCH,
    NEARLY_OPTIMAL,
    NUMBERS,
    are_nearly_optimal,
    are_random,
    average,
    compare_returns,
    find_models,
    judge_by_sampling,
    say_means,
)
from remanence.report import (
    AGREES,
    CHANCE,
    DISAGREES,
    Claim,
    Finding,
    keep_known,
    say_count,
    say_mean,
    say_number,
    say_share,
    share,
)

PLACE = "The synergy between transient dynamics and multistability in THG"


def judge_mingru_better(tables: Tables, acting: str) -> Finding:
    """minGRU and BMRU on 10 and 100 mazes."""
    numbers = NUMBERS[:2]
    mingru, bmru = (find_models(tables, acting, *numbers, model=it) for it in ("mingru", "bmru"))
    found = [compare_returns(mingru, bmru, number) for number in numbers]
    chances = ", ".join(say_number(chance, ".2g") for _, chance in found)
    ours = (
        f"mean return {say_means(mingru, *numbers)} (minGRU), {say_means(bmru, *numbers)} (BMRU); "
        f"p = {chances}"
    )
    agrees = all(gap >= MUCH and chance < CHANCE for gap, chance in found)
    return conclude(ours, agrees, mingru, bmru)


def judge_mingru_random(tables: Tables, acting: str) -> Finding:
    """Shares of right decisions of minGRUs on 10,000 mazes."""
    models = find_models(tables, acting, MANY, model="mingru")
    random = are_random(models, MANY)
    right = say_mean(models[f"share_right_{MANY}"], ".0%")
    ours = f"{say_share(random)} do ({right} of all decisions are right)"
    return conclude(ours, random.all(), models)


def judge_bmru_stable(tables: Tables, acting: str) -> Finding:
    """What BMRUs lose between 10 and 10,000 mazes."""
    models = find_models(tables, acting, *NUMBERS, model="bmru")
    lost = average(models, f"return_{FEW}") - average(models, f"return_{MANY}")
    return conclude(f"mean return {say_means(models, *NUMBERS)}", lost <= LITTLE, models)


def judge_bmru_above(tables: Tables, acting: str) -> Finding:
    """The mean return of BMRUs on 10,000 mazes, with its interval."""
    models = find_models(tables, acting, MANY, model="bmru")
    mean, low, high = find_interval(models[f"return_{MANY}"])
    interval = f"{say_number(low)} to {say_number(high)}"
    ours = f"mean return {say_number(mean)} on {MANY:,} mazes ({interval})"
    return conclude(ours, low > COIN_FLIP, models)


def judge_bmru_subset(tables: Tables, acting: str) -> Finding:
    """BMRUs that are nearly optimal at every number of mazes."""
    models = find_models(tables, acting, *NUMBERS, model="bmru")
    able = are_nearly_optimal(models, *NUMBERS)
    returns = models[f"return_{MANY}"]
    best = f"the best has {say_number(returns.max())} on {MANY:,}" if len(returns) else ""
    ours = f"{say_share(able)} have {NEARLY_OPTIMAL:g} or more up to {MANY:,} mazes ({best})"
    return conclude(ours, able.any(), models)


def judge_both_essential(tables: Tables, acting: str) -> Finding:
    """What minGRUs lack on many mazes, and BMRUs on few."""
    mingru, bmru = (find_models(tables, acting, FEW, MANY, model=it) for it in ("mingru", "bmru"))
    lasting, able = are_nearly_optimal(mingru, MANY), are_nearly_optimal(bmru, FEW)
    ours = (
        f"{say_share(lasting)} minGRUs have {NEARLY_OPTIMAL:g} or more on {MANY:,} mazes, and "
        f"{say_share(able)} BMRUs on {FEW}"
    )
    agrees = not lasting.any() and np.count_nonzero(able) < len(able) / 2
    return conclude(ours, agrees, mingru, bmru)


def judge_complementary(tables: Tables, acting: str) -> Finding:
    """Who is better on few mazes, and who on many."""
    mingru, bmru = (find_models(tables, acting, FEW, MANY, model=it) for it in ("mingru", "bmru"))
    few, many = compare_returns(mingru, bmru, FEW), compare_returns(bmru, mingru, MANY)
    ours = (
        f"mean return {say_means(mingru, FEW, MANY)} (minGRU), {say_means(bmru, FEW, MANY)} "
        f"(BMRU); p = {say_number(few[1], '.2g')}, {say_number(many[1], '.2g')}"
    )
    return conclude(ours, few[1] < CHANCE and many[1] < CHANCE, mingru, bmru)


def judge_kinds(tables: Tables) -> Finding:
    """Stability of minGRUs and BMRUs."""
    mingru, bmru = (
        keep_known(select_rows(tables["agents"], model=model), "stability")
        for model in ("mingru", "bmru")
    )
    ours = (
        f"{say_count(mingru, 'stability', 'monostable')} minGRUs are monostable, and "
        f"{say_count(bmru, 'stability', 'multistable')} BMRUs multistable (mean VAA "
        f"{say_mean(bmru['vaa'])})"
    )
    agrees = share(mingru, "stability", "monostable") == 1
    agrees = agrees and share(bmru, "stability", "multistable") == 1
    return conclude(ours, agrees if count_rows(bmru) else None, mingru, bmru)


CLAIMS = {
    "kinds": Claim(
        "[…] minGRU as an example of parallelizable monostable RNN with transient dynamics and "
        "BMRU as an example of parallelizable bistable RNN without transient dynamics […]",
        "of all minGRUs the memories of all tables end in one state, and of no BMRU",
        judge_kinds,
        brief="minGRU is monostable, BMRU multistable",
        overturned=AGREES,
        place="Experiments",
    ),
    "mingru-better": Claim(
        "minGRU is much more efficient than BMRU at solving the tasks for up to 100 T-mazes […]. "
        "BMRU is however less efficient […]",
        f"on 10 and on 100 mazes the mean return of minGRUs is at least {MUCH:g} higher, a quarter "
        "of what lies between a coin flip and the best return, and by more than chance (Mann and "
        "Whitney's test at 5%)",
        judge_by_sampling(judge_mingru_better),
        brief="minGRU is better up to 100 mazes",
        place=PLACE,
    ),
    "mingru-random": Claim(
        "[minGRU] does not generalize to arbitrary horizons (the performance becomes random for "
        "all models at 10,000 mazes).",
        "of every minGRU 45 to 55% of the decisions on 10,000 mazes are right, which is a return "
        "within 0.2 of 1.95 if no episode runs out of time",
        judge_by_sampling(judge_mingru_random),
        brief="minGRU is random on 10,000 mazes",
        overturned=AGREES,
        place=PLACE,
    ),
    "bmru-stable": Claim(
        "BMRU […] maintains a stable […] performance even for a large number of T-mazes […]",
        f"the mean return of BMRUs is at most {LITTLE:g} lower on 10,000 mazes than on 10",
        judge_by_sampling(judge_bmru_stable),
        brief="BMRU stays as it is with more mazes",
        place=PLACE,
    ),
    "bmru-above": Claim(
        "BMRU […] maintains a […] above average performance even for a large number of T-mazes […]",
        f"the 95% interval of the mean return of BMRUs on 10,000 mazes lies above {COIN_FLIP:g}, "
        "that of a coin flip",
        judge_by_sampling(judge_bmru_above),
        brief="BMRU is above chance on 10,000 mazes",
        place=PLACE,
    ),
    "bmru-subset": Claim(
        "[…] showing that at least a subset of [BMRU] models achieve THG.",
        f"at least one BMRU has a return of {NEARLY_OPTIMAL:g} or more on 10, 100, 1,000 and "
        "10,000 mazes, where 19 in 20 decisions are right: THG is to be optimal at every horizon",
        judge_by_sampling(judge_bmru_subset),
        brief="Some BMRU is nearly optimal throughout",
        overturned=DISAGREES,
        place=PLACE,
    ),
    "both-essential": Claim(
        "This shows that, for environments that combine sparse observations with frequently "
        "updated ones, transient dynamics and multistability are both essential.",
        f"no minGRU (without multistability) has {NEARLY_OPTIMAL:g} or more on 10,000 mazes, and "
        "fewer than half of the BMRUs (without transients) have it on 10",
        judge_by_sampling(judge_both_essential),
        brief="Neither transients nor multistability is enough",
        place=PLACE,
    ),
    "complementary": Claim(
        "We conclude that multistability and transient dynamics are two essential and "
        "complementary dynamical regimes for horizon generalization […]",
        "the mean return of minGRUs is higher than that of BMRUs on 10 mazes and lower on 10,000, "
        "each by more than chance (Mann and Whitney's test at 5%)",
        judge_by_sampling(judge_complementary),
        brief="minGRU is better on few mazes, BMRU on many",
        place="Abstract",
    ),
}
