"""Ways to replay a rollout: how the losses of a minibatch and their gradients come about.

Both give the same numbers but for rounding.
"""

import abc
import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from remanence._typing import Key
from remanence._words import Seeds, seeds_from
from remanence.cells import over_axes
from remanence.networks import Network
from remanence.training._config import PPOConfig
from remanence.training._histories import HistoryTree, Visits, prune_tree
from remanence.training._losses import add_hesitation, policy_loss, value_loss
from remanence.training._node_losses import (
    describe_policy,
    describe_value,
    sum_hesitant_policy_loss,
    sum_policy_loss,
    sum_value_loss,
)
from remanence.training._rollout import Rollout, RolloutValues, evaluate_rollout
from remanence.training._sweep import differentiate, run_nodes

Members = Int[Array, " members"]
Features = Float[Array, " features"]
State = Float[Array, " state"]
Metrics = dict[str, Float[Array, ""]]


class Played(NamedTuple):
    """A rollout, and the states that networks were in at its start."""

    rollout: Rollout
    policy_state: Float[Array, "envs state"]
    value_state: Float[Array, "envs value_state"]


class Experience(NamedTuple):
    """A rollout, what is learned from it, and the states that networks were in at its start."""

    rollout: Rollout
    advantage: Float[Array, "time envs"]
    target: Float[Array, "time envs"]
    policy_state: Float[Array, "envs state"]
    value_state: Float[Array, "envs value_state"]


class AbstractReplay(eqx.Module):
    """Values along a rollout, and losses of minibatches of an experience.

    `members` are the environments in a minibatch.
    """

    @abc.abstractmethod
    def evaluate(self, value: Network, played: Played, config: PPOConfig) -> RolloutValues:
        """What the value network makes of all of it."""

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
    """Whole sequences, step by step: what the other way is tested against."""

    def evaluate(self, value: Network, played: Played, config: PPOConfig) -> RolloutValues:
        return evaluate_rollout(value, played.rollout, played.value_state)

    def run(
        self,
        network: Network,
        rollout: Rollout,
        state: Float[Array, "envs state"],
        members: Members,
        key: Key,
    ) -> tuple[Float[Array, "time members output"], Float[Array, "time members state"]]:
        """A network's outputs and states along the sequences of a minibatch, with its dropout."""
        noise = _draw_noise(network, rollout, members, key)
        observation, first = rollout.observation[:, members], rollout.first[:, members]
        return network.run(observation, first, state[members], noise=noise)

    def differentiate_policy(
        self, policy: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Metrics]:
        rollout = experience.rollout

        def loss(policy: Network) -> tuple[Float[Array, ""], Metrics]:
            logits, states = self.run(policy, rollout, experience.policy_state, members, key)
            advantage = experience.advantage[:, members]
            found = policy_loss(logits, rollout.select(members), advantage, config)
            if not config.hold_margin:
                return found
            features = over_axes(policy.encode, 2)(rollout.observation[:, members])
            measure = functools.partial(_measure_hesitation, policy, config)
            return add_hesitation(*found, jnp.mean(over_axes(measure, 2)(features, states)), config)

        return eqx.filter_grad(loss, has_aux=True)(policy)

    def differentiate_value(
        self, value: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Float[Array, ""]]:
        def loss(value: Network) -> Float[Array, ""]:
            values, _ = self.run(value, experience.rollout, experience.value_state, members, key)
            return value_loss(values[..., 0], experience.target[:, members], config)

        loss_now, gradient = eqx.filter_value_and_grad(loss)(value)
        return gradient, loss_now


class TreeReplay(AbstractReplay):
    """Every distinct history of a minibatch once, for networks without dropout."""

    tree: HistoryTree
    visits: Visits
    log_probability: Float[Array, "actions nodes"]

    def evaluate(self, value: Network, played: Played, config: PPOConfig) -> RolloutValues:
        if not config.time_limit_ends:
            # The last observation of a truncated episode is that of no node.
            return evaluate_rollout(value, played.rollout, played.value_state)
        values, tables = run_nodes(value, self.tree, played.value_state)
        along = values[0][self.visits.node].T
        last = self.tree.num_roots + self.visits.node[:, -1]
        last_state = jnp.concatenate([table[last] for table in tables], axis=1)
        after, _ = jax.vmap(value.step)(played.rollout.final_observation[-1], last_state)
        return RolloutValues(along, jnp.concatenate([along[1:], after.T]), last_state)

    def differentiate_policy(
        self, policy: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Metrics]:
        tree, node, old_of_new = self._select(members)
        statistics = describe_policy(
            node,
            experience.rollout.action.T[members],
            experience.advantage.T[members],
            self.log_probability[:, old_of_new],
            config,
        )
        sum_loss = sum_hesitant_policy_loss if config.hold_margin else sum_policy_loss
        gradient, (_, metrics) = differentiate(
            policy,
            tree,
            experience.policy_state,
            lambda outputs, statistics: sum_loss(outputs, statistics, config),
            statistics,
            functools.partial(_read_policy, config),
        )
        return gradient, metrics

    def differentiate_value(
        self, value: Network, experience: Experience, members: Members, config: PPOConfig, key: Key
    ) -> tuple[Any, Float[Array, ""]]:
        tree, node, _ = self._select(members)
        target = experience.target.T[members]
        statistics, variance = describe_value(node, target, len(tree.parent_row))
        gradient, (loss, _) = differentiate(
            value,
            tree,
            experience.value_state,
            lambda values, statistics: sum_value_loss(values, statistics, config),
            statistics,
        )
        return gradient, loss + config.value_coefficient * 0.5 * variance

    def _select(
        self, members: Members
    ) -> tuple[HistoryTree, Int[Array, "members time"], Int[Array, " nodes"]]:
        """The tree of a minibatch, the node of each of its steps, and what nodes were before."""
        visited = self.visits.find_visited(members)
        tree, new_of_old, old_of_new = prune_tree(self.tree, visited)
        return tree, new_of_old[self.visits.node[members]], old_of_new


def _read_policy(config: PPOConfig, policy: Network, features: Features, state: State) -> Any:
    """The logits, and beside them what its cell says of thresholds if a margin is wanted."""
    logits = policy.decode(features, state)
    if not config.hold_margin:
        return logits
    return logits, _measure_hesitation(policy, config, features, state)


def _measure_hesitation(
    policy: Network, config: PPOConfig, features: Features, state: State
) -> Float[Array, ""]:
    return policy.cell.measure_hesitation(features, state, config.hold_margin)


def _draw_noise(network: Network, rollout: Rollout, members: Members, key: Key) -> Seeds | None:
    """What dropout draws from, for each step of a minibatch."""
    return seeds_from(key, (len(rollout.first), len(members))) if network.dropout else None
