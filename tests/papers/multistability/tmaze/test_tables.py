"""Tables that are derived from the store, against what the agents were made to do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.certificates import LengthSet
from remanence.figures import select_rows
from remanence.papers.multistability.tmaze._lengths import list_stretches
from remanence.papers.multistability.tmaze._tables import derive_tables
from remanence.papers.multistability.tmaze._typical import choose_typical, select_typical_orbits
from remanence.report import read_records
from remanence.store import read_json, write_json
from tests.report.stores import (
    CELLS,
    LENGTHS,
    NUM_ITERATIONS,
    PRESETS,
    SEEDS,
    begin_study,
    reach,
    remembers,
    write_study,
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return derive_tables(read_records(write_study(tmp_path_factory.mktemp("study"))))


def test_outcomes_are_of_both_cues_together(tables):
    outcomes = tables["outcomes"]
    assert len(outcomes["seed"]) == len(PRESETS) * len(CELLS) * len(SEEDS) * len(LENGTHS)
    for index, length in enumerate(outcomes["length"]):
        preset, cell, seed = (outcomes[name][index] for name in ("preset", "cell", "seed"))
        low, high = reach(preset, cell, seed)
        solved = low <= length <= high
        assert outcomes["outcome"][index] == ("solved" if solved else "random")
        np.testing.assert_allclose(outcomes["return"][index], 4.0 if solved else 1.95)


def test_models_sum_up_each_agent(tables):
    models = tables["models"]
    assert len(models["seed"]) == len(PRESETS) * len(CELLS) * len(SEEDS)
    for index, seed in enumerate(models["seed"]):
        row = {name: column[index] for name, column in models.items()}
        low, high = reach(row["preset"], row["cell"], seed)
        assert row["stability"] == ("bistable" if remembers(row["cell"], seed) else "monostable")
        assert row["length"] == 100
        assert row["outcome"] == ("solved" if low <= 100 <= high else "random")
        assert row["outcome_longest"] == ("solved" if high == np.inf else "random")
        assert row["solves_shorter"] == ("yes" if low == 1 and high >= 99 else "no")
        assert row["solves_longer"] == ("yes" if high == np.inf else "no")
        assert row["last_miss"] == (np.inf if high < np.inf else low - 1)
        trained = (2, 3) if row["preset"] == "tmaze-short" else (100,)
        assert row["learned"] == all(low <= length <= high for length in trained)
        assert row["lasting"] == ("yes" if (low, high) == (1, np.inf) else "no")
        assert row["num_iterations"] == NUM_ITERATIONS


@pytest.mark.parametrize(
    ("listed", "runs", "lasting", "learned"),
    [
        (1, [[1, 1]], "yes", True),
        (2, [[2, 2]], "yes", False),
        (3, [[1, 1], [3, 3]], "no", False),
        (2, [[1, 1]], "no", False),
        (4, [[1, 3]], "no", True),
    ],
)
def test_certificates_tell_who_lasts_from_length_two_on_and_who_has_learned(
    tmp_path, listed, runs, lasting, learned
):
    study = write_study(tmp_path)
    path = study / "runs" / "tmaze-short-gru" / "certificates" / "seed-1.json"
    found = read_json(path)
    found["compiled"]["solved"] = {"listed": listed, "period": 1, "runs": runs}
    write_json(path, found)
    models = derive_tables(read_records(study))["models"]
    model = select_rows(models, job="tmaze-short-gru", seed=1)
    assert (model["lasting"].item(), model["learned"].item()) == (lasting, learned)


def test_failures_between_the_evaluated_lengths_count(tmp_path):
    study = write_study(tmp_path)
    path = study / "runs" / "tmaze-long-bmru" / "certificates" / "seed-1.json"
    found = read_json(path)
    found["compiled"]["solved"] = {"listed": 76, "period": 1, "runs": [[1, 73], [76, 76]]}
    write_json(path, found)
    row = select_rows(derive_tables(read_records(study))["models"], job="tmaze-long-bmru", seed=1)
    assert (row["solves_shorter"].item(), row["solves_longer"].item()) == ("no", "yes")
    assert (row["lasting"].item(), row["last_miss"].item()) == ("no", 75)


@pytest.mark.parametrize(("cell", "lasting"), [("bmru", ""), ("gru", "no")])
def test_without_a_certificate_only_failures_are_known(tmp_path, cell, lasting):
    study = write_study(tmp_path)
    path = study / "runs" / f"tmaze-long-{cell}" / "certificates" / "seed-6.json"
    found = read_json(path)
    found["compiled"]["solved"] = None
    write_json(path, found)
    row = select_rows(
        derive_tables(read_records(study))["models"], job=f"tmaze-long-{cell}", seed=6
    )
    assert row["lasting"].item() == lasting
    assert row["solves_longer"].item() == lasting
    assert row["solves_shorter"].item() == ""  # of 2, 3 and 30 even the GRU solves all
    assert np.isnan(row["last_miss"].item())


def test_lengths_are_those_of_the_certificates(tables):
    agent = select_rows(tables["lengths"], preset="tmaze-long", model="gru", seed=1)
    np.testing.assert_array_equal(agent["low"], [50, 50])
    np.testing.assert_array_equal(agent["high"], [np.inf, np.inf])
    agent = select_rows(tables["lengths"], preset="tmaze-short", model="gru", seed=6, kind="solved")
    assert (agent["low"].item(), agent["high"].item()) == (1, 50)


def test_what_is_known_of_an_undecided_agent_is_kept(tmp_path):
    study = write_study(tmp_path)
    path = study / "runs" / "tmaze-short-gru" / "certificates" / "seed-6.json"
    found = read_json(path)
    found["compiled"]["solved"] = None
    write_json(path, found)
    lengths = derive_tables(read_records(study))["lengths"]
    agent = select_rows(lengths, job="tmaze-short-gru", seed=6)
    assert agent["kind"].tolist() == ["optimal", ""]
    assert agent["high"].tolist() == [50, 1]


def test_the_typical_agent_has_the_median_transient(tables):
    # The bistable GRUs 1 to 4 have transients of 10 to 40 steps.
    assert choose_typical(tables["models"], "tmaze-short")["seed"].item() == 2


def test_states_are_the_orbits_of_typical_agents(tables):
    jobs, seeds = np.meshgrid(["tmaze-short-gru", "tmaze-long-gru"], SEEDS)
    orbits = {"job": jobs.ravel(), "seed": seeds.ravel(), "state": seeds.ravel() / 10}
    states = select_typical_orbits(orbits, tables["models"])
    assert states["job"].tolist() == ["tmaze-short-gru", "tmaze-long-gru"]
    assert states["state"].tolist() == [0.2, 0.2]
    assert states["transient"].tolist() == [20, 20]
    nothing = select_typical_orbits(orbits, {name: it[:0] for name, it in tables["models"].items()})
    assert [len(column) for column in nothing.values()] == [0] * 4


def test_of_an_empty_study_there_are_empty_tables(tmp_path):
    begin_study(tmp_path)
    tables = derive_tables(read_records(tmp_path))
    about = {name: columns for name, columns in tables.items() if name not in ("growth", "levels")}
    assert all(len(column) == 0 for columns in about.values() for column in columns.values())
    assert {"stability", "outcome", "transient"} <= set(tables["models"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_stretches_cover_what_the_set_covers(listed, data):
    period = data.draw(st.integers(1, len(listed)))
    lengths = LengthSet(np.array(listed), period)
    stretches = list(list_stretches(lengths))
    for length in range(1, 40):
        (*shares,) = [share for low, high, share in stretches if low <= length <= high]
        assert len(shares) <= 1
        if shares and shares[0] < 1:
            assert length > len(lengths.listed)
        else:
            assert bool(shares) == (length in lengths)
