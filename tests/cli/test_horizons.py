"""`evaluate`, `certify` and `check` on agents that were made by hand."""

import json
import re
import shutil
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs, networks
from remanence.cli import main
from remanence.cli._evaluate import parse_lengths
from remanence.cli._evaluation_tables import choose_columns
from remanence.errors import InvalidOptionError
from remanence.networks import Agent, read_origin
from remanence.store import load_arrays, read_table, save_arrays, write_table
from remanence.training import PPOConfig, RunDirectory
from remanence.training._description import describe_run
from remanence.training._learner import Learner
from tests.certificates.agents import solve_by_hand

ENV = envs.make("tmaze")


def forget(agent: Agent) -> Agent:
    """The same agent with a memory that does not hold: the cue's unit is driven in the corridor."""
    return eqx.tree_at(
        lambda it: it.policy.cell.inputs.bias,  # type: ignore
        agent,
        jnp.asarray([[0.7, -1.0], [0.5, 0.5]]),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two seeds: one that lasts for ever and one that forgets."""
    directory = RunDirectory(tmp_path_factory.mktemp("runs") / "hand")
    agents = {1: solve_by_hand(), 4: forget(solve_by_hand())}
    architecture = agents[1].architecture
    learner = Learner(ENV[0], architecture, PPOConfig())
    directory.create(describe_run(*ENV, learner, list(agents), "auto", {}, None))
    for seed, agent in agents.items():
        directory.save_agent(seed, agent)
    return directory.path


def test_evaluate_prints_a_table_and_writes_all_episodes(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["evaluate", str(run), "--lengths", "2:1e6"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["1", "bistable"] + ["4.00"] * 6
    assert lines[2].split() == ["4", "monostable"] + ["1.95"] * 6
    table = read_table(run / "evaluations.parquet")
    assert set(table["seed"]) == {1, 4}
    assert set(read_table(run / "stability.parquet")["stability"]) == {"bistable", "monostable"}
    assert len(read_table(run / "outcomes.parquet")["seed"]) == len(table["seed"]) / 2
    assert table["length"].max() == 10**6
    assert (run / "evaluation.png").stat().st_size > 10_000


def test_evaluate_speaks_json(run, capsys, tmp_path):
    main(["evaluate", str(run), "--lengths", "3", "30", "--json", "--out", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)
    assert found["exact"]
    assert found["stability"] == {"1": "bistable", "4": "monostable"}
    assert found["summary"]["outcome"] == ["solved", "solved", "random", "random"]


@pytest.fixture(scope="module")
def tree_run(tmp_path_factory):
    """A run of one agent, which does anything if it samples, and stands still if it does not."""
    env = envs.make("lookup-tree-maze", table_size=2, length=1)
    architecture = networks.Architecture(cell="mingru", state_size=2, head=())
    policy = networks.make_policy(architecture, 4, 4, key=jax.random.key(0))
    policy = eqx.tree_at(lambda it: it.output.bias, policy, jnp.asarray([0.0, 0.0, 0.5, 0.0]))
    value = networks.make_value(architecture, 4, key=jax.random.key(0))
    agent = Agent(policy, value, architecture)
    directory = RunDirectory(tmp_path_factory.mktemp("runs") / "tree")
    learner = Learner(env[0], architecture, PPOConfig())
    directory.create(describe_run(*env, learner, [1], "auto", {}, None))
    directory.save_agent(1, agent)
    return directory.path


def test_evaluate_tells_decisions_where_an_episode_has_several(tree_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["evaluate", str(tree_run), "--sampled", "--lengths", "10,200"])
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[3].split() == ["seed", "decisions", "10", "200"]
    summary = read_table(tree_run / "sampled_outcomes.parquet")
    right = [round(100 * share) for share in summary["share_right"]]
    assert [cell.split("±")[0] for cell in lines[4].split()] == ["1", "right", *map(str, right)]
    assert lines[5].split()[0] == "taken"
    assert lines[6].split()[0] == "timeouts"
    assert "95% interval over cues" in shown
    assert "the share that is right among those taken" in shown
    # What is known of the same agents acting greedily is kept.
    assert (tree_run / "sampled_evaluation.png").exists()
    assert not (tree_run / "evaluation.png").exists()


def test_json_tells_decisions_and_null_where_none_was_taken(tree_run, capsys, tmp_path):
    main(["evaluate", str(tree_run), "--lengths", "3", "--json", "--out", str(tmp_path)])
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert (summary["num_decisions"], summary["timeouts"]) == ([0.0], [1.0])
    assert summary["share_right"] == summary["share_low"] == summary["share_high"] == [None]


def test_evaluate_computes_what_sampled_agents_of_a_tmaze_come_to(run, capsys, tmp_path):
    main(["evaluate", str(run), "--sampled", "--lengths", "2,30", "--out", str(tmp_path)])
    assert "is left out at most" in capsys.readouterr().out.replace("\n", " ")
    table = read_table(tmp_path / "sampled_evaluations.parquet")
    groups = [table["seed"] == 1, table["length"] == 30, table["cue"] == 0]
    assert table["probability"][np.all(groups, axis=0)].sum() == pytest.approx(1, abs=1e-6)
    outcomes = read_table(tmp_path / "sampled_outcomes.parquet")
    assert np.all(outcomes["low"] <= outcomes["return"])
    assert {"share_right", "timeouts", "outcome", "num_steps"} <= set(outcomes)


def test_certify_tells_limits_of_sampled_agents(run, capsys):
    main(["certify", str(run), "--sampled", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert list(found["limits"]) == ["1", "4"]
    limits = read_table(run / "sampled_limits.parquet")
    assert limits["seed"].tolist() == [1, 1, 4, 4]
    assert limits["right"].tolist() == [
        it["right"] for two in found["limits"].values() for it in two
    ]


def test_certify_tells_radii_that_check_verifies(run, capsys):
    main(["certify", str(run), "--seeds", "1", "--radius"])
    line = capsys.readouterr().out.splitlines()[1].split()
    table = read_table(run / "radii.parquet")
    certified, broken = (table[f"radius_{kind}"][0] for kind in ("certified", "broken"))
    assert line[:3] == ["1", f"{certified:.3g}", f"{broken:.3g}"]
    assert 0 < certified < broken
    with pytest.raises(SystemExit) as end:
        main(["check", str(run / "radii/seed-1.json"), str(run / "agents/seed-1.safetensors")])
    assert end.value.code == 0
    assert "acts right at every length from 2 on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--sampled", "--budget", "10"], "budget = 10 .* does not go with --sampled"),
        (["--sampled", "--radius"], "radius = True .* does not go with --sampled"),
        (["--radius", "--budget", "10"], "budget = 10 .* does not go with --radius"),
        (["--walk", "any"], "walk = 'any' .* leave it out"),
    ],
)
def test_certify_refuses_options_that_would_not_count(options, problem, run, capsys):
    with pytest.raises(SystemExit):
        main(["certify", str(run), *options])
    assert re.search(problem, " ".join(capsys.readouterr().err.split()))


def test_certify_tells_a_verdict_in_one_screen(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["certify", str(run)])
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 40
    assert "LASTS FOR EVER" in shown
    assert "DOES NOT LAST" in shown
    assert "It forgets: at length 2" in shown
    assert sorted(path.name for path in (run / "certificates").iterdir()) == [
        "seed-1.json",
        "seed-4.json",
    ]


def test_certificates_are_accepted_by_the_checker_and_broken_ones_are_not(run, capsys, tmp_path):
    main(["certify", str(run), "--seeds", "1", "--json", "--out", str(tmp_path)])
    made = json.loads(capsys.readouterr().out)["certificates"]["1"]
    agent = str(run / "agents" / "seed-1.safetensors")
    assert check(tmp_path / "seed-1.json", agent) == 3
    assert "`remanence check --rerun` runs this program again" in unfold(capsys)
    assert check(tmp_path / "seed-1.json", agent, "--rerun") == 0
    assert "VERIFIED: everything" in unfold(capsys)
    changes = [
        ("contraction", {"optimal": {"listed": 1, "period": 1, "runs": []}}, ()),
        ("portable", {"merge": 7}, ()),
        ("compiled", {"merge": 7}, ("--rerun",)),
    ]
    for part, change, options in changes:
        (tmp_path / "wrong.json").write_text(json.dumps({**made, part: made[part] | change}))
        assert check(tmp_path / "wrong.json", agent, *options) == 1
        assert "REFUTED" in unfold(capsys)


def check(certificate: Path, agent: str, *options: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(["check", str(certificate), agent, *options])
    assert isinstance(done.value.code, int)
    return done.value.code


def unfold(capsys) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_program_of_another_machine_is_not_refuted(run, capsys, tmp_path):
    main(["certify", str(run), "--seeds", "1", "--json", "--out", str(tmp_path)])
    made = json.loads(capsys.readouterr().out)["certificates"]["1"]
    made["compiled"]["program"]["processor"] = "another"
    made["compiled"]["merge"] = 7
    (tmp_path / "other.json").write_text(json.dumps(made))
    agent = str(run / "agents" / "seed-1.safetensors")
    assert check(tmp_path / "other.json", agent, "--rerun", "--json") == 3
    found = json.loads(capsys.readouterr().out)
    notes = {s["name"]: s["note"] for s in found["statements"] if s["part"] == "compiled"}
    assert notes["merge"] == "here: the memories are the same: never"
    assert notes["distance"] == "the same here, by another program"


def test_the_file_of_one_agent_will_do(run, capsys, tmp_path):
    agent = str(run / "agents" / "seed-4.safetensors")
    main(["certify", agent, "--json", "--out", str(tmp_path)])
    assert list(json.loads(capsys.readouterr().out)["certificates"]) == ["4"]


def test_an_agent_without_an_origin_is_refused(capsys, tmp_path):
    solve_by_hand().save(tmp_path / "agent.safetensors")
    with pytest.raises(SystemExit):
        main(["evaluate", str(tmp_path / "agent.safetensors")])
    assert "which environment" in " ".join(capsys.readouterr().err.split())


def test_seeds_that_a_run_does_not_have_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        main(["certify", str(run), "--seeds", "1-3"])
    assert "this run has the seeds 1, 4" in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def wide(monkeypatch):
    """No word of a message is broken."""
    monkeypatch.setenv("COLUMNS", "1000")


def read_refusal(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("named", ["the run", "the file"])
@pytest.mark.parametrize("command", ["certify", "evaluate"])
def test_the_agent_of_another_seed_is_refused(run, capsys, tmp_path, command, named):
    out = Path(shutil.copytree(run, tmp_path / "run"))
    file = out / "agents" / "seed-1.safetensors"
    shutil.copy(out / "agents" / "seed-4.safetensors", file)
    told = read_refusal(capsys, command, str(out if named == "the run" else file), "--seeds", "1")
    assert "this is the agent of seed 4, and that of seed 1 is expected here" in told
    assert "seed-1.safetensors" in told
    assert "put the run's own file back" in told
    main(["certify", str(out), "--seeds", "4", "--json", "--out", str(tmp_path / "out")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"environment": envs.describe(*envs.make("tmaze", length=7))}, "length_high is 7 and"),
        ({"config": {"discount": 0.5}}, "config.adam_epsilon is None and should be 1e-05"),
        ({"seed": None}, "the agent of seed None"),
    ],
)
def test_an_agent_of_another_training_is_refused(run, capsys, tmp_path, change, message):
    out = Path(shutil.copytree(run, tmp_path / "run"))
    file = out / "agents" / "seed-1.safetensors"
    Agent.load(file).save(file, read_origin(file) | change)
    assert message in read_refusal(capsys, "certify", str(out), "--seeds", "1")


def test_an_agent_of_another_architecture_is_refused(run, capsys, tmp_path):
    out = Path(shutil.copytree(run, tmp_path / "run"))
    file = out / "agents" / "seed-1.safetensors"
    arrays, header = load_arrays(file)
    header["architecture"]["dropout"] = 0.5
    save_arrays(file, arrays, header)
    told = read_refusal(capsys, "certify", str(out))
    assert "architecture.dropout is 0.5 and should be 0.0" in told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": {"cell": "bmru", "units": 3}}, "its architecture cannot be read"),
        ({"architecture": None}, "this version cannot read this agent"),
        ({"origin": 7}, "this version cannot read this agent"),
        ({"origin": {"environment": {"name": "tmaze"}}}, "not the description of an environment"),
        ({"origin": {"environment": 3}}, "not the description of an environment"),
    ],
)
def test_a_file_with_a_strange_header_is_refused(run, capsys, tmp_path, change, message):
    arrays, header = load_arrays(run / "agents" / "seed-1.safetensors")
    save_arrays(tmp_path / "agent.safetensors", arrays, header | change)
    assert message in read_refusal(capsys, "certify", str(tmp_path / "agent.safetensors"))


@pytest.mark.parametrize("text", ["", "[" * 10_000, '{"kind": 1}'])
def test_what_is_no_certificate_is_refused(text, run, capsys, tmp_path):
    (tmp_path / "no.json").write_text(text)
    with pytest.raises(SystemExit) as refused:
        main(["check", str(tmp_path / "no.json"), str(run / "agents" / "seed-1.safetensors")])
    assert refused.value.code == 2
    assert "cannot be checked" in capsys.readouterr().err


def test_lengths_as_they_are_typed():
    for text in ("10,1e3,20_000", "10 1e3 20_000", " 10, 1000 , 2e4"):
        assert parse_lengths(text) == [10, 1000, 20_000]
    assert parse_lengths("1_0:1_00") == parse_lengths("10:100")
    with pytest.raises(InvalidOptionError, match=r"a comma separates them, so write .* 10_000"):
        parse_lengths("10,000")
    assert parse_lengths("2:1e6")[-1] == 10**6
    for bad in ["", "2-5", "1e6:2", "a,b", "0:5", "1e400", "nan", "2.5", ",", "1:2:3"]:
        with pytest.raises(InvalidOptionError, match="lengths"):
            parse_lengths(bad)


def test_columns_are_powers_of_ten_where_there_are_many():
    assert choose_columns(np.array(parse_lengths("2:1e6")))[0] == 10
    assert choose_columns(np.array([3, 7, 500])) == [3, 7, 500]


def test_certify_and_check_speak_of_every_sequence_of_mazes(tree_run, capsys):
    main(["certify", str(tree_run), "--lengths", "1-2", "--budget", "500"])
    shown = capsys.readouterr().out
    assert "seed 1, mingru, in any number of mazes of lengths 1, 2" in shown
    assert "stalls at the earliest in maze 1, and never takes an arm" in shown
    assert (tree_run / "maze_certificates.parquet").exists()
    with pytest.raises(SystemExit) as end:
        main(["check", str(tree_run), "--json"])
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "verified"
    main(["compare", str(tree_run)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "every row of mazes 0 of 1" in shown
    assert "every length" not in shown


def test_one_maze_and_several_are_told_apart(tree_run, capsys, tmp_path):
    copy = Path(shutil.copytree(tree_run, tmp_path / "tree"))
    outcomes = {"seed": [1, 1], "num_mazes": [1, 2], "return": [1.5, 2.5]}
    write_table(
        copy / "outcomes.parquet", {name: np.array(column) for name, column in outcomes.items()}
    )
    main(["compare", str(copy)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "return, 1 maze 1.50 return, 2 mazes 2.50" in shown


def test_certify_tells_radii_in_rows_of_mazes(tree_run, capsys):
    main(["certify", str(tree_run), "--radius", "--walk", "straight", "--lengths", "1-2"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 straight all not proved 0 " in shown
    assert "led straight ahead, the right arm stays the better one at every junction" in shown
    table = read_table(tree_run / "radii.parquet")
    assert table["table"].tolist() == ["+-", "-+"]
    assert table["radius_broken"].min() == 0
    with pytest.raises(SystemExit) as end:
        main(["check", str(tree_run / "radii" / "seed-1.json")])
    assert end.value.code == 0


def test_limits_of_sampled_agents_are_no_option_of_rows_of_mazes(tree_run, capsys):
    with pytest.raises(SystemExit):
        main(["certify", str(tree_run), "--sampled"])
    assert "--sampled = True is not possible: leave it out" in capsys.readouterr().err


def test_a_walk_is_no_option_of_the_t_maze(run):
    with pytest.raises(SystemExit):
        main(["certify", str(run), "--radius", "--walk", "any"])


def test_lengths_are_no_option_of_the_t_maze(run):
    with pytest.raises(SystemExit):
        main(["certify", str(run), "--lengths", "1-2"])
