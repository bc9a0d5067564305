"""An environment whose observation also tells the agent what it did last."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from remanence._typing import Action, Flag, Key, Observation, Scalar
from remanence.envs._environment import AbstractEnvironment, Growth, Script
from remanence.envs._render import Scene

NO_ACTION = -1  # one-hot, it is all zeros


class PreviousActionState(eqx.Module):
    """The wrapped state, and the last action one-hot: zeros where an episode opens."""

    inner: Any
    action: Float[Array, " actions"]


def _of_inner(name: str) -> Any:
    """The wrapped environment's method of that name."""
    return property(lambda self: getattr(self.inner, name))


@dataclasses.dataclass(frozen=True)
class PreviousAction(AbstractEnvironment[PreviousActionState, Any]):
    """Appends the previous action, one-hot, to every observation.

    Wrapping the environment rather than the network leaves learner, evaluation and analysis as
    they are: the idle input is then the corridor observation with "right".

    >>> from remanence import envs
    >>> maze = envs.PreviousAction(envs.TMaze())
    >>> state = maze.join(envs.TMaze().start(jax.random.key(0), envs.TMazeParams()), 1)
    >>> maze.observation_size, maze.observe(state)[2:].tolist()
    (6, [0.0, 1.0, 0.0, 0.0])
    """

    inner: AbstractEnvironment

    @property
    def unwrapped(self) -> AbstractEnvironment:
        return self.inner.unwrapped

    optimal_return = _of_inner("optimal_return")
    random_decision_return = _of_inner("random_decision_return")
    levels = _of_inner("levels")
    grow = _of_inner("grow")
    read_growth = _of_inner("read_growth")
    time_limit = _of_inner("time_limit")

    @property
    def default_params(self) -> Any:
        return self.inner.default_params

    @property
    def num_actions(self) -> int:
        return self.inner.num_actions

    @property
    def action_names(self) -> tuple[str, ...]:
        return self.inner.action_names

    @property
    def growth(self) -> Growth | None:
        return self.inner.growth

    @property
    def observation_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.inner.observation_bounds
        zeros = np.zeros(self.num_actions, np.float32)
        return np.concatenate([low, zeros]), np.concatenate([high, zeros + 1])

    def start(self, key: Key, params: Any) -> PreviousActionState:
        return self.join(self.inner.start(key, params))

    def start_with(self, cue: Int[Array, ""], key: Key, params: Any) -> PreviousActionState:
        return self.join(self.inner.start_with(cue, key, params))

    def join(self, inner: Any, action: Action | int = NO_ACTION) -> PreviousActionState:
        """The wrapped state with the action that led to it."""
        return PreviousActionState(inner, jax.nn.one_hot(action, self.num_actions))

    def cue_observations(self) -> np.ndarray | None:
        inner = self.inner.cue_observations()
        return None if inner is None else np.pad(inner, [(0, 0), (0, self.num_actions)])

    def idle_observation(self) -> np.ndarray | None:
        """With "right", action 0, as the previous action: an agent that waits walks on.

        >>> from remanence import envs
        >>> envs.PreviousAction(envs.TMaze()).idle_observation().tolist()
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        """
        inner = self.inner.idle_observation()
        if inner is None:
            return None
        return np.concatenate([inner, np.eye(self.num_actions, dtype=np.float32)[0]])

    def situation(self, state: PreviousActionState) -> Any:
        inner = self.inner.situation(state.inner)
        return None if inner is None else (inner, state.action)

    def advance(
        self, key: Key, state: PreviousActionState, action: Action, params: Any
    ) -> tuple[PreviousActionState, Scalar, Flag, Flag]:
        inner, reward, terminated, truncated = self.inner.advance(key, state.inner, action, params)
        return self.join(inner, action), reward, terminated, truncated

    def observe(self, state: PreviousActionState) -> Observation:
        return jnp.concatenate([self.inner.observe(state.inner), state.action])

    def judge(self, state: PreviousActionState, action: Action) -> Int[Array, ""]:
        return self.inner.judge(state.inner, action)

    def script(self) -> Script | None:
        script = self.inner.script()
        if script is None:
            return None
        size = self.inner.observation_size
        return Script(script.memory, lambda seen, memory: script.act(seen[:size], memory))

    def depict(self, state: PreviousActionState) -> Scene:
        return self.inner.depict(state.inner)
