"""What an evaluation is, and what it says of agents: returns, decisions, intervals, outcomes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from remanence.errors import InvalidOptionError

CONFIDENCE = 0.95
# An end of that probability says nothing of an outcome; a hundred episodes would hardly show it.
RARE = 0.01
# What a summary has besides the agent and what grows.
MEASURES = (
    *("return", "low", "high", "num_steps", "outcome"),
    *("share_right", "share_low", "share_high", "num_decisions", "timeouts"),
)

Columns = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Every episode, as columns of one table.

    `agent` is the seed or name of the agent; `axis` names the column of what grows; `cue` is a row
    of the environment's `cue_observations`, and is not there if it has none. Then `return`,
    `num_steps` and `end`, which is "right" (no wrong decision), "wrong" or "timeout"; and
    `num_right` of the `num_decisions` that were taken. `exact` says that the episodes are all there
    are, and not a sample. Of agents that sample, these are all ends that there are, each with its
    `probability` and the mean `num_steps` of the episodes that end so. Without a time limit a
    "timeout" is an episode that never ends, and its `num_steps` is masked.

    `returns` are what an episode earns by its end, where probabilities are of all ends that there
    may be: what they leave out may have earned any of these.

    `decisions` counts right decisions against how many were taken before, with a row for each
    agent, value of what grows, cue and bin: the decisions from the `first` to the `last` of their
    episode (`space_bins`). Exact episodes have one decision at most, and none of this.

    >>> from remanence import evaluation
    >>> columns = {"agent": [0, 0], "delay": [5, 5], "return": [4.0, 4.0]}
    >>> columns |= {"num_steps": [5, 5], "end": ["right", "right"]}
    >>> episodes = {name: np.array(column) for name, column in columns.items()}
    >>> found = evaluation.Evaluation(episodes, "delay", exact=True)
    >>> found.summarize()["outcome"].tolist(), found.unit
    (['solved'], 'episodes')
    """

    episodes: Columns
    axis: str
    exact: bool
    decisions: Columns | None = None
    returns: Mapping[str, float] | None = None

    @property
    def unit(self) -> str:
        """What intervals are taken over: "cues" or "episodes"."""
        return "cues" if has_cues(self.episodes) else "episodes"

    @property
    def left_out(self) -> float:
        """How far probabilities of ends may be off: what was not followed, or what draws leave."""
        if "probability" not in self.episodes:
            return 0.0
        names = ("agent", self.axis, "cue")
        groups = np.stack([np.asarray(self.episodes[name]).astype(str) for name in names], 1)
        which = np.unique(groups, axis=0, return_inverse=True)[1].ravel()
        return float(np.max(1 - np.bincount(which, self.episodes["probability"]), initial=0.0))

    @property
    def decides_often(self) -> bool:
        """Whether some episode had more than one decision, or went on after the first."""
        taken, ends = self.episodes["num_decisions"], self.episodes["end"]
        return bool(np.any((taken > 1) | ((taken == 1) & (ends == "timeout"))))

    def summarize(self) -> Columns:
        """A row for each agent and length, as `summarize_episodes` has it."""
        return summarize_episodes(self.episodes, self.axis, exact=self.exact, returns=self.returns)


def summarize_episodes(
    episodes: Mapping[str, ArrayLike],
    axis: str,
    *,
    exact: bool,
    returns: Mapping[str, float] | None = None,
) -> Columns:
    """A row for each agent and value of `axis`: return and decisions, timeouts, steps, outcome.

    `episodes` are columns of equal length: "agent" or "seed", `axis` (what grows), "return",
    "num_steps" and "end", and "cue", "num_right", "num_decisions" and "probability" where these are
    known; others are ignored. `share_right` is the share of right decisions among those taken (NaN
    where none was), `num_decisions` their mean number in an episode, `timeouts` the share of
    episodes that ran out of time. The outcome is "timeout" if some episode did, "solved" if all
    decisions were right, and else "random". Of ends with probabilities those of 1% or less do not
    count for it.

    `low` and `high` bound the mean return, `share_low` and `share_high` the share: Student's
    intervals, at 95%. Their unit is the cue, whose episodes are averaged first, for they are near
    copies of each other; where there are no cues, or one, it is the episode. Where the episodes are
    all there are (`exact`), an interval is the number itself, or what it may be if probabilities
    leave something out of 1: that earns any of `returns`, which an episode has by its end, or of
    those in the table if they are not given.

    >>> from remanence import evaluation
    >>> episodes = {"seed": [1, 1], "delay": [5, 5], "return": [1.0, 0.0]}
    >>> episodes |= {"num_steps": [7, 7], "end": ["right", "wrong"]}
    >>> episodes |= {"num_right": [1, 0], "num_decisions": [1, 1]}
    >>> summary = evaluation.summarize_episodes(episodes, "delay", exact=True)
    >>> summary["return"].tolist(), summary["share_right"].tolist(), summary["outcome"].tolist()
    ([0.5], [0.5], ['random'])
    """
    who = "agent" if "agent" in episodes else "seed"
    wanted = (who, axis, "return", "num_steps", "end")
    missing = [name for name in wanted if name not in episodes]
    if missing:
        remedy = f"there must be columns {', '.join(wanted)}"
        raise InvalidOptionError("episodes", list(episodes), remedy)
    known = ("cue", "num_right", "num_decisions", "probability")
    optional = [name for name in known if name in episodes]
    columns = {name: np.ma.asanyarray(episodes[name]) for name in (*wanted, *optional)}
    groups: dict[tuple[Any, Any], list[int]] = {}
    pairs = zip(columns[who].tolist(), columns[axis].tolist(), strict=True)
    for row, group in enumerate(pairs):
        groups.setdefault(group, []).append(row)
    earned = columns["return"] if returns is None else np.array(list(returns.values()))
    spread = float(np.ptp(earned)) if len(earned) else 0.0
    rows = [
        (*group, *_summarize({name: it[members] for name, it in columns.items()}, exact, spread))
        for group, members in groups.items()
    ]
    names = (who, axis, *MEASURES)
    return {name: np.array([row[place] for row in rows]) for place, name in enumerate(names)}


def has_cues(episodes: Mapping[str, ArrayLike]) -> bool:
    """Whether the unit of intervals is the cue; with one alone there would be no interval."""
    return "cue" in episodes and len(np.unique(np.asarray(episodes["cue"]))) > 1


def _summarize(
    episodes: Mapping[str, np.ma.MaskedArray], exact: bool, spread: float
) -> tuple[Any, ...]:
    """The measures of one agent at one value, in their order.

    Returns of episodes differ by `spread` at most.
    """
    returns, num_steps, ends = (episodes[name] for name in ("return", "num_steps", "end"))
    weights = episodes.get("probability", np.ma.ones(len(returns)))
    right = episodes.get("num_right", np.ma.masked_all(len(returns)))
    taken = episodes.get("num_decisions", np.ma.masked_all(len(returns)))
    units = _list_units(episodes)
    left_out = _find_left_out(episodes) if exact else None
    shares = {end: float(weights[ends == end].sum() / weights.sum()) for end in _ENDS}
    rare = RARE if "probability" in episodes else 0.0
    outcome = next((name for end, name in _ENDS.items() if shares[end] > rare), "solved")
    return (
        *_estimate(weights * returns, weights, units, left_out and spread * left_out),
        *(_average(num_steps, weights), outcome),
        *_estimate(weights * right, weights * taken, units, left_out),
        *(_average(taken, weights), shares["timeout"]),
    )


# The outcomes that ends stand for, the worst first.
_ENDS = {"timeout": "timeout", "wrong": "random"}


def _find_left_out(episodes: Mapping[str, np.ma.MaskedArray]) -> float:
    """What the probabilities of all cues together leave out."""
    if "probability" not in episodes:
        return 0.0
    number = len(np.unique(np.asarray(episodes["cue"])))
    return max(0.0, number - float(episodes["probability"].sum()))


def _list_units(episodes: Mapping[str, np.ma.MaskedArray]) -> list[np.ndarray]:
    """The rows of each unit of an interval."""
    if not has_cues(episodes):
        return list(np.arange(len(episodes["return"]))[:, None])
    cues = np.asarray(episodes["cue"])
    return [np.flatnonzero(cues == cue) for cue in np.unique(cues)]


def _average(values: np.ma.MaskedArray, weights: np.ma.MaskedArray) -> float:
    """The mean; NaN where some are unknown, as the steps of an episode that never ends are."""
    if np.ma.is_masked(values):
        return np.nan
    return float((weights * values).sum() / weights.sum())


def _estimate(
    amounts: np.ma.MaskedArray,
    numbers: np.ma.MaskedArray,
    units: list[np.ndarray],
    left_out: float | None,
) -> tuple[float, float, float]:
    """Amounts for each one of numbers, all in all, with an interval over units.

    A ratio of two means over units, since each unit may have another number: its error is that of
    the mean of amounts off which the ratio is taken (Cochran 1977, chapter 6). Where all numbers
    are equal, this is Student's interval of the units' own ratios. Of all there are, `left_out` is
    by how much amounts may be off.
    """
    if np.ma.is_masked(amounts) or np.ma.is_masked(numbers) or not numbers.any():
        return np.nan, np.nan, np.nan
    amount, number = (np.array([it[unit].sum() for unit in units]) for it in (amounts, numbers))
    ratio = float(amount.sum() / number.sum())
    if left_out is None:
        margin = _find_margin((amount - ratio * number) / number.mean())
    else:
        margin = left_out / float(number.sum())
    return ratio, ratio - margin, ratio + margin


def _find_margin(values: np.ndarray) -> float:
    """Half of the confidence interval of the mean, by Student's t."""
    if len(values) < 2:
        return 0.0
    from scipy.special import stdtrit  # slow to import

    quantile = stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2)
    return float(quantile * values.std(ddof=1) / np.sqrt(len(values)))
