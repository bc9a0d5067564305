"""What a map does near one of its cycles, by the eigenvalues of its linear part there."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from remanence.dynamics._maps import Cycle, Step, use_precision

Eigenvalues = Complex[np.ndarray, " state"]


def compute_eigenvalues(step: Step, cycle: Cycle) -> Eigenvalues:
    """Eigenvalues of the Jacobian of one turn around `cycle`, the largest in magnitude first."""
    with use_precision(cycle.dtype):
        jacobians = jax.device_get(_differentiate(step, jnp.asarray(cycle)))
    turn = np.eye(cycle.shape[1])
    for jacobian in jacobians:
        turn = jacobian @ turn
    if not np.isfinite(turn).all():
        return np.full(len(turn), np.nan, complex)
    eigenvalues = np.linalg.eigvals(turn).astype(complex)
    return eigenvalues[np.argsort(-np.abs(eigenvalues), kind="stable")]


def compute_time_constant(eigenvalues: Eigenvalues, period: int) -> float:
    """Steps in which the slowest mode shrinks by a factor e: -period / log|λ_max|.

    It is infinite where that mode neither shrinks nor grows, 0 where every mode is gone within
    one turn, and NaN where one grows.
    """
    largest = float(np.abs(eigenvalues[0]))
    if not 0 < largest < 1:
        return {0.0: 0.0, 1.0: np.inf}.get(largest, np.nan)
    return float(-period / np.log(largest))


@eqx.filter_jit
def _differentiate(
    step: Step, points: Float[Array, "points state"]
) -> Float[Array, "points state state"]:
    return jax.vmap(jax.jacfwd(step))(points)
