import jax.numpy as jnp
import numpy as np
import pytest

from remanence.dynamics import BudgetWarning, map_basins
from remanence.errors import InvalidOptionError


def latch(state):
    return jnp.tanh(2 * state)


def test_basins_of_units_that_keep_their_sign():
    origin, axes = np.array([0.1, -0.3, 0.5]), np.array([[1.0, 1.0, 0.0], [0.0, -1.0, 0.5]])
    basins = map_basins(latch, origin, axes, extent=(-1.0, 1.0, -2.0, 0.5), resolution=12)
    assert basins.labels.shape == (12, 12)
    np.testing.assert_array_equal(basins.u, np.linspace(-1, 1, 12))
    np.testing.assert_array_equal(basins.v, np.linspace(-2, 0.5, 12))
    for row, column in np.ndindex(12, 12):
        start = origin + basins.u[column] * axes[0] + basins.v[row] * axes[1]
        end = basins.attractors[basins.labels[row, column]].points[0]
        np.testing.assert_array_equal(np.sign(end), np.sign(start))
    assert len(basins.attractors) == len(np.unique(basins.labels))
    on_plane = origin + np.array([[0.3, -0.7], [2.0, 1.0]]) @ axes
    np.testing.assert_allclose(basins.project(on_plane), [[0.3, -0.7], [2.0, 1.0]])


def test_a_start_that_runs_away_has_no_basin():
    with pytest.warns(BudgetWarning, match="27 of 36 orbits"):
        basins = map_basins(
            lambda state: state**2,
            np.zeros(2),
            np.eye(2),
            extent=(0.0, 2.0, 0.0, 2.0),
            resolution=6,
            budget=99,
        )
    inside = np.maximum(basins.u[None], basins.v[:, None]) < 1
    np.testing.assert_array_equal(basins.labels, np.where(inside, 0, -1))


def test_mistake_is_named():
    with pytest.raises(InvalidOptionError, match="resolution"):
        map_basins(latch, np.zeros(2), np.eye(2), resolution=1)
