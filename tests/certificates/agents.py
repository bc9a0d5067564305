"""Small agents for tests: random ones of every cell, and one that solves the T-maze by hand."""

import functools
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp

from remanence import envs, networks
from remanence.cells import BMRU, registry
from remanence.store import name_leaves, save_arrays
from tests.certificates import high_precision as precise

CELLS = list(registry)


@functools.cache
def make_value(architecture: networks.Architecture, observation_size: int) -> networks.Network:
    """A value network, which no test of these agents looks at."""
    return networks.make_value(architecture, observation_size, key=jax.random.key(0))


@functools.cache
def make_agent(cell: str = "gru", seed: int = 0, previous_action: bool = False, gain: float = 3.0):
    """A random agent whose weights are large enough for it to do many different things."""
    environment, _ = envs.make("tmaze", previous_action=previous_action)
    size = {"hybrid": 6, "lstm": 10}.get(cell, 5)
    architecture = networks.make_architecture("small", cell=cell, state_size=size)
    key = jax.random.key(seed)
    observation_size = environment.observation_size
    policy = networks.make_policy(architecture, observation_size, 4, key=key)
    # Noise as well, for biases start at zero, where a BRC is just about to become bistable.
    weights, rest = eqx.partition(policy, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    keys = jax.random.split(jax.random.fold_in(key, 2), len(leaves))
    leaves = [
        gain * leaf + 0.3 * jax.random.normal(k, leaf.shape)
        for k, leaf in zip(keys, leaves, strict=True)
    ]
    policy = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
    # Heads start with small weights; and "right" must be likely, or nobody ever arrives.
    scale = jnp.asarray([2.0, 0.0, 0.0, 0.0])
    policy = eqx.tree_at(
        lambda it: (it.output.weight, it.output.bias),
        policy,
        (30 * policy.output.weight, scale * jax.random.uniform(jax.random.fold_in(key, 1))),
    )
    return networks.Agent(policy, make_value(architecture, observation_size), architecture)


def load_walker(walker: precise.Walker, directory: Path, inputs: int = 2) -> networks.Agent:
    """An agent from the arrays of its policy."""
    arrays, fields = walker
    architecture = networks.Architecture(**fields)
    value = make_value(architecture, inputs)
    arrays = arrays | name_leaves({"value": eqx.filter(value, eqx.is_array)})
    header = {"kind": "agent", "format": 1, "architecture": fields}
    header |= {"observation_size": inputs, "num_actions": 4, "origin": {}}
    save_arrays(directory / "walker.safetensors", arrays, header)
    return networks.Agent.load(directory / "walker.safetensors")


@functools.cache
def solve_by_hand() -> networks.Agent:
    """A BMRU agent that is optimal at every length.

    One unit holds the cue and one the junction flag, which the head turns into logits:
    right = 1 - 2 flag, up = -cue, down = cue (both below 1 in size).
    """
    architecture = networks.make_architecture("small", cell="bmru", state_size=2, head=(4,))
    policy = networks.make_policy(architecture, 2, 4, key=jax.random.key(0))
    value = make_value(architecture, 2)
    assert isinstance(policy.cell, BMRU)
    # Unit 0: |2 cue| > 1 sets it to the cue's sign, and it holds without one. Unit 1: n is
    # -1 or +1 with the flag, always above its threshold 1/2.
    weight = jnp.zeros((2, 2, 2)).at[0, 0, 0].set(2.0).at[0, 1, 1].set(2.0)
    bias = jnp.asarray([[0.0, -1.0], [1.0, 0.5]])
    hidden = jnp.asarray([[0.5, 0.0], [-0.5, 0.0], [0.0, 1.0], [0.0, -1.0]])
    # right, up, left, down from relu(±cue / 2), relu(±flag)
    output = jnp.asarray([[0, 0, -2, 2], [0, 1, 0, 0], [0, 0, -9, -9], [1, 0, 0, 0]])
    output = output.astype(jnp.float32)
    policy = eqx.tree_at(
        lambda it: (
            it.cell.inputs.weight,  # type: ignore
            it.cell.inputs.bias,  # type: ignore
            it.head[0].weight,
            it.head[0].bias,
            it.output.weight,
            it.output.bias,
        ),
        policy,
        (weight, bias, hidden, jnp.zeros(4), output, jnp.zeros(4)),
    )
    return networks.Agent(policy, value, architecture)
