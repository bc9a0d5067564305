"""sb3-contrib's RecurrentPPO on our environments, which it steps as one compiled batch.

Needs sb3-contrib, and torch beneath it.
"""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from remanence.envs import GymnasiumVectorEnv
from remanence.networks import Architecture
from remanence.training import PPOConfig


class BatchedVecEnv(VecEnv):
    """Our vector environment as Stable-Baselines3 wants one: a dictionary for each copy.

    An ended episode's own last observation is in "terminal_observation"; "TimeLimit.truncated"
    says that only the time limit ended it.
    """

    def __init__(self, environment: tuple[Any, Any], num_envs: int):
        self.envs = GymnasiumVectorEnv(environment, num_envs, autoreset_mode="SameStep")
        self.returns: list[float] = []
        self._episode_return = np.zeros(num_envs)
        self._actions = np.zeros(num_envs, int)
        spaces = self.envs.single_observation_space, self.envs.single_action_space
        super().__init__(num_envs, *spaces)

    def reset(self) -> np.ndarray:
        observation, _ = self.envs.reset(seed=list(self._seeds))
        self._reset_seeds()
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observation, reward, terminated, truncated, infos = self.envs.step(self._actions)
        ended = terminated | truncated
        self._episode_return += reward
        reports: list[dict[str, Any]] = [{}] * self.num_envs
        for i in np.flatnonzero(ended):
            reports[i] = {
                "terminal_observation": infos["final_obs"][i],
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
            }
        self.returns += self._episode_return[ended].tolist()
        self._episode_return[ended] = 0
        return observation, reward.astype(np.float32), ended, reports

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("the copies are one batch and have no attributes of their own")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        raise NotImplementedError("the copies are one batch and have no methods of their own")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> Sequence[bool]:
        return [False] * len(list(self._get_indices(indices)))


class _RolloutClock(BaseCallback):
    """Remembers when the last rollout ended."""

    ended = math.nan

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.ended = time.perf_counter()


class SB3Trainer:
    """One training by RecurrentPPO; `iterate` takes it one iteration on.

    Its LSTM stands for the GRU, which it has not. One loss and one learning rate serve policy and
    value, so that the value network goes through `policy_epochs` too. It has no annealing over
    iterations and no early stop here, and replays episode by episode, padded to the longest.
    """

    def __init__(
        self,
        environment: tuple[Any, Any],
        architecture: Architecture,
        config: PPOConfig,
        seed: int,
        num_threads: int,
    ):
        torch.set_num_threads(num_threads)
        self.num_threads = num_threads
        self.envs = BatchedVecEnv(environment, config.num_envs)
        self.num_samples = config.num_envs * config.num_steps
        self.num_epochs = config.policy_epochs
        self.model = RecurrentPPO(
            "MlpLstmPolicy",
            self.envs,
            learning_rate=config.policy_learning_rate,
            n_steps=config.num_steps,
            batch_size=self.num_samples // config.num_minibatches,
            n_epochs=config.policy_epochs,
            gamma=config.discount,
            gae_lambda=config.advantage_decay,
            clip_range=config.clip_range,
            ent_coef=config.entropy_coefficient,
            # Its value loss is the mean squared error, ours is half of it.
            vf_coef=0.5 * config.value_coefficient,
            max_grad_norm=config.max_gradient_norm,
            normalize_advantage=config.normalize_advantages,
            policy_kwargs={
                "lstm_hidden_size": architecture.state_size,
                "n_lstm_layers": architecture.num_layers,
                "shared_lstm": False,
                "enable_critic_lstm": True,
                "net_arch": list(architecture.head),
                "activation_fn": torch.nn.ReLU,
                "optimizer_kwargs": {"eps": config.adam_epsilon},
            },
            seed=seed,
            device="cpu",
        )

    def iterate(self) -> dict[str, float]:
        """One rollout and its epochs: `learn` for as many steps as a rollout has."""
        torch.set_num_threads(self.num_threads)
        self.envs.returns.clear()
        clock = _RolloutClock()
        began = time.perf_counter()
        self.model.learn(self.num_samples, callback=clock, reset_num_timesteps=False)
        returns = self.envs.returns
        return {
            "return": float(np.mean(returns)) if returns else math.nan,
            "policy_epochs": self.num_epochs,
            "rollout_seconds": clock.ended - began,
        }
