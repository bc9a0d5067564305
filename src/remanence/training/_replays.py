"""Ways to replay a rollout: how the losses of a minibatch and their gradients come about.

All give the same numbers but for rounding.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Int

from remanence._typing import Key
from remanence.networks import Network
from remanence.training._config import PPOConfig
from remanence.training._histories import HistoryTree
from remanence.training._losses import policy_loss, value_loss
from remanence.training._node_losses import (
    describe_policy,
    describe_value,
    sum_policy_loss,
    sum_value_loss,
)
from remanence.training._rollout import Rollout
from remanence.training._sweep import differentiate

Members = Int[Array, " members"]
Metrics = dict[str, Float[Array, ""]]


class Experience(NamedTuple):
    """A rollout, what is learned from it, and the states that networks were in at its start."""

    rollout: Rollout
    advantage: Float[Array, "time envs"]
    target: Float[Array, "time envs"]
    policy_state: Float[Array, "envs state"]
    value_state: Float[Array, "envs value_state"]


class AbstractReplay(eqx.Module):
    """Losses of minibatches of an experience; `members` are the environments in a minibatch."""

    @abc.abstractmethod
    def differentiate_policy(
        self, policy: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Metrics]:
        """The gradient of the policy's loss, and its metrics."""

    @abc.abstractmethod
    def differentiate_value(
        self, value: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Float[Array, ""]]:
        """The gradient of the value loss, and the loss."""


class SequenceReplay(AbstractReplay):
    """Whole sequences, step by step: the reference for all others."""

    def differentiate_policy(
        self, policy: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Metrics]:
        return eqx.filter_grad(policy_loss, has_aux=True)(
            policy,
            experience.rollout.select(members),
            experience.policy_state[members],
            experience.advantage[:, members],
            config,
            key,
        )

    def differentiate_value(
        self, value: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Float[Array, ""]]:
        loss, gradient = eqx.filter_value_and_grad(value_loss)(
            value,
            experience.rollout.select(members),
            experience.value_state[members],
            experience.target[:, members],
            config,
            key,
        )
        return gradient, loss


class TreeReplay(AbstractReplay):
    """Every distinct history once, for networks without dropout.

    All histories of the rollout run for every minibatch, with statistics of its own: a tree for
    each minibatch would have fewer nodes, but would have to be built.
    """

    tree: HistoryTree
    log_probability: Float[Array, "nodes actions"]

    def differentiate_policy(
        self, policy: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Metrics]:
        rollout, tree = experience.rollout, self.tree
        statistics = describe_policy(
            tree.node[members],
            rollout.action.T[members],
            experience.advantage.T[members],
            self.log_probability,
            config,
        )
        gradient, (_, metrics) = differentiate(
            policy,
            tree,
            experience.policy_state,
            lambda logits, statistics: sum_policy_loss(logits, statistics, config),
            statistics,
        )
        return gradient, metrics

    def differentiate_value(
        self, value: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Float[Array, ""]]:
        tree = self.tree
        statistics, variance = describe_value(
            tree.node[members], experience.target.T[members], len(tree.parent)
        )
        gradient, (loss, _) = differentiate(
            value,
            tree,
            experience.value_state,
            lambda values, statistics: sum_value_loss(values, statistics, config),
            statistics,
        )
        return gradient, loss + config.value_coefficient * 0.5 * variance
