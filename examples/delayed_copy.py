"""An environment of one's own: repeat, after a delay, a symbol that was shown once.

Importing this file makes it known as "delayed-copy"; running it trains and evaluates on it.
"""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from remanence import envs, evaluation, networks
from remanence.training import PPOConfig, train


class Params(eqx.Module):
    """`delay`: steps with nothing to see, one number or a pair (low, high) to draw from."""

    low: jax.Array
    high: jax.Array

    def __init__(self, delay=(1, 5)):
        low, high = delay if isinstance(delay, tuple | list) else (delay, delay)
        self.low, self.high = jnp.asarray(low, jnp.int32), jnp.asarray(high, jnp.int32)


class State(eqx.Module):
    time: jax.Array
    delay: jax.Array
    symbol: jax.Array


@dataclasses.dataclass(frozen=True)
class DelayedCopy(envs.AbstractEnvironment[State, Params]):
    """Observation: the symbol, one-hot, at the first step; 1 when it is time to repeat it."""

    num_symbols: int = 4
    params_class: ClassVar[type] = Params

    @property
    def num_actions(self):
        return self.num_symbols

    @property
    def observation_bounds(self):
        return np.zeros(self.num_symbols + 1, np.float32), np.ones(self.num_symbols + 1, np.float32)

    def start(self, key, params):
        symbol = jax.random.randint(jax.random.fold_in(key, 1), (), 0, self.num_symbols)
        return self.start_with(symbol, key, params)

    def observe(self, state):
        shown = (jnp.arange(self.num_symbols) == state.symbol) & (state.time == 0)
        return jnp.append(shown, state.time == state.delay + 1).astype(jnp.float32)

    def advance(self, key, state, action, params):
        reward = (self.judge(state, action) == envs.RIGHT_DECISION).astype(jnp.float32)
        after = State(state.time + 1, state.delay, state.symbol)
        return after, reward, state.time == state.delay + 1, jnp.array(False)

    # So much is enough to train. What grows and which decision is right, evaluation asks for.
    @property
    def growth(self):
        return envs.Growth("delay", "delay (steps)", (1, 3, 10, 30, 100, 300, 1000))

    def grow(self, params, value):
        return Params(value)

    def read_growth(self, params):
        return int(params.low), int(params.high)

    def time_limit(self, params):
        return int(params.high) + 2

    def judge(self, state, action):
        decision = jnp.where(action == state.symbol, envs.RIGHT_DECISION, envs.WRONG_DECISION)
        return jnp.where(state.time == state.delay + 1, decision, envs.NO_DECISION)

    # Cues balance the episodes; with the idle observation they show how stable a memory is.
    def cue_observations(self):
        return np.eye(self.num_symbols, self.num_symbols + 1, dtype=np.float32)

    def start_with(self, cue, key, params):
        delay = jax.random.randint(key, (), params.low, params.high + 1)
        return State(jnp.zeros((), jnp.int32), delay, cue)

    def idle_observation(self):
        return np.zeros(self.num_symbols + 1, np.float32)

    def situation(self, state):
        return state.symbol, state.delay - state.time

    # These are marks in figures and oracles for tests.
    def optimal_return(self, params):
        return 1.0

    def random_decision_return(self, params):
        return 1 / self.num_symbols

    def script(self):
        def act(observation, symbol):
            seen = observation[:-1]
            symbol = jnp.where(jnp.any(seen > 0), jnp.argmax(seen), symbol)
            return symbol, symbol

        return envs.Script(jnp.zeros((), jnp.int32), act)


envs.register("delayed-copy", DelayedCopy)

if __name__ == "__main__":
    env = envs.make("delayed-copy")
    config = PPOConfig(
        num_envs=32,
        num_steps=32,
        num_iterations=60,
        policy_epochs=4,
        value_epochs=4,
        policy_learning_rate=0.01,
        value_learning_rate=0.01,
        discount=0.9,
    )
    agents = train(env, networks.Architecture(cell="gru", state_size=8), config, [1]).agents
    found = evaluation.evaluate(agents, env).summarize()
    for delay, mean, outcome in zip(found["delay"], found["return"], found["outcome"], strict=True):
        print(f"delay {delay:5}: return {mean:.2f}, {outcome}")
    vaa = evaluation.measure_stability(agents[1], env[0])
    print("its memory is", evaluation.name_stability(vaa))
