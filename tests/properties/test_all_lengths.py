"""What is said of all lengths, against every length stepped one by one, for random automata."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.certificates._course import chart_course, find_optimal, find_solved
from remanence.certificates._itinerary import Itinerary
from tests.certificates.automata import Automaton, play

NUM_LENGTHS = 40
BUDGET = 20_000
MIXES = [(0.7, 0.1, 0.1, 0.1), (0.4, 0.1, 0.4, 0.1), (0.96, 0.02, 0.01, 0.01), (0.5, 0, 0.5, 0)]

automata = st.builds(
    lambda seed, size, mix: Automaton.draw(np.random.default_rng(seed), size, mix),
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.sampled_from(MIXES),
)
goals = st.sampled_from([-1, 1])
# Memories times positions: an episode that is not over after so many steps never is.
LONGEST = 12 * NUM_LENGTHS + 1


@settings(max_examples=100, deadline=None)
@given(automata, goals)
def test_each_length_ends_as_it_does_step_by_step(automaton, goal):
    itinerary = Itinerary(automaton, goal)
    for length in range(1, NUM_LENGTHS + 1):
        assert itinerary.end(length, BUDGET) == play(automaton, goal, length, LONGEST)


@settings(max_examples=100, deadline=None)
@given(automata, goals, st.sampled_from([0, 1, 2, 10]))
def test_the_set_of_solved_lengths_is_right_at_every_length(automaton, goal, limit_factor):
    course = chart_course(Itinerary(automaton, goal), BUDGET)
    solved = find_solved(course, goal, limit_factor)
    for length in range(1, NUM_LENGTHS + 1):
        arm, num_steps = play(automaton, goal, length, LONGEST)
        in_time = not limit_factor or num_steps <= limit_factor * length
        assert (length in solved) == (arm == goal and in_time), length


@settings(max_examples=100, deadline=None)
@given(automata, goals)
def test_the_set_of_optimal_lengths_is_right_at_every_length(automaton, goal):
    optimal = find_optimal(Itinerary(automaton, goal), BUDGET)
    for length in range(1, NUM_LENGTHS + 1):
        assert (length in optimal) == (play(automaton, goal, length, LONGEST) == (goal, length))


@pytest.mark.parametrize("length", [10**4, 10**5 + 1])
@settings(max_examples=10, deadline=None)
@given(automata, goals)
def test_long_lengths_end_as_they_do_step_by_step(length, automaton, goal):
    course = chart_course(Itinerary(automaton, goal), BUDGET)
    arm, num_steps = play(automaton, goal, length, 3 * length)
    assert (length in find_solved(course, goal, 3)) == (arm == goal and num_steps <= 3 * length)
