import functools
import itertools
import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.cells import LSTM, Stack
from remanence.errors import InvalidOptionError
from tests.cells import reference

jitted_run = jax.jit(LSTM.run)


def name_weights(cell: LSTM) -> reference.Weights:
    names = [f"{kind}{gate}" for kind in ("W_x", "W_h", "b_") for gate in "ifgo"]
    return reference.name_weights(
        names, [*cell.inputs.weight, *cell.recurrent_weight, *cell.inputs.bias]
    )


@pytest.mark.parametrize("seed", range(4))
def test_run_follows_the_equations(seed: int):
    cell = reference.randomise(LSTM(3, 10, key=jax.random.key(seed)), seed)
    episodes = reference.draw_episodes(cell, seed)
    expected = reference.run(reference.step_lstm, name_weights(cell), episodes)
    np.testing.assert_allclose(jitted_run(cell, *episodes), expected, rtol=1e-5, atol=1e-6)


# In double precision, as large weights magnify float32's rounding beyond any useful tolerance.
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_step_follows_the_equations_with_weights_of_any_size(scale: float):
    cell = reference.randomise(LSTM(3, 10, key=jax.random.key(0)), 0, scale)
    computed, expected = reference.compare_steps(cell, reference.step_lstm, name_weights)
    np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-12)


def test_run_is_that_of_pytorch():
    """Its `LSTMCell` in double precision; it has two biases for each gate, of which we sum."""
    table = json.loads(Path(__file__).with_name("lstm.json").read_text())
    torch = {name: np.array(array) for name, array in table["weights"].items()}
    inputs, states = np.array(table["inputs"]), np.array(table["states"])
    size = states.shape[1]
    with jax.enable_x64(True):
        cell = eqx.tree_at(
            lambda it: (it.inputs.weight, it.inputs.bias, it.recurrent_weight),
            LSTM(inputs.shape[1], size, key=jax.random.key(0)),
            (
                jnp.asarray(torch["weight_ih"].reshape(4, size // 2, -1)),
                jnp.asarray((torch["bias_ih"] + torch["bias_hh"]).reshape(4, size // 2)),
                jnp.asarray(torch["weight_hh"].reshape(4, size // 2, -1)),
            ),
        )
        first = jnp.zeros(len(inputs), bool)
        computed = np.asarray(cell.run(jnp.asarray(inputs), first, jnp.asarray(states[0])))
    assert computed.dtype == np.float64
    np.testing.assert_allclose(computed, states[1:], rtol=1e-12, atol=1e-12)


def test_gradient_is_the_slope():
    cell = reference.randomise(LSTM(2, 6, key=jax.random.key(0)), 0)
    gradient, slope = reference.compare_slopes(cell)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    assert np.all(gradient != 0)


def test_later_layers_see_the_output_alone():
    cell = LSTM(3, 10, key=jax.random.key(0))
    assert (cell.input_size, cell.state_size, cell.output_size) == (3, 10, 5)
    state = jnp.arange(10.0)
    np.testing.assert_array_equal(cell.read(state), np.arange(5.0))
    above = LSTM(5, 4, key=jax.random.key(1))
    stack = Stack([cell, above])
    assert (stack.state_size, stack.output_size) == (14, 2)
    after = stack.step(jnp.ones(3), jnp.ones(14))
    below = cell.step(jnp.ones(3), jnp.ones(10))
    np.testing.assert_array_equal(after[:10], below)
    np.testing.assert_array_equal(after[10:], above.step(below[:5], jnp.ones(4)))


def test_weights_start_as_stated():
    cell = LSTM(20, 80, key=jax.random.key(0))
    assert reference.is_xavier(cell.inputs.weight)
    assert not np.any(cell.inputs.bias)
    for weight in cell.recurrent_weight:
        np.testing.assert_allclose(weight @ weight.T, np.eye(40), atol=1e-5)
    for one, other in itertools.combinations(cell.recurrent_weight, 2):
        assert np.max(np.abs(one - other)) > 0.1


def test_forget_gates_may_start_open():
    bias = LSTM(2, 6, key=jax.random.key(0), initial_forget_bias=1.0).inputs.bias
    np.testing.assert_array_equal(bias, np.outer([0, 1, 0, 0], np.ones(3)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state_size": 5}, "state_size = 5 is not possible: an LSTM's must be even"),
        ({"state_size": 0}, "state_size = 0"),
        ({"initial_forget_bias": float("nan")}, "initial_forget_bias = nan"),
    ],
)
def test_impossible_options_are_refused(options: dict, message: str):
    with pytest.raises(InvalidOptionError, match=message):
        functools.partial(LSTM, 3, state_size=4, key=jax.random.key(0))(**options)
