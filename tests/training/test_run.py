"""Runs on disk: nothing lost, nothing half-written, nothing mistaken for something else."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from remanence import envs
from remanence.errors import InvalidOptionError, StoreError
from remanence.networks import Agent, make_architecture
from remanence.store import load_arrays, read_table, write_json, write_table
from remanence.training import PPOConfig, RunDirectory, change_config, check_seeds, train
from tests.forks import ROOT, Fork, Nursery

CONFIG = PPOConfig(num_envs=4, num_steps=16, num_iterations=6, policy_epochs=2, value_epochs=2)
NETWORK = make_architecture("small", cell="gru")
SEEDS = [1, 2]


def begin(out: Path | None, config=CONFIG, **options):
    return train(envs.make("tmaze"), NETWORK, config, SEEDS, out=out, **options)


def assert_same_run(one: Path, other: Path) -> None:
    """Bit for bit: weights, all of the state, curves."""
    for name in (
        "agents/seed-1.safetensors",
        "agents/seed-2.safetensors",
        "checkpoint.safetensors",
    ):
        ours, theirs = load_arrays(one / name)[0], load_arrays(other / name)[0]
        assert ours.keys() == theirs.keys()
        for key in ours:
            np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)
    ours, theirs = (read_table(run / "curves.parquet") for run in (one, other))
    assert ours.keys() == theirs.keys()
    for column in ours:
        np.testing.assert_array_equal(ours[column], theirs[column], err_msg=column)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert begin(out).finished
    return out


def test_arrays_of_checkpoints_keep_their_names(whole_run):
    """Runs of earlier versions are resumed by them."""
    arrays, _ = load_arrays(whole_run / "checkpoint.safetensors")
    carried = {name.split(".")[1] for name in arrays if name.startswith("state.")}
    assert carried == {
        *("seed", "iteration", "policy", "value", "policy_optimizer", "value_optimizer"),
        *("stage", "value_state"),
    }


def test_what_was_found_out_about_other_weights_does_not_stay(whole_run, tmp_path):
    run = RunDirectory(shutil.copytree(whole_run, tmp_path / "run"))
    agents = run.load_agents()
    write_table(run.path / "evaluations.parquet", {"seed": np.array([1, 2])})
    write_json(run.path / "certificates" / "seed-1.json", {})
    (run.path / "figures").mkdir()
    drawn = ("evaluation.png", "report.html", "claims.md", "figures/returns.png")
    for name in drawn:
        (run.path / name).touch()
    run.save_agent(1, agents[1])
    assert (run.path / "evaluations.parquet").exists()
    run.save_agent(1, agents[2])
    for name in ("evaluations.parquet", "certificates/seed-1.json", *drawn):
        assert not (run.path / name).exists()
        assert (run.path / f"{name}.replaced").exists()
    assert run.curves_path.exists()


def test_anyone_can_read_a_run(whole_run):
    run = RunDirectory(whole_run)
    what = json.loads((whole_run / "run.json").read_text())["what"]
    assert what["config"]["num_steps"] == 16
    assert what["seeds"] == SEEDS
    curves = run.load_curves()
    assert len(curves["return"]) == CONFIG.num_iterations * len(SEEDS)
    assert list(curves["seed"][:3]) == [1, 2, 1]
    agents = run.load_agents()
    environment, params = run.load_environment()
    assert (environment, int(params.length_high)) == (envs.TMaze(), 3)
    observation, _ = environment.reset(jax.random.key(0), params)
    action, state = agents[1].act(observation, agents[1].initial_state(), True)
    assert (int(action) in range(4), state.shape) == (True, (5,))


def test_a_run_tells_the_command_line_it_was_given(whole_run, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/bin/other", "--program"])
    assert RunDirectory(whole_run).read_description()["command"] is None
    words = ("remanence", "train", "tmaze-short")
    begin(tmp_path / "run", config=change_config(CONFIG, {"num_iterations": 1}), command=words)
    assert RunDirectory(tmp_path / "run").read_description()["command"] == list(words)


def test_a_run_of_an_earlier_version_can_be_read_and_resumed(whole_run, tmp_path):
    """Every run told a command line then, also one that was begun from Python."""
    out = copy_run(whole_run, tmp_path / "run")
    description = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(description | {"command": ["pytest", "-q"]}))
    assert RunDirectory(out).load_agents().keys() == set(SEEDS)
    assert begin(out, resume=True).finished


def test_an_agent_survives_saving(whole_run, tmp_path):
    agent = Agent.load(whole_run / "agents" / "seed-2.safetensors")
    agent.save(tmp_path / "copy.safetensors")
    again = Agent.load(tmp_path / "copy.safetensors")
    jax.tree.map(np.testing.assert_array_equal, agent, again)


def test_a_stopped_run_ends_as_if_it_had_not_been(whole_run, tmp_path):
    out = tmp_path / "run"
    done = []
    stopped = begin(
        out, on_iteration=done.append, should_stop=lambda: len(done) == 2, checkpoint_every=100
    )
    assert (stopped.finished, len(done)) == (False, 2)
    assert begin(out, resume=True).finished
    assert_same_run(out, whole_run)


def test_resuming_a_finished_run_changes_nothing(whole_run, tmp_path):
    out = tmp_path / "run"
    begin(out)
    done = []
    assert begin(out, resume=True, on_iteration=done.append).finished
    assert not done
    assert_same_run(out, whole_run)


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.training.test_run import begin
out = Path({out!r})
begin(out, resume=(out / "run.json").exists(), checkpoint_every=1)
"""


def start(nursery: Nursery, out: Path, **options) -> Fork:
    program = PROGRAM.format(tests=str(ROOT), out=str(out))
    log = out.with_name("log")
    return nursery.start("-c", program, log=log, **options)


def test_a_run_killed_again_and_again_ends_the_same(whole_run, tmp_path, nursery):
    """SIGKILL soon after a new checkpoint appears, at a random moment, three times over."""
    out = tmp_path / "run"
    moments = random.Random(0)
    num_kills = 0
    while num_kills < 3:
        before = date_checkpoint(out)
        life = start(nursery, out, adds_programs=False)
        while life.poll() is None and not await_checkpoint(out, before):
            pass
        time.sleep(moments.uniform(0, 0.01))
        life.kill()
        if life.wait() == 0:
            break
        assert life.returncode == -signal.SIGKILL, life.stderr
        num_kills += 1
    assert num_kills, "the run was over before it could be killed"
    assert begin(out, resume=True).finished
    assert_same_run(out, whole_run)
    assert not list(out.rglob(".*.part"))


def await_checkpoint(out: Path, before: int) -> bool:
    """Whether a new one appears within a twentieth of a second."""
    deadline = time.monotonic() + 0.05
    while date_checkpoint(out) == before and time.monotonic() < deadline:
        time.sleep(0.001)
    return date_checkpoint(out) != before


def date_checkpoint(out: Path) -> int:
    path = out / "checkpoint.safetensors"
    return path.stat().st_mtime_ns if path.exists() else 0


def test_the_second_process_on_a_directory_is_refused(tmp_path, nursery):
    out = tmp_path / "run"

    def try_another(_):
        other = start(nursery, out)
        assert other.wait() == 1
        assert "another process is working here" in other.stderr

    begin(out, on_iteration=try_another, config=change_config(CONFIG, {"num_iterations": 1}))


def test_a_run_is_never_overwritten(whole_run):
    with pytest.raises(StoreError, match="there is a run here already"):
        begin(whole_run)


def read_all(path: Path) -> dict[str, bytes]:
    files = [file for file in path.rglob("*") if file.is_file() and file.name != ".lock"]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("kept", ["agents", "checkpoint.safetensors", "curves.parquet"])
def test_a_run_without_its_description_is_refused_and_kept(whole_run, tmp_path, kept, resume):
    out = tmp_path / "run"
    out.mkdir()
    copy_run(whole_run / kept, out)
    before = read_all(out)
    with pytest.raises(StoreError, match=r"\(run\.json\) is missing; restore the file or choose"):
        begin(out, resume=resume)
    assert read_all(out) == before


def test_a_directory_with_other_files_can_take_a_run(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert begin(tmp_path, config=change_config(CONFIG, {"num_iterations": 1})).finished


def test_there_must_be_a_run_to_resume(tmp_path):
    with pytest.raises(StoreError, match="there is no run here to resume"):
        begin(tmp_path / "run", resume=True)
    assert not (tmp_path / "run").exists()


def test_a_changed_configuration_is_named(whole_run):
    changed = change_config(CONFIG, {"discount": 0.5})
    with pytest.raises(StoreError, match=r"what\.config\.discount was 0\.998 and is now 0\.5"):
        begin(whole_run, config=changed, resume=True)
    with pytest.raises(StoreError, match=r"what\.batching was 'cores' and is now 'vmap'"):
        begin(whole_run, batching="vmap", resume=True)


def copy_run(run: Path, to: Path) -> Path:
    subprocess.run(["cp", "-r", run, to], check=True)
    return to


def test_another_versions_run_is_refused(whole_run, tmp_path):
    out = copy_run(whole_run, tmp_path / "run")
    description = json.loads((out / "run.json").read_text())
    description["versions"]["jax"] = "0.1"
    (out / "run.json").write_text(json.dumps(description))
    with pytest.raises(StoreError, match=r"versions\.jax was '0\.1'"):
        begin(out, resume=True)
    description["format"] = 99
    (out / "run.json").write_text(json.dumps(description))
    with pytest.raises(StoreError, match="this version cannot read this run"):
        begin(out, resume=True)


def flip_last_bit(contents: bytes) -> bytes:
    return contents[:-1] + bytes([contents[-1] ^ 1])


@pytest.mark.parametrize("damage", ["truncated", "garbage", "foreign", "empty", "flipped"])
def test_a_damaged_checkpoint_is_refused_and_kept(whole_run, tmp_path, damage):
    out = copy_run(whole_run, tmp_path / "run")
    checkpoint = out / "checkpoint.safetensors"
    contents = {
        "truncated": checkpoint.read_bytes()[:-100],
        "garbage": b"\xff" * 1000,
        "foreign": (out / "agents" / "seed-1.safetensors").read_bytes(),
        "empty": b"",
        "flipped": flip_last_bit(checkpoint.read_bytes()),
    }[damage]
    checkpoint.write_bytes(contents)
    with pytest.raises(StoreError, match=r"checkpoint\.safetensors"):
        begin(out, resume=True)
    assert checkpoint.read_bytes() == contents


def test_the_checkpoint_of_another_run_is_refused_and_kept(whole_run, tmp_path):
    other = tmp_path / "other"
    begin(other, config=change_config(CONFIG, {"num_iterations": 1}))
    out = copy_run(whole_run, tmp_path / "run")
    before = copy_run(other / "checkpoint.safetensors", out / "checkpoint.safetensors").read_bytes()
    with pytest.raises(StoreError, match=r"another run: what\.config\.num_iterations is 1"):
        begin(out, resume=True)
    assert (out / "checkpoint.safetensors").read_bytes() == before


def test_a_damaged_description_is_refused(whole_run, tmp_path):
    out = copy_run(whole_run, tmp_path / "run")
    empty = '{"format": 1, "what": {}, "versions": {}}'
    broken = [
        ("{", "this is not JSON"),
        ('{"format": 1}', "cannot read this run"),
        (empty, "cannot read this run"),
    ]
    for contents, message in broken:
        (out / "run.json").write_text(contents)
        with pytest.raises(StoreError, match=message):
            begin(out, resume=True)


def test_a_full_disk_is_told_and_loses_nothing(whole_run, tmp_path, monkeypatch):
    out = copy_run(whole_run, tmp_path / "run")
    before = (out / "checkpoint.safetensors").read_bytes()

    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(StoreError, match="No space left on device"):
        begin(out, resume=True)
    assert (out / "checkpoint.safetensors").read_bytes() == before
    assert not list(out.glob(".*.part"))


def test_a_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="file"):
        begin(tmp_path / "file" / "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resume": True}, "resume"),
        ({"checkpoint_every": 0}, "checkpoint_every"),
        ({"batching": "gpu"}, "batching"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        begin(None, **options)


@pytest.mark.parametrize("seeds", [[], [1, 1], [-1], [2**31], range(10**12), [True, 2]])
def test_impossible_seeds_are_refused(seeds):
    with pytest.raises(InvalidOptionError, match="seeds"):
        train(envs.make("tmaze"), NETWORK, CONFIG, seeds)


@pytest.mark.parametrize("seeds", [3, [1.0], ["1"], [None], "12", [np.True_]])
def test_seeds_of_another_kind_are_refused(seeds):
    with pytest.raises(InvalidOptionError, match="seeds"):
        check_seeds(seeds)


def test_seeds_of_numpy_are_whole_numbers():
    assert list(map(type, check_seeds(np.array([3, 1])))) == [int, int]


@pytest.mark.usefixtures("small_machine")
def test_more_seeds_than_memory_are_refused():
    network = make_architecture("deep-mingru")
    with pytest.raises(InvalidOptionError, match=r"for 100000 seed.* this machine has 16"):
        train(envs.make("tmaze"), network, CONFIG, range(100_000))


def test_parameters_of_a_batch_are_refused():
    with pytest.raises(InvalidOptionError, match="parameters must be those of one environment"):
        train(envs.make("tmaze", length=np.array([1, 2])), NETWORK, CONFIG)


def test_what_cannot_be_trained_leaves_nothing_behind(tmp_path):
    with pytest.raises(InvalidOptionError, match="a hybrid's must be even"):
        train(
            envs.make("tmaze"),
            make_architecture("small", cell="hybrid"),
            CONFIG,
            out=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_ctrl_c_stops_at_the_next_iteration_saved(tmp_path, nursery):
    out = tmp_path / "run"
    command = ["-m", "remanence.cli", "train", "tmaze-short", "--out", str(out)]
    command += ["--set", "num_envs=4", "num_steps=16", "policy_epochs=2", "value_epochs=2"]
    command += ["num_iterations=1000000", "anneal_iterations=1000000"]
    process = nursery.start(*command, directory=tmp_path, log=tmp_path / "log")
    deadline = time.monotonic() + 120
    while not (out / "checkpoint.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    while process.poll() is None and time.monotonic() < deadline + 60:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == 0, process.stderr
    # At the end, where it parts no option from its value.
    proposed = process.stdout.rstrip().splitlines()[-1]
    assert "remanence train tmaze-short --out" in proposed
    assert proposed.endswith("anneal_iterations=1000000 --resume")
    assert "stopping after this iteration" in process.stderr
    assert RunDirectory(out).load_agents().keys() == {1}
    assert RunDirectory(out).read_description()["command"][1:] == command[2:]
