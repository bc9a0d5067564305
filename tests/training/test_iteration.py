"""An iteration counts itself once; its parts do not count."""

import jax
import jax.numpy as jnp

from remanence import envs
from remanence.networks import Architecture
from remanence.training import PPOConfig
from remanence.training._iteration import make_iteration
from remanence.training._learner import Learner
from remanence.training._replays import SequenceReplay

CONFIG = PPOConfig(num_envs=2, num_steps=3, policy_epochs=1, value_epochs=1)


def test_only_a_whole_iteration_is_counted():
    env, params = envs.make("tmaze")
    learner = Learner(env, Architecture(cell="mingru", state_size=2, head=()), CONFIG)
    iteration = make_iteration(learner)

    @jax.jit
    def run(seed):
        begun = learner.begin(seed, params)
        acted, played, _, _ = iteration.play(begun, params)
        judged, experience = iteration.judge(acted, played, SequenceReplay())
        policy, _ = learner.improve_policy(judged, experience, SequenceReplay())
        value, _ = learner.improve_value(judged, experience, SequenceReplay())
        once, _ = iteration.run(begun, params)
        return [state.iteration for state in (begun, acted, judged, policy, value, once)]

    assert list(map(int, run(jnp.int32(1)))) == [0, 0, 0, 0, 0, 1]
