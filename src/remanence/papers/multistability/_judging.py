"""How the paper's claims are judged, whatever they are about."""

from collections.abc import Sequence

import numpy as np

from remanence import report
from remanence.figures import Columns
from remanence.report import FEWEST_MODELS, Finding
from remanence.training import get_preset

PAPER_ITERATIONS = get_preset("tmaze-short").config.num_iterations
MOST = 0.9
TRAINED = {"tmaze-short": "short-trained", "tmaze-long": "long-trained"}


def conclude(
    ours: str, agrees: bool | np.bool | None, *groups: Columns, fewest: int = FEWEST_MODELS
) -> Finding:
    """A finding that says which models were trained for fewer iterations than the paper's."""
    trained_less = _list_trained_less(groups)
    return report.conclude(ours, agrees, *groups, fewest=fewest, trained_less=trained_less)


def _list_trained_less(groups: Sequence[Columns]) -> list[str]:
    """Such as "long-trained for 100 of 250 iterations"."""
    kinds = {
        kind
        for group in groups
        for kind in zip(
            *(group[name].tolist() for name in ("num_iterations", "preset", "model")), strict=True
        )
    }
    shortened = {
        (number, "deep minGRU" if model == "deep-mingru" else TRAINED.get(preset, preset))
        for number, preset, model in kinds
        if number < PAPER_ITERATIONS
    }
    return [
        f"{who} for {number} of {PAPER_ITERATIONS} iterations" for number, who in sorted(shortened)
    ]
