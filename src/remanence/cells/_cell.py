"""What a cell is: one unbatched recurrent update, and how it runs over a sequence.

States are flat vectors, also those of compositions, so that everything that looks at a cell's
dynamics sees one kind of map.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from remanence.cells._weights import Projection
from remanence.errors import InvalidOptionError

METHODS = ("auto", "loop", "scan")
State = Float[Array, " state"]


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
    def output_size(self) -> int:
        return self.state_size

    def read(self, state: State) -> Float[Array, " output"]:
        """What later layers see of a state."""
        return state

    def run(
        self,
        inputs: Float[Array, "time input"],
        first: Bool[Array, " time"],
        state: State,
        method: str = "auto",
    ) -> Float[Array, "time state"]:
        """The states after every input, with a reset before each input that `first` marks."""
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

    @abc.abstractmethod
    def coefficients(self, projected: Any) -> tuple[State, State]:
        """Decay and drive, from the projected input."""

    def update(self, projected: Any, state: State) -> State:
        decay, drive = self.coefficients(projected)
        return decay * state + drive

    def run(
        self,
        inputs: Float[Array, "time input"],
        first: Bool[Array, " time"],
        state: State,
        method: str = "auto",
    ) -> Float[Array, "time state"]:
        """As for any cell; `method` chooses between a loop and an associative scan over time.

        A loop does the least arithmetic and is fastest on a CPU; the scan's depth is logarithmic
        in time, which wins on an accelerator. "auto" goes by JAX's default backend.
        """
        if choose_method(method) == "scan" and len(inputs):
            return run_scan(self, inputs, first, state)
        return run_linear_loop(self, inputs, first, state)


def run_loop(
    cell: AbstractCell,
    inputs: Float[Array, "time input"],
    first: Bool[Array, " time"],
    state: State,
) -> Float[Array, "time state"]:
    """Step by step in time, the recurrence alone inside the loop."""
    initial = cell.initial_state()

    def advance(state: State, now: tuple[Any, Bool[Array, ""]]) -> tuple[State, State]:
        projected, first = now
        # `first` marks the input about to be read, so the reset precedes the update; resetting
        # after it would leak one step across episodes.
        state = cell.update(projected, jnp.where(first, initial, state))
        return state, state

    _, states = jax.lax.scan(advance, state, (jax.vmap(cell.project)(inputs), first))
    return states


def run_linear_loop(
    cell: "AbstractLinearCell",
    inputs: Float[Array, "time input"],
    first: Bool[Array, " time"],
    state: State,
) -> Float[Array, "time state"]:
    """The same for a linear cell, of which only a product and a sum are left inside the loop."""
    decay, drive = jax.vmap(lambda input: cell.coefficients(cell.project(input)))(inputs)
    initial = cell.initial_state()

    def advance(state: State, now: tuple[State, State, Bool[Array, ""]]) -> tuple[State, State]:
        decay, drive, first = now
        state = decay * jnp.where(first, initial, state) + drive
        return state, state

    _, states = jax.lax.scan(advance, state, (decay, drive, first))
    return states


def run_scan(
    cell: AbstractLinearCell,
    inputs: Float[Array, "time input"],
    first: Bool[Array, " time"],
    state: State,
) -> Float[Array, "time state"]:
    """All steps at once, as an associative scan over the linear updates (Blelloch 1990)."""
    decay, drive = jax.vmap(lambda input: cell.coefficients(cell.project(input)))(inputs)
    # A reset turns a step into a constant: no decay, and the initial state's share in the drive.
    # The state that is carried in is folded into the first step in the same way.
    resets = first[:, None]
    drive = jnp.where(resets, decay * cell.initial_state()[None] + drive, drive)
    decay = jnp.where(resets, 0, decay)
    drive = drive.at[0].add(decay[0] * jnp.where(first[0], 0, state))

    def compose(earlier: Any, later: Any) -> Any:
        # What a reset cuts off is dropped, not multiplied by 0, which NaN would survive.
        decay, drive = (jnp.where(later[0], 0, part) for part in earlier[1:])
        return earlier[0] | later[0], later[1] * decay, later[1] * drive + later[2]

    _, _, states = jax.lax.associative_scan(compose, (resets, decay, drive))
    return states


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
