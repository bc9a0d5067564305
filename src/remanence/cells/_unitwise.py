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
    Gates,
    Resets,
    Sequences,
    State,
    States,
    check_method,
    over_axes,
    run_loop,
)

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
        return _follow((self, over_axes(self.project, first.ndim)(inputs), state), first)


@eqx.filter_custom_vjp
def _follow(given: Given, first: Resets) -> Float[Array, "time *batch state"]:
    cell, projected, state = given
    return run_loop(cell, projected, first, state)


@_follow.def_fwd
def _follow_forward(perturbed: Any, given: Given, first: Resets) -> tuple[Array, Any]:
    cell, projected, state = given
    initial = jnp.broadcast_to(cell.initial_state(), state.shape)
    mix, combine = (over_axes(part, first.ndim - 1) for part in (cell.mix, cell.combine))

    def advance(state: States, now: Any) -> tuple[States, tuple[States, Any]]:
        projected, first = now
        state = jnp.where(first[..., None], initial, state)
        mixed = mix(state)
        state = combine(projected, mixed, state)
        return state, (state, mixed)

    states, mixed = jax.lax.scan(advance, state, (projected, first))[1]
    return states, (states, mixed)


@_follow.def_bwd
def _follow_back(
    residuals: Any, cotangent: Array, perturbed: Any, given: Given, first: Resets
) -> tuple[Any, Any, States]:
    (cell, projected, state), (states, mixed) = given, residuals
    weights, fixed = eqx.partition(cell, eqx.is_inexact_array)
    parents = jnp.concatenate([state[None], states[:-1]])
    initial = jnp.broadcast_to(cell.initial_state(), states.shape)
    parents = jnp.where(first[..., None], initial, parents)
    # Of functions of each unit alone, pulling back ones gives their derivatives.
    _, pull = jax.vjp(over_axes(cell.combine, first.ndim), projected, mixed, parents)
    by_projected, by_mixed, by_state = pull(jnp.ones_like(states))
    unmix = jax.linear_transpose(over_axes(cell.mix, first.ndim - 1), state)

    def retreat(later: States, now: Any) -> tuple[States, States]:
        cotangent, by_mixed, by_state, first = now
        total = cotangent + later
        earlier = by_state * total + unmix(_scale(by_mixed, total))[0]
        return jnp.where(first[..., None], 0, earlier), total

    given_back = (cotangent, by_mixed, by_state, first)
    before, total = jax.lax.scan(retreat, jnp.zeros_like(state), given_back, reverse=True)
    changes = _scale(by_mixed, total)

    def mix_all(weights: Any, states: Array) -> Any:
        return over_axes(eqx.combine(weights, fixed).mix, first.ndim)(states)

    _, pull = jax.vjp(mix_all, weights, parents)
    gradient, earlier = pull(changes)
    # A cell may learn the state that opens its episodes; for others none of this is computed.
    earlier = jnp.where(first[..., None], earlier + by_state * total, 0)
    _, pull = jax.vjp(lambda weights: eqx.combine(weights, fixed).initial_state(), weights)
    opening = pull(jnp.sum(earlier, axis=range(first.ndim)))[0]
    return jax.tree.map(jnp.add, gradient, opening), _scale(by_projected, total), before


def _scale(slopes: Any, total: Array) -> Any:
    return jax.tree.map(lambda slope: slope * total, slopes)
