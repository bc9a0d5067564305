"""Our environments as gymnax environments, and gymnax environments as ours (gymnax 1.x)."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from remanence._typing import Action, Flag, Key, Observation, Scalar
from remanence.envs._environment import AbstractEnvironment
from remanence.errors import InvalidOptionError, MissingDependencyError

try:
    from gymnax.environments import spaces
    from gymnax.environments.environment import Environment
except ImportError as error:
    raise MissingDependencyError("an adapter to gymnax", "gymnax", "gymnax") from error


class ToGymnaxState(eqx.Module):
    """Our state and how the step to it ended, since gymnax asks a state whether it is truncated."""

    inner: Any
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


class ToGymnax(Environment[Any, Any]):
    """One of our environments for whatever takes a gymnax environment, its wrappers included.

    `reset` and `step` are the environment's own: the same keys and actions give the same episodes
    with and without the adapter. `Environment.step`, which gymnax builds from `step_env` and
    `reset_env`, makes the same transitions but names its keys otherwise, so the episodes that it
    starts are others. Parameters are the environment's, unchanged.

    >>> from remanence import envs
    >>> env = envs.ToGymnax(envs.TMaze())
    >>> key, params = jax.random.key(0), envs.TMazeParams(length=2)
    >>> _, state = env.reset(key, params)
    >>> observation, state, reward, terminated, truncated, _ = env.step(key, state, 0, params)
    >>> observation.tolist(), float(reward), bool(terminated), bool(truncated)
    ([0.0, 1.0], 0.0, False, False)
    """

    # A plain class, like every gymnax environment: `GymnaxToVectorGymWrapper` replaces methods.
    def __init__(self, inner: AbstractEnvironment):
        self.inner = inner

    @property
    def default_params(self) -> Any:
        return self.inner.default_params

    @property
    def name(self) -> str:
        return type(self.inner).__name__

    @property
    def num_actions(self) -> int:
        return self.inner.num_actions

    def action_space(self, params: Any = None) -> spaces.Discrete:
        del params
        return spaces.Discrete(self.num_actions)

    def observation_space(self, params: Any = None) -> spaces.Box:
        del params
        low, high = map(jnp.asarray, self.inner.observation_bounds)
        return spaces.Box(low, high, low.shape)

    @functools.partial(jax.jit, static_argnames=("self",))
    def reset(self, key: Key, params: Any = None) -> tuple[Observation, ToGymnaxState]:
        observation, state = self.inner.reset(key, params)
        return observation, _unfinished(state)

    @functools.partial(jax.jit, static_argnames=("self",))
    def step(
        self, key: Key, state: ToGymnaxState, action: Any, params: Any = None
    ) -> tuple[Observation, ToGymnaxState, Scalar, Flag, Flag, dict[Any, Any]]:
        observation, inner, reward, terminated, truncated, info = self.inner.step(
            key, state.inner, action, params
        )
        return observation, _unfinished(inner), reward, terminated, truncated, info

    def reset_env(self, key: Key, params: Any) -> tuple[Observation, ToGymnaxState]:
        return self.reset(key, params)

    def step_env(
        self, key: Key, state: ToGymnaxState, action: Any, params: Any
    ) -> tuple[Observation, ToGymnaxState, Scalar, Flag, dict[Any, Any]]:
        inner, reward, terminated, truncated = self.inner.advance(
            key, state.inner, jnp.asarray(action), params
        )
        state = ToGymnaxState(inner, terminated, truncated)
        return self.inner.observe(inner), state, reward, terminated, {}

    def get_obs(
        self, state: ToGymnaxState, params: Any = None, key: Key | None = None
    ) -> Observation:
        del params, key
        return self.inner.observe(state.inner)

    def is_terminated(self, state: ToGymnaxState, params: Any) -> Flag:
        del params
        return state.terminated

    def is_truncated(self, state: ToGymnaxState, params: Any) -> Flag:
        del params
        return state.truncated


def _unfinished(state: Any) -> ToGymnaxState:
    return ToGymnaxState(state, jnp.array(False), jnp.array(False))


class FromGymnaxState(eqx.Module):
    """gymnax's state with its observation, which need not be a function of the state."""

    inner: Any
    observation: Float[Array, " observation"]


@dataclasses.dataclass(frozen=True)
class FromGymnax(AbstractEnvironment[FromGymnaxState, Any]):
    """A gymnax environment or wrapper with discrete actions and vector observations as ours.

    `reset` and `step` are gymnax's own: the same keys and actions give the same episodes with and
    without the adapter, and `info` keeps what a wrapper adds to it. Observations and rewards
    become 32-bit floats.

    `advance` is gymnax's `step` too, since a wrapper has nothing else. Where an episode ends, its
    state holds the last observation of the old episode over gymnax's state of a new one.

    >>> import gymnax
    >>> from remanence import envs
    >>> environment = envs.FromGymnax(gymnax.make("CartPole-v1")[0])
    >>> observation, state = environment.reset(jax.random.key(0))
    >>> environment.num_actions, observation.shape
    (2, (4,))
    """

    inner: Any

    def __post_init__(self):
        name = getattr(self.inner, "name", type(self.inner).__name__)
        actions, observations = self._action_space, self._observation_space
        if not isinstance(actions, spaces.Discrete):
            raise InvalidOptionError(
                f"action space of {name}", actions, "only discrete actions can be adapted"
            )
        if not isinstance(observations, spaces.Box) or len(observations.shape) != 1:
            remedy = "use vectors; gymnax's FlattenObservationWrapper makes them of any Box"
            raise InvalidOptionError(f"observation space of {name}", observations, remedy)

    @property
    def _action_space(self) -> Any:
        return self.inner.action_space(self.default_params)

    @property
    def _observation_space(self) -> Any:
        return self.inner.observation_space(self.default_params)

    @property
    def default_params(self) -> Any:
        return self.inner.default_params

    @property
    def num_actions(self) -> int:
        return int(self._action_space.n)

    @property
    def observation_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        space = self._observation_space
        shape = tuple(int(size) for size in space.shape)
        low, high = (np.asarray(bound, np.float32) for bound in (space.low, space.high))
        # Flattening leaves gymnax's bounds in the shape they had, so they are flattened here.
        return np.broadcast_to(low.ravel(), shape), np.broadcast_to(high.ravel(), shape)

    def start(self, key: Key, params: Any) -> FromGymnaxState:
        observation, inner = self.inner.reset(key, params)
        return FromGymnaxState(inner, _to_float(observation))

    def advance(
        self, key: Key, state: FromGymnaxState, action: Action, params: Any
    ) -> tuple[FromGymnaxState, Scalar, Flag, Flag]:
        _, state, reward, terminated, truncated, info = self.step(key, state, action, params)
        return (
            FromGymnaxState(state.inner, info["final_observation"]),
            reward,
            terminated,
            truncated,
        )

    def observe(self, state: FromGymnaxState) -> Observation:
        return state.observation

    def step(
        self, key: Key, state: FromGymnaxState, action: Action, params: Any = None
    ) -> tuple[Observation, FromGymnaxState, Scalar, Flag, Flag, dict[str, Any]]:
        params = self.default_params if params is None else params
        observation, inner, reward, terminated, truncated, info = self.inner.step(
            key, state.inner, action, params
        )
        state = FromGymnaxState(inner, _to_float(observation))
        terminated, truncated = (jnp.asarray(flag, bool) for flag in (terminated, truncated))
        info = {
            **info,
            "terminated": terminated,
            "truncated": truncated,
            "final_observation": _to_float(info["final_observation"]),
        }
        return state.observation, state, _to_float(reward), terminated, truncated, info


def _to_float(numbers: Any) -> Float[Array, "..."]:
    return jnp.asarray(numbers, jnp.float32)
