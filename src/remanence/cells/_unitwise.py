"""Gated cells whose units meet in a linear map alone, and gradients that make use of it.

All but that map is a function of each unit by itself, so its derivatives are numbers, which are
found for all steps at once. The loop back in time is left with products by them and with the map;
gradients of weights follow from all steps in one large matrix product. Differentiating the loop
itself would keep many more arrays, and add up the gradients of weights step by step.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence.cells._cell import (
    AbstractGatedCell,
    Sequences,
    check_method,
    over_axes,
    project_all,
)
from remanence.cells._loops import (
    Resets,
    Series,
    State,
    States,
    advance_all,
    list_parents,
    pull_back,
    sum_over_resets,
)
from remanence.cells._weights import Gates

Given = tuple["AbstractUnitwiseCell", Any, States]


class AbstractUnitwiseCell(AbstractGatedCell):
    """A gated cell that sees its state through `mix`, and is otherwise each unit's own matter.

    >>> from remanence import cells
    >>> cell = cells.GRU(1, 2, key=jax.random.key(0))
    >>> input, state = jnp.ones(1), jnp.array([1.0, -1.0])
    >>> after = cell.combine(cell.project(input), cell.mix(state), state)
    >>> bool(jnp.array_equal(after, cell.step(input, state)))
    True
    """

    @property
    def coupled(self) -> bool:
        """Whether `mix` lets a unit see others, and is not an elementwise product."""
        return True

    @abc.abstractmethod
    def mix(self, state: State) -> Gates:
        """What gates see of the state, a vector (state,) for each of them; linear in the state."""

    @abc.abstractmethod
    def combine(self, projected: Gates, mixed: Gates, state: State) -> State:
        """The next state; each unit's from entries of its own, and without any weights."""

    def update(self, projected: Gates, state: State) -> State:
        return self.combine(projected, self.mix(state), state)

    def run(
        self,
        inputs: Sequences,
        first: Resets,
        state: States,
        method: str = "auto",
    ) -> Float[Array, "time *batch state"]:
        """As for any cell; "auto" has faster gradients, "loop" those in forward mode too.

        >>> from remanence import cells
        >>> cell = cells.GRU(1, 2, key=jax.random.key(0))
        >>> given = jnp.ones((2, 1)), jnp.zeros(2, bool), cell.initial_state()
        >>> bool(jnp.array_equal(cell.run(*given), cell.run(*given, "loop")))
        True
        """
        check_method(method)
        if method != "auto":
            return super().run(inputs, first, state, method)
        return _follow((self, project_all(self, inputs), state), first)


@eqx.filter_custom_vjp
def _follow(given: Given, first: Resets) -> Series:
    cell, projected, state = given
    update = over_axes(cell.update, first.ndim - 1)
    return advance_all(update, cell.initial_state(), projected, first, state)


@_follow.def_fwd
def _follow_forward(perturbed: Any, given: Given, first: Resets) -> tuple[Series, Any]:
    cell, projected, state = given
    if not cell.coupled:
        states = _follow(given, first)
        return states, (states, None)

    def update(projected: Gates, state: State) -> tuple[State, Gates]:
        mixed = cell.mix(state)
        return cell.combine(projected, mixed, state), mixed

    update = over_axes(update, first.ndim - 1)
    states, mixed = advance_all(update, cell.initial_state(), projected, first, state)
    return states, (states, mixed)


@_follow.def_bwd
def _follow_back(
    residuals: Any, cotangent: Series, perturbed: Any, given: Given, first: Resets
) -> tuple[Any, Any, States]:
    (cell, projected, state), (states, mixed) = given, residuals
    weights, fixed = eqx.partition(cell, eqx.is_inexact_array)
    parents = list_parents(cell.initial_state(), first, state, states)
    mixed_again, unmix = jax.vjp(
        lambda weights, states: _mix(eqx.combine(weights, fixed), states), weights, parents
    )
    # Of a function of each unit alone, pulling back ones gives the derivatives.
    _, pull = jax.vjp(over_axes(cell.combine, first.ndim), projected, mixed or mixed_again, parents)
    by_projected, by_mixed, by_state = pull(jnp.ones_like(states))
    if cell.coupled:
        total, before = _pull_back_coupled(cell, by_mixed, by_state, first, cotangent)
    else:
        slope = jnp.where(first[..., None], 0, by_state + unmix(by_mixed)[1])
        total, before = pull_back(jnp.multiply, slope, cotangent)
    gradient, earlier = unmix(_scale(by_mixed, total))
    _, pull = jax.vjp(lambda weights: eqx.combine(weights, fixed).initial_state(), weights)
    (opening,) = pull(sum_over_resets(earlier + by_state * total, first))
    return jax.tree.map(jnp.add, gradient, opening), _scale(by_projected, total), before


def _pull_back_coupled(
    cell: AbstractUnitwiseCell, by_mixed: Any, by_state: Series, first: Resets, cotangent: Series
) -> tuple[Series, States]:
    unmix = jax.linear_transpose(lambda states: _mix(cell, states), by_state[0])

    def pull(now: Any, total: States) -> States:
        by_mixed, by_state, first = now
        (through_mix,) = unmix(_scale(by_mixed, total))
        return jnp.where(first[..., None], 0, by_state * total + through_mix)

    return pull_back(pull, (by_mixed, by_state, first), cotangent)


def _mix(cell: AbstractUnitwiseCell, states: States) -> Any:
    return over_axes(cell.mix, states.ndim - 1)(states)


def _scale(slopes: Any, total: States) -> Any:
    return jax.tree.map(lambda slope: slope * total, slopes)
