"""`reproduce`, `status` and `results`, without a training."""

import csv
import io
import json
import signal
from pathlib import Path

import duckdb
import pytest

from remanence import report
from remanence.cli import main
from remanence.report import _page
from remanence.store import hold_directory, read_table, write_json
from remanence.study import StudyDirectory, load_results, read_status
from tests.study.studies import PROFILE, WIDER, write_profile, write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study"))


def test_a_dry_run_shows_the_plan_and_writes_nothing(tmp_path, capsys):
    out = tmp_path / "study"
    main(["reproduce", "tmaze", "--profile", "laptop", "--out", str(out), "--dry-run"])
    shown = capsys.readouterr().out
    assert "tmaze-long-bmru" in shown
    assert "310 agents in 11 jobs" in shown
    assert not out.exists()
    main(
        [
            "reproduce",
            "tmaze",
            "--profile",
            write_profile(tmp_path / "a.toml"),
            "--dry-run",
            "--json",
        ]
    )
    plan = json.loads(capsys.readouterr().out)
    assert plan["estimates"].keys() == {job["id"] for job in plan["jobs"]}
    assert plan["estimate"]["seconds"] > 0


def test_watching_ends_with_the_last_job(tmp_path, capsys, monkeypatch):
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    gru, bmru = directory.read_study().jobs
    write_json(directory.status_path(gru), {"state": "running"})
    write_json(directory.status_path(bmru), {"state": "done"})
    looks = []

    def finish(seconds: float) -> None:
        looks.append(seconds)
        write_json(directory.status_path(gru), {"state": "done"})

    monkeypatch.setattr("remanence.cli._status.time.sleep", finish)
    main(["status", str(path), "--watch"])
    assert len(looks) == 1
    assert "done" in capsys.readouterr().out


def test_a_long_study_is_watched_on_one_screen(tmp_path, capsys, monkeypatch):
    """And the queue, which all users of a cluster share, is not asked at every look."""
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    gru, bmru = directory.read_study().jobs
    write_json(directory.status_path(gru), {"state": "done"})
    write_json(directory.status_path(bmru), {"state": "running"})
    looks, questions = [], []

    def finish(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            write_json(directory.status_path(bmru), {"state": "failed"})

    monkeypatch.setenv("LINES", "5")
    monkeypatch.setattr("remanence.cli._status.time.sleep", finish)
    monkeypatch.setattr(
        "remanence.cli._status.read_queue",
        lambda path: questions.append(path) or {bmru.id: "pending ([odd] reason)"},
    )
    main(["status", str(path), "--watch"])
    shown = capsys.readouterr().out
    assert bmru.id in shown
    assert gru.id not in shown
    assert "and 1 more" in shown
    assert "1 failed, 1 done" in shown
    assert "pending ([odd] reason)" in shown
    assert (len(looks), len(questions)) == (3, 1)


def test_watching_ends_when_nobody_is_at_work(tmp_path, capsys):
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    gru, bmru = directory.read_study().jobs
    long_ago = {"state": "running", "updated": "2020-01-01T00:00:00+00:00"}
    write_json(directory.status_path(gru), long_ago)
    write_json(directory.status_path(bmru), {"state": "waiting"})
    main(["status", str(path), "--watch"])
    shown = capsys.readouterr().out
    assert "probably killed" in shown
    assert "Nobody is working on it" in shown
    # One that was stopped has jobs that wait for nobody; while it is held they wait for their turn.
    write_json(directory.status_path(gru), {"state": "waiting"})
    main(["status", str(path), "--watch"])
    assert "Nobody is working on it" in capsys.readouterr().out
    assert read_status(path).abandoned
    with hold_directory(path):
        assert not read_status(path).abandoned


def test_status_tells_what_runs_and_what_failed(tmp_path, capsys):
    path = write_study(tmp_path)
    directory = StudyDirectory(path)
    gru, bmru = directory.read_study().jobs
    running = {"state": "running", "stage": "training", "iteration": 2, "num_iterations": 3}
    write_json(directory.status_path(gru), running)
    failed = {"state": "failed", "error": "Traceback ...\nValueError: out of luck\n"}
    write_json(directory.status_path(bmru), failed)
    main(["status", str(path)])
    shown = capsys.readouterr().out
    assert "training, iteration 2/3" in shown
    assert "tmaze-short-bmru: ValueError: out of luck" in shown
    write_json(directory.status_path(gru), {"state": "running"})
    main(["status", str(path)])
    assert "starting" in capsys.readouterr().out
    certifying = {"state": "running", "stage": "certifying", "agent": 7, "num_agents": 30}
    write_json(directory.status_path(gru), certifying)
    main(["status", str(path)])
    assert "certifying, 6 of 30 agents done" in capsys.readouterr().out
    long_ago = running | {"updated": "2020-01-01T00:00:00+00:00"}
    write_json(directory.status_path(gru), long_ago)
    main(["status", str(path)])
    assert "probably killed" in capsys.readouterr().out
    main(["status", str(path), "--json"])
    assert json.loads(capsys.readouterr().out)["jobs"]["tmaze-short-gru"]["lost"]


def test_results_are_filtered_and_grouped(study, capsys):
    query = ["--where", "length = 100 and cell = 'gru'", "--group-by", "cell", "outcome"]
    main(["results", str(study), "outcomes", *query, "--format", "json"])
    # The study's episodes were written before decisions were counted.
    unknown = dict.fromkeys(("share_right", "share_low", "share_high", "num_decisions"))
    assert json.loads(capsys.readouterr().out) == [
        {"cell": "gru", "outcome": outcome, "rows": 1, "num_steps": 100.0, "timeouts": 0.0}
        | {"return": mean, "low": mean, "high": mean}
        | unknown
        for outcome, mean in (("random", -0.1), ("solved", 4.0))
    ]


def test_results_in_every_format(study, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    main(["results", str(study)])
    assert "solved at every length" in capsys.readouterr().out
    main(["results", str(study), "stability", "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["stability"] for row in rows] == ["bistable", "monostable"] * 2
    for format in ("table", "csv", "json", "parquet"):
        out = tmp_path / f"results.{format}"
        main(["results", str(study), "stability", "--format", format, "--out", str(out)])
        assert out.stat().st_size
    assert read_table(tmp_path / "results.parquet")["vaa"].tolist() == [1.0, 0.5] * 2
    out = tmp_path / "nulls.parquet"
    main(["results", str(study), "certificates", "--format", "parquet", "--out", str(out)])
    expected, found = load_results(study, "certificates"), duckdb.read_parquet(str(out))
    assert (found.columns, found.types) == (expected.columns, expected.types)
    assert found.fetchall() == expected.fetchall()
    assert None in found.fetchnumpy()["merge"].tolist()
    main(["results", str(study), "certificates", "--format", "json"])
    spans = [row["solved_span"] for row in json.loads(capsys.readouterr().out)]
    assert spans == ["inf", 0.0] * 2
    main(["results", str(study), "stability", "--where", "vaa > 2"])
    assert "no rows" in capsys.readouterr().out
    main(["results", str(study), "stability", "--where", "vaa > 2", "--format", "json"])
    assert capsys.readouterr().out.endswith("[]\n")


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("table", ["summary", "certificates", "curves"])
def test_no_number_is_cut(table, columns, study, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    main(["results", str(study), table])
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= columns
    assert "tmaze-short" in shown


def test_what_a_user_wrote_is_printed_as_it_is(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.toml"
    path.write_text(PROFILE.replace("Too small", "[/docs] [red]"))
    main(["reproduce", "tmaze", "--profile", str(path), "--dry-run"])
    assert "[/docs] [red]" in capsys.readouterr().out
    written = _page.WrittenReport(Path("a[/b].html"), {}, ())
    monkeypatch.setattr(report, "write_report", lambda study, out: written)
    main(["report", str(tmp_path)])
    assert "a[/b].html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["outcome"], "Did you mean 'outcomes'"),
        (["outcomes", "--where", "lenght = 1"], '"lenght" not found'),
        (["outcomes", "--where", "cell ="], "Parser Error"),
        (["outcomes", "--where", "1 = 1; drop table x"], "Parser Error"),
        (["outcomes", "--where", "length = 'long'"], "Conversion Error"),
        (["outcomes", "--where", "1 = 1) ; attach 'x.db'; from (select 1"], "Parser Error"),
        (["outcomes", "--group-by", "sell"], "Did you mean 'cell'"),
        (["outcomes", "--format", "xls"], "unknown format"),
        (["outcomes", "--format", "parquet"], "--out"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(arguments, message, study, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit) as stop:
        main(["results", str(study), *arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "source",
    [
        "read_text('{}')",
        "read_blob('{}')",
        "read_csv('{}')",
        "read_json('{}')",
        "read_parquet('{}')",
        "parquet_metadata('{}')",
        "sniff_csv('{}')",
        "glob('{}')",
        "query('from read_text(''{}'')')",
        "'{}'",
    ],
)
def test_a_condition_reads_no_file(source, study, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    secret = tmp_path / "secret.csv"
    secret.write_text("key\nhunter2\n")
    condition = f"exists (from {source.format(secret)})"
    with pytest.raises(SystemExit) as stop:
        main(["results", str(study), "outcomes", "--where", condition])
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert "--where = " in told
    assert "hunter2" not in told
    if "(" in source:
        assert "a condition can use the columns of the table, and no files" in told


LEAVE = """
import os
import runpy

reading, writing = os.pipe()
os.close(reading)
os.dup2(writing, 1)
runpy.run_module("remanence", run_name="__main__")
"""


def test_a_reader_who_leaves_is_no_error(study, nursery, tmp_path):
    command = ("-c", LEAVE, "results", str(study), "--format", "csv")
    ended = nursery.start(*command, log=tmp_path / "log")
    assert ended.wait() == 128 + signal.SIGPIPE
    assert ended.stderr == ""


def test_no_worker_is_refused_before_anything_is_written(tmp_path, capsys):
    out = tmp_path / "study"
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "tmaze", "--out", str(out), "--workers", "0"])
    assert stop.value.code == 2
    assert "--workers = 0" in capsys.readouterr().err
    assert not out.exists()


def test_variants_are_shown_where_there_are_any(tmp_path, study, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    main(["results", str(study)])
    assert "variant" not in capsys.readouterr().out
    path = write_study(tmp_path, PROFILE + WIDER)
    main(["results", str(path)])
    titles, *rows = capsys.readouterr().out.splitlines()
    assert titles.split()[:4] == ["preset", "network", "cell", "variant"]
    assert [row.split()[2:4] for row in rows] == [["bmru", "2"], ["bmru", "wider"], ["gru", "2"]]
    main(["results", str(study), "stability", "--format", "csv"])
    assert {row["variant"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))} == {""}
    main(["status", str(path), "--json"])
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert [job["variant"] for job in jobs.values()] == ["", "", "wider"]


def test_variants_are_compared(tmp_path, study, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    main(["compare", str(study)])
    assert "variant" not in capsys.readouterr().out
    main(["compare", str(write_study(tmp_path, PROFILE + WIDER))])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["variant", "wider"] in lines
