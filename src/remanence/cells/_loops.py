"""Loops over time, forth and back. What inputs alone decide is computed before them.

Backward, only what is recurrent stays in the loop. JAX would transpose the loop as it is: keep and
read again an array for each of its operations, and add up gradients of weights step by step.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

State = Float[Array, " state"]
States = Float[Array, "*batch state"]
Series = Float[Array, "time *batch state"]
Resets = Bool[Array, "time *batch"]


def advance_all(
    update: Callable[[Any, States], Any], initial: State, given: Any, first: Resets, state: States
) -> Any:
    """What `update` returns at every step: the next state, or a tuple which begins with it."""
    opening = jnp.broadcast_to(initial, state.shape)

    def advance(state: States, now: tuple[Any, Bool[Array, "*batch"]]) -> tuple[States, Any]:
        given, first = now
        # `first` marks the input about to be read, so the reset precedes the update; resetting
        # after it would leak one step across episodes.
        after = update(given, jnp.where(first[..., None], opening, state))
        return (after[0] if isinstance(after, tuple) else after), after

    return jax.lax.scan(advance, state, (given, first))[1]


@jax.custom_vjp
def advance_linearly(
    decay: Series, drive: Series, initial: State, first: Resets, state: States
) -> Series:
    """All states of state <- decay * state + drive."""
    return advance_all(
        lambda now, state: now[0] * state + now[1], initial, (decay, drive), first, state
    )


def _advance_linearly_forward(
    decay: Series, drive: Series, initial: State, first: Resets, state: States
) -> tuple[Series, Any]:
    states = advance_linearly(decay, drive, initial, first, state)
    return states, (decay, initial, first, state, states)


def _advance_linearly_back(residuals: Any, cotangent: Series) -> tuple[Any, ...]:
    decay, initial, first, state, states = residuals
    kept = jnp.where(first[..., None], 0, decay)
    total, before = pull_back(jnp.multiply, kept, cotangent)
    of_decay = total * list_parents(initial, first, state, states)
    return of_decay, total, sum_over_resets(decay * total, first), None, before


advance_linearly.defvjp(_advance_linearly_forward, _advance_linearly_back)


def pull_back(
    pull: Callable[[Any, States], States], given: Any, cotangent: Series
) -> tuple[Series, States]:
    """From what each state does by itself, what it does by way of all that follow.

    `pull` takes what is given of a step, and what the state after it does, to what the state before
    it does through this step. The state before the first step comes last.
    """

    def retreat(later: States, now: tuple[Any, States]) -> tuple[States, States]:
        given, own = now
        total = own + later
        return pull(given, total), total

    start = jnp.zeros_like(cotangent[0])
    before, totals = jax.lax.scan(retreat, start, (given, cotangent), reverse=True)
    return totals, before


def list_parents(initial: State, first: Resets, state: States, states: Series) -> Series:
    """The state that every step begins in."""
    before = jnp.concatenate([state[None], states[:-1]])
    return jnp.where(first[..., None], jnp.broadcast_to(initial, states.shape), before)


def sum_over_resets(values: Series, first: Resets) -> State:
    """The sum over all steps that open an episode.

    What the opening state does to the loss; where it is a constant, compilers drop all of this.
    """
    return jnp.sum(jnp.where(first[..., None], values, 0), axis=range(first.ndim))
