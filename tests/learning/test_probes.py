"""A ladder of environments, each of which isolates one part of the learner.

Every rung needs the ones below it. The margins are an order of magnitude wider than what the fixed
seed reaches.
"""

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from remanence.envs import AbstractEnvironment
from remanence.networks import Architecture
from remanence.training import PPOConfig, train

NETWORK = Architecture(cell="gru", state_size=4, head=(16,))
CONFIG = PPOConfig(
    num_envs=16,
    num_steps=32,
    num_iterations=60,
    anneal_iterations=60,
    policy_epochs=4,
    value_epochs=8,
    policy_learning_rate=0.01,
    value_learning_rate=0.01,
    discount=0.9,
    entropy_coefficient=0.0,
)


class NoParams(eqx.Module):
    pass


class Task(eqx.Module):
    """`num_steps` steps; a cue of +1 or -1 is seen at the first if `shows_cue`.

    The last step is rewarded: always, or if `needs_action`, when the action says what the cue did
    (when there is none, when it is 1).
    """

    num_steps: Any = eqx.field(default=1, converter=jnp.int32)
    shows_cue: Any = eqx.field(default=False, converter=jnp.bool_)
    needs_action: Any = eqx.field(default=False, converter=jnp.bool_)


class ProbeState(eqx.Module):
    task: Task
    time: Any
    cue: Any


@dataclasses.dataclass(frozen=True)
class Probe(AbstractEnvironment[ProbeState, Task]):
    """All tasks as one environment, so that one compiled program trains on every rung."""

    params_class: ClassVar[type] = Task

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def observation_bounds(self):
        return np.array([-1, 0], np.float32), np.array([1, 1], np.float32)

    def start(self, key, params):
        drawn = jnp.where(jax.random.bernoulli(key), 1.0, -1.0)
        cue = jnp.where(params.shows_cue, drawn, 1.0)
        return ProbeState(params, jnp.zeros((), jnp.int32), cue)

    def advance(self, key, state, action, params):
        last = state.time == params.num_steps - 1
        right = ((action == 1) == (state.cue > 0)) | ~params.needs_action
        reward = jnp.where(last & right, 1.0, 0.0)
        return ProbeState(params, state.time + 1, state.cue), reward, last, jnp.array(False)

    def observe(self, state):
        cue = jnp.where((state.time == 0) & state.task.shows_cue, state.cue, 0.0)
        last = state.time == state.task.num_steps - 1
        return jnp.stack([cue, last.astype(jnp.float32)])


def learn(network=NETWORK, **options):
    return train((Probe(), Task(**options)), network, CONFIG)


def values_along(training, task):
    """The value network's estimates along one episode."""
    value = training.agents[1].value
    step = eqx.filter_jit(value.step)
    state, values = value.initial_state(), []
    for time in range(int(task.num_steps)):
        observation = Probe().observe(ProbeState(task, jnp.int32(time), jnp.float32(1)))
        estimate, state = step(observation, state)
        values.append(float(estimate[0]))
    return values


def test_the_value_of_a_constant():
    np.testing.assert_allclose(values_along(learn(), Task()), [1], atol=0.05)


def test_discounting():
    values = values_along(learn(num_steps=3), Task(num_steps=3))
    np.testing.assert_allclose(values, [0.81, 0.9, 1], atol=0.05)


def test_an_action_that_matters():
    assert learn(needs_action=True).curves["return"][-1, 0] > 0.98


def test_an_action_that_depends_on_what_is_seen():
    assert learn(needs_action=True, shows_cue=True).curves["return"][-1, 0] > 0.98


def test_one_step_of_memory():
    training = learn(num_steps=2, needs_action=True, shows_cue=True)
    assert training.curves["return"][-1, 0] > 0.98


def test_without_memory_the_same_cannot_be_learned():
    """The rung above is about memory: it fails for a cell that has none."""
    network = dataclasses.replace(NETWORK, cell="forgetful")
    training = learn(network, num_steps=2, needs_action=True, shows_cue=True)
    assert training.curves["return"][-1, 0] < 0.65


def test_nothing_is_remembered_across_a_reset():
    """What would help is shown in the episode before: only a learner that leaks could use it."""
    training = train(Hindsight(), NETWORK, CONFIG)
    assert training.curves["return"][-1, 0] < 0.65


class HindsightState(eqx.Module):
    answer: Any
    key: Any


@dataclasses.dataclass(frozen=True)
class Hindsight(AbstractEnvironment[HindsightState, NoParams]):
    """One step; it shows the answer of the *next* episode, which draws from the same key."""

    params_class: ClassVar[type] = NoParams

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def observation_bounds(self):
        return np.array([-1], np.float32), np.array([1], np.float32)

    def start(self, key, params):
        return HindsightState(jnp.int32(0), key)

    def advance(self, key, state, action, params):
        raise NotImplementedError("an episode is one step of `step`")

    def observe(self, state):
        return jnp.where(jax.random.bernoulli(state.key), 1.0, -1.0)[None]

    def step(self, key, state, action, params=None):
        reward = jnp.where(action == state.answer, 1.0, 0.0)
        shown = jax.random.bernoulli(state.key).astype(jnp.int32)
        state = HindsightState(shown, key)
        seen, yes, no = self.observe(state), jnp.array(True), jnp.array(False)
        info = {"terminated": yes, "truncated": no, "final_observation": seen}
        return seen, state, reward, yes, no, info
