"""Failures are called what they are, on automata whose tables say what happens."""

import pytest

from remanence.certificates import _arrivals
from remanence.certificates._course import find_deviation
from remanence.certificates._exact import step_plainly
from remanence.certificates._failures import explain_loss, explain_waste
from remanence.certificates._itinerary import Itinerary
from remanence.certificates._wording import _locate as locate
from tests.certificates.automata import DOWN, LEFT, RIGHT, UP, Automaton

BUDGET = 10_000


def make(corridor, junction=((0, DOWN),), opening=(0, RIGHT)):
    """An automaton that starts alike after both cues."""
    junction = list(junction) * (len(corridor) // len(junction))
    return Automaton(list(corridor), junction, [[opening, opening], [opening, opening]])


def explain(automaton, length, limit_factor=10, goal=1):
    itineraries = {g: Itinerary(automaton, g) for g in (-1, 1)}
    loss = explain_loss(itineraries, goal, length, limit_factor * length, BUDGET)
    return loss, explain_waste(itineraries, goal, length)


def test_whoever_bumps_into_the_side_turns_early():
    loss, waste = explain(make([(0, UP)]), 5)
    assert loss.kind == waste.kind == "turns early"
    assert loss.num_steps == waste.num_steps == 2
    assert locate(loss) == (
        "at length 5, after the cue 'down', it turns to the side in the corridor, at step 2, "
        "and does not reach the junction in time"
    )


def test_whoever_goes_left_steps_back():
    loss, waste = explain(make([(0, LEFT)]), 5)
    assert loss.kind == waste.kind == "steps back"
    assert "it steps back in the corridor, at step 2" in locate(loss)


def test_whoever_arrives_too_late_does_not_stall_at_the_junction():
    # Eleven bumps, then a step: the arm is taken at once on arrival, after the limit.
    slow = make([(state, UP) for state in range(1, 12)] + [(0, RIGHT)])
    loss, waste = explain(slow, 12)
    assert loss.kind == waste.kind == "turns early"
    assert "does not reach the junction in time" in locate(loss)
    assert "at step 2, before it" in locate(waste, waste=True)


@pytest.mark.parametrize("action", [RIGHT, LEFT])
def test_whoever_does_not_take_an_arm_stalls(action):
    loss, waste = explain(make([(0, RIGHT)], [(0, action)]), 5)
    assert loss.kind == waste.kind == "stalls at the junction"
    assert loss.num_steps is None
    assert "is at the junction, and does not take an arm in time" in locate(loss)


def test_whoever_takes_one_arm_whatever_the_cue_forgets():
    automaton = make([(0, RIGHT)])
    loss, waste = explain(automaton, 5, goal=-1)
    assert loss.kind == waste.kind == "forgets"
    assert locate(loss) == "at length 5 it takes the arm down whatever the cue was"


def test_whoever_takes_the_other_arm_is_wrong():
    openings = [[(0, RIGHT), (1, RIGHT)], [(0, RIGHT), (1, RIGHT)]]
    swapped = Automaton([(0, RIGHT), (1, RIGHT)], [(0, DOWN), (1, UP)], openings)
    loss, waste = explain(swapped, 5)
    assert loss.kind == waste.kind == "wrong arm"
    assert locate(loss) == "at length 5, after the cue 'down', it takes the arm up"


def test_what_was_asked_before_does_not_matter(monkeypatch):
    """Also for an orbit that is too long to be unfolded until its walk settles."""
    period = 600
    moves = [RIGHT, RIGHT, LEFT, LEFT] * (period // 4 - 1) + [RIGHT, RIGHT, LEFT, UP]
    slow = make([((t + 1) % period, move) for t, move in enumerate(moves)], [(0, UP)])
    monkeypatch.setattr(_arrivals, "MOST_STEPS", 4 * period)
    itinerary = Itinerary(slow, -1)
    itinerary.orbit.extend(BUDGET)
    assert itinerary.orbit.closed
    for length in (2, 3, 4):
        assert itinerary.end(length, BUDGET) == step_plainly(slow, -1, length, BUDGET)
    assert find_deviation(itinerary, BUDGET) is not None
