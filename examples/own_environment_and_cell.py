"""Train on an environment and a cell of one's own: recall, after two steps, a number seen once."""

import jax
import jax.numpy as jnp
import numpy as np

from remanence import cells, envs, networks
from remanence.training import PPOConfig, train


class Latch(cells.AbstractGatedCell):
    inputs: cells.Projection

    def __init__(self, input_size, state_size, *, key):
        self.inputs = cells.Projection("n", input_size, state_size, key=key)

    def update(self, projected, state):
        return jnp.tanh(2 * state + projected[0])


class Recall(envs.AbstractEnvironment):
    num_actions, default_params = 2, None
    observation_bounds = -np.ones(1, np.float32), np.ones(1, np.float32)

    def start(self, key, params):
        return jnp.int32(0), jax.random.randint(key, (), 0, 2)  # time, number

    def advance(self, key, state, action, params):
        time, number = state
        reward = jnp.where((time == 2) & (action == number), 1.0, 0.0)
        return (time + 1, number), reward, time == 2, jnp.array(False)

    def observe(self, state):
        return jnp.where(state[0] == 0, 2.0 * state[1] - 1.0, 0.0)[None]


cells.register("latch", Latch)
config = PPOConfig(num_envs=16, num_steps=64, num_iterations=40, policy_epochs=4, value_epochs=4)
print(train(Recall(), networks.Architecture(cell="latch"), config, [1, 2]).curves["return"][-1])
