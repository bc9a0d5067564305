"""Rows of tables: what was found out about one agent, in plain columns; None is unknown."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates import ROW_KINDS, mazes

Columns = Mapping[str, np.ndarray]
Row = dict[str, Any]

# What a column holds in which some values, or all, may be unknown.
_KINDS = {
    **dict.fromkeys(("vaa_limit", "right", "low", "high", "timeout", "radius_broken"), float),
    **ROW_KINDS,
    **mazes.ROW_KINDS,
}


def collect_rows(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Rows with the same names as columns (rows,); what is None in some of them is masked there.

    None is for columns of what may be unknown, such as `merge` and `vaa_limit`.

    >>> from remanence import study
    >>> columns = study.collect_rows([{"seed": 1, "merge": None}, {"seed": 2, "merge": 40}])
    >>> {name: column.tolist() for name, column in columns.items()}
    {'seed': [1, 2], 'merge': [None, 40]}
    """
    return {name: _collect([row[name] for row in rows], _KINDS.get(name)) for name in rows[0]}


def _collect(values: Sequence[Any], kind: type | None) -> np.ndarray:
    if kind is None:
        return np.array(values)
    unknown = [value is None for value in values]
    known = np.array([kind() if value is None else kind(value) for value in values])
    return np.ma.masked_array(known, unknown) if any(unknown) else known
