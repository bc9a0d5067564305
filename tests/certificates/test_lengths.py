import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.certificates import LengthSet

LONG = 200


@st.composite
def sets(draw):
    listed = draw(st.lists(st.booleans(), min_size=1, max_size=24))
    return listed, draw(st.integers(1, len(listed)))


def unroll(listed, period):
    """Membership of the first lengths, by the definition."""
    members = list(listed)
    while len(members) < LONG:
        members.append(members[-period])
    return members[:LONG]


@given(sets())
def test_membership_is_that_of_the_definition(given_set):
    lengths = LengthSet(np.array(given_set[0]), given_set[1])
    assert [length in lengths for length in range(1, LONG + 1)] == unroll(*given_set)
    assert lengths.unfold(LONG).tolist() == unroll(*given_set)
    assert 0 not in lengths


@given(sets(), sets())
def test_the_intersection_has_what_both_have(one, other):
    both = LengthSet(np.array(one[0]), one[1]) & LengthSet(np.array(other[0]), other[1])
    expected = [a and b for a, b in zip(unroll(*one), unroll(*other), strict=True)]
    assert both.unfold(LONG).tolist() == expected


@given(sets())
def test_json_and_back(given_set):
    lengths = LengthSet(np.array(given_set[0]), given_set[1])
    assert LengthSet.from_json(json.loads(json.dumps(lengths.to_json()))) == lengths


@given(sets())
def test_the_listing_is_the_shortest_there_is(given_set):
    lengths = LengthSet(np.array(given_set[0]), given_set[1])
    members = unroll(*given_set)
    for period in range(1, lengths.period + 1):
        for listed in range(period, len(lengths.listed) + 1):
            same = unroll(members[:listed], period) == members
            assert same == (period == lengths.period and listed == len(lengths.listed))


@given(sets())
def test_first_missing_complete_and_bounded(given_set):
    lengths, members = LengthSet(np.array(given_set[0]), given_set[1]), unroll(*given_set)
    assert lengths.complete == all(members)
    assert lengths.first_missing == (None if all(members) else members.index(False) + 1)
    assert lengths.bounded == (not any(members[-60:]))


@pytest.mark.parametrize(
    ("listed", "period", "words"),
    [
        ([1], 1, "every length"),
        ([0], 1, "no length"),
        ([1, 0], 1, "length 1"),
        ([1, 1, 1, 0], 1, "lengths 1 to 3"),
        ([0, 1], 1, "all lengths from 2 on"),
        ([0, 1, 0, 1, 1], 1, "lengths 2, and all lengths from 4 on"),
        ([1, 1, 0, 1, 0], 2, "lengths 1, and 1 of every 2 lengths from 2 on"),
        ([0, 1], 2, "1 of every 2 lengths from 1 on"),
    ],
)
def test_words(listed, period, words):
    assert str(LengthSet(np.array(listed, bool), period)) == words
