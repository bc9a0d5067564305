"""Claims about the deep minGRU beside small networks."""

from collections.abc import Sequence

import numpy as np

from remanence.figures import Columns, Tables, average_over, keep_rows, select_rows
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.tmaze._tables import find_agents
from remanence.report import Claim, Finding, say_mean, say_number

PLACE = "THG in parallelizable RNNs"
FAR = 1.0
NOTHING = "they were evaluated at no length beyond those of their training that both have"


def judge_deep_better(tables: Tables) -> Finding:
    """Mean returns of small and deep minGRUs that learned, beyond their training's lengths."""
    small, deep = _find_learned(tables, "mingru", "deep-mingru")
    lengths = _list_common(tables, small, deep)
    if not lengths:
        return conclude(NOTHING, None, small, deep)
    means = [_average_returns(tables, models, lengths) for models in (small, deep)]
    reach = f"lengths {min(lengths):,} to {max(lengths):,}"
    ours = f"mean return at {reach}: {say_mean(means[0])} (small), {say_mean(means[1])} (deep)"
    return conclude(ours, 0 < means[1].mean() - means[0].mean() < FAR, small, deep)


def judge_deep_lasting(tables: Tables) -> Finding:
    """How far small and deep minGRUs that learned remember, of lengths all were evaluated at."""
    small, deep = _find_learned(tables, "mingru", "deep-mingru")
    lengths = _list_common(tables, small, deep)
    if not lengths:
        return conclude(NOTHING, None, small, deep)
    reaches = [_measure_reach(tables, models, lengths) for models in (small, deep)]
    medians = [float(np.median(reach)) for reach in reaches]
    shown = f"{say_number(medians[0], ',g')} (small), {say_number(medians[1], ',g')} (deep)"
    ours = f"median length up to which all are solved: {shown}"
    return conclude(ours, medians[1] > medians[0], small, deep)


def judge_deep_below(tables: Tables) -> Finding:
    """Deep minGRUs and BMRUs that learned, at the longest maze that both were evaluated at."""
    deep, bmru = _find_learned(tables, "deep-mingru", "bmru")
    lengths = _list_common(tables, deep, bmru)
    if not lengths:
        return conclude(NOTHING, None, deep, bmru)
    longest = max(lengths)
    means = [_average_returns(tables, models, [longest]) for models in (deep, bmru)]
    shown = f"{say_mean(means[0])} (deep minGRU), {say_mean(means[1])} (BMRU)"
    ours = f"return at length {longest:,}: {shown}"
    return conclude(ours, means[1].mean() - means[0].mean() >= FAR, deep, bmru)


def _find_learned(tables: Tables, *models: str) -> list[Columns]:
    """The short-trained models of each kind that solve what they were trained on."""
    return [
        find_agents(tables, preset="tmaze-short", model=model, learned=True) for model in models
    ]


def _list_common(tables: Tables, *groups: Columns) -> list[int]:
    """Every length beyond those of their training that models of all groups were evaluated at.

    Deep networks may have been evaluated at fewer lengths than small ones.
    """
    longest = _find_longest_trained(groups)
    evaluated = [set(_find_outcomes(tables, models)["length"].tolist()) for models in groups]
    return sorted(length for length in set.intersection(*evaluated) if length > longest)


def _average_returns(tables: Tables, models: Columns, lengths: list[int]) -> np.ndarray:
    """The mean return of each model at some lengths."""
    outcomes = _find_outcomes(tables, models)
    outcomes = keep_rows(outcomes, np.isin(outcomes["length"], lengths))
    return average_over({**outcomes, "agent": _identify(outcomes)}, "agent", "return")[1]


def _find_outcomes(tables: Tables, models: Columns) -> Columns:
    outcomes = tables["outcomes"]
    # Of which job a row is, is told sooner than of which agent.
    outcomes = keep_rows(outcomes, np.isin(outcomes["job"], np.unique(models["job"])))
    return keep_rows(outcomes, np.isin(_identify(outcomes), _identify(models)))


def _measure_reach(tables: Tables, models: Columns, lengths: list[int]) -> np.ndarray:
    """Of each agent, the last of some lengths up to which it solves all.

    The models are such as have learned, so it is no less than what they were trained on.
    """
    longest = _find_longest_trained([models])
    reaches = []
    for job, seed in zip(models["job"].tolist(), models["seed"].tolist(), strict=True):
        outcomes = select_rows(tables["outcomes"], job=job, seed=seed, outcome="solved")
        solved = np.isin(lengths, outcomes["length"])
        reaches.append([longest, *lengths][np.argmin([*solved, False])])
    return np.array(reaches)


def _find_longest_trained(groups: Sequence[Columns]) -> float:
    """The longest maze that any of the models was trained on; 0 of no models."""
    return max((float(models["trained_high"].max(initial=0)) for models in groups), default=0.0)


def _identify(rows: Columns) -> np.ndarray:
    """Which agent each row is about, as ours."""
    pairs = zip(rows["job"].tolist(), rows["seed"].tolist(), strict=True)
    return np.array([f"{job} {seed}" for job, seed in pairs], str)


CLAIMS = {
    "deep-lasting": Claim(
        "Monostable models such as minGRU can however create long-lasting fading memory if more "
        "neurons and more layers are used in the network […]",
        "of models that learned, the median length up to which all evaluated lengths are solved is "
        "larger for the deep one",
        judge_deep_lasting,
        brief="The deep minGRU remembers longer",
        place=PLACE,
    ),
    "deep-better": Claim(
        "Increasing network size [deep minGRU] indeed slightly improves generalization "
        "capabilities",
        "of models that learned, the mean return beyond the training's lengths grows, by less than "
        f"{FAR:g}",
        judge_deep_better,
        brief="The deep minGRU is slightly better",
        place=PLACE,
    ),
    "deep-below": Claim(
        "It remains significantly below the capabilities of the small multistable network, which "
        "achieves true THG.",
        "of models that learned, the BMRU's mean return is at least "
        f"{FAR:g} higher at the longest maze that both were evaluated at",
        judge_deep_below,
        brief="The deep minGRU stays far below BMRU",
        place=PLACE,
    ),
}
