import numpy as np
import pytest

from remanence.dynamics import SaturationWarning, compute_vaa, idle_map
from remanence.evaluation import name_stability
from tests.dynamics.maps import IDLE, affine, make_gru_unit, make_mingru

PAIR = np.array([[-1.0], [1.0]])


def test_names_follow_where_the_cues_end():
    for w_hn, expected in [(1.5, "monostable"), (2.5, "bistable")]:
        assert name_stability(compute_vaa(idle_map(make_gru_unit(w_hn, 0.0), IDLE), PAIR)) == (
            expected
        )
    three = np.array([[-1.0], [1.0], [0.5]])
    assert name_stability(compute_vaa(affine([[1.0]], [0.0]), three)) == "multistable"
    assert name_stability(compute_vaa(affine([[3.0]], [0.0]), PAIR)) == "not finite"


def test_a_memory_that_fades_for_longer_than_anyone_looks_is_monostable():
    """Its states are apart after all steps, and have one limit."""
    with pytest.warns(SaturationWarning, match="still closing in"):
        vaa = compute_vaa(idle_map(make_mingru([20.0], [0.0]), IDLE), PAIR)
    assert (vaa.value, vaa.limit) == (1.0, 0.5)
    assert name_stability(vaa) == "monostable"


def test_where_no_limit_is_known_the_last_steps_decide():
    """A turn by an angle that is no part of the circle never comes back."""
    turn = affine([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]], [0.0, 0.0])
    vaa = compute_vaa(turn, np.array([[1.0, 0.0], [0.0, 1.0]]), budget=1000)
    assert (vaa.limit, vaa.value) == (None, 1.0)
    assert name_stability(vaa) == "bistable"
