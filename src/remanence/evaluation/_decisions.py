"""Right decisions against how many were taken before them, in bins that widen as they go."""

from collections.abc import Sequence

import numpy as np

BINS_PER_DECADE = 5
# More than the steps of any episode, and none decides more than once in a step.
MOST_DECISIONS = 10**9

Bins = tuple[np.ndarray, np.ndarray]


def space_bins(most: int = MOST_DECISIONS) -> Bins:
    """The first and the last decision of each bin, (bins,) each, up to the one that `most` is in.

    Decisions are counted from 1 within their episode. Five bins for each factor of ten begin at
    the powers of 10^(1/5), rounded. The bounds are our choice.

    >>> from remanence import evaluation
    >>> firsts, lasts = evaluation.space_bins(100)
    >>> firsts.tolist()
    [1, 2, 3, 4, 6, 10, 16, 25, 40, 63, 100]
    >>> lasts.tolist()
    [1, 2, 3, 5, 9, 15, 24, 39, 62, 99, 157]
    """
    number = 2 + int(np.ceil(BINS_PER_DECADE * np.log10(most)))
    edges = np.round(10 ** (np.arange(number) / BINS_PER_DECADE)).astype(int)
    count = int(np.searchsorted(edges, most, side="right"))
    return edges[:count], edges[1 : count + 1] - 1


def fill_bins(num_decisions: np.ndarray, bins: Bins) -> np.ndarray:
    """How many decisions of each episode are in each bin, (episodes, bins): bins fill in turn."""
    firsts, lasts = bins
    return np.clip(num_decisions[:, None] - firsts + 1, 0, lasts - firsts + 1)


def tabulate_decisions(
    num_right: np.ndarray, num_decisions: np.ndarray, cues: np.ndarray | int
) -> list[tuple[int, ...]]:
    """Cue, if there are any, bin, right decisions and decisions: a row for each cue and bin.

    `num_right` has the bins of `space_bins`, (episodes, bins). The first bin has a row even if
    nobody decided anything, and the others if somebody did.
    """
    bins = space_bins()
    taken = fill_bins(num_decisions, bins)
    groups = {(): np.ones(len(taken), bool)}
    if not isinstance(cues, int):
        groups = {(cue,): cues == cue for cue in np.unique(cues).tolist()}
    return [
        (*cue, *row)
        for cue, members in groups.items()
        for row in _list_bins(num_right[members].sum(0), taken[members].sum(0), bins)
    ]


def _list_bins(num_right: np.ndarray, num_decisions: np.ndarray, bins: Bins) -> Sequence[tuple]:
    used = max(1, int(np.count_nonzero(num_decisions)))
    columns = (*bins, num_right, num_decisions)
    return list(zip(*(column[:used].tolist() for column in columns), strict=True))
