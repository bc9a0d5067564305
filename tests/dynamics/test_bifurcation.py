import equinox as eqx
import numpy as np
import pytest

from remanence.dynamics import BudgetWarning, idle_map, spread_starts, trace_bifurcation
from tests.dynamics.maps import IDLE, find_root, make_bmru, make_gru_unit

B_N = float(np.float32(0.1))
GRU_UNIT = make_gru_unit(0.0, B_N)
TRACES = []


def move_w_hn(weight):
    TRACES.append(weight)
    recurrent = GRU_UNIT.recurrent_weight.astype(weight.dtype).at[2, 0, 0].set(weight)
    return idle_map(eqx.tree_at(lambda it: it.recurrent_weight, GRU_UNIT, recurrent), IDLE)


@pytest.fixture(scope="module")
def critical_weight() -> float:
    """Where h = tanh(a h + b), with a = w / 2, gets a second solution: the slope there is 1 too."""

    def miss(a: float) -> float:
        h = -np.sqrt(1 - 1 / a)
        return np.arctanh(h) - a * h - B_N

    return 2 * find_root(miss, 1 + 1e-9, 3)


def test_one_equilibrium_of_a_gru_becomes_two(critical_weight: float):
    values = critical_weight + np.array([-1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0])
    progress = []
    bifurcation = trace_bifurcation(
        move_w_hn, values, spread_starts(0, 32, 1), on_progress=lambda *now: progress.append(now)
    )
    np.testing.assert_array_equal(bifurcation.num_attractors, [1, 1, 1, 2, 2, 2])
    assert progress == [(done, 6) for done in range(1, 7)]
    for value, count in zip(values, [0, 0, 0, 1, 1, 1], strict=True):
        rows = bifurcation.parameter == value
        assert (~bifurcation.stable[rows]).sum() == count
        points = np.sort(bifurcation.point[rows, 0])
        np.testing.assert_allclose(np.tanh(value * points / 2 + B_N), points, atol=1e-9)
        # What is unstable separates what is stable.
        order = np.argsort(bifurcation.point[rows, 0])
        assert bifurcation.stable[rows][order].tolist() == [True, False, True][: 2 * count + 1]
    np.testing.assert_array_equal(bifurcation.period, 1)


def test_all_values_share_a_program():
    starts = spread_starts(0, 32, 1)
    trace_bifurcation(move_w_hn, [1.0], starts)
    TRACES.clear()
    trace_bifurcation(move_w_hn, [1.1], starts)
    shapes_only = len(TRACES)
    trace_bifurcation(move_w_hn, [1.2, 1.3, 1.4], starts)
    assert len(TRACES) == 4 * shapes_only


def test_a_bmru_forgets_where_its_input_exceeds_its_threshold():
    cell = make_bmru([0.0], [0.5], alpha=0.75)

    def move_b_n(bias):
        biases = cell.inputs.bias.astype(bias.dtype).at[0, 0].set(bias)
        return idle_map(eqx.tree_at(lambda it: it.inputs.bias, cell, biases), IDLE)

    starts = np.array([[-0.75], [0.75]])
    bifurcation = trace_bifurcation(move_b_n, [-0.6, -0.5, 0.0, 0.5, 0.6], starts, smooth=False)
    np.testing.assert_array_equal(bifurcation.num_attractors, [1, 2, 2, 2, 1])
    np.testing.assert_array_equal(
        bifurcation.point[:, 0], 0.75 * np.array([-1, -1, 1, -1, 1, -1, 1, 1])
    )


def test_orbits_that_do_not_settle_are_warned_of_once():
    """At 3.9 the logistic map is chaotic."""
    starts = 0.5 + 0.4 * spread_starts(0, 4, 1)
    with pytest.warns(BudgetWarning, match="4 of 8 orbits") as caught:
        found = trace_bifurcation(
            lambda rate: lambda h: rate * h * (1 - h), [2.8, 3.9], starts, budget=500
        )
    assert len(caught) == 1
    assert found.num_attractors.tolist() == [1, 0]
