"""Claims about what stability has to do with generalization, of nonlinear models."""

import numpy as np

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.report._claims import (
    FEWEST_COUNTED,
    Claim,
    Finding,
    Judge,
    claims,
    compare_counts,
    conclude,
    count,
    know,
    share,
    show,
    tell,
)
from remanence.report._tables import NO, YES, find_agents

PLACE = "The role of multistability in THG"
CHANCE = 0.05
MOST = 0.9
COIN_FLIP = 1.95
NEAR_COIN_FLIP = 0.1
PAPER_BISTABLE = {"tmaze-short": (57, 90), "tmaze-long": (36, 90)}
CELLS = ("gru", "brc", "nbrc")
# The paper evaluates from length 2 on; at length 1 the cue is seen at the junction.
LENGTH = "length from 2 on"


def judge_correlation(tables: Tables) -> Finding:
    """Stability of short-trained models against whether they solve length 100."""
    groups = [_find(tables, "tmaze-short", kind) for kind in ("bistable", "monostable")]
    bistable, monostable = groups
    solved = [count(models, "outcome", "solved") for models in groups]
    chance = compare_counts(solved[0], count_rows(bistable), (solved[1], count_rows(monostable)))
    parts = [tell(models, "outcome", "solved") for models in groups]
    words = f"{parts[0]} bistable models solve it, {parts[1]} monostable ones; p = {chance:.2g}"
    more = share(bistable, "outcome", "solved") > share(monostable, "outcome", "solved")
    return conclude(words, more and chance < CHANCE, *groups)


def judge_monostable_fail(tables: Tables) -> Finding:
    """Short-trained monostable models that solve length 100."""
    models = _find(tables, "tmaze-short", "monostable")
    solved = count(models, "outcome", "solved")
    return conclude(f"{tell(models, 'outcome', 'solved')} do", solved == 0, models)


def judge_bistable_solve(tables: Tables) -> Finding:
    """Short-trained bistable models that solve length 100."""
    models = _find(tables, "tmaze-short", "bistable")
    agrees = share(models, "outcome", "solved") > 0.5
    return conclude(f"{tell(models, 'outcome', 'solved')} do", agrees, models)


def judge_necessary(tables: Tables) -> Finding:
    """Monostable models, of any kind and training, that are right at every length from 2 on."""
    every = select_rows(tables["models"], stability="monostable")
    models = know(every, "lasting")
    words = f"{tell(models, 'lasting', YES)} monostable models are certified for every {LENGTH}"
    undecided = count_rows(every) - count_rows(models)
    words += f", and {undecided} more are undecided" if undecided else ""
    return conclude(words, count(models, "lasting", YES) == 0, models)


def judge_two_ways(tables: Tables) -> Finding:
    """Stability of the long-trained models that solve length 100."""
    models = find_agents(tables, preset="tmaze-long", parallelizable=False, outcome="solved")
    kinds = {kind: count(models, "stability", kind) for kind in ("monostable", "bistable")}
    words = " and ".join(f"{number} {kind}" for kind, number in kinds.items())
    return conclude(f"{words} ones solve it", min(kinds.values()) > 0, models)


def judge_fewer_bistable(tables: Tables) -> Finding:
    """Shares of bistable models of both trainings."""
    short, long = (_find(tables, preset) for preset in PAPER_BISTABLE)
    agrees = share(long, "stability", "bistable") < share(short, "stability", "bistable")
    return conclude(_tell_bistable(short, long), agrees, short, long)


def judge_bistable_counts(tables: Tables) -> Finding:
    """Numbers of bistable models of both trainings, against the paper's."""
    groups = {preset: _find(tables, preset) for preset in PAPER_BISTABLE}
    chances = [
        compare_counts(
            count(models, "stability", "bistable"), count_rows(models), PAPER_BISTABLE[preset]
        )
        for preset, models in groups.items()
        if count_rows(models)
    ]
    words = _tell_bistable(*groups.values()) + "".join(f"; p = {chance:.2g}" for chance in chances)
    # The paper's counts are of as many models of each cell.
    kinds = [select_rows(models, model=cell) for models in groups.values() for cell in CELLS]
    agrees = min(chances, default=0) >= CHANCE
    return conclude(words, agrees, *kinds, fewest=FEWEST_COUNTED)


def judge_short_lasting(tables: Tables) -> Finding:
    """Short-trained bistable models at the longest maze, and their certificates."""
    models = _find(tables, "tmaze-short", "bistable")
    agrees = share(models, "outcome_longest", "solved") > 0.5
    words = f"{tell(models, 'outcome_longest', 'solved')} solve length {_find_longest(models):,}"
    certified = f"{tell(know(models, 'lasting'), 'lasting', YES)} are certified for every {LENGTH}"
    return conclude(f"{words}; {certified}", agrees, models)


def judge_sufficient(tables: Tables) -> Finding:
    """Short-trained bistable models, of any kind, that solve what they were trained on."""
    models = select_rows(tables["models"], preset="tmaze-short", stability="bistable", learned=True)
    models = know(models, "lasting")
    words = f"{tell(models, 'lasting', YES)} are certified for every {LENGTH}"
    return conclude(words, share(models, "lasting", YES) >= MOST, models)


def judge_not_guaranteed(tables: Tables) -> Finding:
    """Long-trained bistable models that solve all lengths above 100, and not all below."""
    models = know(know(_find_able(tables), "solves_longer"), "solves_shorter")
    models = select_rows(models, solves_longer=YES)
    words = (
        f"of {count_rows(models)} that solve every length from 100 on, "
        f"{count(models, 'solves_shorter', NO)} fail on a shorter one"
    )
    return conclude(words, count(models, "solves_shorter", NO) > 0, models)


def judge_every_cell(tables: Tables) -> Finding:
    """Short-trained bistable models at the longest maze, cell by cell."""
    models = _find(tables, "tmaze-short", "bistable")
    groups = [select_rows(models, model=cell) for cell in CELLS]
    parts = [
        f"{cell}: {tell(group, 'outcome_longest', 'solved')}"
        for cell, group in zip(CELLS, groups, strict=True)
    ]
    agrees = all(share(group, "outcome_longest", "solved") > 0.5 for group in groups)
    return conclude("; ".join(parts), agrees, *groups)


def judge_to_random(tables: Tables) -> Finding:
    """Mean return of short-trained monostable models at the longest maze."""
    models = _find(tables, "tmaze-short", "monostable")
    mean = float(np.mean(models["return_longest"])) if count_rows(models) else np.nan
    words = f"mean return {show(mean)} at length {_find_longest(models):,}"
    ends = f"{count(models, 'outcome_longest', 'random')} choose at random"
    ends = f"{ends}, {count(models, 'outcome_longest', 'timeout')} run out of time"
    return conclude(f"{words} ({ends})", abs(mean - COIN_FLIP) <= NEAR_COIN_FLIP, models)


def judge_always_forget(tables: Tables) -> Finding:
    """Outcomes of short-trained monostable models at the longest maze."""
    models = _find(tables, "tmaze-short", "monostable")
    words = f"{tell(models, 'outcome_longest', 'random')} choose at random"
    words = f"{words} at length {_find_longest(models):,}"
    return conclude(words, share(models, "outcome_longest", "random") == 1, models)


def judge_long_monostable(tables: Tables) -> Finding:
    """Long-trained monostable models that solve length 100, at the longest maze."""
    models = select_rows(_find(tables, "tmaze-long", "monostable"), outcome="solved")
    words = f"of those that solve 100, {tell(models, 'outcome_longest', 'solved')} solve length"
    agrees = count(models, "outcome_longest", "solved") == 0
    return conclude(f"{words} {_find_longest(models):,}", agrees, models)


def judge_long_longer(tables: Tables) -> Finding:
    """Long-trained bistable models that solve length 100, on longer mazes."""
    models = know(_find_able(tables), "solves_longer")
    agrees = share(models, "solves_longer", YES) > 0.5
    words = f"of those that solve 100, {tell(models, 'solves_longer', YES)} solve every longer one"
    return conclude(words, agrees, models)


def judge_long_shorter(tables: Tables) -> Finding:
    """Long-trained bistable models that solve length 100, on shorter mazes."""
    models = know(_find_able(tables), "solves_shorter")
    agrees = share(models, "solves_shorter", NO) > 0.5
    words = f"of those that solve 100, {tell(models, 'solves_shorter', NO)} fail on a shorter one"
    return conclude(words, agrees, models)


def judge_misleading_transients(tables: Tables) -> Finding:
    """When long-trained bistable models that fail on shorter mazes have settled."""
    models = select_rows(_find_able(tables), solves_shorter=NO)
    models = keep_rows(models, ~np.isnan(models["last_miss"]) & ~np.isnan(models["transient"]))
    unsettled = models["last_miss"] <= models["transient"]
    number = int(np.count_nonzero(unsettled))
    words = f"{number} of {len(unsettled)} that fail on a shorter one do so only before they settle"
    return conclude(words, number > len(unsettled) / 2, models)


def judge_slow_transients(tables: Tables) -> Finding:
    """Median transients of bistable models of both trainings."""
    groups = [_find(tables, preset, "bistable") for preset in PAPER_BISTABLE]
    groups = [keep_rows(it, ~np.isnan(it["transient"])) for it in groups]
    medians = [np.median(it["transient"]) if count_rows(it) else np.nan for it in groups]
    shown = [show(float(median), ",g") for median in medians]
    words = f"median steps: {shown[0]} (short-trained), {shown[1]} (long-trained)"
    return conclude(words, medians[1] >= 2 * medians[0], *groups)


def judge_short_better(tables: Tables) -> Finding:
    """Bistable models of both trainings that are certified for every length."""
    groups = (_find(tables, preset, "bistable") for preset in PAPER_BISTABLE)
    short, long = (know(models, "lasting") for models in groups)
    agrees = share(short, "lasting", YES) > share(long, "lasting", YES)
    parts = (tell(short, "lasting", YES), tell(long, "lasting", YES))
    words = f"certified for every {LENGTH}: {parts[0]} short-trained, {parts[1]} long-trained"
    return conclude(words, agrees, short, long)


def _find(tables: Tables, preset: str, stability: str | None = None) -> Columns:
    models = know(find_agents(tables, preset=preset, parallelizable=False), "stability")
    return models if stability is None else select_rows(models, stability=stability)


def _find_able(tables: Tables) -> Columns:
    """Long-trained bistable models that solve what they were trained on."""
    models = _find(tables, "tmaze-long", "bistable")
    return select_rows(models, outcome="solved")


def _find_longest(models: Columns) -> int:
    return int(models["longest"].max()) if count_rows(models) else 0


def _tell_bistable(short: Columns, long: Columns) -> str:
    parts = (tell(short, "stability", "bistable"), tell(long, "stability", "bistable"))
    return f"bistable: {parts[0]} short-trained, {parts[1]} long-trained"


def _register(name: str, sentence: str, rule: str, judge: Judge, *, how_many: bool = False) -> None:
    claims.register(name, Claim(sentence, PLACE, rule, judge, how_many))


_register(
    "correlation",
    "For the models trained on small T-mazes, the correlation between multistability and the "
    "ability to solve the environment (and therefore their generalization capability) is clear.",
    "bistable models solve length 100 more often than monostable ones, by more than chance "
    "(Fisher's exact test at 5%)",
    judge_correlation,
)
_register(
    "monostable-fail",
    "No monostable model trained on the short T-maze solves the long one […]",
    "none of them solves length 100",
    judge_monostable_fail,
)
_register(
    "bistable-solve",
    "No monostable model […] solves the long one, whereas most bistable models do.",
    "more than half of them solve length 100",
    judge_bistable_solve,
)
_register(
    "necessary",
    "Bistability (and more generally multistability) is a necessary condition for THG.",
    f"no monostable model, whatever its cell and training, is certified for every {LENGTH}",
    judge_necessary,
)
_register(
    "two-ways",
    "The models directly trained on the longer T-mazes solve the environment using either slow "
    "transient dynamics or multistability.",
    "of the long-trained models that solve length 100 some are monostable and some bistable",
    judge_two_ways,
)
_register(
    "fewer-bistable",
    "Fewer models reached bistability in this case [trained on length 100].",
    "a smaller share of the long-trained models is bistable",
    judge_fewer_bistable,
    how_many=True,
)
_register(
    "bistable-counts",
    "Fewer models reached bistability in this case (57/90 for the short T-maze vs 36/90 for the "
    "long one).",
    "neither count differs from the paper's by more than chance (Fisher's exact test at 5%)",
    judge_bistable_counts,
    how_many=True,
)
_register(
    "short-lasting",
    "Bistability leads to generalization for arbitrary long T-mazes […]",
    "more than half of the short-trained bistable models solve the longest maze",
    judge_short_lasting,
)
_register(
    "every-cell",
    "[Bistability leads to generalization, and] this property is independent on model type: the "
    "same observation can be made for GRU, BRC and nBRC.",
    "so it is for each of the three cells",
    judge_every_cell,
)
_register(
    "to-random",
    "The average rewards of monostable models converge to random.",
    f"their mean return at the longest maze is {COIN_FLIP} ± {NEAR_COIN_FLIP} (short-trained)",
    judge_to_random,
)
_register(
    "always-forget",
    "[Monostable] models always forget the initial information and choose a random direction.",
    "all short-trained monostable models do so at the longest maze",
    judge_always_forget,
)
_register(
    "long-monostable",
    "Again, we observe that monostable models fail to generalize on longer mazes […]",
    "no long-trained monostable model that solves length 100 solves the longest maze",
    judge_long_monostable,
)
_register(
    "long-longer",
    "Multistable models maintain their ability to generalize on longer mazes […]",
    "more than half of the long-trained bistable models that solve 100 solve all longer lengths",
    judge_long_longer,
)
_register(
    "long-shorter",
    "Multistable models maintain their ability to generalize on longer mazes, but not on shorter "
    "T-mazes.",
    "more than half of the long-trained bistable models that solve 100 fail on a shorter length",
    judge_long_shorter,
)
_register(
    "slow-transients",
    "Even multistable models require transient dynamics to reach equilibrium, which are "
    "considerably slower when trained on longer mazes.",
    "the median number of steps until both memories repeat to the bit is at least twice as large "
    "for long-trained bistable models",
    judge_slow_transients,
)
_register(
    "misleading-transients",
    "These transient dynamics might lead to erroneous decisions, as they were not exploited "
    "during training.",
    "more than half of the long-trained bistable models that solve 100 and fail on shorter "
    "lengths fail only on such as end before both memories repeat to the bit",
    judge_misleading_transients,
)
claims.register(
    "sufficient",
    Claim(
        "Multistability is necessary for temporal horizon generalization and, in simple tasks, "
        "sufficient […]",
        "Abstract",
        "nine in ten short-trained bistable models that solve what they were trained on are "
        f"certified for every {LENGTH}",
        judge_sufficient,
    ),
)
claims.register(
    "not-guaranteed",
    Claim(
        "Reaching these policies during training is not guaranteed. This discrepancy is evidenced "
        "by our T-maze experiments: agents trained on long horizons successfully generalized to "
        "even longer sequences, yet failed on shorter ones.",
        "Discussion",
        "some long-trained bistable models solve every length from 100 on and fail on a shorter "
        "one",
        judge_not_guaranteed,
    ),
)
_register(
    "short-better",
    "Training a multistable model on shorter rather than longer T-mazes […] also leads to "
    "improved THG.",
    f"a larger share of the short-trained bistable models is certified for every {LENGTH}",
    judge_short_better,
    how_many=True,
)
