"""What the compiled programs of a learner depend on, as a key by which they can be kept."""

import dataclasses
import types
from collections.abc import Hashable, Mapping
from typing import Any

import jax
import numpy as np

from remanence.cells import registry as cell_registry
from remanence.training._config import PPOConfig
from remanence.training._learner import Learner

# Settings of JAX that change what a function is compiled to. `jax.jit` looks at all of them, and
# programs that are compiled ahead of time at none.
_SETTINGS = (
    "jax_debug_infs",
    "jax_debug_nans",
    "jax_default_device",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_enable_x64",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_threefry_partitionable",
)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class _NotTold(Exception):
    """Something whose behaviour may change without its description changing."""


def identify(learner: Learner, *others: Hashable) -> Hashable | None:
    """A key that is equal for learners whose programs are the same; None where that is not known.

    Not known is what an object of a mutable class does, and what was defined in a notebook or a
    script: it may read variables that the next cell of the notebook changes.
    """
    try:
        return (
            freeze(learner.environment),
            freeze(learner.architecture),
            # A name may be registered anew for another cell.
            freeze(cell_registry[learner.architecture.cell]),
            freeze(_leave_out_duration(learner.config)),
            jax.default_backend(),
            tuple(str(getattr(jax.config, name)) for name in _SETTINGS),
            others,
        )
    except _NotTold:
        return None


def freeze(value: Any) -> Hashable:
    """A value as nested tuples, types included: 1, 1.0 and True are equal, but not the same."""
    if isinstance(value, _PLAIN):
        return type(value), repr(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return type(value), str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return type(value), tuple(map(freeze, value))
    if isinstance(value, frozenset):
        return type(value), frozenset(map(freeze, value))
    if isinstance(value, Mapping):
        return type(value), tuple((freeze(name), freeze(entry)) for name, entry in value.items())
    if isinstance(value, type | types.FunctionType):
        return _check_origin(value)
    if _is_frozen_dataclass(value):
        return _check_origin(type(value)), _freeze_fields(value)
    raise _NotTold


def _check_origin(definition: Any) -> Hashable:
    if definition.__module__ == "__main__":
        raise _NotTold
    return definition


def _is_frozen_dataclass(value: Any) -> bool:
    params = getattr(type(value), "__dataclass_params__", None)
    return params is not None and params.frozen


def _freeze_fields(value: Any) -> Hashable:
    return tuple(freeze(getattr(value, field.name)) for field in dataclasses.fields(value))


def _leave_out_duration(config: PPOConfig) -> PPOConfig:
    """How many iterations there are is the host's affair alone, unless widths shrink over them."""
    narrows = config.surrogate_narrowing > 1
    return config if narrows else dataclasses.replace(config, num_iterations=1)
