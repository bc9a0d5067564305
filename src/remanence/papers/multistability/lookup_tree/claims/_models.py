"""What claims are judged by: agents with their returns at several numbers of mazes, and thresholds.

The paper does not say whether its agents take their best action or sample. Claims are judged by
sampling, as agents do in training and in CleanRL, on which the paper's code is based; where greedy
agents lead to another verdict, the finding says so.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.papers.multistability.lookup_tree._tables import GREEDY, SAMPLED
from remanence.report import (
    AGENT_COLUMNS,
    CHANCE,
    Finding,
    Judge,
    compare_counts,
    list_rows,
    say_mean,
    stack_rows,
)

# Where the paper evaluates: within what was trained on (1 to 20 mazes), and beyond.
NUMBERS = (10, 100, 1_000, 10_000)
FEW, MANY = NUMBERS[0], NUMBERS[-1]
COIN_FLIP, OPTIMAL = 1.95, 4.0
# Of what lies between a coin flip and the best return, a tenth and a quarter.
LITTLE, MUCH = 0.2, 0.5
LEARNED = COIN_FLIP + MUCH
# 19 of 20 decisions are right.
NEARLY_OPTIMAL = 3.8
# The paper calls models multistable whose VAA is close to 1.
MULTISTABLE = 0.9
MEASURES = ("return", "share_right", "timeouts")

JudgeActing = Callable[[Tables, str], Finding]


def judge_by_sampling(judge: JudgeActing) -> Judge:
    """Judge agents that sample; what greedy ones lead to is told where the verdict is another."""

    @functools.wraps(judge, assigned=("__module__",))
    def judge_both(tables: Tables) -> Finding:
        found, greedy = (judge(tables, acting) for acting in (SAMPLED, GREEDY))
        if greedy.agrees is None or greedy.agrees == found.agrees:
            return found
        told = f"{found.ours}; of greedy agents, which {_say_verdict(greedy)}: {greedy.ours}"
        return dataclasses.replace(found, ours=told)

    return judge_both


def _say_verdict(greedy: Finding) -> str:
    return "would agree" if greedy.agrees else "would disagree"


def find_models(tables: Tables, acting: str, *numbers: int, **wanted: Any) -> Columns:
    """A row for each agent that was evaluated at all of these numbers of mazes.

    Its measures there are in columns such as `return_100`.
    """
    agents: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
    for row in list_rows(select_rows(tables["scores"], acting=acting, **wanted)):
        agents.setdefault((row["job"], row["seed"]), {})[row["num_mazes"]] = row
    complete = [found for found in agents.values() if set(numbers) <= set(found)]
    measured = [f"{name}_{number}" for number in numbers for name in MEASURES]
    rows = [_widen(found, numbers) for found in complete]
    return stack_rows(rows, (*AGENT_COLUMNS, *measured))


def _widen(found: dict[int, dict[str, Any]], numbers: tuple[int, ...]) -> dict[str, Any]:
    return next(iter(found.values())) | {
        f"{name}_{number}": found[number][name] for number in numbers for name in MEASURES
    }


def keep_multistable(models: Columns) -> Columns:
    """Those with a VAA close to 1."""
    return keep_rows(models, models["vaa"] >= MULTISTABLE)


def are_nearly_optimal(models: Columns, *numbers: int) -> np.ndarray:
    """Whether each is, at all of these numbers of mazes (models,)."""
    return np.all([models[f"return_{number}"] >= NEARLY_OPTIMAL for number in numbers], axis=0)


def are_random(models: Columns, number: int) -> np.ndarray:
    """Whether half of the decisions are right, or nearly half (models,).

    A share of 0.45 to 0.55 is a return within 0.2 of a coin flip's if no episode runs out of time.
    One that does is no better for it, so the share is what counts.
    """
    return np.abs(models[f"share_right_{number}"] - 0.5) <= 0.05


def average(models: Columns, name: str) -> float:
    """The mean of a column; NaN of no models."""
    return float(np.mean(models[name])) if count_rows(models) else np.nan


def compare_returns(models: Columns, others: Columns, number: int) -> tuple[float, float]:
    """By how much the first ones' mean return is higher, and the p-value that it is not.

    Mann and Whitney's test (1947), one-sided.
    """
    name = f"return_{number}"
    gap = average(models, name) - average(others, name)
    if not count_rows(models) or not count_rows(others):
        return gap, np.nan
    found = stats.mannwhitneyu(models[name], others[name], alternative="greater")
    return gap, float(found.pvalue)


def are_more(members: np.ndarray, others: np.ndarray) -> tuple[bool, float]:
    """Whether a larger share of the first ones is true by more than chance, and the p-value."""
    counts = [(int(np.count_nonzero(it)), len(it)) for it in (members, others)]
    chance = compare_counts(*counts[0], counts[1])
    larger = all(map(len, (members, others))) and members.mean() > others.mean()
    return bool(larger) and chance < CHANCE, chance


def say_means(models: Columns, *numbers: int) -> str:
    """Such as "3.96 [3.90–4.00], 2.10 [1.95–2.30] on 10, 10,000 mazes"."""
    means = ", ".join(say_mean(models[f"return_{number}"]) for number in numbers)
    return f"{means} on {', '.join(f'{number:,}' for number in numbers)} mazes"
