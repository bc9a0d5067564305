import numpy as np
import pytest

from remanence import envs
from remanence.networks import make_architecture
from remanence.training import change_config, get_preset, train

SMALL = {"num_envs": 8, "num_steps": 30, "policy_epochs": 2, "value_epochs": 2}


@pytest.mark.parametrize(
    ("name", "cell"), [("tmaze-long", "nbrc"), ("lookup-tree", "hybrid"), ("lookup-tree", "gru")]
)
def test_presets_train(name, cell):
    """A few iterations at a small size, with the preset's own environment and network."""
    preset = get_preset(name)
    config = change_config(preset.config, SMALL | {"num_iterations": 2})
    training = train(
        envs.make(preset.environment, **preset.environment_options),
        make_architecture(preset.architecture, cell=cell),
        config,
        [1],
    )
    assert training.finished
    for metric in ("policy_loss", "value_loss", "entropy", "kl"):
        assert np.all(np.isfinite(training.curves[metric])), metric
    assert np.all(training.curves["entropy"] > 0)


def test_dropout_changes_updates_and_not_acting():
    """The same first rollout with and without dropout, and then different weights."""
    preset = get_preset("lookup-tree")
    config = change_config(preset.config, SMALL | {"num_iterations": 1})
    env = envs.make(preset.environment, **preset.environment_options)
    curves, weights = [], []
    for dropout in (0.0, 0.1):  # of which 0.1 is the preset's, so that it is compiled already
        network = make_architecture(preset.architecture, cell="gru", dropout=dropout)
        training = train(env, network, config, [1])
        curves.append(training.curves)
        weights.append(np.asarray(training.agents[1].policy.output.weight))
    np.testing.assert_array_equal(curves[0]["return"], curves[1]["return"])
    np.testing.assert_allclose(curves[0]["kl"], 0, atol=1e-2)
    assert not np.allclose(*weights)
