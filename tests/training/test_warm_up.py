"""Networks that are warmed up before training are more multistable, and nothing else is."""

import equinox as eqx
import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs
from remanence.dynamics import compute_vaa
from remanence.errors import InvalidOptionError, MissingMethodError
from remanence.evaluation import make_idle_map
from remanence.networks import Agent, Architecture
from remanence.store import load_arrays
from remanence.training import PPOConfig, change_config, train
from remanence.training._learner import Learner
from remanence.training._warm_up import DISTANCE, soften_vaa

CONFIG = PPOConfig(num_envs=4, num_steps=16, num_iterations=2, policy_epochs=1, value_epochs=1)
MAZE = envs.make("tmaze")
GRU = Architecture(cell="gru")


def begin(num_steps, network=GRU):
    learner = Learner(MAZE[0], network, change_config(CONFIG, {"warm_up": num_steps}))
    state = jax.jit(learner.begin)(jnp.int32(3), MAZE[1])
    return learner.assemble(state.policy, state.value)


@pytest.fixture(scope="module")
def cold():
    return begin(0)


@pytest.fixture(scope="module")
def warm():
    return begin(200)


def measure_vaa(pair, part):
    """The VAA itself, in float64 and after ten times as many steps as are looked at on the way."""
    policy = eqx.tree_at(lambda it: it.output, pair[part], pair[0].output)
    step, starts = make_idle_map(Agent(policy, pair[1], GRU), MAZE[0])
    return compute_vaa(step, starts, compare_float32=False).value


@pytest.mark.parametrize("part", [0, 1], ids=["policy", "value"])
def test_a_monostable_gru_becomes_bistable(cold, warm, part):
    assert measure_vaa(cold, part) == 0.5
    assert measure_vaa(warm, part) == 1


@pytest.mark.parametrize("part", [0, 1], ids=["policy", "value"])
def test_only_recurrent_weights_move(cold, warm, part):
    before, after = cold[part], warm[part]
    assert not np.allclose(before.cell.recurrent_weight, after.cell.recurrent_weight)
    before, after = (
        eqx.tree_at(lambda it: it.cell.recurrent_weight, network, 0.0)
        for network in (before, after)
    )
    assert eqx.tree_equal(before, after)


def test_the_soft_vaa_is_its_definition():
    states = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    total = 0.0
    for one in states:
        alike = [1 - np.tanh(np.linalg.norm(one - other) / DISTANCE) for other in states]
        total += 1 / sum(alike) / len(states)
    np.testing.assert_allclose(soften_vaa(jnp.asarray(states)), total, rtol=1e-5)


def test_the_soft_vaa_has_a_slope_where_states_have_merged():
    merged = jnp.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    assert np.isfinite(jax.grad(soften_vaa)(merged)).all()
    nearly = merged.at[0, 0].add(1e-3)
    assert jax.grad(soften_vaa)(nearly)[0, 0] > 0.1


def test_a_stopped_training_goes_on_where_it_was(tmp_path):
    config, done = change_config(CONFIG, {"warm_up": 3}), []
    train(MAZE, GRU, config, out=tmp_path / "whole")
    train(
        MAZE,
        GRU,
        config,
        out=tmp_path / "stopped",
        on_iteration=done.append,
        should_stop=lambda: len(done) == 1,
    )
    train(MAZE, GRU, config, out=tmp_path / "stopped", resume=True)
    ours, theirs = (
        load_arrays(tmp_path / run / "checkpoint.safetensors")[0] for run in ("whole", "stopped")
    )
    for array in ours:
        np.testing.assert_array_equal(ours[array], theirs[array], err_msg=array)


@pytest.mark.parametrize("cell", ["mingru", "bmru", "hybrid"])
def test_cells_that_are_linear_in_their_state_are_refused(cell):
    with pytest.raises(InvalidOptionError, match=f"warm_up = 5 .*{cell} is linear in its state"):
        begin(5, Architecture(cell=cell, state_size=4))


def test_an_environment_has_to_say_from_where():
    environment = envs.FromGymnax(gymnax.make("CartPole-v1")[0])
    config = change_config(CONFIG, {"warm_up": 5})
    with pytest.raises(MissingMethodError, match="does not define cue_observations"):
        Learner(environment, GRU, config)
