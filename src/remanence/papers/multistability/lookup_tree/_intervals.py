"""Means with 95% intervals, over agents that each were tried on several tables."""

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


def find_interval(values: np.ndarray) -> tuple[float, float, float]:
    """The mean of independent values, and the ends of its interval by Student's t.

    Of one value the interval is not known, and of none nothing is: what is not known is NaN.
    """
    if not len(values):
        return np.nan, np.nan, np.nan
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, np.nan, np.nan
    quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)
    margin = float(quantile * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - margin, mean + margin


def find_nested_interval(values: np.ndarray, agents: np.ndarray) -> tuple[float, float, float]:
    """The mean over agents of each agent's mean over its tables, and the ends of its interval.

    `values` are one for each agent and table, `agents` says whose each is. All that was done with
    one table counts as one value, for episodes of one table are near copies. The interval is over
    agents, which are independent; that each had these tables and no others is within it, since it
    makes their means differ. Of a single agent it is over the agent's tables.
    """
    means = np.array([values[agents == agent].mean() for agent in np.unique(agents)])
    return find_interval(means if len(means) > 1 else values)
