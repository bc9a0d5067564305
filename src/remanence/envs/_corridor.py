"""The moves, rewards and options that a T-maze and a row of T-mazes have in common.

Positions run from 0 to length - 1, where the junction is. An arm is -1 (up), +1 (down) or 0
(neither), as is the goal.
"""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from remanence._typing import Action, Flag, Scalar
from remanence.envs._environment import (
    NO_DECISION,
    RIGHT_DECISION,
    WRONG_DECISION,
    AbstractEnvironment,
    Params,
    State,
)
from remanence.errors import InvalidOptionError

RIGHT, UP, LEFT, DOWN = range(4)
ACTION_NAMES = ("right", "up", "left", "down")

REWARD_RIGHT_ARM = 4.0
REWARD_WRONG_ARM = -0.1
NO_ARM_RETURN = 0.0
RANDOM_DECISION_RETURN = (REWARD_RIGHT_ARM + REWARD_WRONG_ARM) / 2

Integer = Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class AbstractMaze(AbstractEnvironment[State, Params]):
    """A maze of corridors: four moves, and 4 for right decisions all along."""

    @property
    def num_actions(self) -> int:
        return len(ACTION_NAMES)

    @property
    def action_names(self) -> tuple[str, ...]:
        return ACTION_NAMES

    def optimal_return(self, params: Params) -> float:
        del params
        return REWARD_RIGHT_ARM

    def random_decision_return(self, params: Params) -> float:
        del params
        return RANDOM_DECISION_RETURN

    def levels(self, params: Params) -> dict[str, float]:
        return {
            "optimal": self.optimal_return(params),
            "coin flip": self.random_decision_return(params),
            "no arm in time": NO_ARM_RETURN,
        }


def move(position: Integer, length: Integer, action: Action) -> Integer:
    """The position after an action; a move that leaves the corridor is a bump."""
    target = position + _one_if(action == RIGHT) - _one_if(action == LEFT)
    return jnp.clip(target, 0, length - 1)


def choose_arm(at_junction: Flag, action: Action) -> Integer:
    """The arm that an action enters: none away from the junction."""
    return jnp.where(at_junction, _one_if(action == DOWN) - _one_if(action == UP), 0)


def reward_arm(arm: Integer, goal: Integer) -> Scalar:
    """4 for the goal's arm, -0.1 for the other, 0 for none."""
    entered = jnp.where(arm == goal, REWARD_RIGHT_ARM, REWARD_WRONG_ARM)
    return jnp.where(arm == 0, 0.0, entered).astype(jnp.float32)


def judge_arm(arm: Integer, goal: Integer) -> Integer:
    """The decision to enter an arm: right for the goal's, wrong for the other, none for none."""
    entered = jnp.where(arm == goal, RIGHT_DECISION, WRONG_DECISION)
    return jnp.where(arm == 0, NO_DECISION, entered).astype(jnp.int32)


def read_ends(low: Int[Array, "..."], high: Int[Array, "..."]) -> tuple[int, int]:
    """The lowest and the highest number of ranges, whatever the batch."""
    return int(np.min(low)), int(np.max(high))


def _one_if(condition: Flag) -> Integer:
    return condition.astype(jnp.int32)


def out_of_time(time: Integer, limit_factor: Integer, length: Integer) -> Flag:
    """Whether `limit_factor` times `length` steps have been taken; a factor of 0 is no limit."""
    return (limit_factor > 0) & (time >= limit_factor * length)


def read_limit(limit_factor: Int[Array, "..."], *sizes: Int[Array, "..."]) -> int | None:
    """The most steps in any member of a batch, or None if some member has no limit."""
    if not np.all(limit_factor):
        return None
    return int(np.max(limit_factor)) * math.prod(int(np.max(size)) for size in sizes)


def read_range(option: str, value: Any) -> tuple[Int[Array, "..."], Int[Array, "..."]]:
    """Both ends of an option that is one number or a pair (low, high), each 1 or more.

    Either end may be an array, one number for each member of a batch.
    """
    pair = value if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2 or any(isinstance(end, (tuple, list)) for end in pair):
        raise InvalidOptionError(option, value, "a range is a pair (low, high)")
    low, high = (_read_integers(option, end) for end in pair)
    _demand(option, value, "every number must be at least 1", low, lambda low: low >= 1)
    _demand(option, value, "low must not exceed high", (low, high), lambda ends: ends[0] <= ends[1])
    return low, high


def read_limit_factor(value: Any, *sizes: Int[Array, "..."]) -> Int[Array, "..."]:
    """The option `time_limit_factor`: None for no limit, kept as 0.

    `sizes` are the numbers whose product it multiplies.
    """
    option = "time_limit_factor"
    if value is None:
        return jnp.zeros((), jnp.int32)
    factor = _read_integers(option, value)
    _demand(option, value, "use 1 or more, or None for no limit", factor, lambda x: x >= 1)
    remedy = "the limit in steps must fit into 31 bits; use a smaller factor, or None for no limit"
    _demand(
        option,
        value,
        remedy,
        (factor, *sizes),
        lambda numbers: math.prod(number.astype(float) for number in numbers) < 2**31,
    )
    return factor


def read_chance(option: str, value: Any) -> Float[Array, "..."] | None:
    """An option that is a probability; the number 0 is kept as None.

    An array may hold one for each member of a batch, and is kept as it is.
    """
    if isinstance(value, Tracer):
        return value.astype(jnp.float32)
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or not np.all((array >= 0) & (array <= 1)):
        raise InvalidOptionError(option, value, "use a probability, from 0 to 1")
    return jnp.asarray(array, jnp.float32) if array.ndim or array.any() else None


def _read_integers(option: str, value: Any) -> Int[Array, "..."]:
    remedy = "give an integer, a pair (low, high) or integer arrays"
    if isinstance(value, Tracer):
        return value.astype(jnp.int32)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidOptionError(option, value, remedy) from error
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidOptionError(option, value, remedy)
    if array.size and (array.max() >= 2**31 or array.min() < -(2**31)):
        raise InvalidOptionError(option, value, "numbers must fit into 32 bits")
    return jnp.asarray(array, jnp.int32)


def _demand(option: str, received: Any, remedy: str, values: Any, holds: Any) -> None:
    """Raise unless `holds`; values that are being traced cannot be looked at and pass."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values)):
        return
    if not np.all(holds(jax.tree.map(np.asarray, values))):
        raise InvalidOptionError(option, received, remedy)
