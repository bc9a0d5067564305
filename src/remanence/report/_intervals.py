"""Counts and means with their 95% intervals, as findings have them."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
NUM_RESAMPLES = 2_000

Interval = tuple[float, float]


@lru_cache(10_000)
def find_share_interval(number: int, total: int) -> Interval:
    """The ends of the interval of a share of which `number` in `total` were seen.

    Wilson's (1927), whose ends lie within 0 and 1.

    >>> from remanence import report
    >>> low, high = report.find_share_interval(57, 90)
    >>> round(low, 2), round(high, 2)
    (0.53, 0.73)
    """
    if not total:
        return np.nan, np.nan
    share, z = number / total, float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    middle = share + z**2 / (2 * total)
    margin = z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    low, high = ((middle + side) / (1 + z**2 / total) for side in (-margin, margin))
    return max(0.0, low), min(1.0, high)


def find_mean_interval(values: Any) -> Interval:
    """The ends of the interval of a mean over models; of fewer than two it is not known.

    By the bootstrap's percentiles (Efron 1979), with draws that are always the same.

    >>> from remanence import report
    >>> low, high = report.find_mean_interval([1.0, 2.0, 3.0, 4.0])
    >>> low < 2.5 < high
    True
    """
    values = np.asarray(values, float)
    if len(values) < 2:
        return np.nan, np.nan
    drawn = np.random.default_rng(0).integers(len(values), size=(NUM_RESAMPLES, len(values)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values[drawn].mean(1), (tail, 1 - tail))
    return float(low), float(high)


def say_share(members: Sequence[Any] | np.ndarray) -> str:
    """How many are true, with the interval of their share.

    >>> from remanence import report
    >>> report.say_share([True] * 57 + [False] * 33), report.say_share([])
    ('57 of 90 [53–73%]', '0 of 0')
    """
    number, total = int(np.count_nonzero(members)), len(members)
    if not total:
        return f"{number} of {total}"
    low, high = find_share_interval(number, total)
    return f"{number} of {total} [{100 * low:.0f}–{100 * high:.0f}%]"


def say_mean(values: Any, form: str = ",.2f") -> str:
    """A mean over models with its interval; a dash where there is nothing to average.

    >>> from remanence import report
    >>> report.say_mean([4.0, 4.0]), report.say_mean([4.0]), report.say_mean([])
    ('4.00 [4.00–4.00]', '4.00', '–')
    """
    values = np.asarray(values, float)
    if not len(values) or np.isnan(values).any():
        return "–"
    low, high = find_mean_interval(values)
    mean = f"{values.mean():{form}}"
    return mean if np.isnan(low) else f"{mean} [{low:{form}}–{high:{form}}]"
