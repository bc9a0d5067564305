"""What is packed for others: hatch leaves out what git ignores, and takes along all else."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)


@pytest.fixture(autouse=True)
def repository():
    try:
        inside = run_git("rev-parse", "--show-toplevel")
    except FileNotFoundError:
        pytest.skip("there is no git")
    if inside.returncode or Path(inside.stdout.strip()) != ROOT:
        pytest.skip("this is no clone")


def test_nothing_that_belongs_to_it_is_left_out():
    assert run_git("ls-files", "--cached", "--ignored", "--exclude-standard").stdout == ""


@pytest.mark.parametrize(
    "made",
    [
        "bmru/evaluations.parquet",
        "bmru/radii/seed-1.json",
        "lookup-tree/bmru/decisions.parquet",
        "lookup-tree/bmru/maze-certificates/seed-6.json",
        "lookup-tree/bmru/report.html",
    ],
)
def test_what_commands_find_out_about_example_agents_is_left_out(made):
    assert run_git("check-ignore", "--quiet", f"examples/agents/{made}").returncode == 0
