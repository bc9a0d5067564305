import dataclasses

import pytest

from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.training import PPOConfig, change_config, get_preset, presets


def test_the_papers_table_for_the_tmaze():
    for name in ("tmaze-short", "tmaze-long"):
        config = get_preset(name).config
        assert (config.num_envs, config.num_steps, config.num_iterations) == (50, 1400, 250)
        assert config.num_envs * config.num_steps * config.num_iterations == 17_500_000
        assert (config.num_minibatches, config.num_envs // config.num_minibatches) == (2, 25)
        assert (config.policy_epochs, config.value_epochs) == (20, 10)
    assert get_preset("tmaze-short").environment_options == {"length": (1, 3)}
    assert get_preset("tmaze-long").environment_options == {"length": 100}


def test_the_papers_table_for_the_lookup_tree_maze():
    preset = get_preset("lookup-tree")
    config = preset.config
    assert config.num_envs * config.num_steps * config.num_iterations == 128_000_000
    assert (config.num_minibatches, config.num_envs // config.num_minibatches) == (8, 256)
    assert (config.policy_epochs, config.value_epochs) == (10, 10)
    assert preset.environment_options == {"num_mazes": (1, 20), "length": (1, 3)}


def test_what_all_trainings_of_the_paper_share():
    for preset in map(get_preset, presets):
        config = preset.config
        assert (config.policy_learning_rate, config.value_learning_rate) == (0.005, 0.001)
        assert (config.anneal_iterations, config.max_gradient_norm) == (250, 1)
        assert (config.clip_range, config.value_coefficient) == (0.2, 1)
        assert (config.entropy_coefficient, config.max_kl) == (0.01, 0.2)
        assert (config.advantage_decay, config.discount) == (0.98, 0.998)


def test_any_number_can_be_changed():
    changed = change_config(PPOConfig(), {"discount": 0.5, "num_envs": 8})
    assert (changed.discount, changed.num_envs) == (0.5, 8)
    assert hash(changed) != hash(PPOConfig())
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.discount = 0.9  # pyrefly: ignore[read-only]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_steps": 0}, "num_steps = 0"),
        ({"num_steps": 10**11}, "num_steps = 100000000000"),
        ({"num_envs": 2**20, "num_steps": 2**11}, "their product may be up to 2,147,483,647"),
        ({"value_epochs": 10_001}, "value_epochs = 10001 .* from 1 to 10,000"),
        ({"policy_epochs": 10_001}, "policy_epochs = 10001 .* from 1 to 10,000"),
        ({"num_minibatches": 3}, "must divide the number of environments, num_envs = 50"),
        ({"discount": 1.1}, "discount = 1.1"),
        ({"clip_range": -0.1}, "clip_range = -0.1"),
        ({"state_passing": 1.5}, "state_passing = 1.5 .* it cannot exceed 1"),
        ({"surrogate_narrowing": 0.5}, "surrogate_narrowing = 0.5 .* use 1 .not at all. or more"),
        ({"surrogate_narrowing": float("inf")}, "surrogate_narrowing = inf"),
        ({"warm_up": -1}, "warm_up = -1 .* from 0 to"),
        ({"hold_margin": -1.0}, "hold_margin = -1.0 .* use a number of 0 or more"),
        ({"initialization": "zeros"}, "initialization = 'zeros' .* use one of xavier, orthogonal"),
    ],
)
def test_impossible_numbers_are_refused(changes, message):
    with pytest.raises(InvalidOptionError, match=message):
        change_config(PPOConfig(), changes)


def test_what_earlier_versions_did_not_have_is_told_where_it_is_another():
    """So that a run of theirs can be resumed, and a study of theirs goes on with its agents."""
    usual = PPOConfig().to_json()
    assert usual["normalize_advantages"] is True
    changes = {"time_limit_ends": True, "initialization": "pytorch", "state_passing": 0.5}
    changes |= {
        "warm_up": 5,
        "surrogate_narrowing": 4.0,
        "hold_margin": 0.1,
        "hold_coefficient": 1.0,
    }
    assert changes.keys().isdisjoint(usual)
    assert change_config(PPOConfig(), changes).to_json() == {**usual, **changes}


def test_unknown_names_come_with_the_nearest_known():
    with pytest.raises(UnknownNameError, match="Did you mean 'tmaze-short'"):
        get_preset("tmaze-shrt")
    with pytest.raises(UnknownNameError, match="Did you mean 'discount'"):
        change_config(PPOConfig(), {"discont": 0.9})
