"""A task of a user's own file, from training to the page, by the commands alone."""

import json
from pathlib import Path

import pytest

from remanence import envs
from remanence.cli import main
from remanence.study import load_results

EXAMPLES = Path(__file__).parents[2] / "examples"
TASK = ["--import", str(EXAMPLES / "delayed_copy.py")]
SMALL = ["num_iterations=2", "num_envs=4", "num_steps=16", "policy_epochs=1", "value_epochs=1"]


@pytest.fixture(scope="module", autouse=True)
def _forget_the_task():
    yield
    if "delayed-copy" in envs.registry:
        envs.registry.unregister("delayed-copy")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "copy"
    options = ["--seeds", "1-2", "--set", "delay=1:3", *SMALL, "--out", str(out)]
    main(["train", "delayed-copy", "--cell", "mingru", *options, *TASK])
    main(["evaluate", str(out), "--lengths", "1,10,100"])
    return out


def test_it_is_evaluated_at_values_of_what_grows(run, capsys):
    main(["evaluate", str(run), "--seeds", "2", "--lengths", "1,10,100", "--json"])
    assert json.loads(capsys.readouterr().out)["summary"]["delay"] == [1, 10, 100]
    outcomes = load_results(run, "outcomes").fetchnumpy()
    assert outcomes["delay"].tolist() == [1, 10, 100] * 2
    assert set(outcomes["seed"]) == {1, 2}
    assert (run / "evaluation.png").exists()


def test_columns_that_do_not_fit_are_left_out_whole(run, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    main(["evaluate", str(run), "--seeds", "1", "--out", str(tmp_path)])
    titles, row, *_ = lines = capsys.readouterr().out.splitlines()
    assert titles.split() == ["seed", "stability", "1", "10", "100", "1,000"]
    assert "…" not in row
    assert f"All are in {tmp_path / 'outcomes'}.parquet." in lines[3]
    monkeypatch.setenv("COLUMNS", "200")
    main(["evaluate", str(run), "--seeds", "1", "--out", str(tmp_path)])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()[0].split()) == 2 + 7
    assert "no room" not in shown


def test_it_gets_a_page_and_stands_beside_others(run, capsys):
    main(["report", str(run)])
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "that was evaluated (delay: " in page
    main(["compare", str(run), str(run), "--json"])
    (row,) = json.loads(capsys.readouterr().out.splitlines()[-1]).values()
    assert (row["cell"], row["grows"], row["agents"]) == ("mingru", "delay", 2)
    main(["play", "--agent", str(run), "--set", "delay=5", "--json"])
    assert len(json.loads(capsys.readouterr().out.splitlines()[-1])["actions"]) == 7


def test_what_it_lacks_is_told(run, capsys):
    for option in ([], ["--radius"], ["--lengths", "1-2"]):
        with pytest.raises(SystemExit) as ended:
            main(["certify", str(run), *option])
        assert ended.value.code == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "its agents are of DelayedCopy, and certificates are for" in told
    with pytest.raises(SystemExit):
        main(["results", str(run), "certificates"])
    told = " ".join(capsys.readouterr().err.split())
    assert "in this environment there cannot be any" in told
    main(["results", str(run)])
    shown = capsys.readouterr().out
    assert "mingru" in shown
    main(["compare", str(run), str(run)])
    shown = capsys.readouterr().out
    assert "Where there is nothing, run `remanence evaluate`." in " ".join(shown.split())
    assert "every length" not in shown
