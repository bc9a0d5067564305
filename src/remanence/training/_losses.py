"""The losses of PPO (Schulman et al. 2017) over whole sequences."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence._typing import Key
from remanence.networks import Network
from remanence.training._config import PPOConfig
from remanence.training._rollout import Rollout, select_action


def policy_loss(
    policy: Network,
    rollout: Rollout,
    state: Float[Array, "envs state"],
    advantage: Float[Array, "time envs"],
    config: PPOConfig,
    key: Key,
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """Clipped surrogate minus the entropy bonus, replayed from the rollout's first state."""
    logits = replay(policy, rollout, state, key)
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


def normalize(
    advantage: Float[Array, "steps members"], config: PPOConfig
) -> Float[Array, "steps members"]:
    """Advantages of a minibatch with mean 0 and deviation 1, if the configuration says so."""
    if not config.normalize_advantages:
        return advantage
    return (advantage - jnp.mean(advantage)) / (jnp.std(advantage) + 1e-8)


def value_loss(
    value: Network,
    rollout: Rollout,
    state: Float[Array, "envs state"],
    target: Float[Array, "time envs"],
    config: PPOConfig,
    key: Key,
) -> Float[Array, ""]:
    """Half the mean squared error against the estimated returns."""
    values = replay(value, rollout, state, key)[..., 0]
    return config.value_coefficient * 0.5 * jnp.mean((values - target) ** 2)


def replay(
    network: Network, rollout: Rollout, state: Float[Array, "envs state"], key: Key
) -> Float[Array, "time envs output"]:
    """A network's outputs along a rollout, with dropout where it has any."""
    keys = jax.random.split(key, len(state)) if network.dropout else None

    def run(observation: Array, first: Array, state: Array, key: Key | None) -> Array:
        return network.run(observation, first, state, key=key)[0]

    return jax.vmap(run, in_axes=(1, 1, 0, 0), out_axes=1)(
        rollout.observation, rollout.first, state, keys
    )
