"""Cells and environments of a user's own, with more in them than floating-point arrays."""

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import cells, envs
from remanence.envs import AbstractEnvironment, FromGymnax
from remanence.networks import Architecture
from remanence.training import PPOConfig, RunDirectory, train

CONFIG = PPOConfig(num_envs=4, num_steps=16, num_iterations=2, policy_epochs=2, value_epochs=1)


class Assorted(cells.AbstractCell):
    """A network, a number, a shuffled order and a function beside the weights."""

    network: eqx.nn.MLP
    gain: float
    order: jax.Array
    input_size: int = eqx.field(static=True)
    state_size: int = eqx.field(static=True)

    def __init__(self, input_size, state_size, *, key):
        self.input_size, self.state_size = input_size, state_size
        self.network = eqx.nn.MLP(input_size + state_size, state_size, 8, 1, key=key)
        self.gain = 0.5
        self.order = jax.random.permutation(key, state_size)

    def update(self, projected, state):
        return self.gain * self.network(jnp.concatenate([projected, state[self.order]]))


@pytest.fixture
def assorted_cell():
    cells.register("assorted", Assorted)
    yield "assorted"
    cells.registry.unregister("assorted")


@pytest.mark.parametrize("batching", ["cores", "vmap"])
def test_a_cell_of_many_parts_is_trained_saved_and_loaded(assorted_cell, batching, tmp_path):
    network = Architecture(cell=assorted_cell, head=())
    out = tmp_path / "run"
    training = train(envs.make("tmaze"), network, CONFIG, [1, 2], out=out, batching=batching)
    loaded = RunDirectory(out).load_agents()
    for seed, agent in training.agents.items():
        cell, again = agent.policy.cell, loaded[seed].policy.cell
        assert isinstance(cell, Assorted)
        assert isinstance(again, Assorted)
        assert cell.gain == again.gain == 0.5
        np.testing.assert_array_equal(cell.order, again.order)
        np.testing.assert_array_equal(cell.network.layers[0].weight, again.network.layers[0].weight)
    orders = [agent.policy.cell.order for agent in training.agents.values()]  # pyrefly: ignore[missing-attribute]
    assert not np.array_equal(*orders), "each seed draws its own"


class NoParams(eqx.Module):
    pass


@dataclasses.dataclass(frozen=True)
class Noise(AbstractEnvironment[Any, Any]):
    """Keeps a key in its state, and a set among its options, which JSON has not."""

    labels: Any = frozenset({1})

    params_class: ClassVar[type] = NoParams

    @property
    def num_actions(self):
        return 2

    @property
    def observation_bounds(self):
        return np.zeros(1, np.float32), np.ones(1, np.float32)

    def start(self, key, params):
        return jnp.int32(0), key

    def advance(self, key, state, action, params):
        time, own_key = state
        state = (time + 1, jax.random.fold_in(own_key, time))
        return state, action.astype(jnp.float32), time == 3, jnp.array(False)

    def observe(self, state):
        return jax.random.uniform(state[1], (1,))


def test_an_environment_with_a_key_in_its_state_resumes(tmp_path):
    network = Architecture(head=())
    whole = train(Noise(), network, CONFIG, out=tmp_path / "whole")
    train(Noise(), network, CONFIG, out=tmp_path / "run", should_stop=lambda: True)
    resumed = train(Noise(), network, CONFIG, out=tmp_path / "run", resume=True)
    for name, curve in whole.curves.items():
        np.testing.assert_array_equal(curve, resumed.curves[name])


def test_a_gymnax_environment_is_trained_on_and_written(tmp_path):
    environment = FromGymnax(gymnax.make("CartPole-v1")[0])
    out = tmp_path / "run"
    # gymnax mixes types and ranks as JAX allows by default.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        assert train(environment, Architecture(head=()), CONFIG, out=out).finished
    assert RunDirectory(out).read_description()["what"]["environment"]["class"] == "FromGymnax"
