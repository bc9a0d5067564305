"""A tiny study that went well, to be copied and broken."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from remanence.study import Study
from tests.study.studies import load_tiny, run_here


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> Study:
    return load_tiny(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="session")
def whole(study, tmp_path_factory) -> Path:
    """The study as it is when nothing goes wrong, made by the first process that asks for it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path = shared / "whole"
    with (shared / "whole.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            made = tmp_path_factory.mktemp("made") / "study"
            assert run_here(made, study).finished
            made.rename(path)
    return path


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    return shutil.copytree(whole, tmp_path / "study")
