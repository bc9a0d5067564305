import collections
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from remanence.dynamics import find_fixed_points, spread_starts
from tests.dynamics.maps import find_root


def test_three_bits_have_27_fixed_points():
    """Each unit alone rests at -h, 0 or h = tanh(2 h), and three of them at every combination."""
    found = find_fixed_points(lambda state: jnp.tanh(2 * state), spread_starts(0, 512, 3))
    rest = find_root(lambda h: np.tanh(2 * h) - h, 0.5, 1)
    expected = np.array(list(itertools.product([-rest, 0.0, rest], repeat=3)))
    points = np.stack([it.point for it in found])
    distances = np.linalg.norm(points[:, None] - expected[None], axis=2)
    np.testing.assert_array_equal(np.sort(distances.argmin(axis=1)), np.arange(27))
    assert distances.min(axis=1).max() < 1e-9
    assert collections.Counter(it.num_unstable for it in found) == {0: 8, 1: 12, 2: 6, 3: 1}
    assert [it.stable for it in found] == [True] * 8 + [False] * 19
    assert sum(it.share for it in found) == pytest.approx(1)
    assert max(it.residual for it in found) <= 1e-9
    slope = 2 * (1 - rest**2)
    assert found[0].time_constant_steps == pytest.approx(-1 / np.log(slope))
    np.testing.assert_allclose(found[-1].eigenvalues, [2.0, 2.0, 2.0], rtol=1e-12)


def test_a_place_where_the_map_is_only_slow_is_not_a_fixed_point():
    """x² + x + 0.01 - x is nowhere 0, though the solver ends where it is least."""
    starts = spread_starts(0, 8, 1)
    assert find_fixed_points(lambda state: state + state**2 + 0.01, starts) == ()
