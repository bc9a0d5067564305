import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from remanence import store
from remanence.errors import StoreError

TREE = {"a": jnp.arange(3), "b": (jnp.ones((2, 2)), jnp.array(True)), "c": jnp.uint32(7)}


def test_text_is_utf8_whatever_the_locale_is(tmp_path):
    """An encoding that is left to the locale is warned of, if Python is asked to."""
    code = (
        "import sys, warnings; from pathlib import Path; from remanence import store\n"
        "warnings.simplefilter('error', EncodingWarning); path = Path(sys.argv[1])\n"
        "store.write_text(path, '\"α\"'); assert store.read_json(path) == 'α'\n"
        "store.write_json(path, 'α'); assert store.read_json(path) == 'α'\n"
        "store.describe_machine()"
    )
    command = [sys.executable, "-X", "warn_default_encoding", "-c", code, tmp_path / "text.json"]
    subprocess.run(command, check=True)


def test_a_tree_survives_a_file(tmp_path):
    path = tmp_path / "deep" / "tree.safetensors"
    store.save_arrays(path, store.name_leaves(TREE), {"note": "hello"})
    arrays, header = store.load_arrays(path)
    assert header == {"note": "hello"}
    restored = store.restore_leaves(TREE, arrays, path)
    assert restored.keys() == TREE.keys()
    np.testing.assert_array_equal(restored["b"][0], TREE["b"][0])
    assert restored["c"].dtype == np.uint32
    assert restored["b"][1].shape == ()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"a": jnp.arange(3)}, "'b.0'"),
        (TREE | {"d": jnp.ones(1)}, "'d'"),
        (TREE | {"a": jnp.arange(4)}, r"'a' is int32\[3\], not int32\[4\]"),
        (TREE | {"a": jnp.ones(3)}, r"'a' is int32\[3\], not float32\[3\]"),
    ],
)
def test_a_tree_of_another_shape_is_refused(other, message, tmp_path):
    with pytest.raises(StoreError, match=message):
        store.restore_leaves(other, store.name_leaves(TREE), tmp_path / "tree")


def test_what_is_not_ours_is_refused(tmp_path):
    save_file({"a": np.ones(3)}, tmp_path / "foreign.safetensors")
    with pytest.raises(StoreError, match="not written by remanence"):
        store.load_arrays(tmp_path / "foreign.safetensors")
    (tmp_path / "text.safetensors").write_text("hello")
    with pytest.raises(StoreError, match="not a whole safetensors file"):
        store.load_arrays(tmp_path / "text.safetensors")
    with pytest.raises(StoreError, match="no such file"):
        store.load_arrays(tmp_path / "nothing")


def test_a_header_that_is_no_json_is_refused(tmp_path):
    path = tmp_path / "tree.safetensors"
    store.save_arrays(path, {"a": np.ones(3)}, {"note": "hello"})
    path.write_bytes(path.read_bytes().replace(b'{\\"note', b'x\\"note'))
    with pytest.raises(StoreError, match="its header has been damaged"):
        store.load_arrays(path)


def test_json_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(StoreError, match="this is not JSON"):
        store.read_json(tmp_path / "deep.json")


def test_a_table_survives_a_file(tmp_path):
    columns = {
        "seed": np.array([1, 2, 3]),
        "return": np.array([1.5, np.nan, -2], np.float32),
        "cell": np.array(["gru", "bmru", "gru"]),
    }
    store.write_table(tmp_path / "table.parquet", columns)
    read = store.read_table(tmp_path / "table.parquet")
    assert list(read) == list(columns)
    for name, column in columns.items():
        np.testing.assert_array_equal(read[name], column)
    assert read["return"].dtype == np.float32


def test_what_is_not_a_table_is_refused(tmp_path):
    (tmp_path / "table.parquet").write_text("hello")
    with pytest.raises(StoreError, match="not a Parquet file"):
        store.read_table(tmp_path / "table.parquet")
    with pytest.raises(StoreError, match="no such file"):
        store.read_table(tmp_path / "nothing.parquet")


def test_no_flipped_bit_of_a_table_passes(tmp_path):
    path = tmp_path / "table.parquet"
    columns = {
        "seed": np.arange(40),
        "return": np.linspace(0, 4, 40),
        "end": np.array(["right", "wrong"] * 20),
        "settled": np.arange(40) % 3 == 0,
    }
    store.write_table(path, columns)
    written = path.read_bytes()
    refused = 0
    for place in range(0, len(written), 11):
        flipped = bytearray(written)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            read = store.read_table(path)
        except StoreError:
            refused += 1
            continue
        assert list(read) == list(columns)
        for name, column in columns.items():
            np.testing.assert_array_equal(read[name], column)
    assert refused > 20


@pytest.mark.parametrize("name", ["seed=77", "a[1]", "a*", "it's"])
def test_a_path_is_no_pattern(name, tmp_path):
    store.write_table(tmp_path / "a1" / "table.parquet", {"seed": np.array([1])})
    store.write_table(tmp_path / name / "table.parquet", {"seed": np.array([2])})
    read = store.read_table(tmp_path / name / "table.parquet")
    assert {key: column.tolist() for key, column in read.items()} == {"seed": [2]}


@pytest.mark.parametrize("name", ["~", "~x.parquet", "~/table.parquet"])
def test_a_path_is_no_home(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    store.write_table(Path(name), {"seed": np.array([2])})
    assert store.read_table(Path(name))["seed"].tolist() == [2]
    assert not list((tmp_path / "home").iterdir())


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, None], object),
        np.array([1, 2], object),
        np.array(["a", None], object),
    ],
)
def test_a_column_that_would_not_come_back_is_refused(column, tmp_path):
    with pytest.raises(TypeError, match="column 'x'"):
        store.write_table(tmp_path / "table.parquet", {"x": column})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("values", [[1, 2, 3], ["a", "", "ü"], [True, False, True]])
def test_what_is_unknown_comes_back_as_unknown(values, tmp_path):
    column = np.ma.masked_array(values, [True, False, False])
    file = tmp_path / "table.parquet"
    store.write_table(file, {"x": column, "select as x": np.array([1, 2, 3])}, {"of": "it's"})
    found = store.read_table(file)["x"]
    assert found.tolist() == [None, *values[1:]]
    assert store.read_about(file) == {"of": "it's"}
    assert duckdb.execute(f"select count(*) from '{file}' where x is null").fetchall() == [(1,)]


def test_an_unknown_number_of_a_float_column_reads_as_nan(tmp_path):
    column = np.ma.masked_array([1.5, 2.5], [False, True])
    store.write_table(tmp_path / "table.parquet", {"x": column})
    np.testing.assert_array_equal(store.read_table(tmp_path / "table.parquet")["x"], [1.5, np.nan])


def test_a_column_of_any_plain_kind_comes_back(tmp_path):
    columns = {
        "backwards": np.arange(4.0)[::-1],
        "single": np.array([0.1, -0.0, np.nan, np.inf], np.float32),
        "large": np.array([2**64 - 1, 0, 1, 2], np.uint64),
        "small": np.array([-1, 0, 1, 2], np.int8),
        "truth": np.array([True, False, True, True]),
        "word": np.array(["é", "", "a b", "'"], object),
    }
    store.write_table(tmp_path / "table.parquet", columns)
    read = store.read_table(tmp_path / "table.parquet")
    for name, column in columns.items():
        np.testing.assert_array_equal(read[name], column)
    empty = {name: column[:0] for name, column in columns.items()}
    store.write_table(tmp_path / "empty.parquet", empty)
    assert all(len(column) == 0 for column in store.read_table(tmp_path / "empty.parquet").values())


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="not a file"):
        store.write_json(tmp_path / "pipe", {})
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link.json").symlink_to(tmp_path / "target.json")
    store.write_json(tmp_path / "link.json", {"written": 1})
    assert (tmp_path / "link.json").is_symlink()
    assert store.read_json(tmp_path / "target.json") == {"written": 1}
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    with pytest.raises(StoreError, match="loop"):
        store.write_json(tmp_path / "loop.json", {})


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file.json"
    store.write_json(path, {"old": 1})

    def fail_midway(temporary):
        temporary.write_text('{"ne')
        raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match="No space left on device"):
        store.write_whole(path, fail_midway)
    assert store.read_json(path) == {"old": 1}
    assert os.listdir(tmp_path) == ["file.json"]


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    """And its name in the directory afterwards, so that a loss of power leaves it old or new."""
    path, flushed = tmp_path / "file.txt", []

    def flush(handle):
        flushed.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))

    monkeypatch.setattr(os, "fsync", flush)
    store.write_text(path, "all of it")
    assert flushed == [(False, False), (True, True)]


def test_files_are_for_everyone_to_read(tmp_path):
    before = os.umask(0o022)
    try:
        store.write_json(tmp_path / "file.json", {})
        store.write_table(tmp_path / "file.parquet", {"seed": np.arange(3)})
        store.save_arrays(tmp_path / "file.safetensors", {"weight": np.ones(3)}, {})
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {0o644}


def test_json_that_is_none_is_refused(tmp_path):
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(StoreError, match="not JSON"):
        store.read_json(tmp_path / "bad.json")
    with pytest.raises(StoreError, match="no such file"):
        store.read_json(tmp_path / "nothing.json")
    (tmp_path / "good.json").write_text(json.dumps([1]))
    assert store.read_json(tmp_path / "good.json") == [1]


def test_leftovers_of_the_killed_are_removed_and_nothing_else(tmp_path):
    for name in (".run.json.abc.part", "run.json", ".lock", "notes.part"):
        (tmp_path / name).touch()
    store.remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".lock", "notes.part", "run.json"]


def test_a_table_under_way_is_a_leftover_that_is_removed(tmp_path):
    """At any moment, what a kill would leave is a file that `remove_leftovers` knows."""
    seen = set()
    over = threading.Event()

    def look():
        while not over.is_set():
            seen.update(os.listdir(tmp_path))

    watcher = threading.Thread(target=look)
    watcher.start()
    store.write_table(tmp_path / "table.parquet", {"number": np.arange(1_000_000) % 1013})
    over.set()
    watcher.join()
    under_way = seen - {"table.parquet"}
    assert under_way, "nothing was seen of the table before it was whole"
    for name in under_way:
        (tmp_path / name).touch()
    store.remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == ["table.parquet"]
