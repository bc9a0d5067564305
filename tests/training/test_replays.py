"""Whichever way a rollout is replayed, losses and gradients are the same but for rounding."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import cells, envs
from remanence.networks import Architecture, make_architecture, make_policy, make_value
from remanence.training import PPOConfig
from remanence.training._engines import CoresEngine
from remanence.training._learner import Learner
from remanence.training._node_losses import sum_by_place
from remanence.training._plan import Planner
from remanence.training._replays import Experience, SequenceReplay, TreeReplay
from remanence.training._rollout import Rollout, select_action

NUM_STEPS, NUM_ENVS, NUM_ACTIONS = 30, 6, 3
CONFIG = PPOConfig(num_envs=NUM_ENVS, num_steps=NUM_STEPS, num_minibatches=2)
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
    **{cell: Architecture(cell=cell, state_size=6) for cell in cells.registry},
    "encoder, skip and layers": make_architecture(
        "deep-mingru", state_size=8, num_layers=2, encoder=(8,), head=(5,)
    ),
    # Beyond the size for which Jacobians are kept.
    "wide": Architecture(cell="gru", state_size=20),
    "backward": Architecture(cell="backward", state_size=4),
    "own": Architecture(cell="own", state_size=4),
    "layers of GRUs": Architecture(cell="gru", state_size=4, num_layers=2),
    "layers of wide GRUs": Architecture(cell="gru", state_size=17, num_layers=2),
}
# What a tree needs more than one block or chunk for, or fills to the last node that fits.
LARGE = {
    "several blocks": {"num_steps": 100, "num_envs": 8, "num_symbols": 10**6},
    "several chunks": {"num_steps": 20, "num_envs": 45, "num_symbols": 10**6, "reset_rate": 0.5},
    "a full tree": {"num_steps": 96, "num_envs": 8, "num_symbols": 10**6, "reset_rate": -1},
    "one more": {"num_steps": 97, "num_envs": 8, "num_symbols": 10**6, "reset_rate": -1},
}


def make_networks(architecture):
    policy = make_policy(architecture, 2, NUM_ACTIONS, key=jax.random.key(0))
    return policy, make_value(architecture, 2, key=jax.random.key(1))


def make_experience(
    networks,
    num_steps=NUM_STEPS,
    num_envs=NUM_ENVS,
    num_symbols=2,
    reset_rate=0.1,
    seed=0,
    alike=False,
):
    """Random observations, resets, actions and returns; the policy given is the one that acted."""
    draws = np.random.default_rng(seed)
    shape = (num_steps, num_envs)
    alphabet = draws.normal(size=(num_symbols, 2)).astype(np.float32)
    numbers = [jnp.asarray(draws.normal(size=shape), jnp.float32) for _ in range(2)]
    truncated = draws.random(shape) < 0.1
    rollout = Rollout(
        observation=jnp.asarray(alphabet[draws.integers(num_symbols, size=shape)]),
        first=jnp.asarray(draws.random(shape) < reset_rate),
        action=jnp.asarray(draws.integers(NUM_ACTIONS, size=shape)),
        log_probability=jnp.zeros(shape),
        reward=jnp.zeros(shape),
        terminated=jnp.zeros(shape, bool),
        truncated=jnp.asarray(truncated),
        final_observation=jnp.zeros((*shape, 2)),
        episode_return=jnp.zeros(shape),
        episode_length=jnp.zeros(shape, jnp.int32),
    )
    size = len(networks[0].initial_state())
    states = [jnp.asarray(draws.normal(size=(num_envs, size)), jnp.float32) for _ in range(2)]
    if alike:
        states = [jnp.broadcast_to(those[:1], those.shape) for those in states]
    logits, _ = eqx.filter_jit(networks[0].run)(rollout.observation, rollout.first, states[0])
    acted = select_action(jax.nn.log_softmax(logits), rollout.action)
    # Advantages as different in size as those of a maze, most of them equal.
    advantage = jnp.where(numbers[0] > 1, 10 * numbers[0], 0.25)
    return Experience(rollout._replace(log_probability=acted), advantage, numbers[1], *states)


def grow(experience, config=CONFIG):
    planner = Planner(config, NUM_ACTIONS, dropout=False, linear=False, state_size=6, replay="tree")
    planned = planner.plan(experience, jax.jit(planner.hash)(experience))
    assert isinstance(planned, TreeReplay)
    return planned


@eqx.filter_jit
def differentiate_policy(replay, policy, experience, members):
    return replay.differentiate_policy(policy, experience, members, CONFIG, KEY)


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
    return jax.tree.map(lambda leaf: leaf * factor if eqx.is_inexact_array(leaf) else leaf, network)


def compare_policies(policy, experience, members):
    # Logits start out next to equal; these differ enough for some ratios to be clipped.
    policy = eqx.tree_at(lambda it: it.output, policy, move(policy.output, 100))
    gradient, metrics = differentiate_policy(grow(experience), policy, experience, members)
    expected, expected_metrics = differentiate_policy(SequenceReplay(), policy, experience, members)
    assert metrics.keys() == expected_metrics.keys()
    for name in metrics:
        np.testing.assert_allclose(metrics[name], expected_metrics[name], rtol=1e-5, atol=1e-6)
    assert_same_gradients(gradient, expected)
    return metrics


@pytest.fixture(scope="module")
def gru_networks():
    return make_networks(ARCHITECTURES["gru"])


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_losses_and_gradients_are_those_of_sequences(name):
    networks = make_networks(ARCHITECTURES[name])
    metrics = compare_policies(networks[0], make_experience(networks), jnp.array([4, 0, 3]))
    assert 0 < metrics["clipped"] < 1


def test_the_value_loss_is_that_of_sequences(gru_networks):
    value, members = move(gru_networks[1]), jnp.array([5, 1, 3])
    experience = make_experience(gru_networks)
    gradient, loss = differentiate_value(grow(experience), value, experience, members)
    expected, expected_loss = differentiate_value(SequenceReplay(), value, experience, members)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_same_gradients(gradient, expected)


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
    networks = make_networks(ARCHITECTURES[name])
    experience = make_experience(networks, **LARGE[shape])
    compare_policies(networks[0], experience, jnp.array([1, 5, 2]))


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
    planner = Planner(CONFIG, NUM_ACTIONS, replay=replay, **{"state_size": 6, **properties})
    return type(planner.plan(experience, jax.jit(planner.hash)(experience)))


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
    learner = Learner(env, make_architecture("small", cell="gru"), config)
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
