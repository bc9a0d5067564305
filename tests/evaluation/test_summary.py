import numpy as np
import pytest
from scipy import stats

from remanence.errors import InvalidOptionError
from remanence.evaluation import MEASURES, summarize_episodes


def make_episodes(who: str, ends: list[str]) -> dict[str, np.ndarray]:
    """One agent at one delay, which earns 1 where it is right."""
    count = len(ends)
    return {
        "preset": np.full(count, "short"),
        who: np.full(count, 7),
        "delay": np.full(count, 20),
        "return": np.array([1.0 if end == "right" else 0.0 for end in ends]),
        "num_steps": np.arange(count),
        "end": np.array(ends),
    }


@pytest.mark.parametrize("who", ["agent", "seed"])
@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        (["right", "right"], "solved"),
        (["right", "wrong"], "random"),
        (["wrong", "wrong"], "random"),
        (["right", "timeout"], "timeout"),
        (["wrong", "timeout"], "timeout"),
    ],
)
def test_outcomes(who, ends, outcome):
    summary = summarize_episodes(make_episodes(who, ends), "delay", exact=True)
    assert list(summary) == [who, "delay", *MEASURES]
    row = {name: column.item() for name, column in summary.items()}
    assert (row[who], row["delay"], row["num_steps"], row["outcome"]) == (7, 20, 0.5, outcome)
    assert row["low"] == row["return"] == row["high"] == ends.count("right") / 2
    assert row["timeouts"] == ends.count("timeout") / 2


def test_rows_come_in_the_order_of_their_first_episodes():
    one, two = make_episodes("seed", ["right", "wrong"]), make_episodes("seed", ["right", "right"])
    one["seed"] = np.array([9, 2])
    two["seed"] = np.array([2, 9])
    both = {name: np.concatenate([one[name], two[name]]) for name in one}
    summary = summarize_episodes(both, "delay", exact=False)
    assert summary["seed"].tolist() == [9, 2]
    assert summary["outcome"].tolist() == ["solved", "random"]
    assert summary["high"][0] == 1
    assert summary["high"][1] > 1


@pytest.fixture
def episodes():
    """Five cues with four episodes each, which differ more between cues than within them."""
    generator = np.random.default_rng(0)
    cues = np.tile(np.arange(5), 4)
    skill = np.array([0.1, 0.5, 0.9, 0.6, 0.8])[cues]
    taken = generator.integers(0, 30, 20)
    found = make_episodes("seed", ["wrong"] * 20)
    return {
        **found,
        "cue": cues,
        "return": skill + 0.01 * generator.normal(size=20),
        "num_right": generator.binomial(taken, skill),
        "num_decisions": taken,
    }


def summarize(episodes, exact=False):
    summary = summarize_episodes(episodes, "delay", exact=exact)
    return {name: column.item() for name, column in summary.items()}


def find_interval(values):
    """Student's, by SciPy."""
    return stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))


def test_intervals_are_over_cues(episodes):
    row = summarize(episodes)
    means = [episodes["return"][episodes["cue"] == cue].mean() for cue in range(5)]
    np.testing.assert_allclose((row["low"], row["high"]), find_interval(means))
    np.testing.assert_allclose(row["return"], episodes["return"].mean())


@pytest.mark.parametrize("cues", ["none", "one"])
def test_intervals_are_over_episodes_where_there_are_not_two_cues(episodes, cues):
    del episodes["cue"]
    if cues == "one":
        episodes["cue"] = np.full(20, 3)
    row = summarize(episodes)
    np.testing.assert_allclose((row["low"], row["high"]), find_interval(episodes["return"]))


def test_the_share_of_right_decisions_is_of_all_that_were_taken(episodes):
    row = summarize(episodes)
    right, taken = episodes["num_right"], episodes["num_decisions"]
    share = right.sum() / taken.sum()
    np.testing.assert_allclose(row["share_right"], share)
    np.testing.assert_allclose(row["num_decisions"], taken.mean())
    # The error of a ratio, to first order, is what it changes by when a cue is left out, summed up.
    changes = []
    for cue in range(5):
        rest = episodes["cue"] != cue
        changes.append(4 * (right[rest].sum() / taken[rest].sum() - share))
    jackknife = np.std(changes, ddof=1) / np.sqrt(5)
    half = (row["share_high"] - row["share_low"]) / 2
    np.testing.assert_allclose(half, stats.t.ppf(0.975, 4) * jackknife, rtol=0.25)


def test_with_equally_many_decisions_the_interval_is_that_of_the_cues_shares(episodes):
    episodes["num_decisions"] = np.full(20, 30)
    row = summarize(episodes)
    shares = [episodes["num_right"][episodes["cue"] == cue].sum() / 120 for cue in range(5)]
    np.testing.assert_allclose((row["share_low"], row["share_high"]), find_interval(shares))


def test_exact_episodes_leave_no_interval(episodes):
    row = summarize(episodes, exact=True)
    assert row["low"] == row["return"] == row["high"]
    assert row["share_low"] == row["share_right"] == row["share_high"]


@pytest.mark.parametrize("known", ["nothing", "null", "none taken"])
def test_a_share_of_nothing_is_unknown(episodes, known):
    for name in ("num_right", "num_decisions"):
        if known == "nothing":
            del episodes[name]
        else:
            mask = known == "null"
            episodes[name] = np.ma.array(np.zeros(20, int), mask=mask)
    row = summarize(episodes)
    assert np.isnan([row["share_right"], row["share_low"], row["share_high"]]).all()
    np.testing.assert_equal(row["num_decisions"], 0.0 if known == "none taken" else np.nan)


@pytest.fixture
def ends():
    """Ends of one cue, of which a tenth of all chances is not known."""
    found = make_episodes("seed", ["right", "wrong"])
    return {**found, "cue": np.zeros(2, int), "probability": np.array([0.75, 0.15])}


@pytest.mark.parametrize(
    ("returns", "spread"), [({"right": 1.0, "wrong": -3.0, "timeout": 0.0}, 4.0), (None, 1.0)]
)
def test_what_is_left_out_may_have_earned_any_return(ends, returns, spread):
    summary = summarize_episodes(ends, "delay", exact=True, returns=returns)
    low, mean, high = (summary[name].item() for name in ("low", "return", "high"))
    assert mean == pytest.approx(0.75 / 0.9)
    assert (low, high) == pytest.approx((mean - spread / 9, mean + spread / 9))


def test_a_missing_column_is_named():
    episodes = make_episodes("seed", ["right"])
    with pytest.raises(InvalidOptionError, match="seed, length, return"):
        summarize_episodes(episodes, "length", exact=True)
