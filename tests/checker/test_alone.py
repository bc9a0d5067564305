"""The checker's folder alone, beside nothing but NumPy, says what it says inside the package."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remanence.checker
from remanence import checker, envs
from remanence.certificates import certify
from remanence.networks import Agent
from tests.certificates.agents import make_agent, solve_by_hand

ROOT = Path(__file__).parents[2]
# Nothing is imported but the standard library, NumPy and the folder.
ISOLATED = """
import sys

class Wall:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in {"numpy", "checker", *sys.stdlib_module_names} and not name.startswith("_"):
            raise ImportError(f"{name} is behind the wall")

sys.meta_path.insert(0, Wall())
sys.path[:0] = sys.argv[1:3]
for name in ("jax", "remanence", "safetensors"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(f"{name} can be imported")
from checker import main
sys.exit(main(sys.argv[3:]))
"""


def run_alone(folder: Path, *arguments: Any) -> tuple[int, Any]:
    """Exit code and what is printed as JSON, by a process without site packages."""
    packages = Path(np.__file__).parents[1]
    command = [sys.executable, "-I", "-S", "-c", ISOLATED, folder, packages, *arguments, "--json"]
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Path(str(remanence.checker.__file__)).parent
    directory = tmp_path_factory.mktemp("alone")
    without_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, directory / "checker", ignore=without_caches)
    return directory


@functools.cache
def certify_agent(is_random: bool) -> tuple[Agent, str]:
    """An agent, and its certificate as text."""
    agent = make_agent("nbrc", 1, gain=0.5) if is_random else solve_by_hand()
    return agent, json.dumps(certify(agent, envs.make("tmaze"), budget=5_000).to_json())


@pytest.mark.parametrize("name", ["for ever", "random", "refuted", "without what was compiled"])
def test_alone_it_says_the_same(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    agent, written = certify_agent(is_random=name == "random")
    agent.save(tmp_path / "agent.safetensors")
    found = json.loads(written)
    if name == "refuted":
        found["portable"]["merge"] = 3
    if name == "without what was compiled":
        found["compiled"] = None
    (tmp_path / "certificate.json").write_text(json.dumps(found))
    files = (tmp_path / "certificate.json", tmp_path / "agent.safetensors")
    exit_code = checker.run(*files, as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert run_alone(folder, *files) == (exit_code, said)
    expected = {"for ever": 3, "random": 3, "refuted": 1, "without what was compiled": 0}
    assert exit_code == expected[name]


def test_alone_it_says_the_same_of_an_old_certificate(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    files = (
        ROOT / "docs/results/tmaze/certificates/tmaze-short-bmru/seed-1.json",
        ROOT / "examples/agents/bmru/agents/seed-1.safetensors",
    )
    assert checker.run(*files, as_json=True) == 3
    assert run_alone(folder, *files) == (3, json.loads(capsys.readouterr().out))


def test_alone_it_refuses_the_same(folder: Path, tmp_path: Path):
    (tmp_path / "certificate.json").write_text("{")
    exit_code, said = run_alone(folder, tmp_path / "certificate.json", tmp_path / "nowhere")
    assert (exit_code, said["verdict"]) == (2, "cannot be read")


def test_the_kernel_is_short_enough_to_be_read():
    source = Path(str(remanence.checker.__file__)).with_name("_kernel.py")
    assert len(source.read_text(encoding="utf-8").splitlines()) < 300
