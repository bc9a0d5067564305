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


class ProbeState(eqx.Module):
    time: Any
    cue: Any
    rewarded: Any


@dataclasses.dataclass(frozen=True)
class Probe(AbstractEnvironment[ProbeState, NoParams]):
    """`num_steps` steps; a cue of +1 or -1 is seen at the first if `shows_cue`.

    The last step is rewarded: always, or if `needs_action`, when the action says what the cue did
    (when there is none, when it is 1).
    """

    num_steps: int = 1
    shows_cue: bool = False
    needs_action: bool = False

    params_class: ClassVar[type] = NoParams

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def observation_bounds(self):
        return np.array([-1, 0], np.float32), np.array([1, 1], np.float32)

    def start(self, key, params):
        cue = jnp.where(jax.random.bernoulli(key), 1.0, -1.0) if self.shows_cue else jnp.ones(())
        return ProbeState(jnp.zeros((), jnp.int32), cue, jnp.zeros(()))

    def advance(self, key, state, action, params):
        last = state.time == self.num_steps - 1
        right = (action == 1) == (state.cue > 0) if self.needs_action else jnp.array(True)
        reward = jnp.where(last & right, 1.0, 0.0)
        state = ProbeState(state.time + 1, state.cue, reward)
        return state, reward, last, jnp.array(False)

    def observe(self, state):
        cue = jnp.where((state.time == 0) & self.shows_cue, state.cue, 0.0)
        return jnp.stack([cue, (state.time == self.num_steps - 1).astype(jnp.float32)])


def values_along(training, environment, cue=1.0):
    """The value network's estimates along one episode."""
    agent = training.agents[1]
    state, episode = agent.value.initial_state(), ProbeState(jnp.int32(0), jnp.float32(cue), None)
    values = []
    for time in range(environment.num_steps):
        episode = ProbeState(jnp.int32(time), episode.cue, None)
        value, state = agent.value.step(environment.observe(episode), state)
        values.append(float(value[0]))
    return values


def test_the_value_of_a_constant():
    environment = Probe()
    training = train(environment, NETWORK, CONFIG)
    np.testing.assert_allclose(values_along(training, environment), [1], atol=0.05)


def test_discounting():
    environment = Probe(num_steps=3)
    training = train(environment, NETWORK, CONFIG)
    np.testing.assert_allclose(values_along(training, environment), [0.81, 0.9, 1], atol=0.05)


def test_an_action_that_matters():
    training = train(Probe(needs_action=True), NETWORK, CONFIG)
    assert training.curves["return"][-1, 0] > 0.98


def test_an_action_that_depends_on_what_is_seen():
    training = train(Probe(needs_action=True, shows_cue=True), NETWORK, CONFIG)
    assert training.curves["return"][-1, 0] > 0.98


def test_one_step_of_memory():
    environment = Probe(num_steps=2, needs_action=True, shows_cue=True)
    training = train(environment, NETWORK, CONFIG)
    assert training.curves["return"][-1, 0] > 0.98


def test_without_memory_the_same_cannot_be_learned():
    """The rung above is about memory: it fails for a cell that has none."""
    environment = Probe(num_steps=2, needs_action=True, shows_cue=True)
    network = dataclasses.replace(NETWORK, cell="forgetful")
    training = train(environment, network, CONFIG)
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
