import shutil
import subprocess
from pathlib import Path

import pytest

from remanence.store import _machine, find_commit


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with a copy of the module that asks for its commit."""
    module = tmp_path / "_machine.py"
    shutil.copy(_machine.__file__, module)
    monkeypatch.setattr(_machine, "__file__", str(module))
    run(tmp_path, "init", "--quiet")
    return tmp_path


def run(path: Path, *arguments: str) -> str:
    person = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    command = ["git", *person, *arguments]
    return subprocess.run(
        command, cwd=path, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_of_a_checkout(checkout):
    assert find_commit() == ""  # in somebody's checkout, and not of it
    run(checkout, "add", ".")
    run(checkout, "commit", "--quiet", "--message", "first")
    run(checkout, "tag", "v1")
    commit = find_commit()
    assert len(commit) == 12
    assert run(checkout, "rev-parse", "HEAD").startswith(commit)
    (checkout / "_machine.py").write_text("changed")
    assert find_commit() == f"{commit}-dirty"


def test_without_git_the_commit_is_not_known(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert find_commit() == ""
