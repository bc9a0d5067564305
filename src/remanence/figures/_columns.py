"""Columns of equal length, and rows of them: what every figure is drawn from."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Columns = Mapping[str, np.ndarray]
Tables = Mapping[str, Columns]


def count_rows(columns: Columns) -> int:
    """How many rows there are."""
    return len(next(iter(columns.values()))) if columns else 0


def keep_rows(columns: Columns, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The rows that a mask, or a list of indices, picks."""
    return {name: column[rows] for name, column in columns.items()}


def select_rows(columns: Columns, **wanted: Any) -> dict[str, np.ndarray]:
    """The rows whose columns have the given values."""
    rows = np.ones(count_rows(columns), bool)
    for name, value in wanted.items():
        rows &= columns[name] == value
    return keep_rows(columns, rows)


def count_agents(columns: Columns) -> int:
    """How many agents the rows are about."""
    identity = (columns[name].tolist() for name in ("preset", "model", "seed"))
    return len(set(zip(*identity, strict=True)))


def average_over(columns: Columns, axis: str, value: str) -> tuple[np.ndarray, ...]:
    """The values of `axis` in order, and mean and standard deviation of `value` at each."""
    places, inverse, counts = np.unique(columns[axis], return_inverse=True, return_counts=True)
    mean = np.bincount(inverse, columns[value]) / counts
    variance = np.bincount(inverse, (columns[value] - mean[inverse]) ** 2) / counts
    return places, mean, np.sqrt(variance)
