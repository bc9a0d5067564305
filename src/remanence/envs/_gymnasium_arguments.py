"""Reads what a user of the Gymnasium interface passes in, and says what is wrong with it."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from remanence._numbers import check_whole
from remanence._registry import check_options
from remanence.envs._environment import AbstractEnvironment
from remanence.envs._registry import make
from remanence.errors import InvalidOptionError

MAX_SEED = 2**64 - 1


def read_environment(name: Any, options: dict[str, Any]) -> tuple[AbstractEnvironment, Any]:
    """The environment and its parameters, from a name and options or from that very pair."""
    if isinstance(name, str):
        return make(name, **options)
    pair = isinstance(name, tuple) and len(name) == 2
    if not pair or not isinstance(name[0], AbstractEnvironment):
        raise InvalidOptionError("name", name, "use a registered name, or what `make` returns")
    if options:
        raise InvalidOptionError("options", options, "give them to `make`, which returned the pair")
    return name


def spread_params(environment: AbstractEnvironment, params: Any, batch: tuple[int, ...]) -> Any:
    """Parameters with the shape `batch` in front: arrays of that shape stay, numbers are repeated.

    The default parameters tell a number for each member from a parameter that is a vector.
    """

    def spread(path: Any, leaf: Any, default: Any) -> jax.Array:
        leaf = jnp.asarray(leaf)
        leading = leaf.shape[: leaf.ndim - jnp.ndim(default)]
        if leading and leading != batch:
            option = f"the shape of {jax.tree_util.keystr(path, simple=True)}"
            each = f", or {batch[0]}, one for each environment" if batch else ""
            raise InvalidOptionError(option, leaf.shape, f"give one number{each}")
        return leaf if leading else jnp.broadcast_to(leaf, batch + leaf.shape)

    return jax.tree_util.tree_map_with_path(spread, params, environment.default_params)


def read_actions(received: Any, shape: tuple[int, ...], num_actions: int) -> np.ndarray:
    """Actions as integers of that shape, each from 0 to num_actions - 1."""
    remedy = f"use integers from 0 to {num_actions - 1}" + (f" of shape {shape}" if shape else "")
    try:
        actions = np.asarray(received)
    except ValueError as error:
        raise InvalidOptionError("action", received, remedy) from error
    if actions.shape != shape:
        raise InvalidOptionError("the shape of the action", actions.shape, remedy)
    if not np.issubdtype(actions.dtype, np.integer):
        raise InvalidOptionError("the type of the action", actions.dtype.name, remedy)
    outside = (actions < 0) | (actions >= num_actions)
    if outside.any():
        where = f"the action of environment {np.argmax(outside)}" if shape else "action"
        raise InvalidOptionError(where, int(actions[outside][0]), remedy)
    return actions.astype(np.int32)


def read_seed(seed: Any) -> int:
    """One seed."""
    return check_whole("seed", seed, 0, MAX_SEED)


def read_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """A seed for each environment: from one number, a list, or None for no seeds."""
    if seed is None:
        return [None] * num_envs
    if not isinstance(seed, (Sequence, np.ndarray)):
        first = read_seed(seed)
        return [read_seed(first + i) for i in range(num_envs)]
    if len(seed) != num_envs:
        raise InvalidOptionError("the number of seeds", len(seed), f"give one or {num_envs}")
    return [None if each is None else read_seed(each) for each in seed]


def key_data_of(seeds: Sequence[int]) -> np.ndarray:
    """The two words of each seed's key, the high one first as in `jax.random.key`."""
    return np.array([divmod(seed, 2**32) for seed in seeds], np.uint32)


def read_reset_mask(options: dict[str, Any] | None, num_envs: int) -> np.ndarray:
    """Which environments to reset: all of them, unless `options["reset_mask"]` says otherwise."""
    options = options or {}
    check_options("reset", options, ["reset_mask"])
    mask = np.asarray(options.get("reset_mask", np.ones(num_envs, bool)))
    if mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        remedy = f"use a boolean array of shape ({num_envs},) that is true somewhere"
        raise InvalidOptionError("reset_mask", mask, remedy)
    return mask


def read_num_envs(num_envs: Any) -> int:
    """How many environments to step at once."""
    return check_whole("num_envs", num_envs, 1)
