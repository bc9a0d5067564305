"""The sizes of the LookupTreeMaze study."""

import dataclasses
import functools
import json

import pytest

from remanence.cli import main
from remanence.report import find_experiment
from remanence.study import (
    Study,
    StudyDirectory,
    estimate,
    list_entries,
    list_profiles,
    load_profile,
)
from remanence.training import get_preset

PROFILES = find_experiment("lookup-tree").profiles
CELLS = ["gru", "brc", "nbrc", "mingru", "bmru", "hybrid"]
NUMBERS = (10, 100, 1_000, 10_000)


@functools.cache  # every job of the paper's is checked
def load(profile: str) -> Study:
    return load_profile("lookup-tree", profile, PROFILES)


def get_task(job):
    environment, _ = job.make_environment()
    return environment.table_size, environment.index_encoding


def test_what_grows_is_known_of_a_study_without_its_runs(tmp_path):
    StudyDirectory(tmp_path).begin(load("laptop"))
    assert {entry.about["growth"]["name"] for entry in list_entries(tmp_path)} == {"num_mazes"}


def test_there_are_four_sizes_and_three_studies_of_options():
    assert list_profiles("lookup-tree", PROFILES) == [
        *("laptop", "lasting", "letter", "near", "paper", "slips", "smoke")
    ]


def test_near_credit_is_the_lasting_study_but_for_what_it_names():
    lasting = {job.cell: job for job in load("lasting").jobs if not job.variant}
    named = {"discount": 0.9, "advantage_decay": 0.9}
    for job in load("near").jobs:
        same = lasting[job.cell]
        assert (job.seeds, job.num_iterations) == (same.seeds, same.num_iterations)
        other = {
            "": named,
            "narrowing": named | {"surrogate_width": 1.0, "surrogate_narrowing": 10},
            "margin": named | {"hold_margin": 0.1},
        }[job.variant]
        assert dict(job.changes) == dict(same.changes) | other
        assert {"sample", "stability"} <= set(job.stages)


def test_slips_are_near_credit_with_a_margin_but_for_what_they_name():
    near = {job.cell: job for job in load("near").jobs if not job.variant}
    for job in load("slips").jobs:
        same, slip = near[job.cell], {"slip": 0.6} if job.variant else {}
        assert (job.seeds, job.num_iterations) == (same.seeds, same.num_iterations)
        assert dict(job.changes) == dict(same.changes) | {"hold_margin": 0.1} | slip


@pytest.mark.parametrize("profile", ["laptop", "lasting", "letter", "paper", "smoke"])
def test_profiles_ask_for_all_that_figures_need_and_survive_json(profile):
    study = load(profile)
    assert (study.name, study.profile) == ("lookup-tree", profile)
    assert study.note
    for job in study.jobs:
        assert job.stages == ("evaluate", "sample", "stability", "losses", "certify-mazes")
        assert job.lengths == (NUMBERS[:2] if profile == "smoke" else NUMBERS)
        assert job.id.startswith(f"lookup-tree-{job.cell}")
        # Learning rates reach 0 with the last iteration.
        config = job.make_config()
        assert config.anneal_iterations == config.num_iterations
    assert Study.from_json(json.loads(json.dumps(study.to_json()))) == study


def test_the_paper_s_study_is_the_paper_s():
    study = load("paper")
    seeds: dict[str, list[int]] = {}
    for job in study.jobs:
        seeds.setdefault(job.cell, []).extend(job.seeds)
        assert not job.changes
        assert job.make_config() == get_preset("lookup-tree").config
    assert seeds == {cell: list(range(1, 31)) for cell in CELLS}


@pytest.mark.parametrize(
    ("profile", "task"), [("laptop", (3, "one-hot")), ("letter", (4, "scalar"))]
)
def test_the_smaller_studies_have_every_cell_and_the_paper_s_step_beside_it(profile, task):
    study = load(profile)
    main = [job for job in study.jobs if not job.variant]
    others = [job for job in study.jobs if job.variant]
    assert sorted(job.cell for job in main) == sorted(CELLS)
    assert [job.cell for job in others] == ["mingru", "bmru", "hybrid"]
    assert {job.variant for job in others} == {"paper-step"}
    assert {get_task(job) for job in study.jobs} == {task}
    assert all(job.seeds == tuple(range(1, 11)) for job in main)
    paper = get_preset("lookup-tree").config
    for job in others:
        (same,) = [it for it in main if it.cell == job.cell]
        assert set(job.seeds) <= set(same.seeds)
        # The arms differ in one number, which is the paper's in the variant.
        assert dict(job.changes).items() - dict(same.changes).items() == {
            ("policy_learning_rate", paper.policy_learning_rate)
        }


def test_cells_cost_what_was_measured_of_them():
    """With 128 environments an iteration of a GRU takes 6.9 s of a core, of a minGRU 2.7."""
    jobs = {job.cell: job for job in load("letter").jobs if not job.variant}
    for cell, seconds in {"gru": 6.9, "mingru": 2.7}.items():
        shorter = dataclasses.replace(jobs[cell], num_iterations=79)
        gap = estimate([jobs[cell]], num_cores=1).seconds - estimate([shorter], num_cores=1).seconds
        assert gap == pytest.approx(seconds * len(jobs[cell].seeds))


def test_evaluations_cost_by_the_number_of_mazes():
    job = load("laptop").jobs[0]
    fewer = dataclasses.replace(job, lengths=NUMBERS[:2])
    gap = estimate([job], num_cores=1).seconds - estimate([fewer], num_cores=1).seconds
    assert gap == pytest.approx(0.003 * 11_000 * len(job.seeds))


def test_a_study_that_mixes_tasks_is_refused_before_it_is_trained(tmp_path, capsys):
    both = "\n".join(
        f"""[[trainings]]
        presets = ["lookup-tree"]
        cells = ["{cell}"]
        seeds = [1]
        num_iterations = 1
        changes = {{ index_encoding = "{encoding}" }}"""
        for cell, encoding in (("gru", "scalar"), ("bmru", "one-hot"))
    )
    file, out = tmp_path / "mixed.toml", tmp_path / "out"
    file.write_text(f'name = "lookup-tree"\nprofile = "mixed"\nlengths = [10]\n{both}')
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "lookup-tree", "--profile", str(file), "--out", str(out)])
    assert ended.value.code == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "runs of different tasks cannot be pooled" in told
    assert not out.exists()
