"""Tables in Parquet files, from NumPy columns and back, by way of DuckDB in memory."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from remanence.errors import StoreError
from remanence.store._files import write_whole


def write_table(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal length as one Parquet file."""
    import duckdb  # slow to import, and needed by few

    def write(temporary: Path) -> None:
        with duckdb.connect() as connection:
            connection.register("columns", dict(columns))
            connection.table("columns").write_parquet(str(temporary))

    try:
        write_whole(path, write)
    except duckdb.Error as error:
        problem = f"cannot be written ({error})"
        raise StoreError(path, problem, "check space and permissions") from error


def read_table(path: Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file; a missing number reads as NaN, as which it was written."""
    import duckdb

    if not path.exists():
        raise StoreError(path, "there is no such file", "check the path")
    try:
        with duckdb.connect() as connection:
            columns = connection.read_parquet(str(path)).fetchnumpy()
    except duckdb.Error as error:
        raise StoreError(path, f"not a Parquet file ({error})", "restore it from a copy") from error
    return {name: _fill(column) for name, column in columns.items()}


def _fill(column: np.ndarray) -> np.ndarray:
    if isinstance(column, np.ma.MaskedArray) and np.issubdtype(column.dtype, np.floating):
        return column.filled(np.nan)
    return np.asarray(column)
