"""Claims about models whose update is linear in the state: minGRU and BMRU."""

import numpy as np

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.tmaze._lengths import NO, YES
from remanence.papers.multistability.tmaze._tables import LENGTH, find_agents, find_both
from remanence.papers.multistability.tmaze.claims._stability import find_nonlinear
from remanence.report import (
    AGREES,
    CHANCE,
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

PLACE = "THG in parallelizable RNNs"
PAPER_LEARNED = {"tmaze-short": (90, 90), "tmaze-long": (23, 90)}
PAPER_MODELS = ("mingru", "deep-mingru", "bmru")


def judge_fewer_learn(tables: Tables) -> Finding:
    """Shares of both trainings that solve what they were trained on, of networks that had both."""
    short, long = find_both(tables, parallelizable=True)
    short = keep_rows(short, np.isin(short["model"], long["model"]))
    long = keep_rows(long, np.isin(long["model"], short["model"]))
    agrees = share(long, "learned") < share(short, "learned")
    return conclude(_say_learned(short, long), agrees, short, long)


def judge_learned_counts(tables: Tables) -> Finding:
    """Numbers of both trainings that solve what they were trained on, against the paper's."""
    every = find_both(tables, parallelizable=True)
    short, long = (keep_rows(models, np.isin(models["model"], PAPER_MODELS)) for models in every)
    # The paper's counts are of as many models of each kind.
    kinds = [select_rows(models, model=model) for models in (short, long) for model in PAPER_MODELS]
    chance = compare_groups([short, long], list(PAPER_LEARNED.values()), "learned")
    ours = f"{_say_learned(short, long)}; p = {say_number(chance, '.2g')} for both"
    return conclude(ours, chance >= CHANCE, *kinds, fewest=FEWEST_COUNTED)


def judge_mingru_longer(tables: Tables) -> Finding:
    """minGRUs of both trainings at the longest maze."""
    models = select_rows(find_agents(tables, model="mingru"), learned=True)
    agrees = count(models, "outcome_longest", "solved") == 0
    ours = (
        f"of those that learned, {say_count(models, 'outcome_longest', 'solved')} solve the longest"
    )
    return conclude(ours, agrees, models)


def judge_mingru_shorter(tables: Tables) -> Finding:
    """Long-trained minGRUs on mazes that are shorter than theirs."""
    models = select_rows(find_agents(tables, preset="tmaze-long", model="mingru"), learned=True)
    models = keep_known(models, "solves_shorter")
    agrees = share(models, "solves_shorter", NO) > 0.5
    ours = (
        f"of those that learned, {say_count(models, 'solves_shorter', NO)} fail on a shorter length"
    )
    return conclude(ours, agrees, models)


def judge_bmru_everywhere(tables: Tables) -> Finding:
    """BMRUs that solve what they were trained on, and their certificates."""
    groups = [
        keep_known(select_rows(models, learned=True), "lasting")
        for models in find_both(tables, model="bmru")
    ]
    forever = [say_count(models, "lasting", YES) for models in groups]
    agrees = all(share(models, "lasting", YES) == 1 for models in groups)
    ours = (
        f"of those that learned, certified for every {LENGTH}: {forever[0]} short-trained, "
        f"{forever[1]} long-trained"
    )
    return conclude(ours, agrees, *groups)


def judge_bmru_shorter(tables: Tables) -> Finding:
    """Long-trained models that solve length 100, BMRUs and nonlinear bistable ones, below it."""
    groups = (
        find_agents(tables, preset="tmaze-long", model="bmru", outcome="solved"),
        select_rows(find_nonlinear(tables, "tmaze-long", "bistable"), outcome="solved"),
    )
    bmru, nonlinear = (keep_known(models, "solves_shorter") for models in groups)
    parts = [say_count(models, "solves_shorter", YES) for models in (bmru, nonlinear)]
    ours = f"every shorter one is solved by {parts[0]} BMRUs and {parts[1]} nonlinear models"
    agrees = share(bmru, "solves_shorter", YES) > share(nonlinear, "solves_shorter", YES)
    return conclude(ours, agrees, bmru, nonlinear)


def judge_lack(tables: Tables) -> Finding:
    """What is certified for every length from 2 on: nonlinear models, and minGRUs."""
    nonlinear = keep_known(
        select_rows(tables["models"], parallelizable=False, lasting=YES), "stability"
    )
    linear = keep_known(select_rows(tables["models"], cell="mingru"), "lasting")
    ours = (
        f"{say_count(nonlinear, 'stability', 'bistable')} nonlinear models that are certified for "
        f"every {LENGTH} are bistable; {say_count(linear, 'lasting', YES)} minGRUs are certified"
    )
    agrees = share(nonlinear, "stability", "bistable") == 1 and not count(linear, "lasting", YES)
    return conclude(ours, agrees, nonlinear, linear)


def judge_bmru_at_once(tables: Tables) -> Finding:
    """Transients of BMRUs under the corridor's observation."""
    models = find_agents(tables, model="bmru")
    models = keep_rows(models, ~np.isnan(models["transient"]))
    longest = models["transient"].max() if count_rows(models) else np.nan
    at_once = models["transient"] <= 1
    ours = f"{say_share(at_once)} settle within one step (slowest: {longest:g})"
    return conclude(ours, at_once.all(), models)


def judge_kinds(tables: Tables) -> Finding:
    """Stability of minGRUs, deep ones included, and BMRUs."""
    linear = keep_known(find_agents(tables, cell="mingru"), "stability")
    every_bmru = keep_known(find_agents(tables, model="bmru"), "stability")
    bmru = select_rows(every_bmru, learned=True)
    agrees = share(linear, "stability", "monostable") == 1
    agrees = agrees and share(bmru, "stability", "bistable") == 1
    ours = (
        f"{say_count(linear, 'stability', 'monostable')} minGRUs are monostable; "
        f"{say_count(bmru, 'stability', 'bistable')} BMRUs that learned are bistable "
        f"({say_count(every_bmru, 'stability', 'bistable')} of all)"
    )
    return conclude(ours, agrees, linear, bmru)


def judge_simple_first(tables: Tables) -> Finding:
    """Bistable short-trained models against all long-trained ones, at length 100."""
    short, long = find_both(tables)
    short = select_rows(short, stability="bistable")
    agrees = share(short, "outcome", "solved") > share(long, "outcome", "solved")
    parts = say_count(short, "outcome", "solved"), say_count(long, "outcome", "solved")
    ours = (
        f"length 100 is solved by {parts[0]} short-trained bistable models, {parts[1]} long-trained"
    )
    return conclude(ours, agrees, short, long)


def _say_learned(short: Columns, long: Columns) -> str:
    parts = (say_count(short, "learned"), say_count(long, "learned"))
    return f"solve what they were trained on: {parts[0]} short-trained, {parts[1]} long-trained"


CLAIMS = {
    "fewer-learn": Claim(
        "The results show a similar trend than those of nonlinear RNNs: fewer models solve the "
        "task when trained on long-horizon […] than on short horizon […]",
        "of networks that had both trainings, a smaller share of the long-trained models solves "
        "the lengths of its training",
        judge_fewer_learn,
        brief="Fewer parallelizable models learn long mazes",
        place=PLACE,
        how_many=True,
    ),
    "learned-counts": Claim(
        "Fewer models solve the task when trained on long-horizon (23/90) than on short horizon "
        "(90/90).",
        "both counts together do not differ from the paper's (taken to be of minGRU, deep minGRU "
        "and BMRU) by more than chance (Fisher's exact test of each, combined by Fisher's method, "
        "at 5%)",
        judge_learned_counts,
        brief="23 of 90 learn long mazes, 90 of 90 short ones",
        place=PLACE,
        how_many=True,
    ),
    "mingru-longer": Claim(
        "Monostable minGRU fails to generalize on […] longer mazes.",
        "no minGRU that solves what it was trained on, short mazes or long ones, solves the "
        "longest",
        judge_mingru_longer,
        brief="minGRU fails on longer mazes",
        overturned=AGREES,
        place=PLACE,
    ),
    "mingru-shorter": Claim(
        "Monostable minGRU fails to generalize on […] shorter […] mazes.",
        "more than half of the long-trained minGRUs that solve length 100 fail on a shorter length",
        judge_mingru_shorter,
        brief="minGRU fails on shorter mazes",
        place=PLACE,
    ),
    "bmru-everywhere": Claim(
        "Multistable BMRU generalizes to all maze sizes in all conditions.",
        f"all BMRUs that solve what they were trained on are certified for every {LENGTH}",
        judge_bmru_everywhere,
        brief="BMRU generalizes to all lengths",
        overturned=AGREES,
        place=PLACE,
    ),
    "bmru-shorter": Claim(
        "The fact that BMRU generalizes also on shorter mazes comes from the absence of transient "
        "dynamics by design […], which further confirms our analysis above on the role of "
        "transient dynamics.",
        "of long-trained models that solve length 100, a larger share of the BMRUs than of the "
        "bistable nonlinear ones solves every shorter length from 2 on",
        judge_bmru_shorter,
        brief="BMRU is better on shorter mazes",
        place=PLACE,
    ),
    "bmru-at-once": Claim(
        "[…] the absence of transient dynamics by design: [BMRU] converges to equilibrium in a "
        "single timestep […]",
        "both memories of every BMRU settle within one step of the corridor",
        judge_bmru_at_once,
        brief="BMRU settles at once",
        overturned=AGREES,
        place=PLACE,
    ),
    "kinds": Claim(
        "[…] minGRU as an example of parallelizable monostable RNN with transient dynamics and "
        "BMRU as an example of parallelizable bistable RNN […]",
        "all minGRUs are monostable, and all BMRUs that learned are bistable",
        judge_kinds,
        brief="minGRU is monostable, BMRU bistable",
        overturned=AGREES,
        place="Experiments",
    ),
    "lack": Claim(
        "[…] nonlinear RNNs exploit multistability to reach THG, and […] SSMs and linear gated "
        "RNNs indeed lack THG capacity.",
        f"all nonlinear models that are certified for every {LENGTH} are bistable, and no minGRU, "
        "deep or not, is certified for it (no SSM is trained)",
        judge_lack,
        brief="What lasts is bistable, and no minGRU does",
        overturned=AGREES,
        place="Introduction",
    ),
    "simple-first": Claim(
        "THG-capable models trained on simple tasks are better at solving more complex tasks than "
        "models directly trained on the more complex one.",
        "a larger share of the short-trained bistable models than of all long-trained ones solves "
        "length 100",
        judge_simple_first,
        brief="Simple training is better for hard mazes",
        place="Introduction",
        how_many=True,
    ),
}
