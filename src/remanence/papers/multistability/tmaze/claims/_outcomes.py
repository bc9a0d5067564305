"""Claims about outcomes at length 100, of nonlinear models."""

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.papers.multistability._judging import MOST, conclude
from remanence.papers.multistability.tmaze._tables import find_both
from remanence.report import (
    CHANCE,
    FEWEST_COUNTED,
    Claim,
    Finding,
    compare_counts,
    count,
    keep_known,
    say_count,
    say_share,
    share,
)

PLACE = "THG in nonlinear RNNs"


def judge_difficulty(tables: Tables) -> Finding:
    """Shares of both trainings that solve what they were trained on."""
    short, long = find_both(tables, parallelizable=False)
    shown = (
        f"{say_count(short, 'learned')} short-trained, {say_count(long, 'learned')} long-trained"
    )
    counts = count(long, "learned"), count_rows(long)
    chance = compare_counts(count(short, "learned"), count_rows(short), counts)
    fewer = share(long, "learned") < share(short, "learned") and chance < CHANCE
    ours = f"solve what they were trained on: {shown}; p = {chance:.2g}"
    return conclude(ours, share(short, "learned") >= MOST and fewer, short, long)


def judge_equal_shares(tables: Tables) -> Finding:
    """Shares of both trainings that solve length 100."""
    short, long = find_both(tables, parallelizable=False)
    gap = abs(share(short, "outcome", "solved") - share(long, "outcome", "solved"))
    ours = _say_both(short, long, "solved", "solve it")
    return conclude(ours, gap <= 0.15, short, long, fewest=FEWEST_COUNTED)


def judge_exploration(tables: Tables) -> Finding:
    """Timeouts at length 100 of both trainings."""
    short, long = find_both(tables, parallelizable=False)
    counts = count(long, "outcome", "timeout"), count_rows(long)
    chance = compare_counts(count(short, "outcome", "timeout"), count_rows(short), counts)
    more = share(long, "outcome", "timeout") > share(short, "outcome", "timeout")
    ours = f"{_say_both(short, long, 'timeout', 'time out')}; p = {chance:.2g}"
    return conclude(ours, more and chance < CHANCE, short, long)


def judge_short_arrive(tables: Tables) -> Finding:
    """How many short-trained models reach the end of length 100."""
    short, _ = find_both(tables, parallelizable=False)
    arrived = _arrive(short)
    ours = f"{say_share(short['outcome'] != 'timeout')} reach the end"
    return conclude(ours, count_rows(arrived) > count_rows(short) / 2, short)


def judge_halves(tables: Tables) -> Finding:
    """How the short-trained models that arrive decide."""
    arrived = _arrive(find_both(tables, parallelizable=False)[0])
    solved = share(arrived, "outcome", "solved")
    ours = f"of those that reach the end, {say_count(arrived, 'outcome', 'solved')} decide right"
    return conclude(ours, 1 / 3 <= solved <= 2 / 3, arrived)


def judge_two_mechanisms(tables: Tables) -> Finding:
    """Stability of the short-trained models that arrive, by how they decide."""
    arrived = keep_known(_arrive(find_both(tables, parallelizable=False)[0]), "stability")
    groups = [select_rows(arrived, outcome=outcome) for outcome in ("solved", "random")]
    numbers = [(count(it, "stability", "bistable"), count_rows(it)) for it in groups]
    more = share(groups[0], "stability", "bistable") > share(groups[1], "stability", "bistable")
    chance = compare_counts(*numbers[0], numbers[1])
    parts = [say_count(models, "stability", "bistable") for models in groups]
    ours = (
        f"{parts[0]} that decide right are bistable, and {parts[1]} that choose at random; "
        f"p = {chance:.2g}"
    )
    return conclude(ours, more and chance < CHANCE, *groups)


def _arrive(models: Columns) -> Columns:
    return keep_rows(models, models["outcome"] != "timeout")


def _say_both(short: Columns, long: Columns, outcome: str, verb: str) -> str:
    parts = (say_count(short, "outcome", outcome), say_count(long, "outcome", outcome))
    return f"short-trained: {parts[0]} {verb}; long-trained: {parts[1]}"


CLAIMS = {
    "difficulty": Claim(
        "Although solving short T-maze environments is simple, solving long ones is known to be "
        "difficult.",
        "nine in ten short-trained models solve what they were trained on, and fewer long-trained "
        "ones do, by more than chance (Fisher's exact test at 5%)",
        judge_difficulty,
        brief="Short mazes are easy, long ones are not",
        place="Experiments",
        how_many=True,
    ),
    "equal-shares": Claim(
        "The proportion of models that solve the task [length 100] is almost equivalent for the "
        "two categories.",
        "the shares that solve length 100 differ by at most 15 points",
        judge_equal_shares,
        brief="Both trainings solve length 100 as often",
        place=PLACE,
        how_many=True,
    ),
    "exploration": Claim(
        "Training on the large T-maze size provides little advantage […], and it even leads to "
        "difficulties related to exploration.",
        "long-trained models time out at length 100 more often than short-trained ones, by more "
        "than chance (Fisher's exact test at 5%)",
        judge_exploration,
        brief="Long training leads to more timeouts",
        place=PLACE,
        how_many=True,
    ),
    "short-arrive": Claim(
        "Most models trained on smaller T-maze sizes reach the end of the longer T-maze […]",
        "more than half of them do not time out at length 100",
        judge_short_arrive,
        brief="Most short-trained models arrive at length 100",
        place=PLACE,
        how_many=True,
    ),
    "halves": Claim(
        "[Most reach the end,] with half making the correct decision and the other half behaving "
        "at random.",
        "between a third and two thirds of those that arrive solve length 100",
        judge_halves,
        brief="Half of those that arrive decide right",
        place=PLACE,
        how_many=True,
    ),
    "two-mechanisms": Claim(
        "It suggests that these two subpopulations solved the task on the shorter T-maze using two "
        "different memorization mechanisms, one leading to generalization, the other not.",
        "of the short-trained models that reach the end, those that decide right are bistable more "
        "often than those that choose at random, by more than chance (Fisher's exact test at 5%)",
        judge_two_mechanisms,
        brief="Those that decide right are bistable",
        place=PLACE,
    ),
}
