"""Truncated generalized advantage estimation (Schulman et al. 2016)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Series = Float[Array, "time *batch"]
Flags = Bool[Array, "time *batch"]


def estimate_advantages(
    reward: Series,
    value: Series,
    next_value: Series,
    terminated: Flags,
    truncated: Flags,
    discount: float,
    decay: float,
) -> Series:
    """Advantages of the actions taken along a rollout; all arrays are (time, ...).

        delta_t = r_t + discount * V_{t+1} - V_t
        A_t = delta_t + discount * decay * A_{t+1}

    (Schulman et al. 2017, equations 11 and 12.) `next_value` is the value of what followed *within
    the episode*: at a truncation, of the episode's own final observation. After a termination there
    is nothing to earn; across either boundary no advantage flows.

    >>> from remanence import training
    >>> reward, nothing = jnp.array([0.0, 0.0, 4.0]), jnp.zeros(3)
    >>> terminated, truncated = jnp.array([False, False, True]), jnp.zeros(3, bool)
    >>> training.estimate_advantages(
    ...     reward, nothing, nothing, terminated, truncated, discount=0.5, decay=1.0
    ... ).tolist()
    [1.0, 2.0, 4.0]
    """
    bootstrap = jnp.where(terminated, 0.0, next_value)
    delta = reward + discount * bootstrap - value
    carries_on = jnp.where(terminated | truncated, 0.0, discount * decay)

    def accumulate(
        later_advantage: Float[Array, "*batch"],
        now: tuple[Float[Array, "*batch"], Float[Array, "*batch"]],
    ) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
        delta, carries_on = now
        advantage = delta + carries_on * later_advantage
        return advantage, advantage

    nothing = jnp.zeros_like(delta[0])
    _, advantage = jax.lax.scan(accumulate, nothing, (delta, carries_on), reverse=True)
    return advantage
