"""Intervals against SciPy's own."""

import numpy as np
import pytest
from scipy import stats

from remanence.report import find_mean_interval, find_share_interval, say_mean, say_share


@pytest.mark.parametrize(("number", "total"), [(0, 5), (5, 5), (57, 90), (1, 1), (3, 10)])
def test_the_interval_of_a_share_is_wilsons(number, total):
    theirs = stats.binomtest(number, total).proportion_ci(method="wilson")
    assert find_share_interval(number, total) == pytest.approx((theirs.low, theirs.high))


def test_the_interval_of_a_mean_is_the_bootstraps():
    values = np.random.default_rng(1).exponential(size=25)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    # Ends that are drawn differ from draw to draw, by some hundredths of the interval.
    tolerance = 0.05 * (theirs.high - theirs.low)
    assert find_mean_interval(values) == pytest.approx((theirs.low, theirs.high), abs=tolerance)
    assert find_mean_interval(values) == find_mean_interval(values)


def test_what_cannot_be_known_has_no_interval():
    assert np.isnan(find_share_interval(0, 0)).all()
    assert np.isnan(find_mean_interval([1.0])).all()
    assert say_share(np.zeros(0, bool)) == "0 of 0"
    assert [say_mean([]), say_mean([1.0, np.nan]), say_mean([0.5], ".0%")] == ["–", "–", "50%"]
    assert say_mean([0.25, 0.75], ".0%") == "50% [25%–75%]"
