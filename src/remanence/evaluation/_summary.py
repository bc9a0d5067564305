"""What episodes say of an agent: its mean return with an interval, and its outcome."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from remanence.errors import InvalidOptionError

CONFIDENCE = 0.95

Columns = dict[str, np.ndarray]


def summarize_episodes(episodes: Mapping[str, ArrayLike], axis: str, *, exact: bool) -> Columns:
    """A row for each agent and value of `axis`: mean return with its interval, steps, outcome.

    `episodes` are columns of equal length: "agent" or "seed", `axis` (what grows), "return",
    "num_steps" and "end"; others are ignored. The outcome is "timeout" if some episode ran out of
    time, "solved" if all decisions were right, and else "random". The interval is Student's, at
    95%, over episodes; where the episodes are all there are (`exact`) it is the mean itself.

    >>> from remanence import evaluation
    >>> episodes = {"seed": [1, 1], "delay": [5, 5], "return": [1.0, 0.0]}
    >>> episodes |= {"num_steps": [7, 7], "end": ["right", "wrong"]}
    >>> summary = evaluation.summarize_episodes(episodes, "delay", exact=True)
    >>> summary["return"].tolist(), summary["outcome"].tolist()
    ([0.5], ['random'])
    """
    who = "agent" if "agent" in episodes else "seed"
    wanted = (who, axis, "return", "num_steps", "end")
    missing = [name for name in wanted if name not in episodes]
    if missing:
        remedy = f"there must be columns {', '.join(wanted)}"
        raise InvalidOptionError("episodes", list(episodes), remedy)
    agents, sizes, returns, num_steps, ends = (np.ma.asanyarray(episodes[it]) for it in wanted)
    groups: dict[tuple[Any, Any], list[int]] = {}
    for row, group in enumerate(zip(agents.tolist(), sizes.tolist(), strict=True)):
        groups.setdefault(group, []).append(row)
    rows = [
        (*group, *_summarize(returns[members], num_steps[members], ends[members], exact))
        for group, members in groups.items()
    ]
    names = (who, axis, "return", "low", "high", "num_steps", "outcome")
    return {name: np.array([row[place] for row in rows]) for place, name in enumerate(names)}


def _summarize(
    returns: np.ndarray, num_steps: np.ndarray, ends: np.ndarray, exact: bool
) -> tuple[float, float, float, float, str]:
    mean = float(returns.mean())
    margin = 0.0 if exact else _find_margin(returns)
    outcome = "timeout" if "timeout" in ends else "random" if "wrong" in ends else "solved"
    # Where an episode never ends, there is no mean of its steps.
    steps = np.nan if np.ma.is_masked(num_steps) else float(num_steps.mean())
    return mean, mean - margin, mean + margin, steps, outcome


def _find_margin(returns: np.ndarray) -> float:
    """Half of the confidence interval of the mean, by Student's t."""
    if len(returns) < 2 or np.ptp(returns) == 0:
        return 0.0
    quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, len(returns) - 1)
    return float(quantile * returns.std(ddof=1) / np.sqrt(len(returns)))
