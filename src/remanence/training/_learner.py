"""One seed's training as pure functions: how it begins, and the parts of its iterations."""

import dataclasses
import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from remanence._keys import derive_key, derive_keys
from remanence._typing import Key
from remanence.cells import AbstractCell
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError
from remanence.networks import Architecture, Network, make_networks
from remanence.training._advantages import estimate_advantages
from remanence.training._config import PPOConfig
from remanence.training._replays import AbstractReplay, Experience, Played
from remanence.training._rollout import ActorState, Rollout, collect_rollout
from remanence.training._warm_up import check_warm_up, warm_up

Metrics = dict[str, Float[Array, ""]]


class LearnerState(eqx.Module):
    """All that a training carries from one iteration to the next, and so all of a checkpoint.

    Randomness is derived from the seed and the iteration, so no key needs keeping. Of the networks
    it holds the arrays; what else a cell may consist of is the learner's.
    """

    seed: Int[Array, ""]
    iteration: Int[Array, ""]
    policy: Any
    value: Any
    policy_optimizer: optax.OptState
    value_optimizer: optax.OptState
    # Where acting stands. Checkpoints name their arrays by it, so the field keeps its name.
    stage: ActorState
    value_state: Float[Array, "envs state"]


@dataclasses.dataclass(frozen=True)
class Learner:
    """Recurrent PPO on one environment with one architecture."""

    environment: AbstractEnvironment
    architecture: Architecture
    config: PPOConfig

    def __post_init__(self):
        _ = self.sizes  # now, while nothing is traced: some environments compute with JAX here
        if self.config.warm_up:
            name, number = self.architecture.cell, self.config.warm_up
            check_warm_up(self.environment, name, self.cell, number)
        usual = PPOConfig()
        for option in ("surrogate_narrowing", "hold_margin"):
            value = getattr(self.config, option)
            if value != getattr(usual, option) and not self.cell.thresholded:
                remedy = "it is for cells with thresholds, such as bmru and hybrid, and the cell is"
                raise InvalidOptionError(option, value, f"{remedy} {self.architecture.cell}")

    @functools.cached_property
    def sizes(self) -> tuple[int, int]:
        """How many numbers an observation has, and how many actions there are."""
        return self.environment.observation_size, self.environment.num_actions

    def make_networks(self, key: Key) -> tuple[Network, Network]:
        """A fresh policy and a fresh value network."""
        return make_networks(
            self.architecture,
            *self.sizes,
            keys=derive_keys(key, ["policy", "value"]),
            initialization=self.config.initialization,
        )

    @functools.cached_property
    def network_shapes(self) -> tuple[Any, Any]:
        """The two networks with shapes for arrays."""
        return eqx.filter_eval_shape(self.make_networks, jax.random.key(0))

    @functools.cached_property
    def _statics(self) -> tuple[Any, Any]:
        """All of the two networks but their arrays: functions and plain numbers within a cell."""
        policy, value = (
            eqx.filter(shape, _is_shape, inverse=True) for shape in self.network_shapes
        )
        return policy, value

    @property
    def cell(self) -> AbstractCell:
        """The policy's cell, with shapes for arrays."""
        return self.network_shapes[0].cell

    def assemble(self, policy: Any, value: Any) -> tuple[Network, Network]:
        """The policy and the value network of the arrays that a state holds of them."""
        policy_static, value_static = self._statics
        return eqx.combine(policy, policy_static), eqx.combine(value, value_static)

    def begin(self, seed: Int[Array, ""], params: Any) -> LearnerState:
        """Fresh networks and environments."""
        key = jax.random.key(seed)
        policy, value = self.make_networks(key)
        if self.config.warm_up:
            policy, value = (
                warm_up(network, self.environment, self.config.warm_up)
                for network in (policy, value)
            )
        num_envs = self.config.num_envs
        reset_keys = jax.random.split(derive_key(key, "reset"), num_envs)
        observation, env_state = jax.vmap(self.environment.reset, (0, None))(reset_keys, params)
        return LearnerState(
            seed=seed,
            iteration=jnp.zeros((), jnp.int32),
            policy=eqx.filter(policy, eqx.is_array),
            value=eqx.filter(value, eqx.is_array),
            policy_optimizer=self._begin_optimizer(policy),
            value_optimizer=self._begin_optimizer(value),
            stage=ActorState(
                env_state=env_state,
                observation=observation,
                first=jnp.ones(num_envs, bool),
                policy_state=_repeat(policy.initial_state(), num_envs),
                episode_return=jnp.zeros(num_envs),
                episode_length=jnp.zeros(num_envs, jnp.int32),
            ),
            value_state=_repeat(value.initial_state(), num_envs),
        )

    def play(self, state: LearnerState, params: Any) -> tuple[LearnerState, Played, Metrics]:
        """Collect one rollout."""
        policy, _ = self.assemble(state.policy, state.value)
        actor, rollout = collect_rollout(
            self.environment,
            params,
            policy,
            state.stage,
            self.config.num_steps,
            derive_key(_derive_iteration_key(state), "rollout"),
            self.config.state_passing,
        )
        played = Played(rollout, state.stage.policy_state, state.value_state)
        return dataclasses.replace(state, stage=actor), played, _summarize(rollout)

    def judge(
        self, state: LearnerState, played: Played, replay: AbstractReplay
    ) -> tuple[LearnerState, Experience]:
        """What the value network makes of a rollout."""
        _, value = self.assemble(state.policy, state.value)
        rollout = played.rollout
        values = replay.evaluate(value, played, self.config)
        over = rollout.terminated
        if self.config.time_limit_ends:
            over = over | rollout.truncated
        advantage = estimate_advantages(
            rollout.reward,
            values.value,
            values.next_value,
            over,
            rollout.truncated,
            self.config.discount,
            self.config.advantage_decay,
        )
        experience = Experience(
            rollout=rollout,
            advantage=advantage,
            target=values.value + advantage,
            policy_state=played.policy_state,
            value_state=played.value_state,
        )
        return dataclasses.replace(state, value_state=values.last_state), experience

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        """Adam behind a clip by global norm; the learning rate is applied apart, as it anneals."""
        return optax.chain(
            optax.clip_by_global_norm(self.config.max_gradient_norm),
            optax.scale_by_adam(eps=self.config.adam_epsilon),
        )

    def _begin_optimizer(self, network: Any) -> optax.OptState:
        return self._optimizer.init(eqx.filter(network, eqx.is_inexact_array))

    def _anneal(self, iteration: Int[Array, ""]) -> Float[Array, ""]:
        """Cosine annealing over iterations (Loshchilov and Hutter 2017), from 1 to 0."""
        progress = iteration.astype(jnp.float32) / self.config.anneal_iterations
        return 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip(progress, 0, 1)))

    def _find_width_scale(self, iteration: Int[Array, ""]) -> Float[Array, ""] | None:
        """What surrogates' widths are multiplied by: from 1 in the first iteration to the last."""
        if self.config.surrogate_narrowing == 1:
            return None
        progress = iteration.astype(jnp.float32) / max(self.config.num_iterations - 1, 1)
        return jnp.exp(-math.log(self.config.surrogate_narrowing) * progress)

    def _descend(
        self, weights: Any, optimizer: optax.OptState, gradient: Any, rate: Float[Array, ""]
    ) -> tuple[Any, optax.OptState]:
        # Optax raises a float to an integer power, which strict promotion forbids.
        with jax.numpy_dtype_promotion("standard"):
            updates, optimizer = self._optimizer.update(gradient, optimizer)
        return jax.tree.map(lambda old, change: old - rate * change, weights, updates), optimizer

    def _draw_minibatches(self, key: Key) -> Int[Array, "minibatches members"]:
        members = jax.random.permutation(key, self.config.num_envs)
        return members.reshape(self.config.num_minibatches, -1)

    def improve_policy(
        self, state: LearnerState, experience: Experience, replay: AbstractReplay
    ) -> tuple[LearnerState, Metrics]:
        """Epochs of clipped policy gradients, until the policy has moved too far."""
        key = derive_key(_derive_iteration_key(state), "policy")
        policy, _ = self.assemble(state.policy, state.value)
        weights, fixed = eqx.partition(policy, eqx.is_inexact_array)
        rate = self.config.policy_learning_rate * self._anneal(state.iteration)
        scale = self._find_width_scale(state.iteration)

        def improve(carry: Any, now: tuple[Any, Key]) -> tuple[Any, Metrics]:
            (weights, optimizer), (members, dropout_key) = carry, now
            policy = eqx.combine(weights, fixed).narrow(scale)
            gradient, metrics = replay.differentiate_policy(
                policy, experience, members, self.config, dropout_key
            )
            # The gradient is a network as well, without the scale again that is not trained.
            return self._descend(weights, optimizer, gradient.narrow(None), rate), metrics

        def run_epoch(carry: Any) -> Any:
            epoch, learned, _ = carry
            epoch_key = jax.random.fold_in(key, epoch)
            minibatches = self._draw_minibatches(derive_key(epoch_key, "minibatches"))
            keys = jax.random.split(derive_key(epoch_key, "dropout"), len(minibatches))
            learned, metrics = jax.lax.scan(improve, learned, (minibatches, keys))
            return epoch + 1, learned, jax.tree.map(_mean, metrics)

        def goes_on(carry: Any) -> Bool[Array, ""]:
            epoch, _, metrics = carry
            return (epoch < self.config.policy_epochs) & (metrics["kl"] <= self.config.max_kl)

        names = ["policy_loss", "entropy", "kl", "clipped"]
        names += ["hesitation"] if self.config.hold_margin else []
        blank = dict.fromkeys(names, jnp.float32(0))
        start = (jnp.zeros((), jnp.int32), (weights, state.policy_optimizer), blank)
        epochs, (weights, optimizer), metrics = jax.lax.while_loop(goes_on, run_epoch, start)
        metrics |= {"policy_epochs": epochs.astype(jnp.float32)}
        policy = _arrays_of(weights, fixed)
        return dataclasses.replace(state, policy=policy, policy_optimizer=optimizer), metrics

    def improve_value(
        self, state: LearnerState, experience: Experience, replay: AbstractReplay
    ) -> tuple[LearnerState, Metrics]:
        """Epochs of regression on the estimated returns."""
        key = derive_key(_derive_iteration_key(state), "value")
        _, value = self.assemble(state.policy, state.value)
        weights, fixed = eqx.partition(value, eqx.is_inexact_array)
        rate = self.config.value_learning_rate * self._anneal(state.iteration)
        scale = self._find_width_scale(state.iteration)

        def improve(carry: Any, now: tuple[Any, Key]) -> tuple[Any, Float[Array, ""]]:
            (weights, optimizer), (members, dropout_key) = carry, now
            value = eqx.combine(weights, fixed).narrow(scale)
            gradient, loss = replay.differentiate_value(
                value, experience, members, self.config, dropout_key
            )
            return self._descend(weights, optimizer, gradient.narrow(None), rate), loss

        epoch_keys = jax.random.split(derive_key(key, "minibatches"), self.config.value_epochs)
        minibatches = jnp.concatenate(jax.vmap(self._draw_minibatches)(epoch_keys))
        keys = jax.random.split(derive_key(key, "dropout"), len(minibatches))
        start = (weights, state.value_optimizer)
        (weights, optimizer), losses = jax.lax.scan(improve, start, (minibatches, keys))
        last_epoch = losses[-self.config.num_minibatches :]
        state = dataclasses.replace(
            state,
            value=_arrays_of(weights, fixed),
            value_optimizer=optimizer,
        )
        return state, {"value_loss": _mean(last_epoch)}


def _derive_iteration_key(state: LearnerState) -> Key:
    return jax.random.fold_in(jax.random.key(state.seed), state.iteration)


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _arrays_of(weights: Any, fixed: Any) -> Any:
    return eqx.filter(eqx.combine(weights, fixed), eqx.is_array)


def _mean(values: Float[Array, "..."], where: Any = None) -> Float[Array, ""]:
    """A mean in single precision, whatever the precision of what it is of."""
    return jnp.mean(values, where=where).astype(jnp.float32)


def _repeat(vector: Float[Array, " state"], count: int) -> Float[Array, "count state"]:
    return jnp.broadcast_to(vector, (count, *vector.shape))


def _summarize(rollout: Rollout) -> Metrics:
    """Mean return and length of the episodes that ended in a rollout; NaN if none did."""
    ended = rollout.terminated | rollout.truncated
    return {
        "return": _mean(rollout.episode_return, ended),
        "episode_length": _mean(rollout.episode_length.astype(jnp.float32), ended),
        "episodes": jnp.sum(ended).astype(jnp.float32),
        "truncations": jnp.sum(rollout.truncated & ~rollout.terminated).astype(jnp.float32),
    }
