"""What no machine can train, refused before anything is made of it."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax

from remanence._numbers import check_whole
from remanence.cells import registry as cell_registry
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError
from remanence.networks import Architecture
from remanence.store import describe_machine
from remanence.training._config import PPOConfig
from remanence.training._learner import Learner

# A seed becomes a key by way of a signed word of 32 bits.
LARGEST_SEED = 2**31 - 1
MOST_SEEDS = 100_000
# The weights, and the two averages that Adam keeps of each.
COPIES_OF_WEIGHTS = 3
BYTES_PER_NUMBER = 4
# Beside its observation: action, its probability, reward, value, advantage, target.
NUMBERS_PER_STEP = 6


def check_seeds(seeds: Any) -> list[int]:
    """Seeds as a list: whole numbers, each one once, and not too many.

    >>> from remanence import training
    >>> training.check_seeds(range(1, 4))
    [1, 2, 3]
    """
    # A range is short however many numbers it stands for, so they are counted first.
    if isinstance(seeds, Sequence) and len(seeds) > MOST_SEEDS:
        raise InvalidOptionError("seeds", _shorten(seeds), f"at most {MOST_SEEDS:,} are possible")
    try:
        given = iter(seeds)
    except TypeError as error:
        raise InvalidOptionError("seeds", seeds, "give whole numbers, such as [1, 2, 3]") from error
    checked = [check_whole("seeds", seed, 0, LARGEST_SEED) for seed in given]
    if not checked or len(set(checked)) < len(checked):
        raise InvalidOptionError("seeds", checked, "give at least one seed, and each one once")
    return checked


def check_training(
    environment: AbstractEnvironment, network: Architecture, config: PPOConfig, num_seeds: int
) -> None:
    """Raise if a network cannot be made, or if it or its rollouts cannot fit into this machine.

    >>> from remanence import envs, networks, training
    >>> huge = networks.Architecture(cell="gru", state_size=1_000_000)
    >>> training.check_training(envs.LookupTreeMaze(), huge, training.PPOConfig(), 1)
    Traceback (most recent call last):
    remanence.errors.InvalidOptionError: network = '... parameters' is not possible: ...
    """
    check_memory(Learner(environment, network, config), num_seeds)


def check_memory(learner: Learner, num_seeds: int) -> None:
    """Raise if a training needs more memory than this machine has, by the least that it needs."""
    available = describe_machine()["memory_gib"]
    num_parameters = _count_parameters(learner)
    weights = num_seeds * num_parameters * COPIES_OF_WEIGHTS
    if _to_gib(weights) > available:
        raise InvalidOptionError(
            "network",
            f"{num_parameters:,} parameters",
            f"for {num_seeds} seed(s) that takes at least {_to_gib(weights):,.0f} GiB with Adam's "
            f"averages, and this machine has {available:,.0f}; use smaller sizes or fewer seeds",
        )
    config = learner.config
    observation_size, _ = learner.sizes
    steps = config.num_envs * config.num_steps * (observation_size + NUMBERS_PER_STEP)
    if _to_gib(steps) > available:
        raise InvalidOptionError(
            "num_envs, num_steps",
            (config.num_envs, config.num_steps),
            f"one rollout takes at least {_to_gib(steps):,.0f} GiB, and this machine has "
            f"{available:,.0f}; use fewer environments or steps",
        )


def _count_parameters(learner: Learner) -> int:
    """The parameters of both networks, which are traced once: a study has many jobs of a kind."""
    network, start = learner.architecture, learner.config.initialization
    # Not by what is equal: 1, 1.0 and True may not be the same to a cell.
    kind = (repr(network), cell_registry[network.cell], learner.sizes, start)
    if kind not in _counted:
        _counted[kind] = _count(learner.network_shapes)
    return _counted[kind]


_counted: dict[Any, int] = {}


def _count(shapes: Any) -> int:
    arrays = jax.tree.leaves(
        eqx.filter(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    )
    return sum(math.prod(leaf.shape) for leaf in arrays)


def _to_gib(num_numbers: int) -> float:
    return num_numbers * BYTES_PER_NUMBER / 2**30


def _shorten(seeds: Sequence[int]) -> Any:
    return seeds if isinstance(seeds, range) else f"{len(seeds):,} numbers"
