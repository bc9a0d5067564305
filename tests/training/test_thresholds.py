"""What trainings can ask of cells with thresholds: narrower surrogates, and a margin."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs
from remanence.errors import InvalidOptionError
from remanence.networks import Architecture, Network
from remanence.store import load_arrays
from remanence.training import PPOConfig, change_config, train
from remanence.training._learner import Learner
from remanence.training._replays import SequenceReplay

CONFIG = PPOConfig(num_envs=4, num_steps=16, num_iterations=4, policy_epochs=2, value_epochs=2)
MAZE = envs.make("tmaze")


def make_network(width=1.0, cell="bmru"):
    return Architecture(cell=cell, state_size=4, head=(), cell_options={"surrogate_width": width})


def improve(network, iteration, **changes):
    """The weights of both networks after one iteration, which is taken to be that one."""
    learner = Learner(MAZE[0], network, change_config(CONFIG, changes))

    @jax.jit
    def run():
        state = learner.begin(jnp.int32(1), MAZE[1])
        state = dataclasses.replace(state, iteration=jnp.int32(iteration))
        state, played, _ = learner.play(state, MAZE[1])
        state, experience = learner.judge(state, played, SequenceReplay())
        state, _ = learner.improve_policy(state, experience, SequenceReplay())
        state, _ = learner.improve_value(state, experience, SequenceReplay())
        return state.policy, state.value

    return run()


def assert_close(ours, theirs):
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("iteration", "width"), [(0, 1.0), (1, 0.25), (3, 1 / 64)])
def test_widths_shrink_from_the_first_iteration_to_the_last(iteration, width):
    narrowed = improve(make_network(), iteration, surrogate_narrowing=64.0)
    assert_close(narrowed, improve(make_network(width), iteration))


@pytest.mark.parametrize("part", [0, 1], ids=["policy", "value"])
def test_a_narrower_width_makes_another_network(part):
    ours, theirs = (
        improve(make_network(), 3, surrogate_narrowing=factor)[part].cell.inputs.weight
        for factor in (1.0, 64.0)
    )
    assert not np.allclose(ours, theirs)


def test_a_margin_moves_units_away_from_their_thresholds():
    """With a loss of nearly nothing else, over many steps on the same few observations."""
    changes = {"hold_margin": 1.0, "num_iterations": 30, "policy_epochs": 5}
    made = {
        coefficient: train(
            MAZE, make_network(), change_config(CONFIG, changes | {"hold_coefficient": coefficient})
        ).curves["hesitation"][:, 0]
        for coefficient in (0.0, 100.0)
    }
    assert made[100.0][-1] < 0.5 * made[0.0][-1]


@pytest.mark.parametrize("cell", ["bmru", "hybrid"])
def test_a_stopped_training_goes_on_where_it_was(cell, tmp_path):
    config = change_config(CONFIG, {"surrogate_narrowing": 8.0, "hold_margin": 0.2})
    network, done = make_network(cell=cell), []
    train(MAZE, network, config, out=tmp_path / "whole")
    train(
        MAZE,
        network,
        config,
        out=tmp_path / "stopped",
        on_iteration=done.append,
        should_stop=lambda: len(done) == 2,
    )
    train(MAZE, network, config, out=tmp_path / "stopped", resume=True)
    for name in ("agents/seed-1.safetensors", "checkpoint.safetensors"):
        ours, theirs = (load_arrays(tmp_path / run / name)[0] for run in ("whole", "stopped"))
        assert ours.keys() == theirs.keys()
        for array in ours:
            np.testing.assert_array_equal(ours[array], theirs[array], err_msg=array)
        # The scale of widths belongs to the iteration, and neither to agents nor to checkpoints.
        assert not any("scale" in array for array in ours)


@pytest.mark.parametrize("changes", [{"surrogate_narrowing": 2.0}, {"hold_margin": 0.1}], ids=str)
@pytest.mark.parametrize("cell", ["gru", "mingru"])
def test_cells_without_thresholds_are_refused(cell, changes):
    (option,) = changes
    with pytest.raises(InvalidOptionError, match=f"{option} = .* the cell is {cell}"):
        Learner(MAZE[0], Architecture(cell=cell), change_config(CONFIG, changes))


def test_networks_of_any_cell_can_be_narrowed():
    shape = eqx.filter_eval_shape(
        lambda key: Learner(MAZE[0], Architecture(), CONFIG).make_networks(key)[0],
        jax.random.key(0),
    )
    assert isinstance(shape, Network)
    assert jax.tree.structure(shape.narrow(None)) == jax.tree.structure(shape)
