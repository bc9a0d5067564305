"""Tables in Parquet files, from NumPy columns and back, by way of DuckDB in memory."""

import atexit
import functools
import glob
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import StoreError
from remanence.store._files import write_whole

if TYPE_CHECKING:
    import duckdb

_DIGEST = "sha256"
_SMALL = ", compression zstd, compression_level 19"
_REMEDY = "restore it from a copy, or remove it and run again what wrote it"


def write_table(
    path: Path,
    columns: Mapping[str, np.ndarray],
    about: Mapping[str, str] | None = None,
    *,
    small: bool = False,
) -> None:
    """Write columns of equal length as one Parquet file, with a digest of what is in them.

    Columns are vectors of numbers, truth values or words. What a masked array masks, and what is
    NaN, becomes null. `about` is kept in the file beside the columns. A `small` file takes longer
    to write.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> columns = {"cell": np.array(["gru", "bmru"]), "vaa": np.array([0.5, 1.0])}
    >>> store.write_table(Path("runs.parquet"), columns)
    >>> {name: column.tolist() for name, column in store.read_table(Path("runs.parquet")).items()}
    {'cell': ['gru', 'bmru'], 'vaa': [0.5, 1.0]}
    """
    columns = {name: _check(name, column) for name, column in columns.items()}
    notes = {**(about or {}), _DIGEST: _digest(columns)}
    _write_columns(path, columns, {}, notes, _SMALL if small else "")


def read_table(path: Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file.

    Null is masked in columns of whole numbers, truth values and words, and NaN in others. A file
    whose digest is not that of its contents is refused; one from elsewhere has none.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_table(Path("runs.parquet"), {"vaa": np.array([0.5, np.nan])})
    >>> store.read_table(Path("runs.parquet"))
    {'vaa': array([0.5, nan])}
    """
    import duckdb

    if not path.exists():
        raise StoreError(path, "there is no such file", "check the path")
    version = path.stat()
    try:
        with _open_database().cursor() as connection:
            found = connection.sql(f"from {_scan(path)}").fetchnumpy()
            digest = _read_notes(connection, path).get(_DIGEST)
    except (duckdb.Error, RuntimeError) as error:  # the latter of words that are no words
        raise StoreError(path, f"not a Parquet file ({error})", _REMEDY) from error
    columns = {name: _simplify(column) for name, column in found.items()}
    # A file from elsewhere has no digest.
    if digest and digest != _digest(columns):
        now = path.stat()
        if (now.st_ino, now.st_mtime_ns) != (version.st_ino, version.st_mtime_ns):
            return read_table(path)  # somebody replaced it between two looks
        raise StoreError(path, "its contents have been damaged", _REMEDY)
    return columns


def read_about(path: Path) -> dict[str, str]:
    """What a Parquet file was written with as `about`; nothing for a file from elsewhere.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_table(Path("runs.parquet"), {"vaa": np.array([0.5])}, {"weights": "of GRUs"})
    >>> store.read_about(Path("runs.parquet"))
    {'weights': 'of GRUs'}
    """
    import duckdb

    try:
        with _open_database().cursor() as connection:
            notes = _read_notes(connection, path)
    except (duckdb.Error, RuntimeError) as error:  # the latter of words that are no words
        raise StoreError(path, f"not a Parquet file ({error})", _REMEDY) from error
    return {name: text for name, text in notes.items() if name != _DIGEST}


def seal_tables(
    tables: Mapping[str, Sequence[Mapping[str, np.ndarray]]], query: str
) -> "duckdb.DuckDBPyRelation":
    """The rows of a query, in a database of their own from which no file can be read or written.

    Each table is given in parts, which may lack columns that others have. What is asked of the
    rows may so come from anyone: a condition in SQL could otherwise read every file that its user
    can.

    >>> from remanence import store
    >>> parts = [{"seed": np.array([1, 2])}, {"seed": np.array([3])}]
    >>> store.seal_tables({"agents": parts}, "from agents").filter("seed > 1").fetchall()
    [(2,), (3,)]
    """
    import duckdb

    connection = duckdb.connect()
    for table, parts in tables.items():
        for number, part in enumerate(parts):
            arrays, selected = _select_columns(part)
            connection.register("part", arrays)
            made = f"create temp table part{number} as select {selected} from part"
            connection.execute(made)
            connection.unregister("part")
        union = " union all by name ".join(f"from part{number}" for number in range(len(parts)))
        connection.execute(f"create table {_quote_name(table)} as {union}")
        for number in range(len(parts)):
            connection.execute(f"drop table part{number}")
    connection.execute(f"create table rows as {query}")
    for setting in ("enable_external_access = false", "python_enable_replacements = false"):
        connection.execute(f"set {setting}")
    connection.execute("set lock_configuration = true")
    return connection.sql("from rows")


def write_rows(path: Path, rows: "duckdb.DuckDBPyRelation") -> None:
    """Write rows, sealed or not, as a Parquet file; what is null stays null.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> rows = store.seal_tables({"agents": [{"seed": np.array([1, 2])}]}, "from agents")
    >>> store.write_rows(Path("agents.parquet"), rows)
    >>> store.read_table(Path("agents.parquet"))["seed"].tolist()
    [1, 2]
    """
    _write_columns(path, rows.fetchnumpy(), dict(zip(rows.columns, rows.types, strict=True)), {})


def _write_columns(
    path: Path,
    columns: Mapping[str, np.ndarray],
    types: Mapping[str, object],
    notes: Mapping[str, str],
    options: str = "",
) -> None:
    """`types` are SQL's, of columns that are to have others than NumPy's; `options` DuckDB's."""
    import duckdb  # slow to import, and needed by few

    arrays, selected = _select_columns(columns, types)
    query = f"select {selected} from columns"
    kept = ", ".join(f"{_quote_name(name)}: {_quote(text)}" for name, text in notes.items())
    # Not by a temporary file of DuckDB's own, which nobody would remove after a kill.
    options = "format parquet, use_tmp_file false" + options
    options += f", kv_metadata {{{kept}}}" if kept else ""

    def write(temporary: Path) -> None:
        with _open_database().cursor() as connection:
            connection.register("columns", arrays)
            connection.execute(f"copy ({query}) to {_name(temporary)} ({options})")

    try:
        write_whole(path, write)
    except duckdb.Error as error:
        problem = f"cannot be written ({error})"
        raise StoreError(path, problem, "check space and permissions") from error


def _select_columns(
    columns: Mapping[str, np.ndarray], types: Mapping[str, object] | None = None
) -> tuple[dict[str, np.ndarray], str]:
    """Arrays for DuckDB, and what selects the columns from them: what is masked or NaN is null."""
    # DuckDB takes a column of few words for one of a type that has no other.
    words = {name: "varchar" for name, column in columns.items() if column.dtype.kind in "UO"}
    types = {**words, **(types or {})}
    values = {f"value{i}": np.ma.getdata(column) for i, column in enumerate(columns.values())}
    nulls = {f"null{i}": _find_nulls(column) for i, column in enumerate(columns.values())}
    selected = [
        f"if(null{i}, null, value{i}){f'::{types[name]}' if name in types else ''} "
        f"as {_quote_name(name)}"
        for i, name in enumerate(columns)
    ]
    return values | nulls, ", ".join(selected)


def _find_nulls(column: np.ndarray) -> np.ndarray:
    masked = np.ma.getmaskarray(column)
    return masked | np.isnan(np.ma.getdata(column)) if column.dtype.kind == "f" else masked


def _scan(path: Path) -> str:
    """What SQL reads a Parquet file by: this one, whatever its path may look like a pattern of."""
    return f"read_parquet({_name(path, glob.escape)}, hive_partitioning = false)"


def _quote(text: str) -> str:
    """A text as SQL has it."""
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


def _read_notes(connection: "duckdb.DuckDBPyConnection", path: Path) -> dict[str, str]:
    file = _name(path, glob.escape)
    query = f"select decode(key), decode(value) from parquet_kv_metadata({file})"
    return dict(connection.execute(query).fetchall())


def _name(path: Path, escape: Callable[[str], str] = str) -> str:
    # Absolute, because a leading ~ is a home to DuckDB.
    return _quote(escape(str(path.absolute())))


def _check(name: str, column: np.ndarray) -> np.ndarray:
    """A column that comes back as it went."""
    words = np.ma.getdata(column)[~np.ma.getmaskarray(column)].tolist()
    if column.dtype.kind not in "fiubU" and not all(isinstance(it, str) for it in words):
        raise TypeError(f"column {name!r}: give plain numbers, truth values or words")
    # A copy, because DuckDB refuses columns that are views of others backwards.
    kind = str if column.dtype.kind == "O" else column.dtype
    if not np.ma.is_masked(column):
        return np.array(np.ma.getdata(column), kind, order="C")
    blank = np.zeros((), kind)[()]
    values = np.where(np.ma.getmaskarray(column), blank, np.ma.getdata(column)).astype(kind)
    return np.ma.array(values, mask=np.ma.getmaskarray(column).copy())


def _simplify(column: np.ndarray) -> np.ndarray:
    if not np.ma.is_masked(column):
        return np.ma.getdata(column)
    return np.ma.filled(column, np.nan) if np.issubdtype(column.dtype, np.floating) else column


def _digest(columns: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names and values: Parquet files as DuckDB writes them have no checksum."""
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(f"{name}\n".encode())
        digest.update(_to_bytes(column))
    return digest.hexdigest()


def _to_bytes(column: np.ndarray) -> bytes:
    """Values alone, however wide their type is: a file may read as another than was written."""
    values, nulls = np.ma.getdata(column), np.ma.getmaskarray(column)
    if values.dtype.kind == "f":
        # There is more than one NaN.
        return np.where(nulls | np.isnan(values), np.nan, values).astype(np.float64).tobytes()
    where = np.packbits(nulls).tobytes() if nulls.any() else b""
    if values.dtype.kind in "iub":
        return np.where(nulls, 0, values).astype(np.int64).tobytes() + where
    words = np.where(nulls, "", values.astype(object)).tolist()
    return "\0".join(map(str, words)).encode() + where
