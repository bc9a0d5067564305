"""Claims about learning curves and outcomes at length 100, of nonlinear models."""

import functools

import numpy as np

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.report._claims import (
    FEWEST_COUNTED,
    Finding,
    conclude,
    register_claim,
    share,
    show,
    tell,
)
from remanence.report._tables import find_agents

PLACE = "THG in nonlinear RNNs"
NEARLY_OPTIMAL = 3.8
FEW_ITERATIONS = 10
LITTLE_SPREAD, LARGE_SPREAD = 0.2, 0.4


def find_curves(tables: Tables, preset: str) -> Columns:
    """Of every nonlinear agent of a finished training: when it was nearly optimal first (infinity
    if never), and its mean return in the last tenth of the training.
    """
    curves = select_rows(tables["curves"], preset=preset, parallelizable=False, finished=True)
    agents = sorted(set(zip(curves["job"].tolist(), curves["seed"].tolist(), strict=True)))
    found = [select_rows(curves, job=job, seed=seed) for job, seed in agents]
    found = [keep_rows(curve, np.argsort(curve["iteration"])) for curve in found]
    labels = {
        name: np.array([curve[name][0] for curve in found])
        for name in ("preset", "model", "num_iterations")
    }
    return labels | {
        "first": np.array([_find_first(curve) for curve in found]),
        "end": np.array([_average_end(curve["return"]) for curve in found]),
    }


def judge_fast_learning(tables: Tables) -> Finding:
    """Iterations until a short-trained model is nearly optimal."""
    models = find_curves(tables, "tmaze-short")
    first = models["first"]
    soon = first <= FEW_ITERATIONS
    median = f"median: {_show_time(np.median(first))}" if len(first) else ""
    words = f"{soon.sum()} of {len(soon)} reach {NEARLY_OPTIMAL} within {FEW_ITERATIONS} iterations"
    return conclude(f"{words} ({median})", soon.sum() > len(soon) / 2, models)


def judge_short_spread(tables: Tables) -> Finding:
    """Spread between short-trained models when they have learned."""
    models = find_curves(tables, "tmaze-short")
    return conclude(_tell_ends(models), _spread(models) <= LITTLE_SPREAD, models)


def judge_long_struggle(tables: Tables) -> Finding:
    """Mean and spread of long-trained models at the end."""
    models = find_curves(tables, "tmaze-long")
    agrees = _average(models) < NEARLY_OPTIMAL and _spread(models) >= LARGE_SPREAD
    return conclude(_tell_ends(models), agrees, models)


def judge_short_efficient(tables: Tables) -> Finding:
    """How many models of both trainings become nearly optimal, and how soon."""
    groups = [find_curves(tables, preset) for preset in ("tmaze-short", "tmaze-long")]
    reached = [np.isfinite(models["first"]) for models in groups]
    medians = [np.median(it["first"]) if count_rows(it) else np.nan for it in groups]
    parts = [
        f"{who}: {able.sum()} of {len(able)} reach {NEARLY_OPTIMAL} (median: {_show_time(median)})"
        for who, able, median in zip(
            ("short-trained", "long-trained"), reached, medians, strict=True
        )
    ]
    agrees = all(map(len, reached)) and reached[0].mean() > reached[1].mean()
    return conclude("; ".join(parts), agrees and medians[0] < medians[1], *groups)


def judge_equal_shares(tables: Tables) -> Finding:
    """Shares of both trainings that solve length 100."""
    short, long = _find_both(tables)
    gap = abs(share(short, "outcome", "solved") - share(long, "outcome", "solved"))
    words = _tell_both(short, long, "solved", "solve it")
    return conclude(words, gap <= 0.15, short, long, fewest=FEWEST_COUNTED)


def judge_exploration(tables: Tables) -> Finding:
    """Timeouts at length 100 of both trainings."""
    short, long = _find_both(tables)
    agrees = share(long, "outcome", "timeout") > share(short, "outcome", "timeout")
    return conclude(_tell_both(short, long, "timeout", "time out"), agrees, short, long)


def judge_short_arrive(tables: Tables) -> Finding:
    """How many short-trained models reach the end of length 100."""
    short, _ = _find_both(tables)
    arrived = _arrive(short)
    words = f"{count_rows(arrived)} of {count_rows(short)} reach the end"
    return conclude(words, count_rows(arrived) > count_rows(short) / 2, short)


def judge_halves(tables: Tables) -> Finding:
    """How the short-trained models that arrive decide."""
    arrived = _arrive(_find_both(tables)[0])
    solved = share(arrived, "outcome", "solved")
    words = f"of those that reach the end, {tell(arrived, 'outcome', 'solved')} decide right"
    return conclude(words, 1 / 3 <= solved <= 2 / 3, arrived)


def _find_both(tables: Tables) -> tuple[Columns, Columns]:
    return (
        find_agents(tables, preset="tmaze-short", parallelizable=False),
        find_agents(tables, preset="tmaze-long", parallelizable=False),
    )


def _arrive(models: Columns) -> Columns:
    return keep_rows(models, models["outcome"] != "timeout")


def _tell_both(short: Columns, long: Columns, outcome: str, verb: str) -> str:
    parts = (tell(short, "outcome", outcome), tell(long, "outcome", outcome))
    return f"short-trained: {parts[0]} {verb}; long-trained: {parts[1]}"


def _find_first(curve: Columns) -> float:
    """The first iteration with a nearly optimal return; infinite if there is none."""
    reached = curve["iteration"][curve["return"] >= NEARLY_OPTIMAL]
    return float(reached[0]) if len(reached) else np.inf


def _show_time(iteration: float) -> str:
    return "never" if np.isinf(iteration) else f"iteration {show(iteration, 'g')}"


def _average_end(returns: np.ndarray) -> float:
    return returns[-max(1, len(returns) // 10) :].mean()


def _average(models: Columns) -> float:
    return float(models["end"].mean()) if count_rows(models) else np.nan


def _spread(models: Columns) -> float:
    return float(models["end"].std()) if count_rows(models) else np.nan


def _tell_ends(models: Columns) -> str:
    mean, spread = show(_average(models)), show(_spread(models))
    able = int(np.count_nonzero(models["end"] >= NEARLY_OPTIMAL))
    words = f"return {mean}, σ between models {spread} at the end of training"
    return f"{words} ({able} of {count_rows(models)} at {NEARLY_OPTIMAL} or more)"


_register = functools.partial(register_claim, place=PLACE)

_register(
    "fast-learning",
    "The models trained on shorter T-mazes learn an optimal policy in only a couple of "
    "training steps […]",
    f"more than half of them have a return of {NEARLY_OPTIMAL} within {FEW_ITERATIONS} iterations",
    judge_fast_learning,
)
_register(
    "short-spread",
    "The models trained on shorter T-mazes learn an optimal policy […] with almost no variance.",
    f"σ between models at the end of training is at most {LITTLE_SPREAD}",
    judge_short_spread,
    how_many=True,
)
_register(
    "long-struggle",
    "Those trained on longer T-mazes struggle to learn to solve the task properly and show "
    "high variance.",
    f"at the end of training their mean return is below {NEARLY_OPTIMAL} and σ between them "
    f"at least {LARGE_SPREAD}",
    judge_long_struggle,
    how_many=True,
)
_register(
    "short-efficient",
    "Training a multistable model on shorter rather than longer T-mazes not only helps "
    "training capabilities and efficiency […]",
    f"a larger share of the short-trained models reaches a return of {NEARLY_OPTIMAL}, and "
    "the median model does so in fewer iterations",
    judge_short_efficient,
    place="The role of multistability in THG",
    how_many=True,
)
_register(
    "equal-shares",
    "The proportion of models that solve the task [length 100] is almost equivalent for the "
    "two categories.",
    "the shares that solve length 100 differ by at most 15 points",
    judge_equal_shares,
    how_many=True,
)
_register(
    "exploration",
    "Training on the large T-maze size provides little advantage […], and it even leads to "
    "difficulties related to exploration.",
    "long-trained models time out at length 100 more often than short-trained ones",
    judge_exploration,
    how_many=True,
)
_register(
    "short-arrive",
    "Most models trained on smaller T-maze sizes reach the end of the longer T-maze […]",
    "more than half of them do not time out at length 100",
    judge_short_arrive,
    how_many=True,
)
_register(
    "halves",
    "[Most reach the end,] with half making the correct decision and the other half behaving "
    "at random.",
    "between a third and two thirds of those that arrive solve length 100",
    judge_halves,
    how_many=True,
)
