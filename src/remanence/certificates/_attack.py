"""A search for small disturbances of observations that make an agent act wrong.

Gradients through the recurrence propose disturbances; the portable program, stepped plainly, says
whether they do any harm. So what is found is true of its bits, and the smallest of all is not
claimed.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from remanence.certificates._interval_policy import GOAL_ARMS
from remanence.certificates._walker import GOALS, NUM_ACTIONS, RIGHT
from remanence.networks import Agent, Network
from remanence.portable import PortablePolicy

NUM_STEPS = 129  # observations of one attack, the junction's included
ENDS = (1, 2, 4, 8, 16, 32, 64, 128)  # at which of them it is to go wrong
NUM_CLIMBS = 16
NUM_HALVINGS = 10
LARGEST = 8.0

Found = TypeVar("Found")


@dataclasses.dataclass(frozen=True)
class Break:
    """Observations after a cue, of which the last one makes the agent act wrong.

    The last is of the junction, where it does not take the goal's arm, or of the corridor, where it
    does not walk on. Each number is within `radius` of what there is to be seen.
    """

    radius: float
    cue: int
    at_junction: bool
    observations: np.ndarray


def attack(agent: Agent, previous_action: bool, largest: float = LARGEST) -> Break | None:
    """The smallest disturbance that was found to break an agent; None if none was, up to a size."""
    portable = agent.make_portable()
    return narrow(lambda size: _attempt(agent.policy, portable, previous_action, size), largest)


def narrow(attempt: Callable[[float], Found | None], largest: float) -> Found | None:
    """What an attempt finds at the smallest size at which it finds something, of some sizes."""
    found = attempt(0.0)
    if found is not None:
        return found
    low, high = 0.0, largest
    found = attempt(high)
    for _ in range(NUM_HALVINGS if found is not None else 0):
        # In logarithms, once a size is known from which on nothing is found.
        middle = math.sqrt(low * high) if low else high / 4
        better = attempt(middle)
        low, high, found = (middle, high, found) if better is None else (low, middle, better)
    return found


def _attempt(
    policy: Network, portable: PortablePolicy, previous_action: bool, radius: float
) -> Break | None:
    """Some disturbances of that size, by gradients and by corners; one that does harm, if any."""
    for cue in GOALS:
        true = _list_true(cue, previous_action)
        offsets = [_list_corners(true.shape[1:])]
        if radius > 0:
            climbed = _climb(policy, jnp.asarray(true), GOAL_ARMS[cue], jnp.float32(radius))
            offsets.append(np.asarray(climbed, np.float64))
        found = _replay(portable, cue, true, radius * np.concatenate(offsets), radius)
        if found is not None:
            return found
    return None


def _list_true(cue: int, previous_action: bool) -> np.ndarray:
    """What there is to be seen, (2, steps, observation): in the corridor, and at the junction."""
    true = np.zeros((2, NUM_STEPS, 2 + NUM_ACTIONS * previous_action), np.float32)
    true[1, :, 1] = 1
    if previous_action:
        true[:, 1:, 2 + RIGHT] = 1
    true[:, 0, 0] = cue
    return true


def _list_corners(shape: tuple[int, ...]) -> np.ndarray:
    """The same corner all the time, in the first two numbers of an observation, as signs."""
    num_steps, size = shape
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * min(size, 2))).reshape(min(size, 2), -1).T
    signs = np.pad(signs, [(0, 0), (0, size - signs.shape[1])])
    return np.repeat(signs[:, None], num_steps, axis=1)


@eqx.filter_jit
def _climb(
    policy: Network, true: Float[Array, "two steps size"], arm: int, radius: Float[Array, ""]
) -> Float[Array, "attacks steps size"]:
    """For each end, in the corridor or at the junction, a climb to where it goes wrong there."""
    climb_to = functools.partial(_climb_one, policy, true, arm, radius)
    targets = jnp.asarray(list(itertools.product(ENDS, (0, 1))), jnp.int32)
    return jax.lax.map(lambda target: climb_to(target[0], target[1]), targets)


def _climb_one(
    policy: Network,
    true: Float[Array, "two steps size"],
    arm: int,
    radius: Float[Array, ""],
    end: Int[Array, ""],
    flag: Int[Array, ""],
) -> Float[Array, "steps size"]:
    def harm(offset: Array) -> Array:
        times = jnp.arange(NUM_STEPS)
        seen = jnp.where(((times == end) & (flag == 1))[:, None], true[1], true[0])

        def step(state: Array, observation: Array) -> tuple[Array, Array]:
            logits, state = policy.step(observation, state)
            return state, logits

        _, logits = jax.lax.scan(step, policy.initial_state(), seen + radius * offset)
        action = jnp.where(flag == 1, arm, RIGHT)
        others = jnp.where(jnp.arange(NUM_ACTIONS) == action, -jnp.inf, logits[end])
        return jnp.max(others) - logits[end, action]

    return climb(harm, true.shape[1:], NUM_CLIMBS)


def climb(
    harm: Callable[[Array], Array], shape: tuple[int, ...], num_steps: int
) -> Float[Array, "steps size"]:
    """Signed steps up the gradient of some harm, smaller and smaller ones, held within ±1."""

    def step(number: Array, offset: Array) -> Array:
        slope = jnp.sign(jax.grad(harm)(offset))
        return jnp.clip(offset + slope * 2.0 / (1.0 + number.astype(jnp.float32)), -1.0, 1.0)

    return jax.lax.fori_loop(0, num_steps, step, jnp.zeros(shape))


def _replay(
    portable: PortablePolicy, cue: int, true: np.ndarray, offsets: np.ndarray, radius: float
) -> Break | None:
    """Step through disturbed observations (attacks, steps, size): the first harm that is done."""
    seen = [disturb(kind[None], offsets, radius, portable.dtype) for kind in true]
    state = np.tile(portable.initial_state(), (len(offsets), 1))
    for time in range(NUM_STEPS):
        if time:
            logits, _ = portable.step(seen[1][:, time], state)
            wrong = np.flatnonzero(logits.argmax(1) != GOAL_ARMS[cue])
            if len(wrong):
                row = int(wrong[0])
                observations = [*seen[0][row, :time], seen[1][row, time]]
                return Break(radius, cue, True, np.array(observations))
        logits, state = portable.step(seen[0][:, time], state)
        wrong = np.flatnonzero(logits.argmax(1) != RIGHT)
        if len(wrong):
            return Break(radius, cue, False, seen[0][int(wrong[0]), : time + 1])
    return None


def disturb(true: np.ndarray, offsets: np.ndarray, radius: float, dtype: Any) -> np.ndarray:
    """Disturbed observations in the program's precision, rounded towards the true ones."""
    seen = (true.astype(np.float64) + offsets).astype(dtype)
    beyond = np.abs(seen.astype(np.float64) - true) > radius
    return np.where(beyond, np.nextafter(seen, true.astype(dtype)), seen)
