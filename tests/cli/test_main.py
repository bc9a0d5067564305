import json
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest

from remanence import envs
from remanence.cli import COMMANDS, find_command, main
from remanence.report import find_experiment
from remanence.study import list_profiles
from tests.certificates.agents import make_agent

EXAMPLES = Path(__file__).parents[2] / "examples"
GRU = str(EXAMPLES / "agents" / "gru")


def lines(capsys) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_help_names_every_command_in_a_sentence(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = lines(capsys)
    for name in COMMANDS:
        sentence = (find_command(name).__doc__ or "").splitlines()[0]
        assert any(f"• {name} " in line and sentence in line for line in shown)
    assert not any("Example:" in line for line in shown)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_tells_all_of_it(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    shown = capsys.readouterr().out
    assert f"Example: remanence {name}" in shown
    assert "None" not in shown


@pytest.mark.parametrize("study", ["tmaze", "lookup-tree"])
def test_help_of_reproduce_names_every_profile(study, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit, match="0"):
        main(["reproduce", "--help"])
    names = ", ".join(list_profiles(study, find_experiment(study).profiles))
    assert f"{names} (of {study})" in " ".join(capsys.readouterr().out.split())


_LEAVE = """
import os, sys
from remanence.cli import main
reading, writing = os.pipe()
os.close(reading)
os.dup2(writing, sys.stdout.fileno())
main(%r)
"""


def test_who_reads_a_few_lines_of_help_may_leave(tmp_path, nursery):
    process = nursery.start("-c", _LEAVE % ["train", "--help"], log=tmp_path / "log")
    assert process.wait() == 128 + signal.SIGPIPE
    assert process.stderr == ""


def test_what_is_written_only_at_the_end_may_find_nobody():
    command = [sys.executable, "-c", _LEAVE % ["--version"]]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")


def test_play_shows_every_step_in_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["play", "tmaze", "--agent", "optimal", "--set", "length=4"])
    shown = lines(capsys)
    assert max(map(len, shown)) <= 80
    assert [line.split()[-1] for line in shown if line.strip()[:1] in list("012")] == ["right"] * 3
    assert shown[-1] == "The episode terminated after 4 steps; return 4."


def test_play_speaks_json(capsys):
    main(["play", "lookup-tree-maze", "--agent", "optimal", "--set", "num_mazes=2", "--json"])
    played = json.loads(capsys.readouterr().out)
    assert played["return"] == 4
    assert played["terminated"]
    assert len(played["observations"]) == len(played["actions"]) == len(played["rewards"])


def test_ranges_words_and_none_can_be_typed(capsys):
    options = ["num_mazes=1:2", "index_encoding=one-hot", "time_limit_factor=none"]
    main(["play", "lookup-tree-maze", "--max-steps", "3", "--json", "--set", *options])
    assert len(json.loads(capsys.readouterr().out)["observations"][0]) == 4 + 4 + 1


def test_play_plays_a_trained_agent_greedily_in_its_own_environment(capsys):
    agent = EXAMPLES / "agents" / "bmru" / "agents" / "seed-1.safetensors"
    for path in (EXAMPLES / "agents" / "bmru", agent):
        main(["play", "--agent", str(path), "--set", "length=7", "--json"])
        played = json.loads(capsys.readouterr().out)
        assert played["actions"][:6] == [0] * 6
        assert (len(played["actions"]), played["return"]) == (7, 4)
        assert played["agent"] == f"{path}, seed 1"


def test_play_samples_a_trained_agent_where_asked(capsys, tmp_path):
    path, environment = tmp_path / "unsure.safetensors", envs.make("tmaze", length=5)
    # Those that have learned are all but sure of what they do.
    agent = make_agent("gru", 1)
    unsure = eqx.tree_at(lambda it: it.policy.output.weight, agent, jnp.zeros((4, 10)))
    unsure.save(path, {"environment": envs.describe(*environment)})

    def play(*options):
        main(["play", "--agent", str(path), "--json", *options])
        return json.loads(capsys.readouterr().out)["actions"]

    assert len(set(play())) == 1
    assert len(set(play("--sampled"))) > 1
    assert play("--sampled") == play("--sampled")


def test_an_environment_can_be_named_for_a_trained_agent(capsys):
    run = str(EXAMPLES / "agents" / "bmru")
    main(["play", "tmaze", "--agent", run, "--set", "length=3", "time_limit_factor=1", "--json"])
    assert len(json.loads(capsys.readouterr().out)["actions"]) == 3


def test_networks_counts_parameters(capsys):
    main(["networks", "--cell", "bmru", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["parameters"] == sum(array["size"] for array in shown["arrays"]) == 409
    main(["networks"])
    assert "total" in capsys.readouterr().out


def test_the_package_runs_as_the_command(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["remanence", "networks", "--cell", "bmru", "--json"])
    runpy.run_module("remanence", run_name="__main__")
    assert json.loads(capsys.readouterr().out)["parameters"] == 409


def test_all_play_the_same_episode_in_one_environment(capsys):
    main(["play", "tmaze", "--agent", "all", "--set", "length=2", "--json"])
    played = [json.loads(line) for line in lines(capsys)]
    assert {tuple(p["observations"][0]) for p in played} == {tuple(played[0]["observations"][0])}
    assert len(played) == 8
    assert {p["environment"] for p in played} == {"tmaze"}


def test_demo_plays_every_cell_in_both_environments(capsys):
    main(["demo", "--json"])
    played = [json.loads(line) for line in lines(capsys)]
    cells = {"optimal", "gru", "lstm", "brc", "nbrc", "mingru", "bmru", "hybrid"}
    for environment in ("tmaze", "lookup-tree-maze"):
        assert {p["agent"] for p in played if p["environment"] == environment} == cells


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play", "tmase"], "Did you mean 'tmaze'"),
        (["play", "tmaze", "--agent", "gruu"], "Did you mean 'gru'"),
        (["play", "tmaze", "--set", "lenght=3"], "Did you mean 'length'"),
        (["play", "tmaze", "--set", "length"], "name=value"),
        (["play", "tmaze", "--set", "length=0"], "at least 1"),
        (["play"], "name one of tmaze, lookup-tree-maze"),
        (["play", "--agent", "runs/nothing"], "there is no such run or agent"),
        (["play", "tmaze", "--agent-seed", "0"], "it is for trained agents"),
        (["play", "tmaze", "--agent", "all", "--sampled"], "it is for trained agents"),
        (["play", "--agent", GRU, "--agent-seed", "9"], "this run has the seeds 1"),
        (["play", "--agent", GRU, "--set", "time_limit_factor=3"], "only length can be set"),
        (["play", "lookup-tree-maze", "--agent", GRU], "the environment it was trained on"),
        (["networks", "--network", "deep"], "deep-mingru"),
        (["networks", "--architecture", "deep"], "deep-mingru"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(arguments, message, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
