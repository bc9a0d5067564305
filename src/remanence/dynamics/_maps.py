"""Maps from a state to the next one, made of a cell or of a plain NumPy function."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from remanence.cells import BMRU, AbstractCell
from remanence.dynamics._differences import (
    Function,
    Linearization,
    difference,
    linearize,
    measure_noise,
    trust,
)
from remanence.errors import InvalidOptionError

State = Float[Array, " state"]
Starts = Float[Array | np.ndarray, "starts state"]
States = Float[np.ndarray, "starts state"]
Cycle = Float[np.ndarray, "_ state"]
Step = Callable[[State], State]


class IdleMap(eqx.Module):
    """A cell whose input stays the same for ever: state -> cell.step(input, state).

    >>> from remanence import cells, dynamics
    >>> step = dynamics.IdleMap(cells.MinGRU(1, 2, key=jax.random.key(0)), jnp.zeros(1))
    >>> step(jnp.array([1.0, -1.0]))
    Array([ 0.5, -0.5], dtype=float32)
    """

    cell: AbstractCell
    input: Float[Array | np.ndarray, " input"]

    def __call__(self, state: State) -> State:
        cell, input = to_jax((self.cell, self.input))
        return cell.step(input, state)


def idle_map(
    cell: AbstractCell, input: Float[Array | np.ndarray, " input"], dtype: Any = np.float64
) -> IdleMap:
    """The map of `cell` under a constant `input`, its weights and the input cast to `dtype`.

    Maps of cells that differ only in the values of their weights share one compiled program.

    >>> from remanence import cells, dynamics
    >>> step = dynamics.idle_map(cells.MinGRU(1, 2, key=jax.random.key(0)), np.zeros(1))
    >>> dynamics.iterate(step, np.array([[1.0, -1.0]]), 3)
    array([[ 0.125, -0.125]])
    """
    return cast(IdleMap(cell, input), dtype)


def cast(tree: Any, dtype: Any) -> Any:
    """`tree` with its floating point arrays in another precision.

    They become NumPy arrays, as JAX's cannot be float64 outside of `jax.enable_x64`.
    """

    def convert(leaf: Any) -> Any:
        if not is_floating(leaf):
            return leaf
        return leaf.astype(dtype) if isinstance(leaf, Tracer) else np.asarray(leaf, dtype)

    return jax.tree.map(convert, tree)


def to_jax(tree: Any) -> Any:
    """`tree` with arrays of JAX for those of NumPy."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, tree
    )


def is_floating(leaf: Any) -> bool:
    """Whether it is an array, of JAX or NumPy, of floating point numbers."""
    return isinstance(leaf, jax.Array | np.ndarray) and jnp.issubdtype(leaf.dtype, jnp.floating)


def is_smooth(cell: AbstractCell) -> bool:
    """Whether derivatives of the cell's update are true ones: no part of it is a BMRU.

    A BMRU jumps, and its derivatives are surrogates for training.

    >>> from remanence import cells, dynamics
    >>> gru, bmru = (cells.make(name, 1, 2, key=jax.random.key(0)) for name in ("gru", "bmru"))
    >>> dynamics.is_smooth(gru), dynamics.is_smooth(cells.Parallel([gru, bmru]))
    (True, False)
    """
    parts = jax.tree.leaves(cell, is_leaf=lambda part: isinstance(part, BMRU))
    return not any(isinstance(part, BMRU) for part in parts)


class NumpyMap:
    """A map made of a plain NumPy function of one state, as `from_numpy` makes it."""

    def __init__(self, function: Function, jacobian: Function | None):
        self.function, self.jacobian = function, jacobian
        self.differentiate = jacobian or (lambda state: difference(function, state))

        @jax.custom_jvp
        def step(state: State) -> State:
            return _call_host(function, state, state.shape)

        @step.defjvp
        def _(primals: tuple[State], tangents: tuple[State]) -> tuple[State, State]:
            (state,), (tangent,) = primals, tangents
            return step(state), _call_host(self.differentiate, state, 2 * state.shape) @ tangent

        self._step = step

    def __call__(self, state: State) -> State:
        return self._step(state)

    def linearize(self, state: Float[np.ndarray, " state"]) -> Linearization:
        """The Jacobian at a state, as well as it can be known, with its error."""
        if self.jacobian is None:
            return linearize(self.function, state)
        return trust(self.function, np.asarray(self.jacobian(state), np.float64), state)


def from_numpy(function: Function, jacobian: Function | None = None) -> NumpyMap:
    """A map made of a plain NumPy function of one state, from (state,) to (state,).

    `jacobian` gives the matrix of its derivatives at a state (row: output, column: input).
    Without it, central differences do, whose width is chosen by the rounding error of `function`.
    That is measured, as a function may be given float64 and compute in float32 inside, and what it
    leaves unknown of a time constant is told by `time_constant_error_steps`.

    >>> from remanence import dynamics
    >>> leak = dynamics.from_numpy(lambda state: 0.875 * state.astype(np.float32) + 0.1)
    >>> [attractor] = dynamics.find_attractors(leak, np.zeros((1, 1)))
    >>> off = abs(attractor.time_constant_steps + 1 / np.log(0.875))
    >>> bool(off < attractor.time_constant_error_steps < 0.01)
    True
    """
    return NumpyMap(function, jacobian)


def measure_rounding(step: Step, state: Float[np.ndarray, " state"]) -> np.ndarray:
    """The rounding error of each number that `step` returns; of a map of JAX, by its precision."""
    if isinstance(step, NumpyMap):
        return measure_noise(step.function, state)
    return np.finfo(state.dtype).eps * np.maximum(1.0, np.abs(state))


def _call_host(function: Function, state: State, shape: Any) -> Array:
    """`function` of the state, run by Python; a batch of states costs one call from JAX."""
    dtype = np.dtype(state.dtype)

    def apply(words: Any) -> np.ndarray:
        states = np.ascontiguousarray(words).view(dtype)[..., 0]
        rows = states.reshape(-1, states.shape[-1])
        results = np.stack([np.asarray(function(row), dtype) for row in rows])
        return results.reshape(*states.shape[:-1], *shape, 1).view(np.uint32)

    # JAX may call from a thread in which `jax.enable_x64` is off, and would then round float64
    # to float32 on the way; as words of 32 bits numbers pass unharmed.
    words = jax.lax.bitcast_convert_type(state, jnp.uint32).reshape(*state.shape, -1)
    result = jax.ShapeDtypeStruct((*shape, words.shape[-1]), jnp.uint32)
    words = jax.pure_callback(apply, result, words, vmap_method="broadcast_all")
    return jax.lax.bitcast_convert_type(
        words if dtype.itemsize == 8 else words[..., 0], state.dtype
    )


def use_precision(dtype: Any) -> AbstractContextManager[Any]:
    """Where float64 is used, and only there; JAX's global switch is left alone."""
    return jax.enable_x64(np.dtype(dtype) == np.float64)


def check_starts(step: Step, starts: Any) -> States:
    """`starts` as NumPy rows that `step` can be applied to."""
    starts = np.asarray(starts)
    if starts.dtype not in (np.float32, np.float64):
        starts = starts.astype(np.float64)
    if starts.ndim != 2 or not starts.size:
        raise InvalidOptionError("starts", starts.shape, "give one state in each row")
    state = jax.ShapeDtypeStruct(starts.shape[1:], starts.dtype)
    with use_precision(starts.dtype):
        result = eqx.filter_eval_shape(step, state)
    if (result.shape, result.dtype) != (state.shape, state.dtype):
        remedy = f"it must map a state of {state.shape} {state.dtype} to another such state"
        raise InvalidOptionError("step", f"a map to {result.shape} {result.dtype}", remedy)
    return starts
