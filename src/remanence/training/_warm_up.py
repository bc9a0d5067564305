"""Making a memory multistable before it is trained, after Lambrechts et al. (2023).

Theirs is the idea: before training, a few gradient steps raise a differentiable stand-in for the
VAA, cut off after some steps. How distances are softened, the numbers, and what is moved are ours.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from remanence.cells import AbstractCell, AbstractGatedCell
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError, MissingMethodError
from remanence.networks import Network

# How many idle steps are differentiated, and how far apart states count as nearly distinct.
NUM_IDLE_STEPS = 100
DISTANCE = 0.5
# When a network counts as warm: later, as what merely fades slowly is apart after the steps above.
TARGET = 0.95
NUM_STEPS_TO_TARGET = 1000
LEARNING_RATE = 0.01

States = Float[Array, "cues state"]


def check_warm_up(
    environment: AbstractEnvironment, name: str, cell: AbstractCell, num_steps: int
) -> None:
    """Raise unless the cell has something to warm up, and the environment says from where."""
    if cell.linear:
        remedy = (
            f"{name} is linear in its state, and as multistable as it will ever be; warm up a "
            "nonlinear cell, such as gru, lstm, brc and nbrc"
        )
        raise InvalidOptionError("warm_up", num_steps, remedy)
    for method in ("cue_observations", "idle_observation"):
        if getattr(environment, method)() is None:
            need = "without which there is nothing to warm a memory up for"
            raise MissingMethodError(type(environment.unwrapped).__name__, method, need)


def warm_up(network: Network, environment: AbstractEnvironment, num_steps: int) -> Network:
    """The network with a cell that keeps apart for longer what the cues leave in it.

    At most so many steps of Adam on all of the cell but what it sees of its input, up the mean over
    `NUM_IDLE_STEPS` of the soft VAA of the idle map, until that is at least `TARGET` after
    `NUM_STEPS_TO_TARGET`. Nothing is drawn for it.
    """
    moved, fixed = eqx.partition(network, _mark_recurrent(network))
    optimizer = optax.adam(LEARNING_RATE)

    def follow(moved: Any, number: int) -> Float[Array, " time"]:
        return follow_soft_vaa(eqx.combine(moved, fixed), environment, number)

    def goes_on(carry: Any) -> Bool[Array, ""]:
        step, moved, _ = carry
        return (step < num_steps) & (follow(moved, NUM_STEPS_TO_TARGET)[-1] < TARGET)

    def improve(carry: Any) -> Any:
        step, moved, state = carry
        gradient = jax.grad(lambda moved: -jnp.mean(follow(moved, NUM_IDLE_STEPS)))(moved)
        with jax.numpy_dtype_promotion("standard"):  # as for the optimizer of a training
            updates, state = optimizer.update(gradient, state)
        return step + 1, eqx.apply_updates(moved, updates), state

    start = (jnp.int32(0), moved, optimizer.init(moved))
    _, moved, _ = jax.lax.while_loop(goes_on, improve, start)
    return eqx.combine(moved, fixed)


def follow_soft_vaa(
    network: Network, environment: AbstractEnvironment, num_steps: int
) -> Float[Array, " time"]:
    """The soft VAA of the states that cues leave, after each of some idle steps."""
    cues = jnp.asarray(environment.cue_observations(), jnp.float32)
    idle = jnp.asarray(environment.idle_observation(), jnp.float32)
    _, states = jax.vmap(network.step, (0, None))(cues, network.initial_state())
    projected = network.cell.project(network.encode(idle))

    def wait(states: States, _: None) -> tuple[States, Float[Array, ""]]:
        states = jax.vmap(network.cell.update, (None, 0))(projected, states)
        return states, soften_vaa(states)

    return jax.lax.scan(wait, states, length=num_steps)[1]


def soften_vaa(states: States) -> Float[Array, ""]:
    """The VAA with a smooth step for whether two states are the same.

        1/|H| sum_i 1 / sum_j (1 - tanh(|h_i - h_j| / `DISTANCE`))

    Its slope at a distance of 0 is not 0, so that states which have nearly merged are told apart.
    """
    squares = jnp.sum((states[:, None] - states[None]) ** 2, axis=-1)
    # A root has no derivative at 0, where states are on themselves or have merged to the bit.
    apart = squares > 0
    distances = jnp.where(apart, jnp.sqrt(jnp.where(apart, squares, 1)), 0)
    return jnp.mean(1 / jnp.sum(1 - jnp.tanh(distances / DISTANCE), axis=1))


def _mark_recurrent(network: Network) -> Any:
    """True for the weights of the network's cells by which states act on states."""
    nothing = jax.tree.map(lambda _: False, network)
    cell = jax.tree.map(_mark_cell, network.cell, is_leaf=_is_gated)
    return eqx.tree_at(lambda it: it.cell, nothing, cell)


def _mark_cell(part: Any) -> Any:
    marks = jax.tree.map(eqx.is_inexact_array, part)
    if not _is_gated(part):
        return marks
    return eqx.tree_at(lambda it: it.inputs, marks, jax.tree.map(lambda _: False, part.inputs))


def _is_gated(part: Any) -> bool:
    return isinstance(part, AbstractGatedCell)
