import json
import runpy

import pytest

from remanence.cli import main


def lines(capsys) -> list[str]:
    return capsys.readouterr().out.splitlines()


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
        (["networks", "--architecture", "deep"], "deep-mingru"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(arguments, message, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
