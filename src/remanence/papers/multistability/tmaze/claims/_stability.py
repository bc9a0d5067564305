"""Claims about what stability has to do with generalization, of nonlinear models."""

import numpy as np

from remanence.figures import (
    Columns,
    Tables,
    count_rows,
    find_look,
    keep_rows,
    select_rows,
)
from remanence.papers.multistability._judging import MOST, conclude
from remanence.papers.multistability._looks import MODELS
from remanence.papers.multistability.tmaze._lengths import YES
from remanence.papers.multistability.tmaze._tables import LENGTH, find_agents
from remanence.report import (
    AGREES,
    CHANCE,
    Claim,
    Finding,
    compare_counts,
    count,
    keep_known,
    say_count,
    say_mean,
    share,
)

PLACE = "The role of multistability in THG"
COIN_FLIP = 1.95
NEAR_COIN_FLIP = 0.1
CELLS = ("gru", "brc", "nbrc")


def judge_correlation(tables: Tables) -> Finding:
    """Stability of short-trained models against whether they solve length 100."""
    groups = [find_nonlinear(tables, "tmaze-short", kind) for kind in ("bistable", "monostable")]
    bistable, monostable = groups
    solved = [count(models, "outcome", "solved") for models in groups]
    chance = compare_counts(solved[0], count_rows(bistable), (solved[1], count_rows(monostable)))
    parts = [say_count(models, "outcome", "solved") for models in groups]
    ours = f"{parts[0]} bistable models solve it, {parts[1]} monostable ones; p = {chance:.2g}"
    more = share(bistable, "outcome", "solved") > share(monostable, "outcome", "solved")
    return conclude(ours, more and chance < CHANCE, *groups)


def judge_monostable_fail(tables: Tables) -> Finding:
    """Short-trained monostable models that solve length 100."""
    models = find_nonlinear(tables, "tmaze-short", "monostable")
    solved = count(models, "outcome", "solved")
    return conclude(f"{say_count(models, 'outcome', 'solved')} do", solved == 0, models)


def judge_bistable_solve(tables: Tables) -> Finding:
    """Short-trained bistable models that solve length 100."""
    models = find_nonlinear(tables, "tmaze-short", "bistable")
    agrees = share(models, "outcome", "solved") > 0.5
    return conclude(f"{say_count(models, 'outcome', 'solved')} do", agrees, models)


def judge_necessary(tables: Tables) -> Finding:
    """Monostable models, of any kind and training, that are right at every length from 2 on."""
    every = select_rows(tables["models"], stability="monostable")
    models = keep_known(every, "lasting")
    ours = f"{say_count(models, 'lasting', YES)} monostable models are certified for every {LENGTH}"
    undecided = count_rows(every) - count_rows(models)
    ours += f", and {undecided} more are undecided" if undecided else ""
    return conclude(ours, count(models, "lasting", YES) == 0, models)


def judge_short_lasting(tables: Tables) -> Finding:
    """Short-trained bistable models at the longest maze, and their certificates."""
    models = find_nonlinear(tables, "tmaze-short", "bistable")
    agrees = share(models, "outcome_longest", "solved") > 0.5
    ours = f"{say_count(models, 'outcome_longest', 'solved')} solve length {find_longest(models):,}"
    lasting = say_count(keep_known(models, "lasting"), "lasting", YES)
    certified = f"{lasting} are certified for every {LENGTH}"
    return conclude(f"{ours}; {certified}", agrees, models)


def judge_every_cell(tables: Tables) -> Finding:
    """Short-trained bistable models at the longest maze, cell by cell."""
    models = find_nonlinear(tables, "tmaze-short", "bistable")
    groups = [select_rows(models, model=cell) for cell in CELLS]
    parts = [
        f"{find_look(MODELS, cell).name}: {say_count(group, 'outcome_longest', 'solved')}"
        for cell, group in zip(CELLS, groups, strict=True)
    ]
    agrees = all(share(group, "outcome_longest", "solved") > 0.5 for group in groups)
    return conclude("; ".join(parts), agrees, *groups)


def judge_to_random(tables: Tables) -> Finding:
    """Mean return of short-trained monostable models at the longest maze."""
    models = find_nonlinear(tables, "tmaze-short", "monostable")
    models = keep_rows(models, ~np.isnan(models["return_longest"]))
    mean = float(np.mean(models["return_longest"])) if count_rows(models) else np.nan
    returns = say_mean(models["return_longest"])
    ours = f"mean return {returns} at length {find_longest(models):,}"
    ends = f"{say_count(models, 'outcome_longest', 'random')} choose at random"
    ends = f"{ends}, {say_count(models, 'outcome_longest', 'timeout')} run out of time"
    return conclude(f"{ours} ({ends})", abs(mean - COIN_FLIP) <= NEAR_COIN_FLIP, models)


def judge_always_forget(tables: Tables) -> Finding:
    """Outcomes of short-trained monostable models at the longest maze."""
    models = find_nonlinear(tables, "tmaze-short", "monostable")
    ours = f"{say_count(models, 'outcome_longest', 'random')} choose at random"
    ours = f"{ours} at length {find_longest(models):,}"
    return conclude(ours, share(models, "outcome_longest", "random") == 1, models)


def judge_sufficient(tables: Tables) -> Finding:
    """Short-trained bistable models, of any kind, that solve what they were trained on."""
    models = select_rows(tables["models"], preset="tmaze-short", stability="bistable", learned=True)
    models = keep_known(models, "lasting")
    ours = f"{say_count(models, 'lasting', YES)} are certified for every {LENGTH}"
    return conclude(ours, share(models, "lasting", YES) >= MOST, models)


def find_nonlinear(tables: Tables, preset: str, stability: str | None = None) -> Columns:
    """Nonlinear models of one training, and of one stability if that is given."""
    models = keep_known(find_agents(tables, preset=preset, parallelizable=False), "stability")
    return models if stability is None else select_rows(models, stability=stability)


def find_longest(models: Columns) -> int:
    """The longest maze that any of them was evaluated at; 0 of none."""
    return int(models["longest"].max()) if count_rows(models) else 0


CLAIMS = {
    "correlation": Claim(
        "For the models trained on small T-mazes, the correlation between multistability and the "
        "ability to solve the environment (and therefore their generalization capability) is "
        "clear.",
        "bistable models solve length 100 more often than monostable ones, by more than chance "
        "(Fisher's exact test at 5%)",
        judge_correlation,
        brief="Bistable models generalize, others do not",
        place=PLACE,
    ),
    "monostable-fail": Claim(
        "No monostable model trained on the short T-maze solves the long one […]",
        "none of them solves length 100",
        judge_monostable_fail,
        brief="No monostable model solves length 100",
        overturned=AGREES,
        place=PLACE,
    ),
    "bistable-solve": Claim(
        "No monostable model […] solves the long one, whereas most bistable models do.",
        "more than half of them solve length 100",
        judge_bistable_solve,
        brief="Most bistable models solve length 100",
        place=PLACE,
    ),
    "necessary": Claim(
        "This suggests that bistability (and more generally multistability) is a necessary "
        "condition for THG.",
        f"no monostable model, whatever its cell and training, is certified for every {LENGTH}",
        judge_necessary,
        brief="No monostable model lasts for ever",
        overturned=AGREES,
        place=PLACE,
    ),
    "short-lasting": Claim(
        "Bistability leads to generalization for arbitrary long T-mazes […]",
        "more than half of the short-trained bistable models solve the longest maze",
        judge_short_lasting,
        brief="Bistable models last to the longest maze",
        place=PLACE,
    ),
    "every-cell": Claim(
        "[Bistability leads to generalization, and] this property is independent on model type: "
        "the same observation can be made for GRU, BRC and nBRC.",
        "more than half of the short-trained bistable models of each cell solve the longest maze",
        judge_every_cell,
        brief="Bistable models of every cell last",
        place=PLACE,
    ),
    "to-random": Claim(
        "The average rewards of monostable models converge to random.",
        f"their mean return at the longest maze is {COIN_FLIP} ± {NEAR_COIN_FLIP} (short-trained)",
        judge_to_random,
        brief="Monostable models end at a coin flip",
        place=PLACE,
    ),
    "always-forget": Claim(
        "[Monostable] models always forget the initial information and choose a random direction.",
        "all short-trained monostable models do so at the longest maze",
        judge_always_forget,
        brief="All monostable models choose at random",
        overturned=AGREES,
        place=PLACE,
    ),
    "sufficient": Claim(
        "Multistability is necessary for temporal horizon generalization and, in simple tasks, "
        "sufficient […]",
        "nine in ten short-trained bistable models that solve what they were trained on are "
        f"certified for every {LENGTH}",
        judge_sufficient,
        brief="Bistability is enough",
        place="Abstract",
    ),
}
