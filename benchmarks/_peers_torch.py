"""Recurrent PPO in plain PyTorch, as people write it by hand: one training, a loop over time.

In the manner of CleanRL's recurrent PPO (Huang et al. 2022), with the networks and the schedule of
`remanence.training`, so that the work of an iteration is the same. Needs torch.
"""

import itertools
import math
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from remanence.envs import GymnasiumVectorEnv
from remanence.networks import Architecture
from remanence.training import PPOConfig


class RecurrentNetwork(nn.Module):
    """GRU -> dense layers with ReLU -> output; time comes first, then environments."""

    def __init__(
        self, observation_size: int, architecture: Architecture, output_size: int, gain: float
    ):
        super().__init__()
        self.state_size = architecture.state_size
        self.cell = nn.GRUCell(observation_size, self.state_size)
        layers = []
        for sizes in itertools.pairwise((self.state_size, *architecture.head)):
            layers += [_make_linear(*sizes, gain=math.sqrt(2)), nn.ReLU()]
        width = architecture.head[-1] if architecture.head else self.state_size
        self.head = nn.Sequential(*layers, _make_linear(width, output_size, gain))

    def step(self, observation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step of acting."""
        state = self.cell(observation, state)
        return self.head(state), state

    def run(self, observations: Tensor, first: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """All outputs and states; only the recurrence is a loop, the head sees all steps at once.

        A mask before each update empties the state wherever an observation opens an episode.
        """
        kept = 1 - first[..., None]
        states = []
        for observation, keep in zip(observations.unbind(), kept.unbind(), strict=True):
            state = self.cell(observation, state * keep)
            states.append(state)
        stacked = torch.stack(states)
        return self.head(stacked), stacked


def _make_linear(input_size: int, output_size: int, gain: float) -> Any:
    layer = nn.Linear(input_size, output_size)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class Rollout(NamedTuple):
    """What happened, each of shape (time, environments, ...)."""

    observation: Tensor
    first: Tensor
    action: Tensor
    log_probability: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    final_observation: Tensor

    def select(self, members: Tensor) -> "Rollout":
        """The whole sequences of some environments."""
        return Rollout(*(series[:, members] for series in self))


class TorchTrainer:
    """One training of recurrent PPO; `iterate` takes it one iteration on."""

    def __init__(
        self,
        environment: tuple[Any, Any],
        architecture: Architecture,
        config: PPOConfig,
        seed: int,
        num_threads: int,
    ):
        torch.set_num_threads(num_threads)
        torch.manual_seed(seed)
        self.num_threads = num_threads
        self.config = config
        self.envs = GymnasiumVectorEnv(environment, config.num_envs, autoreset_mode="SameStep")
        size, num_actions = environment[0].observation_size, environment[0].num_actions
        self.policy = RecurrentNetwork(size, architecture, num_actions, gain=0.01)
        self.value = RecurrentNetwork(size, architecture, 1, gain=1.0)
        epsilon = config.adam_epsilon
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), eps=epsilon)
        self.value_optimizer = torch.optim.Adam(self.value.parameters(), eps=epsilon)
        self.iteration = 0
        self.observation, _ = self.envs.reset(seed=seed)
        self.first = np.ones(config.num_envs, np.float32)
        self.policy_state = torch.zeros(config.num_envs, architecture.state_size)
        self.value_state = torch.zeros(config.num_envs, architecture.state_size)
        self.episode_return = np.zeros(config.num_envs)

    def iterate(self) -> dict[str, float]:
        """Collect one rollout, then improve the policy and the value network on it."""
        torch.set_num_threads(self.num_threads)
        began = time.perf_counter()
        policy_state, value_state = self.policy_state, self.value_state
        rollout, returns = self._collect()
        value, next_value = self._evaluate(rollout)
        collected = time.perf_counter()
        advantage = self._estimate_advantages(rollout, value, next_value)
        rate = 0.5 * (
            1 + math.cos(math.pi * min(self.iteration / self.config.anneal_iterations, 1))
        )
        epochs = self._improve_policy(rollout, policy_state, advantage, rate)
        self._improve_value(rollout, value_state, value + advantage, rate)
        self.iteration += 1
        return {
            "return": float(np.mean(returns)) if returns else math.nan,
            "policy_epochs": epochs,
            "rollout_seconds": collected - began,
        }

    @torch.no_grad()
    def _collect(self) -> tuple[Rollout, list[float]]:
        steps, returns = [], []
        for _ in range(self.config.num_steps):
            observation, first = torch.from_numpy(self.observation), torch.from_numpy(self.first)
            state = self.policy_state * (1 - first[:, None])
            logits, self.policy_state = self.policy.step(observation, state)
            log_probabilities = torch.log_softmax(logits, -1)
            action = torch.multinomial(log_probabilities.exp(), 1)
            log_probability = log_probabilities.gather(-1, action)[:, 0]
            following, reward, terminated, truncated, infos = self.envs.step(action[:, 0].numpy())
            ended = terminated | truncated
            final = following.copy()
            self.episode_return += reward
            if ended.any():
                final[ended] = np.stack(infos["final_obs"][ended])
                returns += self.episode_return[ended].tolist()
                self.episode_return[ended] = 0
            outcome = (reward.astype(np.float32), terminated, truncated, final)
            steps.append(
                Rollout(
                    observation,
                    first,
                    action[:, 0],
                    log_probability,
                    *map(torch.from_numpy, outcome),
                )
            )
            self.observation, self.first = following, ended.astype(np.float32)
        return Rollout(*map(torch.stack, zip(*steps, strict=True))), returns

    @torch.no_grad()
    def _evaluate(self, rollout: Rollout) -> tuple[Tensor, Tensor]:
        """Values of every observation, and of what followed it within its own episode."""
        values, states = self.value.run(rollout.observation, rollout.first, self.value_state)
        self.value_state = states[-1]
        size = self.value.state_size
        next_values, _ = self.value.step(
            rollout.final_observation.flatten(0, 1), states.reshape(-1, size)
        )
        return values[..., 0], next_values.view(values.shape)[..., 0]

    def _estimate_advantages(self, rollout: Rollout, value: Tensor, next_value: Tensor) -> Tensor:
        """Generalized advantage estimation; a time limit bootstraps, a termination does not."""
        discount, decay = self.config.discount, self.config.advantage_decay
        delta = rollout.reward + discount * next_value * ~rollout.terminated - value
        carries_on = discount * decay * ~(rollout.terminated | rollout.truncated)
        advantage = torch.empty_like(delta)
        later = torch.zeros_like(delta[0])
        for t in reversed(range(len(delta))):
            later = advantage[t] = delta[t] + carries_on[t] * later
        return advantage

    def _improve_policy(
        self, rollout: Rollout, state: Tensor, advantage: Tensor, rate: float
    ) -> int:
        """The number of epochs done, until all are or the policy has moved too far."""
        for group in self.policy_optimizer.param_groups:
            group["lr"] = self.config.policy_learning_rate * rate
        for epoch in range(self.config.policy_epochs):
            divergences = []
            for members in self._draw_minibatches():
                loss, divergence = self._policy_loss(
                    rollout.select(members), state[members], advantage[:, members]
                )
                self._descend(self.policy, self.policy_optimizer, loss)
                divergences.append(divergence)
            if np.mean(divergences) > self.config.max_kl:
                return epoch + 1
        return self.config.policy_epochs

    def _policy_loss(
        self, rollout: Rollout, state: Tensor, advantage: Tensor
    ) -> tuple[Tensor, float]:
        """Clipped surrogate minus the entropy bonus, and the divergence from who acted."""
        logits, _ = self.policy.run(rollout.observation, rollout.first, state)
        log_probabilities = torch.log_softmax(logits, -1)
        chosen = log_probabilities.gather(-1, rollout.action[..., None])[..., 0]
        log_ratio = chosen - rollout.log_probability
        ratio = log_ratio.exp()
        if self.config.normalize_advantages:
            advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)
        clipped = ratio.clamp(1 - self.config.clip_range, 1 + self.config.clip_range)
        surrogate = torch.minimum(ratio * advantage, clipped * advantage).mean()
        entropy = -(log_probabilities.exp() * log_probabilities).sum(-1).mean()
        divergence = (ratio.detach() - 1 - log_ratio.detach()).mean()
        return -surrogate - self.config.entropy_coefficient * entropy, float(divergence)

    def _improve_value(self, rollout: Rollout, state: Tensor, target: Tensor, rate: float) -> None:
        for group in self.value_optimizer.param_groups:
            group["lr"] = self.config.value_learning_rate * rate
        for _ in range(self.config.value_epochs):
            for members in self._draw_minibatches():
                values, _ = self.value.run(
                    rollout.observation[:, members], rollout.first[:, members], state[members]
                )
                error = values[..., 0] - target[:, members]
                loss = self.config.value_coefficient * 0.5 * (error**2).mean()
                self._descend(self.value, self.value_optimizer, loss)

    def _draw_minibatches(self) -> tuple[Tensor, ...]:
        return torch.randperm(self.config.num_envs).chunk(self.config.num_minibatches)

    def _descend(self, network: RecurrentNetwork, optimizer: Any, loss: Tensor) -> None:
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), self.config.max_gradient_norm)
        optimizer.step()
