"""The kill test itself: a few kills from start to end, and that it would see what goes wrong."""

import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remanence.store import load_arrays, read_json, save_arrays, write_json

ROOT = Path(__file__).parents[2]


@pytest.fixture
def compare(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("_kills_compare")


@pytest.fixture
def run(tmp_path) -> Path:
    return shutil.copytree(ROOT / "examples" / "agents" / "gru", tmp_path / "run")


@pytest.mark.skipif(sys.platform != "linux", reason="inotify and /proc are Linux's")
def test_certification_killed_a_few_times_ends_the_same(tmp_path, nursery):
    scratch, record = tmp_path / "scratch", tmp_path / "scratch" / "kills.json"
    scratch.mkdir()
    # Of this seed's two kills, one is at a write early on and the other while it starts.
    options = ("--kinds", "certify", "--kills", "2", "--seed", "40", "--out", record)
    done = nursery.start(
        *(ROOT / "benchmarks" / "kills.py", *options),
        log=tmp_path / "log",
        environment={"TMPDIR": str(scratch)},
    )
    assert done.wait() == 0, done.stdout + done.stderr
    assert f"in {scratch}" in done.stdout
    found = read_json(record)
    assert found["strikes"] >= 2
    assert found["compared"] == sum(found["works"].values()) >= 1
    assert os.listdir(scratch) == ["kills.json"], "it cleans up after itself"


def change_a_bit(run: Path) -> None:
    path = run / "agents" / "seed-1.safetensors"
    arrays, header = load_arrays(path)
    name = sorted(arrays)[0]
    arrays[name] = np.nextafter(arrays[name], np.float32(np.inf))
    save_arrays(path, arrays, header)


def tear(run: Path) -> None:
    path = run / "curves.parquet"
    path.write_bytes(path.read_bytes()[:-7])


def change_the_plan(run: Path) -> None:
    description = read_json(run / "run.json")
    description["what"]["seeds"] = [2]
    write_json(run / "run.json", description)


def lose(run: Path) -> None:
    (run / "agents" / "seed-1.safetensors").unlink()


@pytest.mark.parametrize("harm", [change_a_bit, tear, change_the_plan, lose])
def test_harm_is_seen(harm, compare, run):
    reference = compare.read_directory(run)
    assert compare.find_differences(run, reference, parts=False) == []
    assert compare.find_damage(run, reference, reference) == []
    harm(run)
    assert compare.find_differences(run, reference, parts=False)
    assert compare.find_damage(run, reference, reference)


def test_only_times_may_differ(compare, run):
    reference = compare.read_directory(run)
    description = read_json(run / "run.json")
    write_json(run / "run.json", description | {"started": "another day"})
    assert compare.find_differences(run, reference, parts=False) == []
    (run / ".run.json.abc.part").touch()
    assert compare.find_differences(run, reference, parts=True) == []
    assert compare.find_differences(run, reference, parts=False)
