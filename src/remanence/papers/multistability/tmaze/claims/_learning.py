"""Claims about learning curves, of nonlinear models."""

import itertools

import numpy as np

from remanence.figures import Columns, Tables, average_over, count_rows, keep_rows, select_rows
from remanence.papers.multistability._judging import TRAINED, conclude
from remanence.report import Claim, Finding, say_mean, say_number, say_share

PLACE = "THG in nonlinear RNNs"
NEARLY_OPTIMAL = 3.8
FEW_ITERATIONS = 10
LITTLE_SPREAD, LARGE_SPREAD = 0.2, 0.4


def find_curves(tables: Tables, preset: str) -> Columns:
    """Of every nonlinear agent of a finished training: its first return, when it was nearly optimal
    first (infinity if never), and its mean return in the last tenth.
    """
    curves = _select_curves(tables, preset)
    curves = keep_rows(curves, np.lexsort([curves[it] for it in ("iteration", "seed", "job")]))
    names = list(zip(curves["job"].tolist(), curves["seed"].tolist(), strict=True))
    starts = [row for row, name in enumerate(names) if not row or name != names[row - 1]]
    agents = [names[start] for start in starts]
    found = [
        keep_rows(curves, np.arange(start, end))
        for start, end in itertools.pairwise([*starts, len(names)])
    ]
    labels = {
        name: np.array([curve[name][0] for curve in found])
        for name in ("preset", "model", "num_iterations")
    }
    return labels | {
        "stability": _look_up(tables, "stability", agents),
        "outcome": _look_up(tables, "outcome", agents),
        "start": np.array([curve["return"][0] for curve in found]),
        "first": np.array([_find_first(curve) for curve in found]),
        "end": np.array([_average_end(curve["return"]) for curve in found]),
    }


def _select_curves(tables: Tables, preset: str) -> Columns:
    """Iterations in which no episode ended have no return, and are not there."""
    return select_rows(tables["curves"], preset=preset, parallelizable=False, finished=True)


def judge_fast_learning(tables: Tables) -> Finding:
    """Iterations until a short-trained model is nearly optimal."""
    models = find_curves(tables, "tmaze-short")
    first = models["first"]
    soon = first <= FEW_ITERATIONS
    median = f"median: {_say_time(np.median(first))}" if len(first) else ""
    ours = f"{say_share(soon)} reach {NEARLY_OPTIMAL} within {FEW_ITERATIONS} iterations"
    return conclude(f"{ours} ({median})", soon.sum() > len(soon) / 2, models)


def judge_short_spread(tables: Tables) -> Finding:
    """Spread between short-trained models when they have learned, and on the way there."""
    models = find_curves(tables, "tmaze-short")
    ours = f"{_say_ends(models)}{_say_widest(tables)}"
    return conclude(ours, _spread(models) <= LITTLE_SPREAD, models)


def judge_long_struggle(tables: Tables) -> Finding:
    """Mean and spread of long-trained models at the end."""
    models = find_curves(tables, "tmaze-long")
    agrees = _average(models) < NEARLY_OPTIMAL and _spread(models) >= LARGE_SPREAD
    return conclude(_say_ends(models), agrees, models)


def judge_hard_exploration(tables: Tables) -> Finding:
    """First returns of both trainings, and the spread at the end."""
    groups = [find_curves(tables, preset) for preset in TRAINED]
    starts = [_average(models, "start") for models in groups]
    spreads = [_spread(models) for models in groups]
    ours = (
        f"mean return in the first iteration: {say_mean(groups[0]['start'])} (short-trained), "
        f"{say_mean(groups[1]['start'])} (long-trained); σ between models at the end: "
        f"{say_number(spreads[0])} and {say_number(spreads[1])}"
    )
    agrees = starts[1] < starts[0] / 2 and spreads[1] >= 2 * spreads[0]
    return conclude(ours, agrees, *groups)


def judge_cheaper(tables: Tables) -> Finding:
    """How soon the models of both trainings that solve length 100 were nearly optimal."""
    curves = (find_curves(tables, preset) for preset in TRAINED)
    groups = [select_rows(models, outcome="solved") for models in curves]
    medians = [_find_median(models) for models in groups]
    shown = [
        f"{_say_time(median)} ({who})"
        for median, who in zip(medians, TRAINED.values(), strict=True)
    ]
    ours = f"median of those that solve length 100: {', '.join(shown)}"
    return conclude(ours, medians[0] < medians[1] / 2, *groups)


def judge_short_efficient(tables: Tables) -> Finding:
    """How many bistable models of both trainings become nearly optimal, and how soon."""
    curves = (find_curves(tables, preset) for preset in TRAINED)
    groups = [select_rows(models, stability="bistable") for models in curves]
    reached = [np.isfinite(models["first"]) for models in groups]
    medians = [_find_median(models) for models in groups]
    parts = [
        f"{who}: {say_share(able)} reach {NEARLY_OPTIMAL} (median: {_say_time(median)})"
        for who, able, median in zip(TRAINED.values(), reached, medians, strict=True)
    ]
    agrees = all(map(len, reached)) and reached[0].mean() > reached[1].mean()
    return conclude("; ".join(parts), agrees and medians[0] < medians[1], *groups)


def _find_first(curve: Columns) -> float:
    """The first iteration with a nearly optimal return; infinite if there is none."""
    reached = curve["iteration"][curve["return"] >= NEARLY_OPTIMAL]
    return float(reached[0]) if len(reached) else np.inf


def _say_time(iteration: float) -> str:
    return "never" if np.isinf(iteration) else f"iteration {say_number(iteration, 'g')}"


def _average_end(returns: np.ndarray) -> float:
    return returns[-max(1, len(returns) // 10) :].mean()


def _average(models: Columns, name: str = "end") -> float:
    return float(models[name].mean()) if count_rows(models) else np.nan


def _find_median(models: Columns) -> float:
    """The iteration in which the median model is nearly optimal first."""
    return float(np.median(models["first"])) if count_rows(models) else np.nan


def _spread(models: Columns) -> float:
    return float(models["end"].std()) if count_rows(models) else np.nan


def _look_up(tables: Tables, name: str, agents: list[tuple[str, int]]) -> np.ndarray:
    """What the models' table says of some agents; nothing of one that it does not have."""
    models = tables["models"]
    keys = zip(models["job"].tolist(), models["seed"].tolist(), strict=True)
    values = dict(zip(keys, models[name].tolist(), strict=True))
    return np.array([values.get(agent, "") for agent in agents], str)


def _say_widest(tables: Tables) -> str:
    """When the spread between short-trained models is largest."""
    curves = _select_curves(tables, "tmaze-short")
    if not count_rows(curves):
        return ""
    iterations, _, spreads = average_over(curves, "iteration", "return")
    widest = int(np.argmax(spreads))
    return f"; {say_number(spreads[widest])} at its largest, in iteration {iterations[widest]}"


def _say_ends(models: Columns) -> str:
    mean, spread = say_mean(models["end"]), say_number(_spread(models))
    able = say_share(models["end"] >= NEARLY_OPTIMAL)
    ours = f"return {mean}, σ between models {spread} at the end of training"
    return f"{ours} ({able} at {NEARLY_OPTIMAL} or more)"


CLAIMS = {
    "fast-learning": Claim(
        "The models trained on shorter T-mazes learn an optimal policy in only a couple of "
        "training steps […]",
        f"more than half of them have a return of {NEARLY_OPTIMAL} within {FEW_ITERATIONS} "
        "iterations",
        judge_fast_learning,
        brief="Short mazes are learned within a few iterations",
        place=PLACE,
    ),
    "short-spread": Claim(
        "The models trained on shorter T-mazes learn an optimal policy […] with almost no "
        "variance.",
        f"σ between models at the end of training is at most {LITTLE_SPREAD}",
        judge_short_spread,
        brief="Short-trained models end alike",
        place=PLACE,
        how_many=True,
    ),
    "long-struggle": Claim(
        "Those trained on longer T-mazes struggle to learn to solve the task properly and show "
        "high variance.",
        f"at the end of training their mean return is below {NEARLY_OPTIMAL} and σ between them "
        f"at least {LARGE_SPREAD}",
        judge_long_struggle,
        brief="Long mazes are learned badly, and unevenly",
        place=PLACE,
        how_many=True,
    ),
    "hard-exploration": Claim(
        "This result is expected in an RL setting, as exploration is much more difficult in long "
        "T-mazes, leading to unstable training.",
        "the mean return of long-trained models in the first iteration is less than half of that "
        "of short-trained ones, and σ between them at the end of training at least twice as large",
        judge_hard_exploration,
        brief="Long mazes are hard to explore",
        place=PLACE,
        how_many=True,
    ),
    "cheaper": Claim(
        "[We] showed how [THG] can reduce exploration cost and training duration […]",
        "of the models that solve length 100, short-trained ones needed less than half as many "
        f"iterations, in the median, until a return of {NEARLY_OPTIMAL} in training",
        judge_cheaper,
        brief="Short training is cheaper",
        place="Discussion",
        how_many=True,
    ),
    "short-efficient": Claim(
        "These results suggest that training a multistable model on shorter rather than longer "
        "T-mazes not only helps training capabilities and efficiency […]",
        "a larger share of the short-trained bistable models reaches a return of "
        f"{NEARLY_OPTIMAL}, and the median model does so in fewer iterations",
        judge_short_efficient,
        brief="Bistable models learn short mazes faster",
        place="The role of multistability in THG",
        how_many=True,
    ),
}
