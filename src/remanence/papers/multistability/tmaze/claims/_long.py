"""Claims about what training on long mazes does to stability and generalization."""

import numpy as np

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.tmaze._lengths import NO, YES
from remanence.papers.multistability.tmaze._tables import LENGTH
from remanence.papers.multistability.tmaze.claims._stability import (
    CELLS,
    PLACE,
    find_longest,
    find_nonlinear,
)
from remanence.report import (
    AGREES,
    CHANCE,
    DISAGREES,
    FEWEST_COUNTED,
    Claim,
    Finding,
    compare_groups,
    count,
    keep_known,
    say_count,
    say_number,
    say_share,
    share,
)

PAPER_BISTABLE = {"tmaze-short": (57, 90), "tmaze-long": (36, 90)}


def judge_two_ways(tables: Tables) -> Finding:
    """Stability of the long-trained models that solve length 100."""
    models = _keep_measured(select_rows(find_nonlinear(tables, "tmaze-long"), outcome="solved"))
    monostable, bistable = (
        select_rows(models, stability=kind) for kind in ("monostable", "bistable")
    )
    forgetful = _keep_measured(find_nonlinear(tables, "tmaze-short", "monostable"))
    median, usual = _find_median(monostable), _find_median(forgetful)
    ours = (
        f"of those that solve it, {say_count(models, 'stability', 'monostable')} are monostable, "
        f"and settle after {say_number(median, ',g')} steps (median; short-trained ones: "
        f"{say_number(usual, ',g')})"
    )
    both = min(count_rows(monostable), count_rows(bistable)) > 0
    agrees = _is_slow(median, usual) if both else False
    return conclude(ours, agrees, models, forgetful)


def judge_fewer_bistable(tables: Tables) -> Finding:
    """Shares of bistable models of both trainings."""
    short, long = (find_nonlinear(tables, preset) for preset in PAPER_BISTABLE)
    agrees = share(long, "stability", "bistable") < share(short, "stability", "bistable")
    return conclude(_say_bistable(short, long), agrees, short, long)


def judge_bistable_counts(tables: Tables) -> Finding:
    """Numbers of bistable models of both trainings, against the paper's."""
    every = [find_nonlinear(tables, preset) for preset in PAPER_BISTABLE]
    short, long = (keep_rows(models, np.isin(models["model"], CELLS)) for models in every)
    paper = list(PAPER_BISTABLE.values())
    chance = compare_groups([short, long], paper, "stability", "bistable")
    ours = f"{_say_bistable(short, long)}; p = {say_number(chance, '.2g')} for both"
    # The paper's counts are of as many models of each cell.
    kinds = [select_rows(models, model=cell) for models in (short, long) for cell in CELLS]
    return conclude(ours, chance >= CHANCE, *kinds, fewest=FEWEST_COUNTED)


def judge_long_monostable(tables: Tables) -> Finding:
    """Long-trained monostable models that solve length 100, at the longest maze."""
    models = select_rows(find_nonlinear(tables, "tmaze-long", "monostable"), outcome="solved")
    ours = f"of those that solve 100, {say_count(models, 'outcome_longest', 'solved')} solve length"
    agrees = count(models, "outcome_longest", "solved") == 0
    return conclude(f"{ours} {find_longest(models):,}", agrees, models)


def judge_long_longer(tables: Tables) -> Finding:
    """Long-trained bistable models that solve length 100, on longer mazes."""
    models = keep_known(_find_able(tables), "solves_longer")
    agrees = share(models, "solves_longer", YES) > 0.5
    ours = (
        f"of those that solve 100, {say_count(models, 'solves_longer', YES)} solve every longer one"
    )
    return conclude(ours, agrees, models)


def judge_long_shorter(tables: Tables) -> Finding:
    """Long-trained bistable models that solve length 100, on shorter mazes."""
    models = keep_known(_find_able(tables), "solves_shorter")
    agrees = share(models, "solves_shorter", NO) > 0.5
    ours = (
        f"of those that solve 100, {say_count(models, 'solves_shorter', NO)} fail on a shorter one"
    )
    return conclude(ours, agrees, models)


def judge_slow_transients(tables: Tables) -> Finding:
    """Median transients of bistable models of both trainings."""
    groups = [
        _keep_measured(find_nonlinear(tables, preset, "bistable")) for preset in PAPER_BISTABLE
    ]
    medians = [_find_median(models) for models in groups]
    shown = [say_number(median, ",g") for median in medians]
    ours = f"median steps: {shown[0]} (short-trained), {shown[1]} (long-trained)"
    return conclude(ours, _is_slow(medians[1], medians[0]), *groups)


def judge_misleading_transients(tables: Tables) -> Finding:
    """When long-trained bistable models that fail on shorter mazes have settled."""
    models = _keep_measured(select_rows(_find_able(tables), solves_shorter=NO))
    models = keep_rows(models, ~np.isnan(models["last_miss"]))
    unsettled = models["last_miss"] <= models["transient"]
    number = int(np.count_nonzero(unsettled))
    ours = f"{say_share(unsettled)} that fail on a shorter one fail only before they settle"
    return conclude(ours, number > len(unsettled) / 2, models)


def judge_not_guaranteed(tables: Tables) -> Finding:
    """Long-trained bistable models that solve all lengths above 100, and not all below."""
    models = keep_known(keep_known(_find_able(tables), "solves_longer"), "solves_shorter")
    models = select_rows(models, solves_longer=YES)
    ours = (
        "of those that solve every length from 100 on, "
        f"{say_count(models, 'solves_shorter', NO)} fail on a shorter one"
    )
    return conclude(ours, count(models, "solves_shorter", NO) > 0, models)


def judge_short_better(tables: Tables) -> Finding:
    """Bistable models of both trainings that are certified for every length."""
    groups = (find_nonlinear(tables, preset, "bistable") for preset in PAPER_BISTABLE)
    short, long = (keep_known(models, "lasting") for models in groups)
    agrees = share(short, "lasting", YES) > share(long, "lasting", YES)
    parts = (say_count(short, "lasting", YES), say_count(long, "lasting", YES))
    ours = f"certified for every {LENGTH}: {parts[0]} short-trained, {parts[1]} long-trained"
    return conclude(ours, agrees, short, long)


def _find_able(tables: Tables) -> Columns:
    """Long-trained bistable models that solve what they were trained on."""
    models = find_nonlinear(tables, "tmaze-long", "bistable")
    return select_rows(models, outcome="solved")


def _keep_measured(models: Columns) -> Columns:
    """Those of which it was looked at when their memories repeat."""
    return keep_rows(models, ~np.isnan(models["transient"]))


def _find_median(models: Columns) -> float:
    """Steps until the median model's memories repeat; infinite if not within the budget."""
    return float(np.median(models["transient"])) if count_rows(models) else np.nan


def _is_slow(median: float, usual: float) -> bool | None:
    """Whether one takes at least twice as long as the other; not known if both take too long."""
    return median >= 2 * usual if np.isfinite(usual) else None


def _say_bistable(short: Columns, long: Columns) -> str:
    parts = (say_count(short, "stability", "bistable"), say_count(long, "stability", "bistable"))
    return f"bistable: {parts[0]} short-trained, {parts[1]} long-trained"


CLAIMS = {
    "two-ways": Claim(
        "The models directly trained on the longer T-mazes solve the environment using either slow "
        "transient dynamics or multistability.",
        "of the long-trained models that solve length 100 some are bistable, and some monostable "
        "that take at least twice as long to settle, in the median, as short-trained ones",
        judge_two_ways,
        brief="Long training: slow transients or bistability",
        place=PLACE,
    ),
    "fewer-bistable": Claim(
        "Fewer models reached bistability in this case [trained on length 100] […]. This suggests "
        "that training on long versions of the T-maze does not promote information encoding "
        "though multistability.",
        "a smaller share of the long-trained models is bistable",
        judge_fewer_bistable,
        brief="Long training makes fewer models bistable",
        place=PLACE,
        how_many=True,
    ),
    "bistable-counts": Claim(
        "Fewer models reached bistability in this case (57/90 for the short T-maze vs 36/90 for "
        "the long one).",
        "both counts together do not differ from the paper's by more than chance (Fisher's exact "
        "test of each, combined by Fisher's method, at 5%)",
        judge_bistable_counts,
        brief="57 and 36 of 90 are bistable",
        place=PLACE,
        how_many=True,
    ),
    "long-monostable": Claim(
        "Again, we observe that monostable models fail to generalize on longer mazes […]",
        "no long-trained monostable model that solves length 100 solves the longest maze",
        judge_long_monostable,
        brief="Long-trained monostable models do not last",
        overturned=AGREES,
        place=PLACE,
    ),
    "long-longer": Claim(
        "Multistable models maintain their ability to generalize on longer mazes […]",
        "more than half of the long-trained bistable models that solve 100 solve all longer "
        "lengths",
        judge_long_longer,
        brief="Long-trained bistable models last",
        place=PLACE,
    ),
    "long-shorter": Claim(
        "Multistable models maintain their ability to generalize on longer mazes, but not on "
        "shorter T-mazes.",
        "more than half of the long-trained bistable models that solve 100 fail on a shorter "
        "length",
        judge_long_shorter,
        brief="Long-trained bistable models fail on shorter mazes",
        place=PLACE,
    ),
    "slow-transients": Claim(
        "Even multistable models require transient dynamics to reach equilibrium, which are "
        "considerably slower when trained on longer mazes.",
        "the median number of steps until both memories repeat to the bit is at least twice as "
        "large for long-trained bistable models",
        judge_slow_transients,
        brief="Long training makes transients slow",
        place=PLACE,
    ),
    "misleading-transients": Claim(
        "These transient dynamics might lead to erroneous decisions, as they were not exploited "
        "during training.",
        "more than half of the long-trained bistable models that solve 100 and fail on a shorter "
        "length fail at no length beyond the step from which on both memories repeat to the bit "
        "(which says little of those that solve all longer ones)",
        judge_misleading_transients,
        brief="Failures on shorter mazes are transient",
        place=PLACE,
    ),
    "not-guaranteed": Claim(
        "Reaching these policies during training is not guaranteed. This discrepancy is evidenced "
        "by our T-maze experiments: agents trained on long horizons successfully generalized to "
        "even longer sequences, yet failed on shorter ones.",
        "some long-trained bistable models solve every length from 100 on and fail on a shorter "
        "one",
        judge_not_guaranteed,
        brief="Lasting is not solving shorter mazes",
        overturned=DISAGREES,
        place="Discussion",
    ),
    "short-better": Claim(
        "These results suggest that training a multistable model on shorter rather than longer "
        "T-mazes […] also leads to improved THG.",
        f"a larger share of the short-trained bistable models is certified for every {LENGTH}",
        judge_short_better,
        brief="Short training generalizes better",
        place=PLACE,
        how_many=True,
    ),
}
