"""What every registered environment promises, with and without the previous action."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence._keys import derive_key
from remanence.envs import (
    NO_DECISION,
    RIGHT_DECISION,
    WRONG_DECISION,
    AbstractEnvironment,
    PreviousAction,
    make,
    registry,
)
from tests.envs.delayed_copy import delayed_copy_registered
from tests.envs.rollouts import compile_quickly, draw_inputs

NUM_ENVS, NUM_STEPS = 64, 80


class Case(NamedTuple):
    environment: AbstractEnvironment
    params: Any


@pytest.fixture(params=sorted([*registry, "delayed-copy"]), scope="module")
def name(request) -> Iterator[str]:
    """Of ours and, by way of example, of a user's own."""
    with delayed_copy_registered():
        yield request.param


@pytest.fixture(params=[False, True], ids=["plain", "previous-action"], scope="module")
def case(name, request) -> Case:
    return Case(*make(name, previous_action=request.param))


@pytest.fixture(scope="module")
def rollout(case) -> Any:
    """Many auto-resetting steps under random actions: (before, action, key, result of step)."""
    environment, params = case

    def step(before, inputs):
        key, action = inputs
        result = environment.step(key, before[1], action, params)
        return result[:2], (before, action, key, result)

    def run(reset_key, *inputs):
        return jax.lax.scan(step, environment.reset(reset_key, params), inputs)[1]

    inputs = draw_inputs(0, NUM_ENVS, NUM_STEPS, environment.num_actions)
    return jax.tree.map(fetch, jax.jit(jax.vmap(run))(*inputs))


def fetch(leaf: Any) -> Any:
    """An array of NumPy, which is taken apart without compiling; keys stay what they are."""
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)


def assert_same(left: Any, right: Any) -> None:
    """The same structure, types and numbers; numbers exactly, as nothing here rounds."""
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for one, other in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_array_equal(one, other)


def describe(tree: Any) -> Any:
    """Structure, shapes and dtypes, weak types included: what a scan's carry must keep."""
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), tree)


def pick(tree: Any, *index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def select(tree: Any, mask: np.ndarray) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[mask], tree)


def test_it_is_frozen_and_hashable(name, case):
    environment, _ = case
    again, _ = make(name, previous_action=isinstance(environment, PreviousAction))
    assert again == environment
    assert hash(again) == hash(environment)
    with pytest.raises(AttributeError):
        environment.surprise = 1


def test_default_params_are_those_of_make(case):
    assert_same(case.environment.default_params, case.params)
    observation, _ = case.environment.reset(jax.random.key(1))
    assert_same(observation, case.environment.reset(jax.random.key(1), case.params)[0])


def test_shapes_and_dtypes(case):
    environment, params = case
    key, action = jax.random.key(2), jnp.int32(0)
    observation, state = environment.reset(key, params)
    low, high = environment.observation_bounds
    assert low.shape == high.shape == (environment.observation_size,)
    assert low.dtype == high.dtype == np.float32
    seen, _, reward, terminated, truncated, info = environment.step(key, state, action, params)
    vector = ((environment.observation_size,), jnp.float32, False)
    assert describe((observation, seen, info["final_observation"])) == (vector,) * 3
    assert describe(reward) == ((), jnp.float32, False)
    assert describe((terminated, truncated)) == (((), jnp.bool_, False),) * 2
    assert_same((info["terminated"], info["truncated"]), (terminated, truncated))


def test_a_state_can_be_carried_by_a_loop(case):
    environment, params = case
    key = jax.random.key(3)
    _, state = environment.reset(key, params)
    advanced = environment.advance(key, state, jnp.int32(0), params)[0]
    stepped = environment.step(key, state, jnp.int32(0), params)[1]
    assert describe(state) == describe(advanced) == describe(stepped)


def test_observations_stay_within_bounds(case, rollout):
    low, high = case.environment.observation_bounds
    (observation, _), _, _, (_, _, _, _, _, info) = rollout
    for seen in (observation, info["final_observation"]):
        assert (np.asarray(seen) >= low).all()
        assert (np.asarray(seen) <= high).all()


def test_an_observation_is_a_function_of_the_state(case, rollout):
    (observation, state), *_ = rollout
    observe = compile_quickly(jax.vmap(jax.vmap(case.environment.observe)))
    assert_same(observe(state), observation)


def test_a_step_starts_a_new_episode_exactly_where_one_ends(case, rollout):
    environment, params = case
    (_, state), action, key, result = rollout

    def draw_apart(key, state, action):
        final = environment.advance(derive_key(key, "advance"), state, action, params)
        fresh = environment.start(derive_key(key, "start"), params)
        return final, fresh, environment.observe(final[0]), environment.observe(fresh)

    apart = compile_quickly(jax.vmap(jax.vmap(draw_apart)))(key, state, action)
    (final_state, *outcome), fresh_state, last_seen, first_seen = apart
    observation, next_state, reward, terminated, truncated, info = result
    assert_same([reward, terminated, truncated], outcome)
    assert_same((info["terminated"], info["truncated"]), (terminated, truncated))
    assert_same(info["final_observation"], last_seen)
    done = np.asarray(terminated | truncated)
    assert done.any()
    assert not done.all()
    assert_same(select((observation, next_state), done), select((first_seen, fresh_state), done))
    assert_same(select((observation, next_state), ~done), select((last_seen, final_state), ~done))


def test_auto_resets_draw_different_episodes(rollout):
    *_, (_, next_state, _, terminated, truncated, _) = rollout
    done = np.asarray(terminated | truncated)
    opened = [leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(select(next_state, done))]
    assert len(np.unique(np.concatenate(opened, axis=1), axis=0)) > 3


def test_compiled_is_eager(case, rollout):
    environment, params = case
    (_, state), action, key, result = rollout
    done = np.asarray(result[3] | result[4])
    for index in (np.argwhere(done)[0], np.argwhere(~done)[0]):
        key_here, *given = pick((key, state, action), *index)
        eager = environment.step(key_here, *jax.tree.map(jnp.asarray, given), params)
        assert_same(eager, pick(result, *index))
    key = jax.random.key(5)
    assert_same(environment.reset(key, params), jax.jit(environment.reset)(key, params))


def test_a_batch_is_a_loop(case):
    environment, params = case

    def begin(key, action):
        observation, state = environment.reset(key, params)
        return observation, environment.step(key, state, action, params)

    keys = jax.random.split(jax.random.key(6), 20)
    actions = np.arange(20, dtype=np.int32) % environment.num_actions
    batch = jax.tree.map(fetch, compile_quickly(jax.vmap(begin))(keys, actions))
    alone = compile_quickly(begin)
    for member in range(20):
        assert_same(alone(keys[member], actions[member]), pick(batch, member))


def judge_all(environment: AbstractEnvironment, state: Any) -> Any:
    """What each action would be, as a decision."""
    actions = jnp.arange(environment.num_actions)
    return jax.vmap(environment.judge, in_axes=(None, 0))(state, actions)


def play(case: Case, key: Any, coin: Any) -> Any:
    """The return of the script, whose decisions are replaced by random ones where asked."""
    environment, params = case
    script = environment.script()
    if script is None:
        pytest.skip("nobody has written a script")
    act = script.act

    def step(carry):
        key, state, memory, total, _ = carry
        key, coin_key, step_key = jax.random.split(key, 3)
        action, memory = act(environment.observe(state), memory)
        judged = judge_all(environment, state)
        toss = jax.random.categorical(coin_key, jnp.where(judged == NO_DECISION, -jnp.inf, 0.0))
        action = jnp.where(coin & (judged[action] != NO_DECISION), toss, action)
        state, reward, *ends = environment.advance(step_key, state, action, params)
        return key, state, memory, total + reward, ends[0] | ends[1]

    state = environment.start(jax.random.fold_in(key, 1), params)
    carry = (key, state, script.memory, jnp.float32(0), jnp.array(False))
    return jax.lax.while_loop(lambda carry: ~carry[-1], step, carry)[3]


@pytest.fixture(scope="module")
def play_many(case) -> Callable[[bool], np.ndarray]:
    """The returns of many episodes, in one program with and without a coin."""
    compiled = compile_quickly(jax.vmap(lambda key, coin: play(case, key, coin), (0, None)))

    def play_with(coin: bool) -> np.ndarray:
        keys = jax.random.split(jax.random.key(7), 4000)
        return np.asarray(compiled(keys, coin), np.float64)

    return play_with


def test_the_script_earns_the_optimal_return(case, play_many):
    optimal = case.environment.optimal_return(case.params)
    if optimal is None:
        pytest.skip("the optimal return is not known")
    np.testing.assert_allclose(play_many(coin=False), optimal, rtol=1e-5)


def test_what_grows_can_be_set_and_read(case):
    environment, params = case
    growth = environment.growth
    if growth is None:
        pytest.skip("nothing grows")
    assert growth.name.isidentifier()
    assert list(growth.usual) == sorted(set(growth.usual))
    for value in (1, 2, 7, *growth.usual):
        grown = environment.grow(params, value)
        assert jax.tree.structure(grown) == jax.tree.structure(params)
        assert environment.read_growth(grown) == (value, value)
    low, high = environment.read_growth(params) or (0, 0)
    assert 1 <= low <= high


@pytest.mark.parametrize("size", [1, 3])
def test_no_episode_takes_longer_than_its_limit(case, size):
    environment, params = case
    if environment.growth is None:
        pytest.skip("nothing grows")
    grown = environment.grow(params, size)
    limit = environment.time_limit(grown)
    assert limit is not None

    def step(carry, time):
        state, end = carry
        action = jnp.int32(0)
        state, _, *ends = environment.advance(jax.random.key(0), state, action, grown)
        return (state, jnp.where((end == 0) & (ends[0] | ends[1]), time + 1, end)), None

    start = environment.start(jax.random.key(0), grown)
    (_, end), _ = jax.lax.scan(step, (start, jnp.int32(0)), jnp.arange(limit))
    assert 0 < end <= limit


def test_right_decisions_earn_more_than_wrong_ones(case, rollout):
    environment, _ = case
    (_, state), action, _, (_, _, reward, *_) = rollout
    judged = compile_quickly(jax.vmap(jax.vmap(environment.judge)))(state, action)
    assert (judged.shape, judged.dtype) == (action.shape, jnp.int32)
    assert set(np.unique(judged)) == {RIGHT_DECISION, NO_DECISION, WRONG_DECISION}
    reward, judged = np.asarray(reward), np.asarray(judged)
    assert reward[judged == RIGHT_DECISION].min() > reward[judged == WRONG_DECISION].max()


def test_the_optimal_return_is_the_highest_level(case):
    environment, params = case
    levels = environment.levels(params)
    assert levels["optimal"] == environment.optimal_return(params) == max(levels.values())
    assert environment.random_decision_return(params) in levels.values()


def test_an_episode_opens_with_the_cue_that_is_asked_for(case):
    environment, params = case
    cues, idle = environment.cue_observations(), environment.idle_observation()
    if cues is None or idle is None:
        pytest.skip("there are no cues")
    assert len(np.unique(cues, axis=0)) == len(cues)
    numbers = jnp.arange(len(cues), dtype=jnp.int32)

    def open_and_observe(number: jax.Array) -> jax.Array:
        return environment.observe(environment.start_with(number, jax.random.key(0), params))

    seen = np.asarray(compile_quickly(jax.vmap(open_and_observe))(numbers))
    np.testing.assert_array_equal(np.where(cues == idle, 0, seen), np.where(cues == idle, 0, cues))


def test_a_coin_earns_the_return_of_random_decisions(case, play_many):
    expected = case.environment.random_decision_return(case.params)
    if expected is None:
        pytest.skip("there is no decision to be made at random")
    returns = play_many(coin=True)
    error = returns.std(ddof=1) / np.sqrt(len(returns))
    assert abs(returns.mean() - expected) < 4 * error
