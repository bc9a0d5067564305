import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.cells import BMRU, BRC, GRU, NBRC, AbstractCell, MinGRU, Parallel, Stack
from remanence.errors import InvalidOptionError
from tests.cells import reference

KEY = jax.random.key(0)


@eqx.filter_jit
def jitted_run(cell, *episodes, method="auto"):
    return cell.run(*episodes, method)


def run_by_hand(cell: AbstractCell, episodes: reference.Episodes) -> tuple[np.ndarray, np.ndarray]:
    """The states and outputs of a composition, from runs of the cells it is made of."""
    if not isinstance(cell, Stack | Parallel):
        states = np.asarray(jitted_run(cell, *episodes))
        return states, states
    inputs, first, state = episodes
    states, outputs, start = [], [], 0
    for part in cell.cells:
        part_state = state[start : start + part.state_size]
        start += part.state_size
        part_states, output = run_by_hand(part, reference.Episodes(inputs, first, part_state))
        states.append(part_states)
        outputs.append(output)
        if isinstance(cell, Stack):
            inputs = jnp.asarray(output)
    assert start == len(state)
    output = outputs[-1] if isinstance(cell, Stack) else np.concatenate(outputs, 1)
    return np.concatenate(states, 1), output


COMPOSITIONS = {
    "stack": Stack([BMRU(3, 2, key=KEY), GRU(2, 4, key=KEY), BRC(4, 1, key=KEY)]),
    "stack of compositions": Stack(
        [
            Parallel([BMRU(3, 2, key=KEY), NBRC(3, 1, key=KEY)]),
            Stack([BMRU(3, 2, key=KEY), MinGRU(2, 4, key=KEY)]),
        ]
    ),
    "parallel of stacks": Parallel(
        [Stack([BMRU(3, 2, key=KEY), GRU(2, 4, key=KEY)]), NBRC(3, 1, key=KEY)]
    ),
}
every_composition = pytest.mark.parametrize(
    "cell", list(COMPOSITIONS.values()), ids=list(COMPOSITIONS)
)


@every_composition
def test_composition_is_its_parts(cell: Stack | Parallel):
    cell = reference.randomise(cell, 0)
    episodes = reference.draw_episodes(cell, 0)
    states, outputs = run_by_hand(cell, episodes)
    computed = jitted_run(cell, *episodes)
    np.testing.assert_allclose(computed, states, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.vmap(cell.read)(computed), outputs, rtol=1e-5, atol=1e-6)
    assert cell.output_size == outputs.shape[1]


@every_composition
def test_step_repeated_is_run(cell: Stack | Parallel):
    cell = reference.randomise(cell, 0)
    inputs, first, state = reference.draw_episodes(cell, 0)
    expected = jitted_run(cell, inputs, first, state)
    step = eqx.filter_jit(cell.step)
    for input, resets, after in zip(inputs, first, expected, strict=True):
        state = step(input, cell.initial_state() if resets else state)
        np.testing.assert_allclose(state, after, rtol=1e-5, atol=1e-6)


def test_scan_runs_through_a_stack_of_linear_cells():
    cell = reference.randomise(Stack([BMRU(3, 2, key=KEY), MinGRU(2, 4, key=KEY)]), 0)
    episodes = reference.draw_episodes(cell, 0)
    loop, scan = (jitted_run(cell, *episodes, method=method) for method in ("loop", "scan"))
    np.testing.assert_allclose(scan, loop, rtol=1e-5, atol=1e-6)
    loop_program, scan_program = (
        str(eqx.filter_make_jaxpr(cell.run)(*episodes, method)[0]) for method in ("loop", "scan")
    )
    assert "scan[" in loop_program
    assert "scan[" not in scan_program


def test_state_keeps_the_order_of_the_cells():
    cell = Stack([BMRU(3, 4, key=KEY), GRU(4, 2, key=KEY), BRC(2, 5, key=KEY)])
    assert (cell.input_size, cell.state_size, cell.output_size) == (3, 11, 5)
    np.testing.assert_array_equal(cell.read(jnp.arange(11.0)), np.arange(6.0, 11.0))
    parts = cell.split(jnp.arange(11.0))
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(11.0))
    assert [len(part) for part in parts] == [4, 2, 5]


def test_parallel_cells_are_all_read():
    cell = Parallel([BMRU(3, 4, key=KEY), Stack([GRU(3, 2, key=KEY), BRC(2, 5, key=KEY)])])
    assert (cell.input_size, cell.state_size, cell.output_size) == (3, 11, 9)
    expected = [*range(4), *range(6, 11)]
    np.testing.assert_array_equal(cell.read(jnp.arange(11.0)), expected)


class Counter(AbstractCell):
    """A cell that starts at its own value, to see whose initial state is used."""

    start: jax.Array  # pyrefly: ignore[bad-class-definition]
    input_size: int = eqx.field(static=True, default=3)
    state_size: int = eqx.field(static=True, default=1)

    def initial_state(self) -> jax.Array:
        return self.start[None]

    def update(self, projected: jax.Array, state: jax.Array) -> jax.Array:
        return state + 1


def test_each_part_opens_an_episode_in_its_own_initial_state():
    cell = Parallel(
        [Counter(start=jnp.array(10.0)), MinGRU(3, 1, key=KEY), Counter(start=jnp.array(20.0))]
    )
    np.testing.assert_array_equal(cell.initial_state(), [10.0, 0.0, 20.0])
    first = jnp.array([False, True, False])
    states = cell.run(jnp.zeros((3, 3)), first, jnp.array([-1.0, 0.0, -2.0]))
    np.testing.assert_array_equal(states[:, [0, 2]], [[0, -1], [11, 21], [12, 22]])


@pytest.mark.parametrize("kind", [Stack, Parallel])
def test_composition_of_nothing_is_refused(kind: type[Stack] | type[Parallel]):
    with pytest.raises(InvalidOptionError, match=r"cells = \[\].*at least one cell"):
        kind([])


def test_stack_of_mismatching_sizes_is_refused():
    with pytest.raises(InvalidOptionError, match=r"\(3, 4\), \(5, 2\).*output size of the cell"):
        Stack([GRU(3, 4, key=KEY), GRU(5, 2, key=KEY)])


def test_parallel_of_mismatching_inputs_is_refused():
    with pytest.raises(InvalidOptionError, match=r"\[3, 4\].*same input size"):
        Parallel([GRU(3, 4, key=KEY), GRU(4, 4, key=KEY)])


@pytest.mark.parametrize(
    "cell",
    [
        GRU(3, 2, key=KEY),
        Stack([MinGRU(3, 4, key=KEY), GRU(4, 2, key=KEY)]),
        Parallel([MinGRU(3, 4, key=KEY), GRU(3, 2, key=KEY)]),
    ],
    ids=["cell", "stack", "parallel"],
)
def test_scan_of_a_nonlinear_cell_is_refused(cell: AbstractCell):
    episodes = reference.draw_episodes(cell, 0)
    with pytest.raises(InvalidOptionError, match=r"'scan'.*GRU is not linear.*use 'loop'"):
        eqx.filter_eval_shape(cell.run, *episodes, "scan")


@pytest.mark.parametrize(
    "cell",
    [GRU(3, 2, key=KEY), MinGRU(3, 2, key=KEY), Stack([GRU(3, 2, key=KEY)])],
    ids=["nonlinear", "linear", "composition"],
)
def test_unknown_method_is_refused(cell: AbstractCell):
    episodes = reference.draw_episodes(cell, 0)
    with pytest.raises(InvalidOptionError, match=r"method = 'parallel'.*auto, loop, scan"):
        eqx.filter_eval_shape(cell.run, *episodes, "parallel")
