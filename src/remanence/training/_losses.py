"""The losses of PPO (Schulman et al. 2017), from what a network makes of a rollout."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence.training._config import PPOConfig
from remanence.training._rollout import Rollout, select_action


def policy_loss(
    logits: Float[Array, "time envs actions"],
    rollout: Rollout,
    advantage: Float[Array, "time envs"],
    config: PPOConfig,
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """Clipped surrogate minus the entropy bonus, and what is worth knowing of a minibatch."""
    log_probabilities = jax.nn.log_softmax(logits)
    log_ratio = select_action(log_probabilities, rollout.action) - rollout.log_probability
    ratio = jnp.exp(log_ratio)
    advantage = normalize(advantage, config)
    clipped_ratio = jnp.clip(ratio, 1 - config.clip_range, 1 + config.clip_range)
    surrogate = jnp.mean(jnp.minimum(ratio * advantage, clipped_ratio * advantage))
    entropy = -jnp.mean(jnp.sum(jnp.exp(log_probabilities) * log_probabilities, axis=-1))
    metrics = {
        "policy_loss": -surrogate,
        "entropy": entropy,
        # Schulman's low-variance estimate of the divergence from the policy that acted.
        "kl": jnp.mean((ratio - 1) - log_ratio),
        "clipped": jnp.mean((jnp.abs(ratio - 1) > config.clip_range).astype(jnp.float32)),
    }
    return -surrogate - config.entropy_coefficient * entropy, metrics


def add_hesitation(
    loss: Float[Array, ""],
    metrics: dict[str, Float[Array, ""]],
    hesitation: Float[Array, ""],
    config: PPOConfig,
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """The policy's loss with what it costs that inputs come near to thresholds of its units."""
    return loss + config.hold_coefficient * hesitation, metrics | {"hesitation": hesitation}


def normalize(
    advantage: Float[Array, "steps members"], config: PPOConfig
) -> Float[Array, "steps members"]:
    """Advantages of a minibatch with mean 0 and deviation 1, if the configuration says so."""
    if not config.normalize_advantages:
        return advantage
    return (advantage - jnp.mean(advantage)) / (jnp.std(advantage) + 1e-8)


def value_loss(
    values: Float[Array, "time envs"], target: Float[Array, "time envs"], config: PPOConfig
) -> Float[Array, ""]:
    """Half the mean squared error against the estimated returns."""
    return config.value_coefficient * 0.5 * jnp.mean((values - target) ** 2)
