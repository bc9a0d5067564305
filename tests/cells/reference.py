"""The cells' equations in NumPy, written from the paper's appendix alone (the LSTM's from Gers
et al. 2000), and a loop over time.

Also what all tests of cells share: random weights, random sequences, central differences.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from remanence.cells import AbstractCell

Weights = dict[str, np.ndarray]
Step = Callable[[Weights, np.ndarray, np.ndarray], np.ndarray]
Cell = TypeVar("Cell", bound=AbstractCell)


class Episodes(NamedTuple):
    """A sequence with resets, and the state that is carried into it."""

    inputs: jax.Array
    first: jax.Array
    state: jax.Array


def sigmoid(u: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -u))


def step_gru(w: Weights, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    r = sigmoid(w["W_xr"] @ x + w["W_hr"] @ h + w["b_r"])
    z = sigmoid(w["W_xz"] @ x + w["W_hz"] @ h + w["b_z"])
    n = np.tanh(w["W_xn"] @ x + r * (w["W_hn"] @ h) + w["b_n"])
    return z * h + (1 - z) * n


def step_lstm(w: Weights, x: np.ndarray, state: np.ndarray) -> np.ndarray:
    h, c = np.split(state, 2)
    i, f, g, o = (w[f"W_x{gate}"] @ x + w[f"W_h{gate}"] @ h + w[f"b_{gate}"] for gate in "ifgo")
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return np.concatenate([sigmoid(o) * np.tanh(c), c])


def step_brc(w: Weights, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    r = 1 + np.tanh(w["W_r"] @ x + w["w_r"] * h + w["b_r"])
    z = sigmoid(w["W_z"] @ x + w["w_z"] * h + w["b_z"])
    n = np.tanh(w["W_n"] @ x + r * h + w["b_n"])
    return z * h + (1 - z) * n


def step_nbrc(w: Weights, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    r = 1 + np.tanh(w["W_xr"] @ x + w["W_hr"] @ h + w["b_r"])
    z = sigmoid(w["W_xz"] @ x + w["W_hz"] @ h + w["b_z"])
    n = np.tanh(w["W_n"] @ x + r * h + w["b_n"])
    return z * h + (1 - z) * n


def step_mingru(w: Weights, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    z = sigmoid(w["W_z"] @ x + w["b_z"])
    n = w["W_n"] @ x + w["b_n"]
    return z * h + (1 - z) * n


def step_bmru(w: Weights, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    n = w["W_n"] @ x + w["b_n"]
    beta = np.abs(w["W_beta"] @ x + w["b_beta"])
    z = np.heaviside(np.abs(n) - beta, 0.0)
    return z * np.where(n >= 0, 1.0, -1.0) * w["alpha"] + (1 - z) * h


def run(step: Step, weights: Weights, episodes: Episodes) -> np.ndarray:
    """All states, one step after another; a reset to zeros comes before the input it marks."""
    inputs, first, h = (np.asarray(values) for values in episodes)
    states = []
    for x, resets in zip(inputs, first, strict=True):
        if resets:
            h = np.zeros_like(h)
        h = step(weights, x, h)
        states.append(h)
    return np.stack(states)


def name_weights(names: Sequence[str], values: Sequence[jax.Array]) -> Weights:
    """Weights under the paper's names, in double precision."""
    pairs = zip(names, values, strict=True)
    return {name: np.asarray(value, np.float64) for name, value in pairs}


def randomise(cell: Cell, seed: int, scale: float = 1.0) -> Cell:
    """The same cell with normally distributed parameters, those that start constant too."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jax.device_put(rng.normal(0, scale, leaf.shape).astype(leaf.dtype)), cell
    )


def draw_episodes(
    cell: AbstractCell, seed: int, num_steps: int = 17, reset_probability: float = 0.2
) -> Episodes:
    """Normal inputs and carried-in state; the first input does not open an episode."""
    rng = np.random.default_rng([seed, num_steps])
    first = rng.random(num_steps) < reset_probability
    first[0] = False
    dtype = cell.initial_state().dtype
    return Episodes(
        jax.device_put(rng.normal(size=(num_steps, cell.input_size)).astype(dtype)),
        jax.device_put(first),
        jax.device_put(rng.normal(size=cell.state_size).astype(dtype)),
    )


def as_float64(tree: Any) -> Any:
    """The same arrays in double precision; needs `jax.enable_x64`."""
    return jax.tree.map(
        lambda leaf: (
            jax.device_put(np.asarray(leaf, np.float64)) if eqx.is_inexact_array(leaf) else leaf
        ),
        tree,
    )


def compare_steps(
    cell: Cell, step: Step, name: Callable[[Cell], Weights]
) -> tuple[np.ndarray, np.ndarray]:
    """One step from each of 100 states by the cell and by the reference, in double precision."""
    with jax.enable_x64(True):
        cell = as_float64(cell)
        inputs = np.random.default_rng(0).normal(size=(100, cell.input_size))
        states = np.random.default_rng(1).normal(size=(100, cell.state_size))
        computed = np.asarray(_jitted_steps(cell, jnp.asarray(inputs), jnp.asarray(states)))
    weights = name(cell)
    return computed, np.stack([step(weights, *pair) for pair in zip(inputs, states, strict=True)])


@eqx.filter_jit
def _jitted_steps(cell: AbstractCell, inputs: jax.Array, states: jax.Array) -> jax.Array:
    return jax.vmap(cell.step)(inputs, states)


def compare_slopes(cell: AbstractCell) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of a weighted sum of all states, and its central differences.

    Both are taken in double precision over every parameter, every input of a sequence with
    resets, and the carried-in state.
    """
    with jax.enable_x64(True):
        cell = as_float64(cell)
        inputs, _, state = draw_episodes(cell, 0, num_steps=6)
        first = jnp.asarray([False, False, True, False, False, True])
        cotangent = np.random.default_rng(0).normal(size=(6, cell.state_size))
        point, unravel = ravel_pytree((cell, inputs, state))

        def measure(point: jax.Array) -> jax.Array:
            cell, inputs, state = unravel(point)
            return jnp.sum(cotangent * cell.run(inputs, first, state))

        def differ(direction: jax.Array) -> jax.Array:
            return (measure(point + 1e-6 * direction) - measure(point - 1e-6 * direction)) / 2e-6

        gradient = jax.jit(jax.grad(measure))(point)
        slope = jax.jit(jax.vmap(differ))(jnp.eye(len(point)))
        return np.asarray(gradient), np.asarray(slope)


def is_xavier(weight: jax.Array) -> bool:
    """Whether each gate's matrix fills the range of Glorot and Bengio (2010), each in its own way.

    Of the several hundred uniform draws in a matrix the largest is within a tenth of the bound.
    """
    bound = np.sqrt(6 / (weight.shape[-1] + weight.shape[-2]))
    gates = np.asarray(weight) / bound
    fills = [np.max(sign * gate) for gate in gates for sign in (1, -1)]
    spreads = [np.std(gate) * np.sqrt(3) for gate in gates]
    gaps = [np.max(np.abs(one - other)) for one, other in itertools.combinations(gates, 2)]
    return (
        0.9 < min(fills) <= max(fills) <= 1 and np.allclose(spreads, 1, atol=0.1) and min(gaps) > 1
    )
