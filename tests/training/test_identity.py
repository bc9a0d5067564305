"""Programs may be shared exactly where nothing that they depend on differs."""

import dataclasses
from typing import Any

import gymnax
import jax
import numpy as np
import pytest

from remanence import cells, envs
from remanence.envs import FromGymnax, PreviousAction, TMaze
from remanence.networks import Architecture
from remanence.training import PPOConfig, change_config
from remanence.training._identity import freeze, identify
from remanence.training._learner import Learner


@dataclasses.dataclass(frozen=True)
class Scaled(TMaze):
    scale: Any = 1


def make_learner(env=None, network=None, **changes):
    config = change_config(PPOConfig(), changes)
    return Learner(env or TMaze(), network or Architecture(), config)


def test_equal_learners_are_the_same():
    network = Architecture(cell="bmru", cell_options={"surrogate_width": 2.0})
    ours, theirs = (make_learner(PreviousAction(TMaze()), network) for _ in range(2))
    assert identify(ours, "cores") == identify(theirs, "cores") is not None
    assert hash(identify(ours)) == hash(identify(theirs))


def test_how_long_it_lasts_does_not_matter():
    assert identify(make_learner(num_iterations=3)) == identify(make_learner())


def test_how_long_it_lasts_matters_where_widths_shrink_until_the_end():
    network = Architecture(cell="bmru")
    ours, theirs = (
        make_learner(network=network, surrogate_narrowing=2.0, num_iterations=number)
        for number in (3, 4)
    )
    assert identify(ours) != identify(theirs)


VARIANTS = {
    "another environment": make_learner(Scaled()),
    "another option of the environment": make_learner(Scaled(scale=2)),
    # Equal to Python, and other types to JAX.
    "a float for an integer": make_learner(Scaled(scale=1.0)),
    "a truth for an integer": make_learner(Scaled(scale=True)),
    "an array": make_learner(Scaled(scale=np.ones(2))),
    "another array": make_learner(Scaled(scale=np.zeros(2))),
    "a wrapper": make_learner(PreviousAction(TMaze())),
    "another network": make_learner(network=Architecture(state_size=6)),
    "another cell": make_learner(network=Architecture(cell="nbrc")),
    "another number": make_learner(discount=0.5),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_whatever_differs_makes_another(name):
    others = [make_learner(), *(VARIANTS[other] for other in VARIANTS if other != name)]
    assert identify(VARIANTS[name]) not in [None, *map(identify, others)]


def test_engines_and_settings_of_jax_make_another():
    learner = make_learner()
    keys = [identify(learner), identify(learner, "cores"), identify(learner, "vmap")]
    with jax.default_matmul_precision("bfloat16"):
        keys.append(identify(learner))
    with jax.numpy_dtype_promotion("standard"):
        keys.append(identify(learner))
    with jax.enable_x64(True):
        keys.append(identify(learner))
    assert len(set(keys)) == 6


def test_a_name_that_is_registered_anew_is_another_cell():
    keys = []
    for factory in (cells.GRU, cells.MinGRU):
        cells.register("renewed", factory)
        keys.append(identify(make_learner(network=Architecture(cell="renewed"))))
        cells.registry.unregister("renewed")
    assert keys[0] != keys[1]


def test_what_may_change_unseen_is_not_told(monkeypatch):
    assert identify(make_learner(FromGymnax(gymnax.make("CartPole-v1")[0]))) is None
    assert identify(make_learner(Scaled(scale=object()))) is None
    assert identify(make_learner(Scaled())) is not None
    # As in a notebook, whose next cell may change a variable that the class reads.
    monkeypatch.setattr(Scaled, "__module__", "__main__")
    assert identify(make_learner(Scaled())) is None


def test_every_environment_and_cell_of_ours_is_told():
    for name in envs.registry:
        assert identify(make_learner(envs.make(name)[0])) is not None
    for name in cells.registry:
        network = Architecture(cell=name, state_size=6)
        assert identify(make_learner(network=network)) is not None


def test_values_freeze_by_what_they_are():
    values = [1, 1.0, True, "1", -0.0, 0.0, None, (1,), [1], frozenset({1}), {"a": 1}, {"a": 2}]
    frozen = [freeze(value) for value in values]
    assert len(set(frozen)) == len(values)
    assert frozen == [freeze(value) for value in values]
