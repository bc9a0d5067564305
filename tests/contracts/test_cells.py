"""What every registered cell keeps to."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.cells import AbstractCell, make, registry
from tests.cells import reference

INPUT_SIZE, STATE_SIZE, NUM_STEPS = 3, 4, 12
FIRST = np.isin(np.arange(NUM_STEPS), [1, 2, 7])

pytestmark = pytest.mark.parametrize("name", list(registry))


@eqx.filter_jit
def _run(cell: AbstractCell, episodes: tuple[Any, Any, Any], method: str) -> jax.Array:
    return cell.run(*episodes, method)


@eqx.filter_jit
def _step(cell: AbstractCell, input: jax.Array, state: jax.Array) -> jax.Array:
    return cell.step(input, state)


def jitted_run(
    cell: AbstractCell, inputs: Any, first: Any, state: Any, method: str = "auto"
) -> np.ndarray:
    return np.asarray(_run(cell, (inputs, first, state), method))


def jitted_step(cell: AbstractCell, input: Any, state: Any) -> np.ndarray:
    return np.asarray(_step(cell, input, state))


@functools.cache
def make_cell(name: str, seed: int = 0) -> AbstractCell:
    return make(name, INPUT_SIZE, STATE_SIZE, key=jax.random.key(seed))


def draw(name: str, seed: int = 0) -> tuple[AbstractCell, reference.Episodes]:
    """A cell with arbitrary weights, and episodes that are cut at the same steps every time.

    Episodes are arrays of NumPy, which are taken apart without compiling.
    """
    cell = reference.randomise(make_cell(name), seed)
    episodes = reference.draw_episodes(cell, seed, NUM_STEPS)
    return cell, jax.device_get(episodes)._replace(first=FIRST)


def draw_normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def assert_close(computed: Any, expected: Any) -> None:
    np.testing.assert_allclose(computed, expected, rtol=1e-5, atol=1e-6)


def test_sizes_and_types(name: str):
    cell, episodes = draw(name)
    assert (cell.input_size, cell.state_size) == (INPUT_SIZE, STATE_SIZE)
    states = jitted_run(cell, *episodes)
    assert (states.shape, states.dtype) == ((NUM_STEPS, STATE_SIZE), jnp.float32)
    after = jitted_step(cell, episodes.inputs[0], episodes.state)
    assert (after.shape, after.dtype) == ((STATE_SIZE,), jnp.float32)
    assert cell.read(jnp.asarray(after)).shape == (cell.output_size,)


def test_episode_opens_in_the_initial_state(name: str):
    cell = make_cell(name)
    np.testing.assert_array_equal(cell.initial_state(), np.zeros(STATE_SIZE, np.float32))
    assert cell.initial_state().dtype == jnp.float32


def test_run_is_step_repeated(name: str):
    cell, (inputs, _, state) = draw(name)
    states = jitted_run(cell, inputs, np.zeros(NUM_STEPS, bool), state)
    for input, after in zip(inputs, states, strict=True):
        state = jitted_step(cell, input, state)
        assert_close(state, after)


def test_run_of_one_step_is_step(name: str):
    cell, (inputs, _, state) = draw(name)
    once = jitted_run(cell, inputs[:1], np.array([False]), state)
    assert_close(once[0], jitted_step(cell, inputs[0], state))
    anew = jitted_run(cell, inputs[:1], np.array([True]), state)
    assert_close(anew[0], jitted_step(cell, inputs[0], cell.initial_state()))


def test_resets_cut_a_run_into_episodes(name: str):
    cell, (inputs, first, state) = draw(name)
    together = jitted_run(cell, inputs, first, state)
    starts = [0, *np.flatnonzero(FIRST), NUM_STEPS]
    for start, end in itertools.pairwise(starts):
        before = state if start == 0 else cell.initial_state()
        for step in range(start, end):
            before = jitted_step(cell, inputs[step], before)
            assert_close(together[step], before)


def test_batch_is_each_alone(name: str):
    cell, _ = draw(name)
    alone = [draw(name, seed)[1] for seed in range(3)]
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *alone)
    states = np.asarray(jax.jit(jax.vmap(cell.run))(*batch))
    for computed, episodes in zip(states, alone, strict=True):
        assert_close(computed, jitted_run(cell, *episodes))


@pytest.mark.parametrize("method", ["loop", "scan"])
def test_sequences_side_by_side_are_each_alone(name: str, method: str):
    cell, _ = draw(name)
    if method == "scan" and not cell.linear:
        pytest.skip("not linear in its state")
    alone = [draw(name, seed)[1] for seed in range(3)]
    # Resets at other steps in each of them.
    alone = [one._replace(first=np.roll(one.first, seed)) for seed, one in enumerate(alone)]  # pyrefly: ignore[bad-argument-type]
    inputs, first, state = (np.stack(leaves, 1) for leaves in zip(*alone, strict=True))
    states = jitted_run(cell, inputs, first, state.T, method)
    for number, episodes in enumerate(alone):
        assert_close(states[:, number], jitted_run(cell, *episodes))


def test_compiled_is_uncompiled(name: str):
    cell, (inputs, first, state) = draw(name)
    with jax.disable_jit():
        uncompiled = cell.run(jnp.asarray(inputs[:3]), jnp.asarray(first[:3]), jnp.asarray(state))
    assert_close(jitted_run(cell, inputs, first, state)[:3], uncompiled)


def test_gradient_reaches_everything(name: str):
    cell = make_cell(name)
    # Large inputs, so that gates with a threshold open too.
    inputs = 3 * draw_normal(1, NUM_STEPS, INPUT_SIZE)
    state = draw_normal(2, STATE_SIZE)
    cotangent = draw_normal(3, NUM_STEPS, STATE_SIZE)

    @jax.jit
    @jax.grad
    def differentiate(at):
        cell, inputs, state = at
        return jnp.sum(cotangent * cell.run(inputs, jnp.asarray(FIRST), state))

    gradients = jax.device_get(differentiate((cell, inputs, state)))
    for gradient in jax.tree.leaves(gradients):
        assert np.all(np.isfinite(gradient))
    of_parameters, of_inputs, of_state = gradients
    for gradient in jax.tree.leaves(of_parameters):
        assert np.all(gradient != 0)
    # An input that confirms what all units hold already moves nothing, so not every one counts.
    assert np.any(of_inputs != 0)
    assert np.any(of_state != 0)


def run_step_by_step(
    cell: AbstractCell, inputs: jax.Array, first: jax.Array, states: jax.Array
) -> jax.Array:
    after = []
    initial = jnp.broadcast_to(cell.initial_state(), states.shape)
    for input, opens in zip(inputs, first, strict=True):
        states = jax.vmap(cell.step)(input, jnp.where(opens[:, None], initial, states))
        after.append(states)
    return jnp.stack(after)


def test_gradient_is_that_of_steps(name: str):
    """For two seeds at once, each with three sequences that are reset at steps of their own.

    In double precision, where nothing but the maths can differ: a BRC amplifies single rounding.
    """
    cells = [reference.randomise(make_cell(name), seed) for seed in range(2)]
    cell = jax.tree.map(lambda *leaves: np.stack(leaves), *cells)
    steps = 5
    inputs = draw_normal(0, 2, steps, 3, INPUT_SIZE)
    state = draw_normal(1, 2, 3, STATE_SIZE)
    cotangent = draw_normal(2, 2, steps, 3, STATE_SIZE)
    first = jnp.asarray(np.arange(steps)[:, None] == np.array([[0, 2, 3]]))

    def differentiate(run: Callable[..., jax.Array]) -> Any:
        def total(given: Any, cotangent: jax.Array) -> jax.Array:
            cell, inputs, state = given
            return jnp.sum(cotangent * run(cell, inputs, first, state))

        return jax.jit(jax.vmap(jax.grad(total)))((cell, inputs, state), cotangent)

    with jax.enable_x64(True):
        cell, inputs, state, cotangent = jax.tree.map(
            lambda leaf: jax.device_put(leaf.astype(np.float64)), (cell, inputs, state, cotangent)
        )
        expected = differentiate(run_step_by_step)
        found = differentiate(type(cells[0]).run)
        compare = functools.partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-12)
        jax.tree.map(compare, found, expected)


def test_weights_follow_the_key_alone(name: str):
    one, again, other = make_cell(name, 0), make_cell(name, 0), make_cell(name, 1)
    assert eqx.tree_equal(one, again)
    assert not eqx.tree_equal(one, other)


def test_leaves_are_arrays_of_a_fixed_type(name: str):
    """A weakly typed leaf would change its type with the first gradient step, and recompile."""
    for leaf in jax.tree.leaves(make_cell(name)):
        assert isinstance(leaf, jax.Array)
        assert leaf.dtype == jnp.float32
        assert not leaf.weak_type


def test_many_seeds_are_made_and_run_at_once(name: str):
    keys = jax.random.split(jax.random.key(0), 3)
    _, episodes = draw(name)
    inputs, first, state = jax.device_put(episodes)

    @eqx.filter_jit
    @eqx.filter_vmap
    def make_and_run(key: jax.Array) -> tuple[AbstractCell, jax.Array]:
        cell = make(name, INPUT_SIZE, STATE_SIZE, key=key)
        return cell, cell.run(inputs, first, state)

    cells, states = jax.device_get(make_and_run(keys))
    for seed, key in enumerate(keys):
        alone = make(name, INPUT_SIZE, STATE_SIZE, key=key)
        jax.tree.map(assert_close, jax.tree.map(lambda leaf: leaf[seed], cells), alone)  # noqa: B023
        assert_close(states[seed], jitted_run(alone, *episodes))


def test_scan_is_the_loop(name: str):
    cell, episodes = draw(name)
    if not cell.linear:
        pytest.skip("not linear in its state")
    loop, scan = (jitted_run(cell, *episodes, method) for method in ("loop", "scan"))
    assert_close(scan, loop)


def test_double_precision_is_kept(name: str):
    single, episodes = draw(name)
    with jax.enable_x64(True):
        cell = reference.randomise(reference.as_float64(make_cell(name)), 0)
        assert cell.initial_state().dtype == jnp.float64
        double = reference.draw_episodes(cell, 0, NUM_STEPS)._replace(first=episodes.first)
        states = np.asarray(jitted_run(cell, *double))
    assert states.dtype == np.float64
    set_states = states[states != 0]
    assert np.all(set_states != set_states.astype(np.float32))
    assert_close(jitted_run(single, *episodes), states)
