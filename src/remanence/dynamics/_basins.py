"""Basins of attraction on a plane through state space, as arrays ready to be drawn."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float, Int

from remanence.dynamics._attractors import Attractor, find_with_labels, warn_if_unsettled
from remanence.dynamics._maps import Step
from remanence.errors import InvalidOptionError


@dataclass(frozen=True)
class Basins:
    """Which of `attractors` the orbit from each point of a grid ends in.

    `labels[i, j]` belongs to the state origin + u[j] axes[0] + v[i] axes[1]; it is -1 where the
    orbit did not close.

    >>> from remanence import dynamics
    >>> basins = dynamics.map_basins(jnp.sign, np.zeros(2), np.eye(2), resolution=2, smooth=False)
    >>> ends = np.stack([attractor.points[0] for attractor in basins.attractors])
    >>> basins.project(ends).round().tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """

    labels: Int[np.ndarray, "v u"]
    u: Float[np.ndarray, " u"]
    v: Float[np.ndarray, " v"]
    origin: Float[np.ndarray, " state"]
    axes: Float[np.ndarray, "2 state"]
    attractors: tuple[Attractor, ...]

    def project(self, states: Float[np.ndarray, "points state"]) -> Float[np.ndarray, "points 2"]:
        """The coordinates u and v, (points, 2), of the points of the plane nearest to `states`."""
        return np.linalg.lstsq(self.axes.T, (states - self.origin).T, rcond=None)[0].T


def map_basins(
    step: Step,
    origin: Float[Array | np.ndarray, " state"],
    axes: Float[Array | np.ndarray, "2 state"],
    *,
    extent: tuple[float, float, float, float] = (-1.0, 1.0, -1.0, 1.0),
    resolution: int = 64,
    smooth: bool = True,
    budget: int = 100_000,
    tolerance: float | None = 1e-9,
    merge_distance: float = 1e-5,
) -> Basins:
    """Follow a grid of starts on the plane through `origin` along `axes` to their attractors.

    `extent` gives the least and largest coordinate along the first axis, then along the second,
    both on the grid of `resolution` by `resolution`; the other options are those of
    `find_attractors`, as is the `BudgetWarning` for starts that do not settle.

    >>> from remanence import dynamics
    >>> basins = dynamics.map_basins(jnp.sign, np.zeros(2), np.eye(2), resolution=2, smooth=False)
    >>> basins.labels.tolist()
    [[0, 1], [2, 3]]
    """
    origin, axes = np.asarray(origin), np.asarray(axes)
    if axes.shape != (2, *origin.shape):
        raise InvalidOptionError("axes", axes.shape, f"give two rows of {origin.size} numbers")
    if resolution < 2:
        raise InvalidOptionError("resolution", resolution, "use 2 points along each axis or more")
    u = np.linspace(*extent[:2], resolution, dtype=origin.dtype)
    v = np.linspace(*extent[2:], resolution, dtype=origin.dtype)
    grid = origin + v[:, None, None] * axes[1] + u[None, :, None] * axes[0]
    starts, options = grid.reshape(-1, origin.size), (smooth, budget, tolerance, merge_distance)
    attractors, labels = find_with_labels(step, starts, *options)
    warn_if_unsettled(labels, budget, stacklevel=2)
    return Basins(labels.reshape(grid.shape[:2]), u, v, origin, axes, attractors)
