"""Gymnasium's interface: one environment, or thousands stepped in one compiled call.

Nothing here is compiled, and nothing knows a maze: see `_episodes.py` and `_render.py`.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from remanence.envs import _gymnasium_arguments as arguments
from remanence.envs._environment import AbstractEnvironment
from remanence.envs._episodes import (
    Episode,
    Step,
    begin,
    begin_batch,
    begin_next,
    reset_or_step,
    restart_batch,
    step_batch,
    step_with_reset,
    step_without_reset,
)
from remanence.envs._render import draw_text
from remanence.errors import InvalidOptionError, MissingDependencyError, RemanenceError

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise MissingDependencyError("remanence.envs.GymnasiumEnv", "gymnasium", "gymnasium") from error

RENDER_MODES = ("ansi", "rgb_array")

_STEPS: dict[AutoresetMode, Step] = {
    AutoresetMode.NEXT_STEP: reset_or_step,
    AutoresetMode.SAME_STEP: step_with_reset,
    AutoresetMode.DISABLED: step_without_reset,
}


class ResetNeededError(RemanenceError, gymnasium.error.ResetNeeded):
    """A step or a picture was asked for while no episode is under way."""


class GymnasiumEnv(gymnasium.Env[np.ndarray, Any]):
    """An environment of ours as a `gymnasium.Env`, to be found as "remanence/TMaze-v0".

    `name` is that of a registered environment and `options` are those of `remanence.envs.make`; or
    `name` is the pair that `make` returns.

    >>> from remanence import envs
    >>> env = envs.GymnasiumEnv("tmaze", length=2, render_mode="ansi")
    >>> observation, info = env.reset(seed=0)
    >>> print(env.render().splitlines()[-1])
    step 0  ·  cell 1 of 2
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> observation.tolist(), reward, terminated, truncated
    ([0.0, 1.0], 0.0, False, False)
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        name: str | tuple[AbstractEnvironment, Any],
        *,
        render_mode: str | None = None,
        **options: Any,
    ):
        self.environment, params = arguments.read_environment(name, options)
        self.params = arguments.spread_params(self.environment, params, ())
        self.render_mode = _read_render_mode(render_mode)
        self.observation_space, self.action_space = _spaces_of(self.environment)
        self._episode: Episode | None = None
        self._ended = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode: the seed's first, or without a seed the one that follows.

        Returns its first observation (observation,), and no infos.
        """
        if options:
            raise InvalidOptionError("options", options, "give them when the environment is made")
        seed = None if seed is None else arguments.read_seed(seed)
        super().reset(seed=seed)
        if seed is None and self._episode is not None:
            begun = begin_next(self.environment, self.params, self._episode)
        else:
            seed = _draw_seeds(self.np_random, 1)[0] if seed is None else seed
            begun = begin(self.environment, self.params, arguments.key_data_of([seed])[0])
        self._episode, observation = begun
        self._ended = False
        return np.array(observation), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one action of 0..num_actions - 1 in an episode that has not ended.

        Returns the observation (observation,), reward, terminated, truncated, and no infos.
        """
        action = arguments.read_actions(action, (), self.environment.num_actions)
        episode = _require_episode(self._episode)
        if self._ended:
            raise ResetNeededError("the episode has ended: call reset() before the next step().")
        self._episode, transition = step_without_reset(
            self.environment, self.params, episode, self._ended, action
        )
        terminated, truncated = bool(transition.terminated), bool(transition.truncated)
        self._ended = terminated or truncated
        observation, reward = np.array(transition.observation), float(transition.reward)
        return observation, reward, terminated, truncated, {}

    def render(self) -> Any:
        """The current state as text or as an array of pixels."""
        if self.render_mode is None:
            return _warn_of_render_mode()
        state = jax.device_get(_require_episode(self._episode).state)
        return _draw(self.environment, state, self.render_mode)


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, Any, np.ndarray]):
    """Many copies of an environment as a `gymnasium.vector.VectorEnv`.

    Behaves as `gymnasium.vector.SyncVectorEnv` does over as many `GymnasiumEnv`, seed for seed and
    in each of Gymnasium's three autoreset modes. An option such as `length` may be an array with a
    number for each copy.

    >>> from remanence import envs
    >>> env = envs.GymnasiumVectorEnv("tmaze", 3, length=np.array([2, 3, 4]), render_mode="ansi")
    >>> observations, infos = env.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = env.step(np.zeros(3, int))
    >>> observations.tolist(), rewards.tolist()
    ([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], [0.0, 0.0, 0.0])
    >>> [frame.splitlines()[-1] for frame in env.render()][-1]
    'step 1  ·  cell 2 of 4'
    """

    def __init__(
        self,
        name: str | tuple[AbstractEnvironment, Any],
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **options: Any,
    ):
        self.num_envs = arguments.read_num_envs(num_envs)
        self.autoreset_mode = _read_autoreset_mode(autoreset_mode)
        self.metadata = GymnasiumEnv.metadata | {"autoreset_mode": self.autoreset_mode}
        self.environment, params = arguments.read_environment(name, options)
        self.params = arguments.spread_params(self.environment, params, (self.num_envs,))
        self.render_mode = _read_render_mode(render_mode)
        self.single_observation_space, self.single_action_space = _spaces_of(self.environment)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._episodes: Episode | None = None
        self._ended = np.zeros(self.num_envs, bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode in every copy, or in those of `options["reset_mask"]`.

        A number seeds copy i with `seed + i`; in a list, None stands for the episode that follows.
        Returns the observations (copies, observation), and no infos.
        """
        seeds = arguments.read_seeds(seed, self.num_envs)
        chosen = arguments.read_reset_mask(options, self.num_envs)
        super().reset(seed=None if seed is None else seeds[0])
        begun = self._begin(seeds) if self._episodes is None else self._restart(seeds, chosen)
        self._episodes, observations = begun
        self._ended = self._ended & ~chosen
        return np.array(observations), {}

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take an action in every copy, (copies,).

        Returns observations (copies, observation), rewards, terminated and truncated (copies,), and
        infos: in the mode "SameStep" the last observations of episodes that have ended.
        """
        actions = arguments.read_actions(actions, (self.num_envs,), self.environment.num_actions)
        episodes = _require_episode(self._episodes)
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise ResetNeededError(
                f"in environments {np.flatnonzero(self._ended)} the episode has ended: call "
                'reset(options={"reset_mask": ...}) before the next step().'
            )
        step = _STEPS[self.autoreset_mode]
        self._episodes, transition = step_batch(
            self.environment, step, self.params, episodes, self._ended, actions
        )
        *outcome, final_observations = map(np.array, transition)
        observations, rewards, terminated, truncated = outcome
        self._ended = terminated | truncated
        infos = self._report_ends(final_observations)
        return observations, rewards.astype(np.float64), terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """A frame of every copy."""
        if self.render_mode is None:
            return _warn_of_render_mode()
        states = jax.device_get(_require_episode(self._episodes).state)
        each = (jax.tree.map(lambda leaf, i=i: leaf[i], states) for i in range(self.num_envs))
        return tuple(_draw(self.environment, state, self.render_mode) for state in each)

    def _begin(self, seeds: list[int | None]) -> tuple[Episode, Any]:
        drawn = _draw_seeds(self.np_random, self.num_envs)
        complete = [d if seed is None else seed for seed, d in zip(seeds, drawn, strict=True)]
        return begin_batch(self.environment, self.params, arguments.key_data_of(complete))

    def _restart(self, seeds: list[int | None], chosen: np.ndarray) -> tuple[Episode, Any]:
        seeded = np.array([seed is not None for seed in seeds])
        key_data = arguments.key_data_of([seed or 0 for seed in seeds])
        return restart_batch(
            self.environment, self.params, self._episodes, key_data, seeded, chosen
        )

    def _report_ends(self, final_observations: np.ndarray) -> dict[str, Any]:
        """What Gymnasium's same-step mode tells of the episodes that ended: `VectorEnv._add_info`.

        Our environments have no infos of their own, so that `final_info` is empty.
        """
        if self.autoreset_mode is not AutoresetMode.SAME_STEP or not self._ended.any():
            return {}
        final_obs = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(self._ended):
            final_obs[i] = final_observations[i]
        masks = {"_final_obs": self._ended.copy(), "_final_info": self._ended.copy()}
        return {"final_obs": final_obs, "final_info": {}, **masks}


def _spaces_of(
    environment: AbstractEnvironment,
) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Discrete]:
    low, high = environment.observation_bounds
    space = gymnasium.spaces.Box(low, high, dtype=np.float32)
    return space, gymnasium.spaces.Discrete(environment.num_actions)


def _read_autoreset_mode(mode: Any) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        known = ", ".join(repr(known.value) for known in AutoresetMode)
        raise InvalidOptionError("autoreset_mode", mode, f"use one of {known}") from error


def _read_render_mode(render_mode: Any) -> str | None:
    if render_mode not in (None, *RENDER_MODES):
        known = " or ".join(map(repr, RENDER_MODES))
        raise InvalidOptionError("render_mode", render_mode, f"use {known}, or None")
    if render_mode == "rgb_array" and importlib.util.find_spec("PIL") is None:
        raise MissingDependencyError("render_mode = 'rgb_array'", "pillow", "gymnasium")
    return render_mode


def _draw_seeds(generator: np.random.Generator, count: int) -> list[int]:
    return generator.integers(0, 2**63, count).tolist()


def _require_episode(episode: Episode | None) -> Episode:
    if episode is None:
        raise ResetNeededError("no episode has begun: call reset() first.")
    return episode


def _warn_of_render_mode() -> None:
    known = " or ".join(f'render_mode="{mode}"' for mode in RENDER_MODES)
    gymnasium.logger.warn(f"render() draws nothing here: make the environment with {known}.")


def _draw(environment: AbstractEnvironment, state: Any, render_mode: str) -> Any:
    scene = environment.depict(state)
    if render_mode == "ansi":
        return draw_text(scene)
    # Pillow is installed on request, and only a picture needs it.
    from remanence.envs._picture import draw_picture

    return draw_picture(scene)
