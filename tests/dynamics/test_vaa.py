from contextlib import nullcontext

import numpy as np
import pytest

from remanence.dynamics import SaturationWarning, compute_vaa, idle_map
from tests.dynamics.maps import IDLE, affine, make_bmru, make_gru_unit, make_mingru

PAIR = np.array([[-1.0], [1.0]])


def decay(b_z: float, num_steps: int) -> float:
    """By what factor a minGRU's states near each other."""
    return float(np.exp(-num_steps * np.log1p(np.exp(-b_z))))


def test_value_follows_the_formula_where_nearness_is_not_transitive():
    starts = np.array([[0.0], [0.6e-4], [1.2e-4], [5.0], [5.0]])
    vaa = compute_vaa(affine([[1.0]], [0.0]), starts, num_steps=10)
    near = [[abs(a - b) <= 1e-4 for b in starts[:, 0]] for a in starts[:, 0]]
    expected = sum(1 / sum(row) for row in near) / len(starts)
    assert vaa.value == pytest.approx(expected, rel=1e-15)
    assert vaa.limit == vaa.value
    np.testing.assert_array_equal(vaa.groups, [0, 0, 1, 2, 2])


def test_mingru_is_monostable():
    b_z, b_n = [1.0, 3.0], [0.5, -0.25]
    starts = np.array([[-1.0, 1.0], [1.0, 0.0], [0.3, 0.2]])
    step = idle_map(make_mingru(b_z, b_n), IDLE)
    vaa = compute_vaa(step, starts)
    assert (vaa.value, vaa.limit, vaa.settled, vaa.num_attractors) == (1 / 3, 1 / 3, True, 1)
    early = compute_vaa(step, starts, num_steps=9)
    expected = b_n + (1 / (1 + np.exp(-np.array(b_z)))) ** 9 * (starts - b_n)
    np.testing.assert_allclose(early.final_states, expected, rtol=1e-13)
    assert (early.value, early.limit, early.settled) == (1.0, 1 / 3, False)


def test_gru_is_monostable_or_bistable_by_its_weight():
    for w_hn, expected in [(1.5, 0.5), (2.5, 1.0)]:
        vaa = compute_vaa(idle_map(make_gru_unit(w_hn, 0.0), IDLE), PAIR)
        assert (vaa.value, vaa.limit, vaa.float32_value) == (expected,) * 3
        assert vaa.num_attractors == 2 * expected


@pytest.mark.parametrize(
    ("b_n", "b_beta", "holds"), [(0.5, 0.5, True), (-0.4, -0.5, True), (0.51, 0.5, False)]
)
def test_bmru_holds_up_to_its_threshold(b_n: float, b_beta: float, holds: bool):
    step = idle_map(make_bmru([b_n], [b_beta], alpha=0.75), IDLE)
    vaa = compute_vaa(step, 0.75 * PAIR)
    assert vaa.value == vaa.limit == (1.0 if holds else 0.5)
    np.testing.assert_array_equal(vaa.final_states, 0.75 * PAIR if holds else [[0.75], [0.75]])


def test_phases_of_one_cycle_differ():
    ring = affine([[0, 0, 1], [1, 0, 0], [0, 1, 0]], np.zeros(3))
    starts = np.array([[1.0, 0, 0], [0, 1, 0], [2, 2, 2], [1, 0, 0]])
    vaa = compute_vaa(ring, starts, num_steps=50)
    assert vaa.value == vaa.limit == pytest.approx((0.5 + 1 + 1 + 0.5) / 4)
    assert vaa.num_attractors == 2


def test_phase_is_that_of_the_same_time():
    """One start is on a cycle of two, the other falls onto it one step later."""
    step = affine([[-1.0, 1.0], [0.0, 0.0]], [0.0, 0.0])  # x -> y - x, y -> 0
    together = np.array([[-1.0, 0.0], [0.0, 1.0]])
    vaa = compute_vaa(step, together, num_steps=11)
    assert (vaa.value, vaa.limit) == (0.5, 0.5)
    apart = compute_vaa(step, together * [[-1.0], [1.0]], num_steps=11)
    assert (apart.value, apart.limit, apart.num_attractors) == (1.0, 1.0, 1)


@pytest.mark.parametrize(("b_z", "b_n", "num_steps"), [(10.0, 0.75, 400_000), (7.0, 50.0, 20_000)])
def test_float32_makes_a_slow_cell_look_bistable(b_z: float, b_n: float, num_steps: int):
    """Less than half a unit in the last place is lost at each step: float32 stands still."""
    starts = b_n + PAIR
    assert 2 * decay(b_z, num_steps) < 1e-4
    with pytest.warns(SaturationWarning, match=r"is 0\.5, and float32 would have given 1"):
        vaa = compute_vaa(idle_map(make_mingru([b_z], [b_n]), IDLE), starts, num_steps=num_steps)
    assert (vaa.value, vaa.float32_value) == (0.5, 1.0)


@pytest.mark.parametrize("b_z", [13.0, 20.0])
def test_a_cell_too_slow_for_the_steps_is_not_settled(b_z: float):
    """σ(20) is 1 in float32; in float64 it is 1 - 2e-9, and 10 000 steps do not show the limit."""
    step = idle_map(make_mingru([b_z], [0.0]), IDLE)
    assert 2 * decay(b_z, 10_000) > 1e-4
    with pytest.warns(SaturationWarning, match="still closing in") if b_z > 17 else nullcontext():
        vaa = compute_vaa(step, PAIR)
    assert (vaa.value, vaa.limit, vaa.settled, vaa.num_attractors) == (1.0, 0.5, False, 1)


def test_float32_is_compared_only_where_it_can_be():
    step = idle_map(make_mingru([20.0], [0.0]), IDLE)
    assert compute_vaa(step, PAIR, compare_float32=False).float32_value is None
    assert compute_vaa(lambda state: 0.5 * state, PAIR).float32_value is None
    with pytest.warns(SaturationWarning, match="would have given 1"):
        vaa = compute_vaa(lambda state: 0.5 * state, PAIR, step32=lambda state: state)
    assert vaa.float32_value == 1.0
