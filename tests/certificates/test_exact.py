import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs
from remanence.certificates._itinerary import Itinerary
from remanence.certificates._walker import ENDLESS, Spot, Walker, _compile_tape
from remanence.envs import space_lengths
from remanence.errors import InvalidOptionError
from remanence.evaluation import evaluate
from tests.certificates.agents import CELLS, make_agent, solve_by_hand

LENGTHS = [*range(1, 30), 100, 333]
SEEDS = range(4)


@pytest.mark.parametrize("cell", CELLS)
def test_fast_forward_is_plain_stepping_to_the_bit(cell):
    env = envs.make("tmaze")
    agents = {seed: make_agent(cell, seed) for seed in SEEDS}
    plain = evaluate(agents, env, LENGTHS, plain=True).episodes
    fast = evaluate(agents, env, LENGTHS).episodes
    for name in plain:
        np.testing.assert_array_equal(plain[name], fast[name], err_msg=name)


def test_fast_forward_with_the_previous_action_is_plain_stepping_to_the_bit():
    env = envs.make("tmaze", previous_action=True)
    agents = {seed: make_agent("gru", seed, previous_action=True) for seed in range(8)}
    plain = evaluate(agents, env, LENGTHS, plain=True).episodes
    fast = evaluate(agents, env, LENGTHS).episodes
    for name in plain:
        np.testing.assert_array_equal(plain[name], fast[name], err_msg=name)


def test_the_agents_of_these_tests_do_all_that_can_be_done():
    agents = {seed: make_agent("gru", seed) for seed in range(12)}
    ends = evaluate(agents, envs.make("tmaze"), LENGTHS).episodes["end"]
    assert set(ends) == {"right", "wrong", "timeout"}


@eqx.filter_jit
def act_once(agent, environment, key, state, observation, memory, first, params):
    action, memory = agent.act(observation, memory, first)
    *outcome, _ = environment.step(key, state, action.astype(jnp.int32), params)
    return *outcome, memory


def play(agent, environment, goal, length):
    """Return, steps and end of one episode by the environment's own reset and step."""
    params = envs.TMazeParams(length)
    keys = (jax.random.key(number) for number in itertools.count())
    draws = ((key, environment.reset(key, params)) for key in keys)
    key, (observation, state) = next(draw for draw in draws if draw[1][0][0] == goal)
    memory, first = agent.initial_state(), jnp.array(True)
    for num_steps in itertools.count(1):
        observation, state, reward, terminated, truncated, memory = act_once(
            agent, environment, key, state, observation, memory, first, params
        )
        first = jnp.array(False)
        if terminated or truncated:
            end = "timeout" if not terminated else "right" if reward > 0 else "wrong"
            return float(reward), num_steps, end
    raise AssertionError


@pytest.mark.parametrize("length", [1, 2, 4])
def test_plain_stepping_is_what_agent_and_environment_do(length):
    environment, params = envs.make("tmaze")
    for agent in [solve_by_hand(), make_agent("gru", 1), make_agent("gru", 2)]:
        episodes = evaluate(agent, (environment, params), [length], plain=True).episodes
        for cue, goal in enumerate((-1, 1)):
            reward, num_steps, end = play(agent, environment, goal, length)
            assert (episodes["num_steps"][cue], episodes["end"][cue]) == (num_steps, end)
            np.testing.assert_allclose(episodes["return"][cue], reward, rtol=1e-6)


def test_an_agent_made_by_hand_solves_every_length():
    summary = evaluate(solve_by_hand(), envs.make("tmaze")).summarize()
    assert (summary["length"].min(), summary["length"].max()) == (2, 10**6)
    assert set(summary["outcome"]) == {"solved"}
    np.testing.assert_array_equal(summary["return"], 4.0)
    np.testing.assert_array_equal(summary["num_steps"], summary["length"])


def test_agents_of_one_architecture_share_one_executable():
    before = _compile_tape.cache_info().misses
    agents = {seed: make_agent("nbrc", seed, gain=2.5) for seed in SEEDS}
    evaluate(agents, envs.make("tmaze"), [5, 6], plain=True)
    evaluate(agents, envs.make("tmaze"), [5, 6])
    assert _compile_tape.cache_info().misses - before <= 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_orbit_closes_where_a_memory_is_first_seen_again(seed):
    walker = Walker(make_agent("gru", seed, gain=1.5), envs.TMaze())
    itinerary = Itinerary(walker, goal=1)
    itinerary.orbit.extend(100_000)
    closure = itinerary.orbit.closure
    assert closure is not None
    spot, seen, known = Spot(1, ENDLESS), {}, -1
    for time in range(sum(closure) + 1):
        trace = walker.walk(spot, 1)
        assert np.array_equal(trace.memories[0], itinerary.orbit.memory(time))
        known = seen.setdefault(trace.memories[0].tobytes(), time)
        assert (known == time) == (time < sum(closure))
        spot = spot._replace(memory=trace.memories[0])
    assert known == closure.transient


def test_no_time_limit_is_decided_by_repetition_alone():
    env = envs.make("tmaze", time_limit_factor=None)
    agents = {seed: make_agent("gru", seed, gain=1.5) for seed in range(6)}
    unlimited = evaluate(agents, env, [3, 50]).episodes
    limited = evaluate(agents, envs.make("tmaze", time_limit_factor=10_000), [3, 50]).episodes
    np.testing.assert_array_equal(unlimited["end"], limited["end"])
    with pytest.raises(InvalidOptionError, match="needs a time limit"):
        evaluate(agents, env, [3], plain=True)


def test_lengths_are_spread_over_the_decades():
    lengths = space_lengths(2, 10**6)
    assert lengths[0] == 2
    assert lengths[-1] == 10**6
    assert np.all(np.diff(lengths) > 0)
    assert max(b / a for a, b in itertools.pairwise(lengths[5:])) < 1.5
    assert space_lengths(7, 7) == [7]


@pytest.mark.parametrize("bad", [[], [0], [3, -3]])
def test_bad_lengths_are_refused(bad):
    with pytest.raises(InvalidOptionError, match="lengths"):
        evaluate(solve_by_hand(), envs.make("tmaze"), bad)


def test_an_agent_of_another_environment_is_refused():
    with pytest.raises(InvalidOptionError, match="the environment it was trained on"):
        evaluate(solve_by_hand(), envs.make("tmaze", previous_action=True), [3])
