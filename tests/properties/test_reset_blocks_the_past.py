"""From a reset on, nothing depends on what came before it: not on inputs, not on the state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.cells import AbstractCell, Stack, make, registry
from tests.cells import reference

INPUT_SIZE, STATE_SIZE, NUM_STEPS = 2, 4, 6
KEY = jax.random.key(0)

CELLS = {name: make(name, INPUT_SIZE, STATE_SIZE, key=KEY) for name in registry}
CELLS["stack"] = Stack([CELLS["gru"], make("bmru", STATE_SIZE, 2, key=KEY)])
WAYS = [(name, "loop") for name in CELLS] + [
    (name, "scan") for name in ("mingru", "bmru", "hybrid")
]

resets = st.lists(st.booleans(), min_size=NUM_STEPS, max_size=NUM_STEPS).filter(any)
seeds = st.integers(0, 2**32 - 1)


@eqx.filter_jit
def jitted_run(cell: AbstractCell, episodes: reference.Episodes, method: str) -> jax.Array:
    return cell.run(*episodes, method)


@eqx.filter_jit
def pull_back(
    cell: AbstractCell, episodes: reference.Episodes, cotangent: jax.Array, method: str
) -> tuple[jax.Array, jax.Array]:
    """The gradients of inputs and carried-in state, given those of the states."""
    inputs, first, state = episodes
    _, pull = jax.vjp(lambda inputs, state: cell.run(inputs, first, state, method), inputs, state)
    return pull(cotangent)


def draw_episodes(cell: AbstractCell, seed: int, first: list[bool]) -> reference.Episodes:
    episodes = reference.draw_episodes(cell, seed, NUM_STEPS)
    return episodes._replace(first=jnp.asarray(first))


@pytest.mark.parametrize(("name", "method"), WAYS)
@settings(max_examples=15, deadline=None)
@given(first=resets, seed=seeds, other_seed=seeds, data=st.data())
def test_states_forget_the_past_to_the_last_bit(
    name: str, method: str, first: list[bool], seed: int, other_seed: int, data: st.DataObject
):
    cell = reference.randomise(CELLS[name], seed)
    reset = data.draw(st.sampled_from(np.flatnonzero(first).tolist()))
    past = draw_episodes(cell, seed, first)
    other = draw_episodes(cell, other_seed, first)
    is_past = np.arange(NUM_STEPS)[:, None] < reset
    spliced = other._replace(inputs=jnp.asarray(np.where(is_past, other.inputs, past.inputs)))
    one, two = (np.asarray(jitted_run(cell, it, method))[reset:] for it in (past, spliced))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(("name", "method"), WAYS)
@settings(max_examples=15, deadline=None)
@given(first=resets, seed=seeds, data=st.data())
def test_gradients_do_not_reach_the_past(
    name: str, method: str, first: list[bool], seed: int, data: st.DataObject
):
    cell = reference.randomise(CELLS[name], seed)
    reset = data.draw(st.sampled_from(np.flatnonzero(first).tolist()))
    later = (np.arange(NUM_STEPS) >= reset)[:, None].astype(np.float32)
    cotangent = jnp.asarray(np.broadcast_to(later, (NUM_STEPS, cell.state_size)))
    gradients = pull_back(cell, draw_episodes(cell, seed, first), cotangent, method)
    inputs, state = (np.asarray(gradient) for gradient in gradients)
    assert not np.any(inputs[:reset])
    assert not np.any(state)
    assert np.any(inputs[reset:])


@pytest.mark.parametrize(("name", "method"), WAYS)
def test_without_a_reset_the_past_is_felt(name: str, method: str):
    """The two properties above would hold for a cell that remembers nothing."""
    cell = CELLS[name]
    episodes = draw_episodes(cell, 0, [False] * NUM_STEPS)
    episodes = episodes._replace(inputs=episodes.inputs / 10)
    last = jnp.zeros((NUM_STEPS, cell.state_size)).at[-1].set(1.0)
    inputs, state = (np.asarray(it) for it in pull_back(cell, episodes, last, method))
    assert np.all(np.any(inputs != 0, axis=1))
    assert np.any(state != 0)
