"""What a summary counts where the number of mazes grows, from tables made by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from remanence.study._summary import find_lasting, summarize

LABELS = {"preset": "lookup-tree", "network": "wide", "cell": "gru", "variant": ""}


def make_entries(*tables) -> Any:
    """A run whose agents can have these tables."""
    return [SimpleNamespace(can_have=lambda table: table in tables)]


def label(cell, **columns):
    number = len(columns["seed"])
    labels = {name: np.full(number, it) for name, it in (LABELS | {"cell": cell}).items()}
    return labels | {name: np.array(column) for name, column in columns.items()}


def make_outcomes(cell, *returns):
    """Two agents, each at 10, 100 and 1,000 mazes."""
    return label(
        cell,
        seed=[1, 1, 1, 2, 2, 2],
        num_mazes=[10, 100, 1_000] * 2,
        outcome=["random"] * 6,
        **{"return": returns},
    )


def make_tables():
    return {
        "curves": [],
        "stability": [label("gru", seed=[1, 2], stability=["multistable", "monostable"])],
        "certificates": [],
        "outcomes": [make_outcomes("gru", 4, 3, 2, 3, 3, 1), make_outcomes("bmru", *[2] * 6)],
        "sampled_outcomes": [make_outcomes("gru", 3.5, 3, 2.5, 2.5, 3, 1.5)],
        "maze_certificates": [
            label(
                "gru",
                seed=[1, 1, 2, 2],
                walk=["greedy", "any", "greedy", "any"],
                verdict=["refuted", "certified", "certified", "undecided"],
            )
        ],
    }


def test_returns_at_the_least_and_the_greatest_number_are_averaged():
    found = summarize(make_entries("maze_certificates"), make_tables())
    assert found.columns[4:] == [
        *("agents", "multistable", "return_at_10", "return_at_1000"),
        *("sampled_return_at_10", "sampled_return_at_1000", "certified_for_every_table"),
    ]
    bmru, gru = found.fetchall()
    assert gru[2:] == ("gru", "", 2, 1, 3.5, 1.5, 3.0, 2.0, 1)
    # Nothing else is known of them.
    assert bmru[2:] == ("bmru", "", 2, None, 2.0, 2.0, None, None, None)


def test_of_corridors_it_is_counted_who_solves_them():
    outcomes = label("gru", seed=[1, 1], length=[2, 100], outcome=["solved"] * 2)
    tables = {name: [] for name in make_tables()}
    tables["outcomes"] = [outcomes | {"return": np.ones(2)}]
    found = summarize(make_entries("certificates"), tables)
    assert found.columns[4:] == ["agents", "solved_at_100"]
    assert found.fetchall()[0][4:] == (1, 1)
    # Of a task of somebody's own in which a length grows too, nobody certifies all of them.
    found = summarize(make_entries(), tables)
    assert found.columns[4:] == ["agents", "return_at_2", "return_at_100"]
    assert found.fetchall()[0][4:] == (1, 1.0, 1.0)


def test_a_memory_lasts_if_every_table_is_certified_however_an_agent_walks():
    columns = make_tables()["maze_certificates"][0]
    assert find_lasting(columns) == {1: True, 2: False}
