"""The checker's folder alone, with NumPy and nothing of ours, comes to the same verdict."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from remanence import checker

ROOT = Path(__file__).parents[2]
CHECKER = ROOT / "src" / "remanence" / "checker"
AGENT = ROOT / "examples" / "agents" / "bmru" / "agents" / "seed-1.safetensors"
CERTIFICATE = ROOT / "docs/results/tmaze/certificates/tmaze-short-bmru/seed-1.json"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The folder, and NumPy, in a directory of their own."""
    directory = tmp_path_factory.mktemp("alone")
    shutil.copytree(CHECKER, directory / "checker")
    packages = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (packages / name).exists():
            (directory / name).symlink_to(packages / name)
    return directory


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess:
    """`python -m checker` without site packages, from the directory."""
    code = "import runpy, sys; sys.path.insert(0, '.'); runpy.run_module('checker', alter_sys=True)"
    return subprocess.run(
        [sys.executable, "-S", "-E", "-c", code, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_comes_to_the_same_verdict(copy: Path, capsys):
    done = run(copy, str(CERTIFICATE), str(AGENT), "--json")
    assert checker.run(CERTIFICATE, AGENT, as_json=True) == done.returncode == 3, done.stderr
    assert json.loads(capsys.readouterr().out) == json.loads(done.stdout)


def test_it_refuses_what_it_cannot_read(copy: Path):
    done = run(copy, str(AGENT), str(AGENT))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_nothing_of_ours_can_be_imported_there(copy: Path):
    code = "import sys; sys.path.insert(0, '.'); import checker, remanence"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", code], cwd=copy, capture_output=True, text=True
    )
    assert "No module named 'remanence'" in done.stderr


def test_the_kernel_is_short_enough_to_be_read():
    lines = (CHECKER / "_kernel.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) < 300
