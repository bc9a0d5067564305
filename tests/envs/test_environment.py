"""What an environment is told that lacks something, with and without the previous action."""

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.envs import AbstractEnvironment, PreviousAction
from remanence.errors import MissingMethodError


class NoParams(eqx.Module):
    pass


@dataclasses.dataclass(frozen=True)
class Least(AbstractEnvironment[Any, NoParams]):
    """As little as can be trained on."""

    params_class: ClassVar[type] = NoParams

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def observation_bounds(self):
        return np.zeros(1, np.float32), np.ones(1, np.float32)

    def start(self, key, params):
        return jnp.int32(0)

    def advance(self, key, state, action, params):
        return state + 1, action.astype(jnp.float32), state == 3, jnp.array(False)

    def observe(self, state):
        return (state == 3).astype(jnp.float32)[None]


@pytest.fixture(params=[Least(), PreviousAction(Least())], ids=["plain", "previous-action"])
def environment(request) -> AbstractEnvironment:
    return request.param


def test_nothing_is_made_up(environment):
    params = environment.default_params
    state = environment.start(jax.random.key(0), params)
    assert environment.growth is None
    assert environment.read_growth(params) is None
    assert environment.time_limit(params) is None
    assert environment.situation(state) is None
    assert environment.levels(params) == {}


def test_what_is_missing_is_named(environment):
    params, action = environment.default_params, jnp.int32(0)
    state = environment.start(jax.random.key(0), params)
    with pytest.raises(MissingMethodError, match="Least does not define grow"):
        environment.grow(params, 3)
    with pytest.raises(MissingMethodError, match="Least does not define judge"):
        environment.judge(state, action)
    with pytest.raises(MissingMethodError, match="Least does not define start_with"):
        environment.start_with(jnp.int32(0), jax.random.key(0), params)
