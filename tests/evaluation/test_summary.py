import numpy as np
import pytest

from remanence.errors import InvalidOptionError
from remanence.evaluation import summarize_episodes


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
    assert list(summary) == [who, "delay", "return", "low", "high", "num_steps", "outcome"]
    row = {name: column.item() for name, column in summary.items()}
    assert (row[who], row["delay"], row["num_steps"], row["outcome"]) == (7, 20, 0.5, outcome)
    assert row["low"] == row["return"] == row["high"] == ends.count("right") / 2


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


def test_a_missing_column_is_named():
    episodes = make_episodes("seed", ["right"])
    with pytest.raises(InvalidOptionError, match="seed, length, return"):
        summarize_episodes(episodes, "length", exact=True)
