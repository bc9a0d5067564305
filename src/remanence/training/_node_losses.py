"""The losses of `_losses.py`, from statistics of all steps that share a history.

For a history and an action the ratio of probabilities is one number r, so of all their steps'
advantages A the clipped surrogate needs two sums:

    sum min(r A, clip(r) A) = min(r, 1 + c) * sum max(A, 0) + max(r, 1 - c) * sum min(A, 0)

Entropy and divergence need counts, the value loss counts and means.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from remanence.training._config import PPOConfig
from remanence.training._losses import add_hesitation, normalize

PerAction = Float[Array, "actions nodes"]
PerNode = Float[Array, " nodes"]
PerStep = Float[Array, "members time"]
NodeOfStep = Int[Array, "members time"]


class PolicyStatistics(NamedTuple):
    """Of every node and action, as shares of all steps; `log_probability` is that of acting."""

    share: PerAction
    gain: PerAction
    loss: PerAction
    log_probability: PerAction


class ValueStatistics(NamedTuple):
    """Of every node: its share of all steps and the mean of its steps' targets."""

    share: PerNode
    target: PerNode


def describe_policy(
    node: NodeOfStep,
    action: Int[Array, "members time"],
    advantage: PerStep,
    log_probability: PerAction,
    config: PPOConfig,
) -> PolicyStatistics:
    """What the policy's loss needs of the steps of a minibatch."""
    advantage = normalize(advantage, config)
    shape = log_probability.shape
    place = action * shape[1] + node
    num_places = log_probability.size
    sign = (advantage < 0).astype(place.dtype)
    sums = sum_by_place(advantage, place + sign * num_places, 2 * num_places).reshape(2, *shape)
    count = jax.ops.segment_sum(jnp.ones(place.size), place.ravel(), num_places).reshape(shape)
    size = advantage.size
    return PolicyStatistics(count / size, sums[0] / size, sums[1] / size, log_probability)


def sum_policy_loss(
    logits: PerAction, statistics: PolicyStatistics, config: PPOConfig
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """The part of `policy_loss` and of its metrics that some nodes contribute."""
    share, gain, loss, acting = statistics
    log_probabilities = jax.nn.log_softmax(logits, axis=0)
    log_ratio = log_probabilities - acting
    ratio = jnp.exp(log_ratio)
    bounded_above = jnp.minimum(ratio, 1 + config.clip_range)
    bounded_below = jnp.maximum(ratio, 1 - config.clip_range)
    surrogate = jnp.sum(gain * bounded_above + loss * bounded_below)
    entropies = -jnp.sum(jnp.exp(log_probabilities) * log_probabilities, axis=0)
    entropy = jnp.sum(jnp.sum(share, axis=0) * entropies)
    metrics = {
        "policy_loss": -surrogate,
        "entropy": entropy,
        "kl": jnp.sum(share * ((ratio - 1) - log_ratio)),
        "clipped": jnp.sum(jnp.where(jnp.abs(ratio - 1) > config.clip_range, share, 0)),
    }
    return -surrogate - config.entropy_coefficient * entropy, metrics


def sum_hesitant_policy_loss(
    outputs: tuple[PerAction, PerNode], statistics: PolicyStatistics, config: PPOConfig
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """The same with what the policy's cell says of its thresholds at each node."""
    logits, hesitation = outputs
    loss, metrics = sum_policy_loss(logits, statistics, config)
    share = jnp.sum(statistics.share, axis=0)
    return add_hesitation(loss, metrics, jnp.sum(share * hesitation), config)


def describe_value(
    node: NodeOfStep, target: PerStep, num_nodes: int
) -> tuple[ValueStatistics, Float[Array, ""]]:
    """What the value loss needs of the steps of a minibatch, and the variance within nodes.

    That variance is the part of the mean squared error that no value can do anything about.
    """
    count = jax.ops.segment_sum(jnp.ones(node.size), node.ravel(), num_nodes)
    mean = sum_by_place(target, node, num_nodes) / jnp.maximum(count, 1)
    variance = jnp.mean((target - mean[node]) ** 2)
    return ValueStatistics(count / target.size, mean), variance


def sum_value_loss(
    values: Float[Array, "1 nodes"], statistics: ValueStatistics, config: PPOConfig
) -> tuple[Float[Array, ""], None]:
    """The part of `value_loss` that some nodes contribute, but for the variance within nodes."""
    errors = statistics.share * (values[0] - statistics.target) ** 2
    return config.value_coefficient * 0.5 * jnp.sum(errors), None


def sum_by_place(values: PerStep, place: NodeOfStep, num_places: int) -> Float[Array, " places"]:
    """Sums of values that share a place, however many, to single precision.

    Thousands of equal values added one by one to a growing sum are all rounded the same way. So
    values are split at a coarse grid: multiples of it add up exactly, and what is left is small.
    """
    # Of values that are all 0, the grid must still be a normal number: smaller ones count as 0.
    smallest = 512 * jnp.finfo(values.dtype).tiny
    unit = jnp.maximum(jnp.max(jnp.abs(values)), smallest) / 256
    coarse = jnp.round(values / unit)
    parts = jnp.stack([coarse, values - coarse * unit], axis=-1).reshape(-1, 2)
    sums = jax.ops.segment_sum(parts, place.ravel(), num_places)
    return sums[:, 0] * unit + sums[:, 1]
