"""One seed's training as a pure function: `begin` once, then `iterate` again and again."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from remanence._keys import derive_key
from remanence._typing import Key
from remanence.envs import AbstractEnvironment
from remanence.networks import Architecture, Network, make_policy, make_value
from remanence.training._advantages import estimate_advantages
from remanence.training._config import PPOConfig
from remanence.training._losses import policy_loss, value_loss
from remanence.training._rollout import Rollout, Stage, collect_rollout, evaluate_rollout

Metrics = dict[str, Float[Array, ""]]


class LearnerState(eqx.Module):
    """All that a training carries from one iteration to the next, and so all of a checkpoint.

    Randomness is derived from the seed and the iteration, so no key needs keeping.
    """

    seed: Int[Array, ""]
    iteration: Int[Array, ""]
    policy: Network
    value: Network
    policy_optimizer: optax.OptState
    value_optimizer: optax.OptState
    stage: Stage
    value_state: Float[Array, "envs state"]


@dataclasses.dataclass(frozen=True)
class Learner:
    """Recurrent PPO on one environment with one architecture."""

    environment: AbstractEnvironment
    architecture: Architecture
    config: PPOConfig

    def begin(self, seed: Int[Array, ""], params: Any) -> LearnerState:
        """Fresh networks and environments."""
        key = jax.random.key(seed)
        size, num_actions = self.environment.observation_size, self.environment.num_actions
        policy = make_policy(self.architecture, size, num_actions, key=derive_key(key, "policy"))
        value = make_value(self.architecture, size, key=derive_key(key, "value"))
        num_envs = self.config.num_envs
        reset_keys = jax.random.split(derive_key(key, "reset"), num_envs)
        observation, env_state = jax.vmap(self.environment.reset, (0, None))(reset_keys, params)
        return LearnerState(
            seed=seed,
            iteration=jnp.zeros((), jnp.int32),
            policy=policy,
            value=value,
            policy_optimizer=self._begin_optimizer(policy),
            value_optimizer=self._begin_optimizer(value),
            stage=Stage(
                env_state=env_state,
                observation=observation,
                first=jnp.ones(num_envs, bool),
                policy_state=_repeat(policy.initial_state(), num_envs),
                episode_return=jnp.zeros(num_envs),
                episode_length=jnp.zeros(num_envs, jnp.int32),
            ),
            value_state=_repeat(value.initial_state(), num_envs),
        )

    def iterate(self, state: LearnerState, params: Any) -> tuple[LearnerState, Metrics]:
        """Collect one rollout, then improve the policy and the value network on it."""
        key = jax.random.fold_in(jax.random.key(state.seed), state.iteration)
        stage, rollout = collect_rollout(
            self.environment,
            params,
            state.policy,
            state.stage,
            self.config.num_steps,
            derive_key(key, "rollout"),
        )
        values = evaluate_rollout(state.value, state.value_state, rollout)
        advantage = estimate_advantages(
            rollout.reward,
            values.value,
            values.next_value,
            rollout.terminated,
            rollout.truncated,
            self.config.discount,
            self.config.advantage_decay,
        )
        policy, policy_optimizer, policy_metrics = self._improve_policy(
            state, rollout, advantage, derive_key(key, "policy")
        )
        value, value_optimizer, value_metrics = self._improve_value(
            state, rollout, values.value + advantage, derive_key(key, "value")
        )
        next_state = LearnerState(
            seed=state.seed,
            iteration=state.iteration + 1,
            policy=policy,
            value=value,
            policy_optimizer=policy_optimizer,
            value_optimizer=value_optimizer,
            stage=stage,
            value_state=values.last_state,
        )
        return next_state, _summarize(rollout) | policy_metrics | value_metrics

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        """Adam behind a clip by global norm; the learning rate is applied apart, as it anneals."""
        return optax.chain(
            optax.clip_by_global_norm(self.config.max_gradient_norm),
            optax.scale_by_adam(eps=self.config.adam_epsilon),
        )

    def _begin_optimizer(self, network: Any) -> optax.OptState:
        return self._optimizer.init(network)

    def _anneal(self, iteration: Int[Array, ""]) -> Float[Array, ""]:
        """Cosine annealing over iterations (Loshchilov and Hutter 2017), from 1 to 0."""
        progress = iteration.astype(jnp.float32) / self.config.anneal_iterations
        return 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip(progress, 0, 1)))

    def _descend(
        self, network: Network, optimizer: optax.OptState, gradient: Any, rate: Float[Array, ""]
    ) -> tuple[Network, optax.OptState]:
        # Optax raises a float to an integer power, which strict promotion forbids.
        with jax.numpy_dtype_promotion("standard"):
            updates, optimizer = self._optimizer.update(gradient, optimizer)
        return jax.tree.map(lambda old, change: old - rate * change, network, updates), optimizer

    def _draw_minibatches(self, key: Key) -> Int[Array, "minibatches members"]:
        members = jax.random.permutation(key, self.config.num_envs)
        return members.reshape(self.config.num_minibatches, -1)

    def _improve_policy(
        self,
        state: LearnerState,
        rollout: Rollout,
        advantage: Float[Array, "time envs"],
        key: Key,
    ) -> tuple[Network, optax.OptState, Metrics]:
        """Epochs of clipped policy gradients, until the policy has moved too far."""
        rate = self.config.policy_learning_rate * self._anneal(state.iteration)

        def improve(carry: Any, now: tuple[Any, Key]) -> tuple[Any, Metrics]:
            (policy, optimizer), (members, dropout_key) = carry, now
            gradient, metrics = jax.grad(policy_loss, has_aux=True)(
                policy,
                rollout.select(members),
                state.stage.policy_state[members],
                advantage[:, members],
                self.config,
                dropout_key,
            )
            return self._descend(policy, optimizer, gradient, rate), metrics

        def run_epoch(carry: Any) -> Any:
            epoch, networks, _ = carry
            epoch_key = jax.random.fold_in(key, epoch)
            minibatches = self._draw_minibatches(derive_key(epoch_key, "minibatches"))
            keys = jax.random.split(derive_key(epoch_key, "dropout"), len(minibatches))
            networks, metrics = jax.lax.scan(improve, networks, (minibatches, keys))
            return epoch + 1, networks, jax.tree.map(jnp.mean, metrics)

        def goes_on(carry: Any) -> Bool[Array, ""]:
            epoch, _, metrics = carry
            return (epoch < self.config.policy_epochs) & (metrics["kl"] <= self.config.max_kl)

        blank = {name: jnp.zeros(()) for name in ("policy_loss", "entropy", "kl", "clipped")}
        start = (jnp.zeros((), jnp.int32), (state.policy, state.policy_optimizer), blank)
        epochs, networks, metrics = jax.lax.while_loop(goes_on, run_epoch, start)
        return *networks, metrics | {"policy_epochs": epochs.astype(jnp.float32)}

    def _improve_value(
        self,
        state: LearnerState,
        rollout: Rollout,
        target: Float[Array, "time envs"],
        key: Key,
    ) -> tuple[Network, optax.OptState, Metrics]:
        rate = self.config.value_learning_rate * self._anneal(state.iteration)

        def improve(carry: Any, now: tuple[Any, Key]) -> tuple[Any, Float[Array, ""]]:
            (value, optimizer), (members, dropout_key) = carry, now
            loss, gradient = jax.value_and_grad(value_loss)(
                value,
                rollout.select(members),
                state.value_state[members],
                target[:, members],
                self.config,
                dropout_key,
            )
            return self._descend(value, optimizer, gradient, rate), loss

        epoch_keys = jax.random.split(derive_key(key, "minibatches"), self.config.value_epochs)
        minibatches = jnp.concatenate(jax.vmap(self._draw_minibatches)(epoch_keys))
        keys = jax.random.split(derive_key(key, "dropout"), len(minibatches))
        start = (state.value, state.value_optimizer)
        networks, losses = jax.lax.scan(improve, start, (minibatches, keys))
        return *networks, {"value_loss": jnp.mean(losses[-self.config.num_minibatches :])}


def _repeat(vector: Float[Array, " state"], count: int) -> Float[Array, "count state"]:
    return jnp.broadcast_to(vector, (count, *vector.shape))


def _summarize(rollout: Rollout) -> Metrics:
    """Mean return and length of the episodes that ended in a rollout; NaN if none did."""
    ended = rollout.terminated | rollout.truncated
    return {
        "return": jnp.mean(rollout.episode_return, where=ended),
        "episode_length": jnp.mean(rollout.episode_length.astype(jnp.float32), where=ended),
        "episodes": jnp.sum(ended).astype(jnp.float32),
        "truncations": jnp.sum(rollout.truncated & ~rollout.terminated).astype(jnp.float32),
    }
