"""Whichever way a rollout is replayed, losses and gradients are the same but for rounding."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import cells, envs, networks
from remanence.networks import Architecture, make_architecture
from remanence.training import PPOConfig, change_config
from remanence.training._engines import CoresEngine
from remanence.training._histories import BLOCK_SIZE, CHUNK_SIZE
from remanence.training._learner import Learner
from remanence.training._node_losses import sum_by_place
from remanence.training._plan import Planner
from remanence.training._replays import Experience, Played, SequenceReplay, TreeReplay
from remanence.training._rollout import Rollout, select_action

NUM_STEPS, NUM_ENVS, NUM_ACTIONS = 20, 45, 3
CONFIG = PPOConfig(num_envs=NUM_ENVS, num_steps=NUM_STEPS, num_minibatches=3)
KEY = jax.random.key(3)


class Backward(cells.AbstractCell):
    """A cell that has a derivative in reverse mode only."""

    weight: jax.Array
    input_size: int = eqx.field(static=True)
    state_size: int = eqx.field(static=True)

    def __init__(self, input_size, state_size, *, key):
        self.input_size, self.state_size = input_size, state_size
        self.weight = jax.random.normal(key, (state_size, input_size + state_size))

    def update(self, projected, state):
        return _squash(self.weight @ jnp.concatenate([projected, state]))


@jax.custom_vjp
def _squash(values):
    return jnp.tanh(values)


_squash.defvjp(lambda u: (jnp.tanh(u), u), lambda u, g: (g * (1 - jnp.tanh(u) ** 2),))


class Own(Backward):
    """A cell that learns how it opens an episode, and knows no input and no state of zeros."""

    start: jax.Array

    def __init__(self, input_size, state_size, *, key):
        super().__init__(input_size, state_size, key=key)
        self.start = jnp.linspace(0.5, 1, state_size)

    def initial_state(self):
        return self.start

    def update(self, projected, state):
        known = jnp.concatenate([values / jnp.linalg.norm(values) for values in (projected, state)])
        return jnp.tanh(self.weight @ known)


@pytest.fixture(scope="module", autouse=True)
def own_cells():
    cells.register("backward", Backward)
    cells.register("own", Own)
    yield
    cells.registry.unregister("backward")
    cells.registry.unregister("own")


ARCHITECTURES = {
    **{cell: Architecture(cell=cell, state_size=4, head=()) for cell in cells.registry},
    # Layers of more units than a chunk has nodes.
    "encoder, skip and layers": make_architecture(
        "deep-mingru", state_size=CHUNK_SIZE + 1, num_layers=2, encoder=(33,), head=(5,)
    ),
    # Beyond the size for which Jacobians are kept.
    "wide": Architecture(cell="gru", state_size=20, head=(7, 5)),
    "backward": Architecture(cell="backward", state_size=4, head=()),
    "own": Architecture(cell="own", state_size=4, head=()),
    "layers of GRUs": Architecture(cell="gru", state_size=4, num_layers=2, head=()),
    "layers of wide GRUs": Architecture(
        cell="gru", state_size=CHUNK_SIZE + 1, num_layers=2, head=()
    ),
}
# What a tree needs more than one block or chunk for, or fills to the last node that fits: 8 chains
# of 96 nodes that hang on one and have nothing in common, but for one node of two of them.
LARGE = {
    "several blocks": {"num_steps": 97, "num_envs": 8, "num_symbols": 10**6},
    "several chunks": {"num_symbols": 10**6, "reset_rate": 0.5},
    "a full tree": {"num_steps": 97, "num_envs": 8, "num_symbols": 10**6, "shared": (8, 2)},
    "one more": {"num_steps": 97, "num_envs": 8, "num_symbols": 10**6, "shared": (8,)},
}


@functools.cache
def draw_networks(architecture):
    """A policy and a value network, with weights drawn by NumPy: nothing is compiled for them."""
    draws = np.random.default_rng(0)

    def draw(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        return (draws.normal(size=leaf.shape) / np.sqrt(leaf.shape[-1])).astype(leaf.dtype)

    shapes = eqx.filter_eval_shape(
        lambda keys: networks.make_networks(architecture, 2, NUM_ACTIONS, keys=keys),
        jax.ShapeDtypeStruct((2,), KEY.dtype),
    )
    policy, value = jax.tree.map(draw, shapes)
    # Policies start next to indifferent.
    policy = eqx.tree_at(lambda it: it.output, policy, move(policy.output, 0.01))
    return jax.device_put((policy, value))


def make_experience(
    pair,
    num_steps=NUM_STEPS,
    num_envs=NUM_ENVS,
    num_symbols=2,
    reset_rate=0.1,
    seed=0,
    alike=False,
    shared=(),
):
    """Random observations, resets, actions and returns; the policy given is the one that acted.

    Episodes that go on to the end open with a few steps of which as many members as `shared` says
    see the same.
    """
    draws = np.random.default_rng(seed)
    shape = (num_steps, num_envs)
    alphabet = draws.normal(size=(num_symbols, 2)).astype(np.float32)
    numbers = [draws.normal(size=shape).astype(np.float32) for _ in range(2)]
    truncated = draws.random(shape) < 0.1
    observation = alphabet[draws.integers(num_symbols, size=shape)]
    first = draws.random(shape) < reset_rate
    if shared:
        first = np.arange(num_steps)[:, None] + np.zeros(shape) == 0
    for time, number in enumerate(shared):
        observation[time, :number] = observation[time, 0]
    happened: dict[str, Any] = {
        "observation": observation,
        "first": first,
        "action": draws.integers(NUM_ACTIONS, size=shape).astype(np.int32),
        "log_probability": np.zeros(shape, np.float32),
        "reward": np.zeros(shape, np.float32),
        "terminated": np.zeros(shape, bool),
        "truncated": truncated,
        "final_observation": np.zeros((*shape, 2), np.float32),
        "episode_return": np.zeros(shape, np.float32),
        "episode_length": np.zeros(shape, np.int32),
    }
    rollout = Rollout(**jax.device_put(happened))
    size = pair[0].cell.state_size
    states = [draws.normal(size=(num_envs, size)).astype(np.float32) for _ in range(2)]
    if alike:
        states = [np.repeat(those[:1], num_envs, axis=0) for those in states]
    acted = act(pair[0], rollout, states[0])
    # Advantages as different in size as those of a maze, most of them equal.
    advantage = np.where(numbers[0] > 1, 10 * numbers[0], np.float32(0.25))
    rest = jax.device_put((advantage, numbers[1], *states))
    return Experience(rollout._replace(log_probability=acted), *rest)


def forget_returns(experience):
    """What was played, of which nothing has been made yet."""
    return Played(experience.rollout, experience.policy_state, experience.value_state)


@eqx.filter_jit
def act(policy, rollout, states):
    logits, _ = policy.run(rollout.observation, rollout.first, states)
    return select_action(jax.nn.log_softmax(logits), rollout.action)


hash_played = jax.jit(Planner.hash, static_argnums=0)


def grow(experience, config=CONFIG):
    planner = Planner(config, NUM_ACTIONS, dropout=False, linear=False, state_size=6, replay="tree")
    played = forget_returns(experience)
    planned = planner.plan(played, hash_played(planner, played))
    assert isinstance(planned, TreeReplay)
    return planned


@eqx.filter_jit
def differentiate_policy(replay, policy, experience, members, config=CONFIG):
    return replay.differentiate_policy(policy, experience, members, config, KEY)


@eqx.filter_jit
def differentiate_value(replay, value, experience, members):
    return replay.differentiate_value(value, experience, members, CONFIG, KEY)


def assert_same_gradients(one, other):
    """Entry by entry, up to what rounding does to the largest of an array."""
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        scale = np.max(np.abs(theirs))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * scale)


def move(network, factor=1.2):
    """Another network than the one that acted."""

    def move_leaf(leaf):
        return (
            jax.device_put(np.float32(factor) * np.asarray(leaf))
            if eqx.is_inexact_array_like(leaf)
            else leaf
        )

    return jax.tree.map(move_leaf, network)


def compare_policies(policy, experience, members, config=CONFIG):
    # Logits start out next to equal; these differ enough for some ratios to be clipped.
    policy = eqx.tree_at(lambda it: it.output, policy, move(policy.output, 100))
    (gradient, metrics), (expected, expected_metrics) = (
        differentiate_policy(replay, policy, experience, members, config)
        for replay in (grow(experience), SequenceReplay())
    )
    assert metrics.keys() == expected_metrics.keys()
    for name in metrics:
        np.testing.assert_allclose(metrics[name], expected_metrics[name], rtol=1e-5, atol=1e-6)
    assert_same_gradients(gradient, expected)
    return metrics


@pytest.fixture(scope="module")
def gru_networks():
    return draw_networks(ARCHITECTURES["gru"])


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_losses_and_gradients_are_those_of_sequences(name):
    pair = draw_networks(ARCHITECTURES[name])
    metrics = compare_policies(pair[0], make_experience(pair), jnp.array([4, 0, 3]))
    assert 0 < metrics["clipped"] < 1


@pytest.mark.parametrize("cell", ["bmru", "hybrid"])
def test_a_margin_of_thresholds_is_the_same_in_both_ways(cell):
    pair = draw_networks(Architecture(cell=cell, state_size=4, num_layers=2, encoder=(3,), head=()))
    config = change_config(CONFIG, {"hold_margin": 0.5, "hold_coefficient": 2.0})
    members, experience = jnp.array([4, 0, 3]), make_experience(pair)
    metrics = compare_policies(pair[0], experience, members, config)
    assert 0 < metrics["hesitation"] < 1
    with_it, without = (
        differentiate_policy(SequenceReplay(), pair[0], experience, members, its)[0]
        for its in (config, CONFIG)
    )
    # What is added differs by what the cells and what they see do to it, and by nothing else.
    assert not np.allclose(with_it.encoder[0].weight, without.encoder[0].weight)
    np.testing.assert_allclose(with_it.output.weight, without.output.weight, rtol=1e-5, atol=1e-7)


def test_the_value_loss_is_that_of_sequences(gru_networks):
    value, members = move(gru_networks[1]), jnp.array([5, 1, 3])
    experience = make_experience(gru_networks)
    gradient, loss = differentiate_value(grow(experience), value, experience, members)
    expected, expected_loss = differentiate_value(SequenceReplay(), value, experience, members)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_same_gradients(gradient, expected)


@eqx.filter_jit
def evaluate(replay, value, played, config):
    return replay.evaluate(value, played, config)


@pytest.mark.parametrize("time_limit_ends", [True, False])
@pytest.mark.parametrize("name", ["gru", "encoder, skip and layers", "own"])
def test_values_are_those_of_sequences(name, time_limit_ends):
    """All of them, but for those of what followed an episode where that counts for nothing."""
    pair = draw_networks(ARCHITECTURES[name])
    config = change_config(CONFIG, {"time_limit_ends": time_limit_ends})
    experience = make_experience(pair)
    rollout = experience.rollout
    # What is observed next is what followed, unless another episode begins.
    followed = np.array(rollout.final_observation)
    followed[:-1] = np.where(rollout.truncated[:-1, :, None], 7, rollout.observation[1:])
    followed[-1] = np.where(rollout.truncated[-1, :, None], 7, rollout.observation[3])
    first = np.array(rollout.first)
    first[1:] = rollout.truncated[:-1]
    rollout = rollout._replace(final_observation=jnp.asarray(followed), first=jnp.asarray(first))
    experience = experience._replace(rollout=rollout)
    ours, plain = (
        evaluate(replay, pair[1], forget_returns(experience), config)
        for replay in (grow(experience), SequenceReplay())
    )
    counts = ~np.asarray(rollout.truncated) | (not time_limit_ends)
    np.testing.assert_allclose(ours.value, plain.value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.last_state, plain.last_state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        np.asarray(ours.next_value)[counts],
        np.asarray(plain.next_value)[counts],
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"reset_rate": 1.1},
        {"reset_rate": -1},
        {"num_symbols": 10**6},
        {"num_symbols": 1},
        {"seed": 1},
        {"num_steps": 1},
        {"num_envs": 1},
    ],
    ids=str,
)
def test_rollouts_of_odd_shapes(gru_networks, changes):
    members = jnp.zeros(1, jnp.int32) if "num_envs" in changes else jnp.array([1, 5, 2])
    experience = make_experience(gru_networks, **changes)
    compare_policies(gru_networks[0], experience, members)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *(("gru", shape) for shape in LARGE),
        ("mingru", "several chunks"),
        ("layers of GRUs", "several chunks"),
        ("layers of wide GRUs", "several chunks"),
    ],
)
def test_large_trees(name, shape):
    pair = draw_networks(ARCHITECTURES[name])
    experience = make_experience(pair, **LARGE[shape])
    tree = grow(experience).tree
    if "shared" in LARGE[shape]:
        full = len(tree.parent_row) - BLOCK_SIZE
        assert tree.num_nodes == (full if shape == "a full tree" else 769)
    compare_policies(pair[0], experience, jnp.array([1, 5, 2]))


def test_states_carried_alike_count_as_one(gru_networks):
    experience = make_experience(gru_networks, reset_rate=0.02, num_symbols=1, alike=True)
    assert grow(experience).tree.num_nodes <= 2 * NUM_STEPS
    compare_policies(gru_networks[0], experience, jnp.array([1, 5, 2]))


def test_many_equal_numbers_add_up():
    """Fifty thousand steps of one history, which added up one by one are wrong by 1e-4."""
    values = jnp.full((50, 1000), 0.1)
    total = jax.jit(sum_by_place, static_argnums=2)(values, jnp.ones((50, 1000), jnp.int32), 2)
    np.testing.assert_allclose(total, [0, 5000], rtol=1e-6)


def plan(experience, replay="auto", **properties):
    planner = Planner(CONFIG, NUM_ACTIONS, replay=replay, state_size=6, **properties)
    played = forget_returns(experience)
    return type(planner.plan(played, hash_played(planner, played)))


def test_the_plan_is_what_pays(gru_networks):
    """A tree where histories repeat, sequences where they do not."""
    repeating = make_experience(gru_networks, num_symbols=1, reset_rate=0.4)
    distinct = make_experience(gru_networks, num_symbols=10**6)
    assert plan(repeating, dropout=False, linear=False) is TreeReplay
    assert plan(distinct, dropout=False, linear=False) is SequenceReplay


def test_dropout_is_never_replayed_by_history(gru_networks):
    repeating = make_experience(gru_networks, num_symbols=1)
    assert plan(repeating, "tree", dropout=True, linear=True) is SequenceReplay


def test_the_first_iterations_agree_whichever_way_they_are_replayed():
    """Three of them. A rounding error becomes another action once it turns a close draw around,
    and from then on two trainings see different episodes; more iterations would only wait for it.
    """
    env, params = envs.make("tmaze", length=(1, 3))
    config = PPOConfig(num_envs=8, num_steps=60, policy_epochs=4, value_epochs=3)
    learner = Learner(env, make_architecture("small", cell="gru", head=()), config)
    engines = [CoresEngine(learner, params, replay) for replay in ("sequence", "tree")]
    for engine in engines:
        engine.begin([1, 2])
    for _ in range(3):
        plain, ours = (engine.iterate() for engine in engines)
        for name in plain:
            np.testing.assert_allclose(ours[name], plain[name], rtol=1e-3, atol=1e-4, err_msg=name)
    plain, ours = (jax.tree.leaves(engine.get_states().policy) for engine in engines)
    for leaf, expected in zip(ours, plain, strict=True):
        np.testing.assert_allclose(leaf, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("value", [0.0, 1e-38, 1e-45])
def test_sums_of_next_to_nothing_are_numbers(value):
    values, place = jnp.full((2, 3), value), jnp.zeros((2, 3), jnp.int32)
    sums = jax.jit(sum_by_place, static_argnums=2)(values, place, 4)
    np.testing.assert_allclose(sums, [6 * value, 0, 0, 0], atol=1e-37)
