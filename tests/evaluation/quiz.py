"""An environment with many decisions and no maze: questions, with pauses between them."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from remanence.envs import AbstractEnvironment, Growth


class QuizParams(NamedTuple):
    num_questions: Any = 5
    limit: Any = 1000


class QuizState(NamedTuple):
    time: Any
    cue: Any
    key: Any


@dataclasses.dataclass(frozen=True)
class Quiz(AbstractEnvironment):
    """Every third step is a pause, in which nothing is decided; the others are questions.

    Nobody can know the answers: they are drawn, as is what is seen besides the cue. Each cue has
    one question less than the one before.
    """

    params_class: ClassVar[type] = QuizParams
    num_cues: int = 3

    @property
    def num_actions(self):
        return 2

    @property
    def observation_bounds(self):
        return np.array([-1.0, 0.0], np.float32), np.array([1.0, 3.0], np.float32)

    @property
    def growth(self):
        return Growth("num_questions", "number of questions", (5,))

    def grow(self, params, value):
        return params._replace(num_questions=value)

    def time_limit(self, params):
        return params.limit

    def cue_observations(self):
        return np.stack([np.zeros(self.num_cues), np.arange(self.num_cues)], 1).astype(np.float32)

    def start(self, key, params):
        return self.start_with(jax.random.randint(key, (), 0, self.num_cues), key, params)

    def start_with(self, cue, key, params):
        return QuizState(jnp.zeros((), jnp.int32), cue.astype(jnp.int32), key)

    def observe(self, state):
        noise = jax.random.uniform(jax.random.fold_in(state.key, state.time))
        return jnp.stack([2 * noise - 1, state.cue.astype(jnp.float32)])

    def judge(self, state, action):
        answer = jax.random.bernoulli(jax.random.fold_in(state.key, 1000 + state.time))
        told = jnp.where(action == answer.astype(jnp.int32), 1, -1)
        return jnp.where(state.time % 3 == 2, 0, told).astype(jnp.int32)

    def advance(self, key, state, action, params):
        reward = self.judge(state, action).astype(jnp.float32)
        state = state._replace(time=state.time + 1)
        asked = state.time - state.time // 3
        enough = asked >= params.num_questions - state.cue
        return state, reward, enough, state.time >= params.limit
