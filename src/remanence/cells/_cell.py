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
from jaxtyping import Array, Float

from remanence.cells._loops import Resets, State, States, advance_all, advance_linearly
from remanence.cells._weights import Projection
from remanence.errors import InvalidOptionError

METHODS = ("auto", "loop", "scan")
Sequences = Float[Array, "time *batch input"]


class AbstractCell(eqx.Module):
    """A recurrent update `state, input -> state`.

    A cell needs `input_size`, `state_size` and `update`. What depends on the input alone belongs
    into `project`: a sequence run computes it for all steps at once, outside the recurrence.

    Inputs have the shape (input,) and states (state,); `run` alone takes sequences and batches.

    >>> from remanence import cells
    >>> class Leak(cells.AbstractCell):
    ...     input_size: int
    ...     state_size: int
    ...
    ...     def project(self, input):
    ...         return 2 * input
    ...
    ...     def update(self, projected, state):
    ...         return 0.5 * state + projected
    >>> cell = Leak(2, 2)
    >>> state = cell.step(jnp.array([1.0, 0.0]), cell.initial_state())
    >>> cell.update(cell.project(jnp.array([0.0, 3.0])), state)
    Array([1., 6.], dtype=float32)
    >>> cell.read(state)
    Array([2., 0.], dtype=float32)
    """

    input_size: eqx.AbstractVar[int]
    state_size: eqx.AbstractVar[int]

    @abc.abstractmethod
    def update(self, projected: Any, state: State) -> State:
        """The next state (state,), from what `project` returned and the present state (state,)."""

    def project(self, input: Float[Array, " input"]) -> Any:
        """The part of the update that does not depend on the state, in any form `update` takes."""
        return input

    def step(self, input: Float[Array, " input"], state: State) -> State:
        """One recurrent step: the state (state,) after an input (input,)."""
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
    def thresholded(self) -> bool:
        """Whether `narrow` and `measure_hesitation` are about something: thresholds of units."""
        return False

    @property
    def output_size(self) -> int:
        return self.state_size

    def read(self, state: State) -> Float[Array, " output"]:
        """What later layers see of a state: a vector (output,), here the state itself."""
        return state

    def narrow(self, scale: Float[Array, ""] | None) -> "AbstractCell":
        """The same cell with the widths of its surrogate gradients multiplied; None undoes it.

        A cell without any is itself.

        >>> from remanence import cells
        >>> cell = cells.GRU(1, 2, key=jax.random.key(0))
        >>> cell.narrow(jnp.float32(0.5)) is cell
        True
        """
        del scale
        return self

    def measure_hesitation(
        self, input: Float[Array, " input"], state: State, margin: float
    ) -> Float[Array, ""]:
        """How near an input comes to thresholds at which the cell would do something else.

        A cell with thresholds says it by a number from 0 (none is within the margin) to 1; here
        there are none. `state` is the one (state,) after the input.

        >>> from remanence import cells
        >>> cell = cells.GRU(1, 2, key=jax.random.key(0))
        >>> cell.measure_hesitation(jnp.ones(1), cell.initial_state(), 0.1)
        Array(0., dtype=float32)
        """
        del input, margin
        return jnp.zeros((), state.dtype)

    def run(
        self,
        inputs: Sequences,
        first: Resets,
        state: States,
        method: str = "auto",
    ) -> Float[Array, "time *batch state"]:
        """The states after every input, with a reset before each input that `first` marks.

        Inputs (time, ..., input), flags (time, ...) and states before the first input (..., state)
        give states (time, ..., state); there may be any number of axes between, or none.

        Sequences side by side are best given together: `jax.vmap` would give the same, but what
        it leaves to XLA's CPU backend is full of transposed copies.

        >>> from remanence import cells
        >>> cell = cells.GRU(1, 2, key=jax.random.key(0))
        >>> first = jnp.array([False, False, True, False])
        >>> states = cell.run(jnp.ones((4, 1)), first, cell.initial_state())
        >>> states.shape
        (4, 2)
        >>> bool(jnp.array_equal(states[2], states[0]))  # begun anew
        True
        """
        check_method(method)
        if method == "scan":
            raise InvalidOptionError(
                "method",
                method,
                f"{type(self).__name__} is not linear in its state; use 'loop' or 'auto'",
            )
        projected = over_axes(self.project, first.ndim)(inputs)
        update = over_axes(self.update, first.ndim - 1)
        return advance_all(update, self.initial_state(), projected, first, state)


class AbstractGatedCell(AbstractCell):
    """A cell that sees its input through one affine projection for each gate.

    Its sizes are those of the weights of `inputs`, (gates, state, input).

    >>> from remanence import cells
    >>> cell = cells.GRU(1, 2, key=jax.random.key(0))
    >>> cell.input_size, cell.state_size, len(cell.project(jnp.ones(1)))
    (1, 2, 3)
    """

    inputs: eqx.AbstractVar[Projection]

    @property
    def input_size(self) -> int:  # pyrefly: ignore[bad-override]
        return self.inputs.weight.shape[-1]

    @property
    def state_size(self) -> int:  # pyrefly: ignore[bad-override]
        return self.inputs.weight.shape[-2]

    def project(self, input: Float[Array, " input"]) -> Any:
        return self.inputs(input)


class AbstractLinearCell(AbstractCell):
    """A cell whose update is linear in the state: state <- decay * state + drive, elementwise.

    >>> from remanence import cells
    >>> cell = cells.MinGRU(1, 2, key=jax.random.key(0))
    >>> input, state = jnp.ones(1), jnp.array([1.0, -1.0])
    >>> decay, drive = cell.coefficients(cell.project(input))
    >>> bool(jnp.allclose(cell.step(input, state), decay * state + drive))
    True
    """

    @property
    def linear(self) -> bool:
        return True

    @abc.abstractmethod
    def coefficients(self, projected: Any) -> tuple[State, State]:
        """Decay and drive, both (state,), from the projected input."""

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
        in time, which wins on an accelerator. "auto" goes by JAX's default backend. The scan has
        derivatives in forward mode too.

        >>> from remanence import cells
        >>> cell = cells.MinGRU(1, 2, key=jax.random.key(0))
        >>> given = jnp.ones((2, 1)), jnp.zeros(2, bool), cell.initial_state()
        >>> bool(jnp.allclose(cell.run(*given, "loop"), cell.run(*given, "scan")))
        True
        """
        if choose_method(method) == "scan" and len(inputs):
            return run_scan(self, inputs, first, state)
        decay, drive = _find_coefficients(self, inputs)
        return advance_linearly(decay, drive, self.initial_state(), first, state)


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
    """A function of unbatched arguments, over so many leading axes of all of them.

    >>> from remanence import cells
    >>> cells.over_axes(jnp.dot, 2)(jnp.ones((3, 2, 4)), jnp.ones((3, 2, 4))).shape
    (3, 2)
    """
    for _ in range(count):
        function = jax.vmap(function)
    return function


def project_all(cell: AbstractCell, inputs: Sequences) -> Any:
    """What `project` makes of every input, in one large product if it is that of gates."""
    if isinstance(cell, AbstractGatedCell) and type(cell).project is AbstractGatedCell.project:
        return cell.inputs.over(inputs)
    return over_axes(cell.project, inputs.ndim - 1)(inputs)


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
