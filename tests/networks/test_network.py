import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import cells
from remanence._words import seed_from, seeds_from
from remanence.errors import InvalidOptionError
from remanence.networks import (
    Architecture,
    count_parameters,
    make_architecture,
    make_networks,
    make_policy,
    make_value,
)

KEY = jax.random.key(0)
OBSERVATION_SIZE, NUM_ACTIONS, NUM_STEPS = 3, 4, 12

run = eqx.filter_jit(lambda network, *arguments, **options: network.run(*arguments, **options))


def small(**changes) -> Architecture:
    """An architecture with every part in it, small enough to test."""
    defaults: dict[str, Any] = dict(state_size=4, encoder=(6, 4), head=(5, 3), skip=True)
    return Architecture(**(defaults | changes))


def sequence():
    draws = np.random.default_rng(1)
    observations = draws.normal(size=(NUM_STEPS, OBSERVATION_SIZE)).astype(np.float32)
    return observations, np.isin(np.arange(NUM_STEPS), [0, 5, 6])


def relu(x):
    return np.maximum(x, 0)


def reference_run(network, architecture, observations, first):
    """The forward pass in NumPy, one step at a time, from the paper's chain of layers."""
    states, outputs = [], []
    state = np.zeros(network.cell.state_size, np.float32)
    step, read = eqx.filter_jit(network.cell.step), eqx.filter_jit(network.cell.read)
    for observation, starts in zip(observations, first, strict=True):
        hidden = np.asarray(observation)
        for layer in network.encoder:
            hidden = relu(np.asarray(layer.weight) @ hidden + np.asarray(layer.bias))
        features = hidden
        state = np.zeros_like(state) if starts else state
        state = np.asarray(step(features, state))
        hidden = np.asarray(read(state))
        if architecture.skip:
            hidden = relu(hidden + features)
        for layer in network.head:
            hidden = relu(np.asarray(layer.weight) @ hidden + np.asarray(layer.bias))
        outputs.append(np.asarray(network.output.weight) @ hidden + np.asarray(network.output.bias))
        states.append(state)
    return np.stack(outputs), np.stack(states)


@pytest.mark.parametrize(
    "architecture",
    [
        small(cell="gru"),
        small(cell="mingru", num_layers=3),
        small(cell="hybrid"),
        small(cell="lstm", num_layers=2, state_size=8),
        small(cell="bmru", encoder=(), skip=False),
        small(cell="brc", head=(), skip=False),
    ],
    ids=["gru", "deep mingru", "hybrid", "deep lstm", "no encoder", "no head"],
)
def test_run_is_the_papers_chain_of_layers(architecture):
    # A gain of 1 in the output layer, as the value network has it, so that errors show.
    network = make_value(architecture, OBSERVATION_SIZE, key=KEY)
    observations, first = sequence()
    outputs, states = run(network, observations, first, network.initial_state())
    expected_outputs, expected_states = reference_run(network, architecture, observations, first)
    np.testing.assert_allclose(outputs, expected_outputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states, expected_states, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("changes", [{"encoder": (6,)}, {"cell": "lstm"}])
def test_a_skip_connection_needs_an_encoder_as_wide_as_the_cell(changes):
    size = 2 if changes.get("cell") == "lstm" else 4
    with pytest.raises(InvalidOptionError, match=f"that of the cell's output, {size}"):
        make_value(small(**changes), OBSERVATION_SIZE, key=KEY)


def test_acting_step_by_step_equals_the_run():
    network = make_policy(small(num_layers=2), OBSERVATION_SIZE, NUM_ACTIONS, key=KEY)
    observations, first = sequence()
    outputs, states = jax.device_get(run(network, observations, first, network.initial_state()))
    step = eqx.filter_jit(network.step)
    state = network.initial_state()
    for time in range(NUM_STEPS):
        state = network.initial_state() if first[time] else state
        output, state = step(observations[time], state)
        np.testing.assert_allclose(output, outputs[time], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state, states[time], rtol=1e-5, atol=1e-6)


def test_loop_and_scan_agree_through_a_network():
    network = make_value(small(cell="mingru", num_layers=2), OBSERVATION_SIZE, key=KEY)
    observations, first = sequence()
    by_method = [
        run(network, observations, first, network.initial_state(), method=method)[0]
        for method in ("loop", "scan")
    ]
    np.testing.assert_allclose(*by_method, rtol=1e-5, atol=1e-6)


def test_dropout_is_off_without_noise_and_differs_with_it():
    network = make_value(small(dropout=0.5), OBSERVATION_SIZE, key=KEY)
    same_without = make_value(small(dropout=0.0), OBSERVATION_SIZE, key=KEY)
    observations, first = sequence()
    state = network.initial_state()
    quiet, _ = run(network, observations, first, state)
    np.testing.assert_array_equal(quiet, run(same_without, observations, first, state)[0])
    one, two = (seeds_from(jax.random.key(seed), first.shape) for seed in (1, 2))
    one, _ = run(network, observations, first, state, noise=one)
    two, _ = run(network, observations, first, state, noise=two)
    assert not np.allclose(one, quiet)
    assert not np.allclose(one, two)


def test_dropout_follows_every_layer_but_the_last():
    """With ones everywhere, each drop of a layer's units shows in what the next layer sees."""
    network = make_value(small(dropout=0.5), OBSERVATION_SIZE, key=KEY)
    hidden = jnp.ones(10_000)
    dropped = network._drop(hidden, seed_from(KEY), "any")
    kept = float(jnp.mean(dropped != 0))
    # 4 standard errors of a coin thrown 10 000 times.
    assert abs(kept - 0.5) < 0.02
    np.testing.assert_array_equal(np.unique(dropped), [0, 2])
    seen = []
    original = type(network)._drop

    def spy(self, hidden, noise, layer):
        seen.append(layer)
        return original(self, hidden, noise, layer)

    def run_once(key):
        features = network.encode(jnp.ones(OBSERVATION_SIZE), seed_from(key))
        return network.decode(features, network.initial_state(), seed_from(key))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(network), "_drop", spy)
        jax.eval_shape(run_once, KEY)
    assert seen == ["encoder 0", "encoder 1", "cell", "skip", "head 0", "head 1"]


def test_networks_made_together_are_those_made_apart():
    architecture, keys = small(num_layers=2), jax.random.split(KEY)
    together = jax.jit(
        lambda keys: make_networks(architecture, OBSERVATION_SIZE, NUM_ACTIONS, keys=keys)
    )(keys)
    policy = make_policy(architecture, OBSERVATION_SIZE, NUM_ACTIONS, key=keys[0])
    value = make_value(architecture, OBSERVATION_SIZE, key=keys[1])
    assert jax.tree.structure(together) == jax.tree.structure((policy, value))
    compare = functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6)
    jax.tree.map(compare, together, (policy, value))


def test_heads_start_as_cleanrls():
    policy = make_policy(small(), OBSERVATION_SIZE, NUM_ACTIONS, key=KEY)
    value = make_value(small(), OBSERVATION_SIZE, key=KEY)
    policy_gains = np.linalg.svd(np.asarray(policy.output.weight), compute_uv=False)
    value_gains = np.linalg.svd(np.asarray(value.output.weight), compute_uv=False)
    hidden_gains = np.linalg.svd(np.asarray(policy.head[0].weight), compute_uv=False)
    np.testing.assert_allclose(policy_gains, 0.01, rtol=1e-5)
    np.testing.assert_allclose(value_gains, 1, rtol=1e-5)
    np.testing.assert_allclose(hidden_gains, np.sqrt(2), rtol=1e-5)
    biases = [policy.output.bias, value.output.bias, *(layer.bias for layer in policy.head)]
    assert not any(np.any(bias) for bias in biases)


def test_layers_of_a_stack_start_differently():
    network = make_value(small(num_layers=2), OBSERVATION_SIZE, key=KEY)
    assert isinstance(network.cell, cells.Stack)
    bottom, top = network.cell.cells
    assert isinstance(bottom, cells.GRU)
    assert isinstance(top, cells.GRU)
    assert not np.allclose(bottom.recurrent_weight, top.recurrent_weight)


def expected_tmaze_parameters(cell, inputs=2, units=5):
    """Counted by hand from the equations."""
    recurrent = {
        "gru": 3 * (units * inputs + units * units + units),
        "brc": 3 * (units * inputs + units) + 2 * units,
        "nbrc": 3 * (units * inputs + units) + 2 * units * units,
        "mingru": 2 * (units * inputs + units),
        "bmru": 2 * (units * inputs + units) + units,
        "lstm": 4 * (units * inputs + units * units + units),
    }[cell]
    return recurrent + (units * 20 + 20) + (20 * 10 + 10) + (10 * 4 + 4)


@pytest.mark.parametrize("cell", ["gru", "lstm", "brc", "nbrc", "mingru", "bmru"])
def test_parameters_are_counted(cell):
    architecture = make_architecture("small", cell=cell, state_size=10 if cell == "lstm" else 5)
    policy = make_policy(architecture, 2, 4, key=KEY)
    counts = count_parameters(policy)
    assert sum(count.size for count in counts) == expected_tmaze_parameters(cell)
    assert counts[-1].path == "output.bias"


def test_deep_mingru_parameters_are_counted():
    policy = make_policy(make_architecture("deep-mingru"), 2, 4, key=KEY)
    total = sum(count.size for count in count_parameters(policy))
    layer = 2 * (128 * 128 + 128)
    assert total == (2 * 128 + 128) + 4 * layer + (128 * 64 + 64) + (64 * 16 + 16) + (16 * 4 + 4)
