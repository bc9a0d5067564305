"""Maps and cells whose long-run behaviour is known. Their numbers are data, so that each compiles
once however many of them are tested."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from remanence.cells import BMRU, GRU, MinGRU


class Affine(eqx.Module):
    """x -> A x + b"""

    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, state):
        return jnp.asarray(self.matrix) @ state + jnp.asarray(self.offset)


class Logistic(eqx.Module):
    """x -> r x (1 - x)"""

    rate: np.ndarray

    def __call__(self, state):
        return self.rate * state * (1 - state)


class Table(eqx.Module):
    """x -> table[x] on the whole numbers"""

    table: np.ndarray

    def __call__(self, state):
        return jnp.asarray(self.table)[state.astype(jnp.int32)]


def affine(matrix, offset) -> Affine:
    return Affine(np.array(matrix, float), np.array(offset, float))


def make_mingru(b_z, b_n) -> MinGRU:
    cell = MinGRU(2, len(b_z), key=jax.random.key(0))
    return eqx.tree_at(lambda it: it.inputs.bias, cell, jnp.array([b_z, b_n], jnp.float32))


def make_bmru(b_n, b_beta, alpha=0.7) -> BMRU:
    cell = BMRU(2, len(b_n), key=jax.random.key(0), initial_alpha=alpha)
    return eqx.tree_at(lambda it: it.inputs.bias, cell, jnp.array([b_n, b_beta], jnp.float32))


def make_gru_unit(w_hn, b_n) -> GRU:
    """One unit with r = 1/2, so that its equilibria are those of h = tanh(w_hn h / 2 + b_n)."""
    cell = GRU(2, 1, key=jax.random.key(0))
    biases = jnp.array([[0.0], [0.5], [b_n]])
    weights = jnp.zeros((3, 1, 1)).at[2, 0, 0].set(w_hn)
    return eqx.tree_at(lambda it: (it.inputs.bias, it.recurrent_weight), cell, (biases, weights))


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """The only zero between two numbers, by SciPy."""
    root: Any = brentq(function, low, high, xtol=1e-14)
    return float(root)


IDLE = np.zeros(2)
