"""Tables in Parquet files, from NumPy columns and back, by way of DuckDB in memory."""

import atexit
import functools
import glob
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import StoreError
from remanence.store._files import write_whole

if TYPE_CHECKING:
    import duckdb

_DIGEST = "sha256"
_REMEDY = "restore it from a copy, or remove it and run again what wrote it"


def write_table(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal length as one Parquet file, with a digest of what is in them.

    Columns are vectors of numbers, truth values or words.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> columns = {"cell": np.array(["gru", "bmru"]), "vaa": np.array([0.5, 1.0])}
    >>> store.write_table(Path("runs.parquet"), columns)
    >>> {name: column.tolist() for name, column in store.read_table(Path("runs.parquet")).items()}
    {'cell': ['gru', 'bmru'], 'vaa': [0.5, 1.0]}
    """
    import duckdb  # slow to import, and needed by few

    columns = {name: _check(name, column) for name, column in columns.items()}

    def write(temporary: Path) -> None:
        with _open_database().cursor() as connection:
            connection.register("columns", columns)
            # Not by a temporary file of DuckDB's own, which nobody would remove after a kill.
            options = "format parquet, use_tmp_file false"
            digest = f"kv_metadata {{{_DIGEST}: '{_digest(columns)}'}}"
            connection.execute(f"copy columns to {_name(temporary)} ({options}, {digest})")

    try:
        write_whole(path, write)
    except duckdb.Error as error:
        problem = f"cannot be written ({error})"
        raise StoreError(path, problem, "check space and permissions") from error


def read_table(path: Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file; a missing number reads as NaN, as which it was written.

    A file whose digest is not that of its contents is refused; one from elsewhere has none.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_table(Path("runs.parquet"), {"vaa": np.array([0.5, np.nan])})
    >>> store.read_table(Path("runs.parquet"))
    {'vaa': array([0.5, nan])}
    """
    import duckdb

    if not path.exists():
        raise StoreError(path, "there is no such file", "check the path")
    try:
        with _open_database().cursor() as connection:
            found = connection.sql(f"from {scan_table(path)}").fetchnumpy()
            digest = _read_digest(connection, path)
    except duckdb.Error as error:
        raise StoreError(path, f"not a Parquet file ({error})", _REMEDY) from error
    columns = {name: _fill(column) for name, column in found.items()}
    # A file from elsewhere has no digest.
    if digest and digest != _digest(columns):
        raise StoreError(path, "its contents have been damaged", _REMEDY)
    return columns


def seal_rows(query: str) -> "duckdb.DuckDBPyRelation":
    """The rows of a query, in a database of their own from which no file can be read or written.

    What is asked of them may so come from anyone: a condition in SQL could otherwise read every
    file that its user can.

    >>> from remanence import store
    >>> rows = store.seal_rows("select unnest([1, 2, 3]) as length")
    >>> rows.filter("length > 1").fetchall()
    [(2,), (3,)]
    """
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"create table rows as {query}")
    for setting in ("enable_external_access = false", "python_enable_replacements = false"):
        connection.execute(f"set {setting}")
    connection.execute("set lock_configuration = true")
    return connection.sql("from rows")


def write_rows(path: Path, rows: "duckdb.DuckDBPyRelation") -> None:
    """Write rows, sealed or not, as a Parquet file; what is null stays null.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> rows = store.seal_rows("select unnest([1, 2, 3]) as length").filter("length > 1")
    >>> store.write_rows(Path("long.parquet"), rows)
    >>> store.read_table(Path("long.parquet"))["length"].tolist()
    [2, 3]
    """
    import duckdb

    columns = rows.fetchnumpy()
    values = {f"value{i}": np.ma.getdata(column) for i, column in enumerate(columns.values())}
    nulls = {f"null{i}": np.ma.getmaskarray(column) for i, column in enumerate(columns.values())}
    named = ", ".join(
        f"if(null{i}, null, value{i})::{kind} as {_quote_name(name)}"
        for i, (name, kind) in enumerate(zip(rows.columns, rows.types, strict=True))
    )

    def write(temporary: Path) -> None:
        with _open_database().cursor() as connection:
            connection.register("columns", values | nulls)
            query = f"select {named} from columns"
            connection.execute(f"copy ({query}) to {_name(temporary)} (format parquet)")

    try:
        write_whole(path, write)
    except duckdb.Error as error:
        problem = f"cannot be written ({error})"
        raise StoreError(path, problem, "check space and permissions") from error


def scan_table(path: Path) -> str:
    """What SQL reads a Parquet file by: this one, whatever its path may look like a pattern of.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_table(Path("runs[1].parquet"), {"vaa": np.array([0.5, 1.0])})
    >>> rows = store.seal_rows(f"from {store.scan_table(Path('runs[1].parquet'))}")
    >>> rows.filter("vaa > 0.5").fetchall()
    [(1.0,)]
    """
    return f"read_parquet({_name(path, glob.escape)}, hive_partitioning = false)"


def quote(text: str) -> str:
    """A text as SQL has it.

    >>> from remanence import store
    >>> print(store.quote("the run's"))
    'the run''s'
    """
    return "'" + text.replace("'", "''") + "'"


@functools.cache
def _open_database() -> "duckdb.DuckDBPyConnection":
    """One for all tables, since opening takes longer than reading.

    Its cache is off: a file that has been damaged since it was read must show it.
    """
    import duckdb

    database = duckdb.connect(config={"enable_external_file_cache": False})
    atexit.register(_close_database, database)
    return database


def _close_database(database: "duckdb.DuckDBPyConnection") -> None:
    """Let go of it while Python still can; what is left at its end is complained about."""
    _open_database.cache_clear()
    database.close()


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read_digest(connection: "duckdb.DuckDBPyConnection", path: Path) -> str:
    file, key = _name(path, glob.escape), quote(_DIGEST)
    query = f"select decode(value) from parquet_kv_metadata({file}) where decode(key) = {key}"
    found = connection.execute(query).fetchone()
    return found[0] if found else ""


def _name(path: Path, escape: Callable[[str], str] = str) -> str:
    # Absolute, because a leading ~ is a home to DuckDB.
    return quote(escape(str(path.absolute())))


def _check(name: str, column: np.ndarray) -> np.ndarray:
    """A column that comes back as it went."""
    known = column.dtype.kind in "fiubU" or all(isinstance(it, str) for it in column.tolist())
    if not known or isinstance(column, np.ma.MaskedArray):
        raise TypeError(f"column {name!r}: give plain numbers, truth values or words")
    # A copy, because DuckDB refuses columns that are views of others backwards.
    return np.array(column, str if column.dtype.kind == "O" else column.dtype, order="C")


def _fill(column: np.ndarray) -> np.ndarray:
    if isinstance(column, np.ma.MaskedArray) and np.issubdtype(column.dtype, np.floating):
        return column.filled(np.nan)
    return np.asarray(column)


def _digest(columns: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names and values: Parquet files as DuckDB writes them have no checksum."""
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(f"{name}\n".encode())
        digest.update(_to_bytes(np.asarray(column)))
    return digest.hexdigest()


def _to_bytes(column: np.ndarray) -> bytes:
    """Values alone, however wide their type is: a file may read as another than was written."""
    if column.dtype.kind == "f":
        # There is more than one NaN.
        return np.where(np.isnan(column), np.nan, column).astype(np.float64).tobytes()
    if column.dtype.kind in "iub":
        return column.astype(np.int64).tobytes()
    return "\0".join(map(str, column.tolist())).encode()
