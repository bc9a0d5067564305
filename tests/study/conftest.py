"""A tiny study that went well, to be copied and broken."""

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
    """The study as it is when nothing goes wrong."""
    path = tmp_path_factory.mktemp("whole") / "study"
    assert run_here(path, study).finished
    return path


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    return shutil.copytree(whole, tmp_path / "study")
