"""Columns of equal length, and rows of them: what every figure is drawn from."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Columns = Mapping[str, np.ndarray]
Tables = Mapping[str, Columns]


def count_rows(columns: Columns) -> int:
    """How many rows there are.

    >>> from remanence import figures
    >>> figures.count_rows({"seed": np.array([1, 1, 2])}), figures.count_rows({})
    (3, 0)
    """
    return len(next(iter(columns.values()))) if columns else 0


def keep_rows(columns: Columns, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The rows that a mask, or a list of indices, picks.

    >>> from remanence import figures
    >>> table = {"seed": np.array([1, 1, 2]), "return": np.array([0.5, 1.0, 4.0])}
    >>> figures.keep_rows(table, table["return"] >= 1)["seed"].tolist()
    [1, 2]
    """
    return {name: column[rows] for name, column in columns.items()}


def select_rows(columns: Columns, **wanted: Any) -> dict[str, np.ndarray]:
    """The rows whose columns have the given values.

    >>> from remanence import figures
    >>> table = {"seed": np.array([1, 1, 2]), "return": np.array([0.5, 1.0, 4.0])}
    >>> figures.select_rows(table, seed=1)["return"].tolist()
    [0.5, 1.0]
    """
    rows = np.ones(count_rows(columns), bool)
    for name, value in wanted.items():
        rows &= columns[name] == value
    return keep_rows(columns, rows)


def count_agents(columns: Columns) -> int:
    """How many agents the rows are about, by `preset`, `model` and `seed`.

    >>> from remanence import figures
    >>> names = {"preset": np.array(["short"] * 3), "model": np.array(["gru", "gru", "bmru"])}
    >>> figures.count_agents({**names, "seed": np.array([1, 1, 1])})
    2
    """
    identity = (columns[name].tolist() for name in ("preset", "model", "seed"))
    return len(set(zip(*identity, strict=True)))


def average_over(columns: Columns, axis: str, value: str) -> tuple[np.ndarray, ...]:
    """The values of `axis` in order, and mean and standard deviation of `value` at each: (values,).

    >>> from remanence import figures
    >>> table = {"seed": np.array([1, 1, 2]), "return": np.array([0.5, 1.0, 4.0])}
    >>> seeds, mean, deviation = figures.average_over(table, "seed", "return")
    >>> seeds.tolist(), mean.tolist(), deviation.tolist()
    ([1, 2], [0.75, 4.0], [0.25, 0.0])
    """
    places, inverse, counts = np.unique(columns[axis], return_inverse=True, return_counts=True)
    mean = np.bincount(inverse, columns[value]) / counts
    variance = np.bincount(inverse, (columns[value] - mean[inverse]) ** 2) / counts
    return places, mean, np.sqrt(variance)
