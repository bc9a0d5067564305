import json

import pytest

from remanence.cli import main
from remanence.store import write_json
from remanence.training import RunDirectory

TINY = ["num_envs=4", "num_steps=16", "policy_epochs=1", "value_epochs=1"]


def command(out, *more, settings=("num_iterations=2",)):
    return ["train", "tmaze-short", "--out", str(out), *more, "--set", *TINY, *settings]


def test_a_run_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    out = tmp_path / "run"
    options = ["num_iterations=2", "length=2"]
    given = command(out, "--cell", "bmru", "--seeds", "1,3-4", settings=options)
    main(given)
    captured = capsys.readouterr()
    assert f"Finished after 2 iterations. The run is in {out}." in captured.out
    note, _, *rows = captured.out.splitlines()
    assert "annealed over 250 iterations, of which 2 are trained" in note
    assert "--set anneal_iterations=2 " in note
    assert [line.split()[0] for line in rows[:3]] == ["1", "3", "4"]
    assert "iteration 2/2" in captured.err
    assert "steps/s" in captured.err
    run = RunDirectory(out)
    assert run.load_agents().keys() == {1, 3, 4}
    assert run.read_description()["command"][1:] == given
    what, about = (run.read_description()[part] for part in ("what", "about"))
    assert (about["changes"]["length"], about["changes"]["num_iterations"]) == (2, 2)
    assert what["architecture"]["cell"] == "bmru"
    assert what["environment"]["params"]["length_high"] == 2
    assert what["config"]["discount"] == 0.998


def test_a_run_goes_on_with_what_its_preset_chose(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    out = tmp_path / "run"
    main(command(out))
    run = RunDirectory(out)
    description = run.read_description()
    assert description["about"]["changes"]["time_limit_ends"]
    main(command(out, "--resume"))
    with pytest.raises(SystemExit):
        main(command(out, "--resume", settings=("num_iterations=2", "time_limit_ends=false")))
    assert "time_limit_ends was True and is now False" in capsys.readouterr().err
    assert run.read_description() == description


def test_a_run_that_was_begun_when_its_preset_chose_nothing_goes_on_so(tmp_path):
    out, names = tmp_path / "run", ("time_limit_ends", "initialization")
    main(
        command(
            out, settings=("num_iterations=2", "time_limit_ends=false", "initialization=xavier")
        )
    )
    run = RunDirectory(out)
    older = run.read_description()
    for name in names:
        del older["about"]["changes"][name]
        assert name not in older["what"]["config"]
    write_json(run.description_path, older)
    main(command(out, "--resume"))
    assert run.read_description()["what"] == older["what"]


def test_json_for_scripts(tmp_path, capsys):
    main(command(tmp_path / "run", "--json"))
    summary = json.loads(capsys.readouterr().out)
    assert (summary["finished"], summary["iterations"]) == (True, 2)
    assert summary["seeds"]["1"].keys() >= {"return", "kl", "value_loss", "entropy"}
    assert "annealed over 250 iterations" in summary["notes"][0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--seeds", "one"], "write 7, 1-30 or 1,4,10-12"),
        (["--seeds", "2,2"], "each one once"),
        (["--seeds", "1-99999999999"], "use numbers from 0 to 2,147,483,647"),
        (["--seeds", "1-2000000000"], "at most 100,000 are possible"),
        (["--seeds", "1-60000,60001-120000"], "at most 100,000 are possible"),
        (["--seeds", "5-3"], "the smaller one of a range first"),
        (["--cell", "lstmm"], "Did you mean 'lstm'"),
        (["--network", "deep-mingu"], "Did you mean 'deep-mingru'"),
        (["--cell", "hybrid"], "a hybrid's must be even"),
        (["--batching", "gpu"], "batching"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(more, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as stop:
        main(command(tmp_path / "run", *more))
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("state_size=99999999999", "state_size = 99999999999"),
        ("state_size=1000000", "6,000,058,000,515 parameters"),
        ("head=[1000000,1000000]", "use smaller sizes or fewer seeds"),
        ("num_envs=99999999999", "num_envs = 99999999999"),
        ("num_envs=100000000", "one rollout takes at least"),
        ("num_steps=99999999999", "num_steps = 99999999999"),
        ("num_iterations=99999999999", "num_iterations = 99999999999"),
        ("length=99999999999", "length = 99999999999"),
    ],
)
def test_what_is_far_too_large_is_refused_at_once(setting, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as stop:
        main(command(tmp_path / "run", settings=[setting]))
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_mistyped_number_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "800")
    with pytest.raises(SystemExit):
        main(command(tmp_path / "run", settings=["num_iteration=2"]))
    assert "Did you mean 'num_iterations'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_no_episode_ended_is_null_in_json(tmp_path, capsys):
    main(command(tmp_path / "run", "--json", settings=["num_iterations=1", "length=100"]))
    assert json.loads(capsys.readouterr().out)["seeds"]["1"]["return"] is None


def test_options_of_a_cell_can_be_typed(tmp_path, capsys):
    settings = ["num_iterations=1", "anneal_iterations=1", "surrogate_width=2.0"]
    main(command(tmp_path / "run", "--cell", "bmru", "--json", settings=settings))
    assert json.loads(capsys.readouterr().out)["notes"] == []
    what = RunDirectory(tmp_path / "run").read_description()["what"]
    assert what["architecture"]["cell_options"] == {"surrogate_width": 2.0}


def test_another_network_can_be_chosen(tmp_path, monkeypatch):
    """What is trained, under which name and where; nothing is, which would take seconds."""

    class Asked(Exception):
        pass

    def train(env, network, config, seeds, **others):
        raise Asked(network, others["labels"]["network"], others["out"])

    monkeypatch.setattr("remanence.cli._train.train", train)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Asked) as asked:
        main(["train", "tmaze-short", "--network", "deep-mingru", "--cell", "mingru"])
    network, label, out = asked.value.args
    assert (network.num_layers, network.state_size, label) == (4, 128, "deep-mingru")
    assert out.as_posix() == "runs/tmaze-short-deep-mingru-mingru"
