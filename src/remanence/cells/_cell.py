"""What a cell is: one unbatched recurrent update, and how it runs over a sequence.

States are flat vectors, also those of compositions, so that everything that looks at a cell's
dynamics sees one kind of map.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from remanence.cells._weights import Projection
from remanence.errors import InvalidOptionError

METHODS = ("auto", "loop", "scan")
State = Float[Array, " state"]
States = Float[Array, "*batch state"]
Sequences = Float[Array, "time *batch input"]
Resets = Bool[Array, "time *batch"]


class AbstractCell(eqx.Module):
    """A recurrent update `state, input -> state`.

    A cell needs `input_size`, `state_size` and `update`. What depends on the input alone belongs
    into `project`: a sequence run computes it for all steps at once, outside the recurrence.
    """

    input_size: eqx.AbstractVar[int]
    state_size: eqx.AbstractVar[int]

    @abc.abstractmethod
    def update(self, projected: Any, state: State) -> State:
        """The next state, from the projected input and the present state."""

    def project(self, input: Float[Array, " input"]) -> Any:
        """The part of the update that does not depend on the state."""
        return input

    def step(self, input: Float[Array, " input"], state: State) -> State:
        """One recurrent step."""
        return self.update(self.project(input), state)

    def initial_state(self) -> State:
        """The state that opens an episode: zeros, in the parameters' precision."""
        parameters = jax.tree.leaves(eqx.filter(self, eqx.is_inexact_array))
        return jnp.zeros(self.state_size, parameters[0].dtype if parameters else None)

    @property
    def linear(self) -> bool:
        """Whether the update is linear in the state, and so can run as a scan over time."""
        return False

    @property
    def output_size(self) -> int:
        return self.state_size

    def read(self, state: State) -> Float[Array, " output"]:
        """What later layers see of a state."""
        return state

    def run(
        self,
        inputs: Sequences,
        first: Resets,
        state: States,
        method: str = "auto",
    ) -> Float[Array, "time *batch state"]:
        """The states after every input, with a reset before each input that `first` marks.

        Sequences side by side are best given together: `jax.vmap` would give the same, but what
        it leaves to XLA's CPU backend is full of transposed copies.
        """
        check_method(method)
        if method == "scan":
            raise InvalidOptionError(
                "method",
                method,
                f"{type(self).__name__} is not linear in its state; use 'loop' or 'auto'",
            )
        return run_loop(self, inputs, first, state)


class AbstractGatedCell(AbstractCell):
    """A cell that sees its input through one affine projection for each gate."""

    inputs: eqx.AbstractVar[Projection]

    @property
    def input_size(self) -> int:
        return self.inputs.weight.shape[-1]

    @property
    def state_size(self) -> int:
        return self.inputs.weight.shape[-2]

    def project(self, input: Float[Array, " input"]) -> Float[Array, "gates state"]:
        return self.inputs(input)


class AbstractLinearCell(AbstractCell):
    """A cell whose update is linear in the state: state <- decay * state + drive, elementwise."""

    @property
    def linear(self) -> bool:
        return True

    @abc.abstractmethod
    def coefficients(self, projected: Any) -> tuple[State, State]:
        """Decay and drive, from the projected input."""

    def update(self, projected: Any, state: State) -> State:
        decay, drive = self.coefficients(projected)
        return decay * state + drive

    def run(
        self,
        inputs: Sequences,
        first: Resets,
        state: States,
        method: str = "auto",
    ) -> Float[Array, "time *batch state"]:
        """As for any cell; `method` chooses between a loop and an associative scan over time.

        A loop does the least arithmetic and is fastest on a CPU; the scan's depth is logarithmic
        in time, which wins on an accelerator. "auto" goes by JAX's default backend.
        """
        if choose_method(method) == "scan" and len(inputs):
            return run_scan(self, inputs, first, state)
        return run_linear_loop(self, inputs, first, state)


def run_loop(
    cell: AbstractCell, inputs: Sequences, first: Resets, state: States
) -> Float[Array, "time *batch state"]:
    """Step by step in time, the recurrence alone inside the loop."""
    initial = jnp.broadcast_to(cell.initial_state(), state.shape)
    update = over_axes(cell.update, first.ndim - 1)

    def advance(state: States, now: tuple[Any, Bool[Array, "*batch"]]) -> tuple[States, States]:
        projected, first = now
        # `first` marks the input about to be read, so the reset precedes the update; resetting
        # after it would leak one step across episodes.
        state = update(projected, jnp.where(first[..., None], initial, state))
        return state, state

    projected = over_axes(cell.project, first.ndim)(inputs)
    return jax.lax.scan(advance, state, (projected, first))[1]


def run_linear_loop(
    cell: AbstractLinearCell, inputs: Sequences, first: Resets, state: States
) -> Float[Array, "time *batch state"]:
    """The same for a linear cell, of which only a product and a sum are left inside the loop."""
    initial = jnp.broadcast_to(cell.initial_state(), state.shape)

    def advance(state: States, now: tuple[States, States, Array]) -> tuple[States, States]:
        decay, drive, first = now
        state = decay * jnp.where(first[..., None], initial, state) + drive
        return state, state

    return jax.lax.scan(advance, state, (*_find_coefficients(cell, inputs), first))[1]


def run_scan(
    cell: AbstractLinearCell, inputs: Sequences, first: Resets, state: States
) -> Float[Array, "time *batch state"]:
    """All steps at once, as an associative scan over the linear updates (Blelloch 1990)."""
    decay, drive = _find_coefficients(cell, inputs)
    # A reset turns a step into a constant: no decay, and the initial state's share in the drive.
    # The state that is carried in is folded into the first step in the same way.
    resets = first[..., None]
    initial = jnp.broadcast_to(cell.initial_state(), drive.shape)
    drive = jnp.where(resets, decay * initial + drive, drive)
    decay = jnp.where(resets, 0, decay)
    drive = drive.at[0].add(decay[0] * jnp.where(resets[0], 0, state))

    def compose(earlier: Any, later: Any) -> Any:
        # What a reset cuts off is dropped, not multiplied by 0, which NaN would survive.
        decay, drive = (jnp.where(later[0], 0, part) for part in earlier[1:])
        return earlier[0] | later[0], later[1] * decay, later[1] * drive + later[2]

    _, _, states = jax.lax.associative_scan(compose, (resets, decay, drive))
    return states


def over_axes(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of unbatched arguments, over so many leading axes of all of them."""
    for _ in range(count):
        function = jax.vmap(function)
    return function


def _find_coefficients(cell: AbstractLinearCell, inputs: Sequences) -> tuple[Array, Array]:
    """Decay and drive of every step, in a few large matrix products."""
    return over_axes(lambda input: cell.coefficients(cell.project(input)), inputs.ndim - 1)(inputs)


def choose_method(method: str) -> str:
    """Resolve "auto" for linear cells: a loop on the CPU, an associative scan elsewhere."""
    check_method(method)
    if method != "auto":
        return method
    return "loop" if jax.default_backend() == "cpu" else "scan"


def check_method(method: str) -> None:
    """Raise unless `method` is one of the ways to run over time."""
    if method not in METHODS:
        raise InvalidOptionError("method", method, f"use one of {', '.join(METHODS)}")
