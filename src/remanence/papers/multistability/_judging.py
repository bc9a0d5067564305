"""How the paper's claims are judged, whatever they are about, and how that is summed up."""

from collections.abc import Mapping, Sequence

import numpy as np

from remanence import report
from remanence.figures import Columns
from remanence.report import FEWEST_MODELS, VERDICTS, Finding
from remanence.training import presets

MOST = 0.9
TRAINED = {"tmaze-short": "short-trained", "tmaze-long": "long-trained"}
WHO = {**TRAINED, "lookup-tree": "trained"}


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
        (number, usual, "deep minGRU" if model == "deep-mingru" else WHO.get(preset, preset))
        for number, preset, model in kinds
        for usual in [_count_iterations(preset)]
        if number < usual
    }
    return [f"{who} for {number} of {usual} iterations" for number, usual, who in sorted(shortened)]


def _count_iterations(preset: str) -> int:
    """Those of the paper's training of that name, which the preset has; 0 if it is not known."""
    return presets[preset].config.num_iterations if preset in presets else 0


def say_verdicts(findings: Mapping[str, Finding]) -> str:
    """How many of the paper's claims agree, in a sentence."""
    verdicts = [finding.verdict for finding in findings.values()]
    agree, disagree, untested = (verdicts.count(verdict) for verdict in VERDICTS)
    if untested == len(verdicts):
        return f"The study is too small to test any of the paper's {untested} claims."
    found = f"agrees with {agree or 'none'} and disagrees with {disagree or 'none'}"
    rest = f"; it is too small to test the other {untested}" if untested else ""
    return f"Of the paper's {len(verdicts)} claims it {found}{rest}."


def join_words(parts: Sequence[str]) -> str:
    """Such as "GRU, BRC and nBRC"."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
