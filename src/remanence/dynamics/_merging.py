"""When two results are one: the criterion that attractors, fixed points and VAA share."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from remanence.dynamics._maps import Cycle, States


def merge(
    points: States,
    distance: float,
    keep: Bool[np.ndarray, " starts"],
    list_points: Callable[[int], Cycle],
) -> tuple[Int[np.ndarray, " starts"], list[Cycle]]:
    """Label each row of `points` by the group it belongs to.

    A row joins the first group that has a point within `distance` (Euclidean) of it; if there is
    none it opens one, whose points are `list_points(row)`. Rows that are not to be kept are
    labelled -1.
    """
    labels = np.full(len(points), -1)
    pending, groups = keep.copy(), []
    while pending.any():
        opener = int(np.argmax(pending))
        groups.append(list_points(opener))
        rows = np.flatnonzero(pending)
        near = rows[measure_distances(points[rows], groups[-1]).min(axis=1) <= distance]
        # The opener may not be near itself: NaN is at no distance from anything.
        members = np.union1d(near, [opener])
        labels[members], pending[members] = len(groups) - 1, False
    return labels, groups


def measure_distances(
    points: Float[np.ndarray, "points state"], others: Float[np.ndarray, "others state"]
) -> Float[np.ndarray, "points others"]:
    """The Euclidean distance of each of some points from each of others."""
    from scipy.spatial.distance import cdist  # slow to import, and most who import this need none

    return cdist(points, others)
