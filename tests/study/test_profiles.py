import dataclasses
import itertools
import json

import pytest

from remanence import envs
from remanence.cli._options import parse_options
from remanence.errors import RemanenceError
from remanence.study import Study, StudyDirectory, estimate, list_profiles, load_profile
from remanence.training import get_preset
from tests.study.studies import PROFILE, PROFILES, WIDER, load_tiny


def count_agents(study: Study) -> int:
    return sum(len(job.seeds) for job in study.jobs)


@pytest.mark.parametrize("profile", list_profiles("tmaze", PROFILES))
def test_profiles_reach_from_2_to_a_million_and_survive_json(profile):
    study = load_profile("tmaze", profile, PROFILES)
    assert (study.name, study.profile) == ("tmaze", profile)
    assert study.note
    for job in study.jobs:
        brief = (profile, job.network) == ("laptop", "deep-mingru")
        assert (min(job.lengths), max(job.lengths)) == (2, 10**4 if brief else 10**6)
        assert 100 in job.lengths
    assert Study.from_json(json.loads(json.dumps(study.to_json()))) == study


def test_the_paper_s_study_is_the_paper_s():
    study = load_profile("tmaze", "paper", PROFILES)
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for job in study.jobs:
        seeds.setdefault((job.preset, job.network, job.cell), []).extend(job.seeds)
        assert job.make_config().num_iterations == 250
        # Without normalised advantages, deep networks keep what they learn in short mazes.
        deep_short = (job.preset, job.network) == ("tmaze-short", "deep-mingru")
        chosen = get_preset(job.preset).choose(job.cell, {})
        assert dict(job.changes) == chosen | ({"normalize_advantages": False} if deep_short else {})
    models = [("small", cell) for cell in ("gru", "brc", "nbrc", "mingru", "bmru")]
    models.append(("deep-mingru", "mingru"))
    assert seeds.keys() == {
        (preset, *model) for preset in ("tmaze-short", "tmaze-long") for model in models
    }
    assert all(found == list(range(1, 31)) for found in seeds.values())
    ids = [job.id for job in study.jobs]
    assert ids[0] == "tmaze-short-gru-s1-10"
    assert ids[-1] == "tmaze-long-deep-mingru-s29-30"


def list_agents(jobs):
    """What is asked of each agent, however agents are shared out among jobs."""
    return {dataclasses.replace(job, id="any", seeds=(seed,)) for job in jobs for seed in job.seeds}


def test_the_laptop_s_study_is_the_paper_s_for_small_networks():
    laptop, paper = (load_profile("tmaze", name, PROFILES) for name in ("laptop", "paper"))
    small, deep = laptop.jobs[:-1], laptop.jobs[-1]
    assert list_agents(small) == list_agents(job for job in paper.jobs if job.network == "small")
    assert (deep.id, deep.budget) == ("tmaze-short-deep-mingru", 100_000)
    # Else small and deep networks could not be compared.
    assert set(deep.lengths) < set(small[0].lengths)


def test_estimates_grow_with_what_is_to_be_done():
    costs = [
        estimate(load_profile("tmaze", name, PROFILES).jobs, num_cores=2)
        for name in ("smoke", "laptop", "paper")
    ]
    for less, more in itertools.pairwise(costs):
        assert less.seconds < more.seconds
        assert less.disk_bytes < more.disk_bytes
    job = load_profile("tmaze", "smoke", PROFILES).jobs[0]
    small = dataclasses.replace(job, changes={"num_envs": 2})
    assert estimate([small], num_cores=2).seconds < estimate([job], num_cores=2).seconds
    assert estimate([job], num_cores=4).seconds < estimate([job], num_cores=2).seconds
    # Jobs that run at the same time share the cores, so that one alone takes as long as two.
    alone, shared = (estimate([job], number, num_cores=2).seconds for number in (1, 2))
    assert shared > alone
    assert estimate([job, job], 2, num_cores=2).seconds == pytest.approx(shared)
    # There is no more to share than there is.
    assert estimate([job] * 9, 9, num_cores=2) == estimate([job] * 9, 2, num_cores=2)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"gru"', '"gruu"', "Did you mean 'gru'"),
        ('"tmaze-short"', '"tmaze-shirt"', "Did you mean 'tmaze-short'"),
        (
            "num_iterations = 3",
            'num_iterations = 3\nstages = ["certified"]',
            "Did you mean 'certify'",
        ),
        ("num_envs = 4", "num_env = 4", "Did you mean 'num_envs'"),
        ("num_envs = 4", "num_iterations = 4", "a key of its own"),
        ("num_envs = 4", "lenght = [1, 5]", "Did you mean 'length'"),
        ("num_envs = 4", "length = [5, 1]", "length = (5, 1)"),
        ("num_envs = 4", "dropout = 1.5", "dropout = 1.5"),
        # One of its cells does not have it.
        (
            "num_envs = 4",
            "surrogate_width = 2",
            "it is an option of bmru and hybrid, and the cell is",
        ),
        ("changes = {", "changes = 3 # {", "give a table of options"),
        ("num_iterations = 3", "num_iterations = 0", "num_iterations = 0"),
        ("num_iterations = 3", "", "num_iterations = None"),
        ("num_iterations = 3", "iterations = 3", "Did you mean 'num_iterations'"),
        ("[1, 2]", "[1, 1]", "each one once"),
        ("[1, 2]", "{ first = 2, last = 1 }", "must not exceed"),
        ("[1, 2]", '"1-2"', "a list of numbers or a table of first, last"),
        ("[1, 2]", "{ first = 1, last = 2000000000 }", "at most 100,000 are possible"),
        ("[1, 2]", "{ first = 1, last = 99999999999999999999 }", "last = 99999999999999999999"),
        ("[2, 100]", "{ shortest = 2, longest = 99999999999999999999 }", "from 1 to 100,000,000"),
        ("num_iterations = 3", "num_iterations = 3\nbudget = 9999999999", "budget = 9999999999"),
        ("num_iterations = 3", "num_iterations = 0", "mine.toml"),
        ("[1, 2]", "[]", "seeds = []"),
        ("[1, 2]", "[2147483648]", "from 0 to 2,147,483,647"),
        ("[2, 100]", "[0]", "from 1 to 100,000,000"),
        ("[2, 100]", "[100000001]", "from 1 to 100,000,000"),
        ('name = "tmaze"', 'name = "mine"', "is a study called mine"),
        ("num_iterations = 3", "num_iterations = 3\nbudget = 0", "budget = 0"),
        ("num_iterations = 3", "num_iterations = 3\nlengths = [0]", "lengths = [0]"),
        ("[2, 100]", '{ shortest = "2", longest = 3 }', "shortest = '2'"),
        ("[2, 100]", '{ shortest = 2, longest = 3, also = "4" }', "also = '4'"),
        ("[2, 100]", '{ shortest = 2, longest = 3, also = ["4"] }', "a list of whole numbers"),
        ("[2, 100]", "{ shortest = true, longest = 3 }", "shortest = True"),
        ("[2, 100]", "{ shortest = 2, longest = 3, per_decade = 0 }", "per_decade = 0"),
        ("num_iterations = 3", "num_iterations = 3\nseeds_per_job = true", "seeds_per_job = True"),
        ('"tiny"', "3", "profile = 3"),
        ('["gru", "bmru"]', '[["gru"]]', "give a list of names"),
        ('["gru", "bmru"]', '"gru"', "give a list"),
        ('["gru", "bmru"]', '["gru", "gru"]', "seed 1 is given 2 times"),
        (
            '["gru", "bmru"]',
            '["hybrid"]',
            "state_size = 5 is not possible: a hybrid's must be even",
        ),
        ("num_envs = 4", "num_envs = 99999999999", "num_envs = 99999999999"),
        ("num_steps = 16", "num_steps = 500000000", "one rollout takes at least"),
        ('"tiny"', "tiny", "this is not TOML"),
    ],
)
def test_a_mistake_in_a_file_is_told(old, new, message, tmp_path):
    assert old in PROFILE
    path = tmp_path / "mine.toml"
    path.write_text(PROFILE.replace(old, new))
    with pytest.raises(RemanenceError) as told:
        load_profile("tmaze", str(path))
    assert message in str(told.value)


def test_what_an_environment_is_fit_for_is_asked_unless_said(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PROFILE.replace("tmaze-short", "lookup-tree-maze"))
    assert {job.stages for job in load_profile("tmaze", str(path)).jobs} == {
        ("evaluate", "stability")
    }
    path.write_text('stages = ["certify"]\n' + path.read_text())
    with pytest.raises(RemanenceError, match="does not support it; leave it out"):
        load_profile("tmaze", str(path))


def test_an_agent_that_two_trainings_share_is_told(tmp_path):
    # Under different names, as one of them is cut into batches.
    training = PROFILE[PROFILE.index("[[trainings]]") :]
    path = tmp_path / "mine.toml"
    path.write_text(f"{PROFILE}\n{training}seeds_per_job = 1\n")
    with pytest.raises(RemanenceError, match="seed 1 is given 2 times"):
        load_profile("tmaze", str(path))


def test_models_are_told_apart_by_network_and_cell():
    job = load_profile("tmaze", "laptop", PROFILES).jobs[-1]
    assert (job.network, job.cell, job.model) == ("deep-mingru", "mingru", "deep-mingru")
    assert dataclasses.replace(job, cell="gru").model == "deep-mingru-gru"
    assert dataclasses.replace(job, network="tmaze").model == "mingru"


def test_two_jobs_of_one_name_are_told(tmp_path):
    training = PROFILE[PROFILE.index("[[trainings]]") :].replace("[1, 2]", "[3, 4]")
    path = tmp_path / "mine.toml"
    path.write_text(f"{PROFILE}\n{training}")
    with pytest.raises(RemanenceError, match="several jobs would have this name"):
        load_profile("tmaze", str(path))


@pytest.mark.parametrize(
    ("study", "profile", "message"),
    [
        ("tmase", "smoke", "give a TOML file"),
        ("tmaze", "laptob", "Did you mean 'laptop'"),
        ("tmaze", "nowhere.toml", "cannot be read"),
    ],
)
def test_an_unknown_name_is_told(study, profile, message):
    with pytest.raises(RemanenceError) as told:
        load_profile(study, profile, PROFILES)
    assert message in str(told.value)


def test_a_file_changes_what_the_command_line_changes(tmp_path):
    changes = """{ table_size = 3, index_encoding = "one-hot", length = [1, 2], dropout = 0.0,
        time_limit_factor = "none", surrogate_width = 2.0, num_envs = 8 }""".replace("\n", "")
    path = tmp_path / "mine.toml"
    path.write_text(
        PROFILE.replace('"tmaze-short"', '"lookup-tree"')
        .replace('["gru", "bmru"]', '["bmru", "hybrid"]')
        .replace("{ num_envs = 4, num_steps = 16, policy_epochs = 1, value_epochs = 1 }", changes)
        .replace("num_iterations = 3", 'num_iterations = 3\nstages = ["evaluate"]')
    )
    study = load_profile("tmaze", str(path))
    typed = ["table_size=3", "index_encoding=one-hot", "length=1:2", "dropout=0.0", "num_envs=8"]
    typed += ["time_limit_factor=none", "surrogate_width=2.0", "num_iterations=3"]
    for job in study.jobs:
        env, network, config = get_preset("lookup-tree").set_up(job.cell, parse_options(typed))
        assert envs.describe(*job.make_environment()) == envs.describe(*env)
        assert (job.make_architecture(), job.make_config()) == (network, config)
        assert job.list_changes() == parse_options(typed)
    assert Study.from_json(json.loads(json.dumps(study.to_json()))) == study


def test_variants_are_arms_of_one_study(tmp_path):
    study = load_tiny(tmp_path, PROFILE + WIDER.replace("[1, 2]", "[1, 2]\nseeds_per_job = 1"))
    assert [(job.id, job.variant) for job in study.jobs] == [
        ("tmaze-short-gru", ""),
        ("tmaze-short-bmru", ""),
        ("tmaze-short-bmru-wider-s1-1", "wider"),
        ("tmaze-short-bmru-wider-s2-2", "wider"),
    ]
    assert study.jobs[1].model == study.jobs[2].model == "bmru"
    assert study.jobs[2].make_architecture().cell_options == (("surrogate_width", 2),)
    assert Study.from_json(json.loads(json.dumps(study.to_json()))) == study


GOES_ON = "goes-on = { time_limit_ends = false }"
BOTH = 'both = ["goes-on", "free"]'
VARIANTS = """
[variants]
goes-on = { time_limit_ends = false }
free = { time_limit_factor = "none", num_envs = 2 }
both = ["goes-on", "free"]
"""


def test_every_training_is_multiplied_by_the_variants_of_its_study(tmp_path):
    study = load_tiny(tmp_path, PROFILE + WIDER + VARIANTS)
    found = {(job.cell, job.variant): job for job in study.jobs}
    arms = ("", "goes-on", "free", "both")
    # One that names its variant stands in that alone.
    assert found.keys() == {(it, arm) for it in ("gru", "bmru") for arm in arms} | {
        ("bmru", "wider")
    }
    for cell in ("gru", "bmru"):
        usual, goes_on, free, both = (found[cell, arm].make_config() for arm in arms)
        assert goes_on == dataclasses.replace(usual, time_limit_ends=False)
        assert free == dataclasses.replace(usual, num_envs=2)
        assert both == dataclasses.replace(free, time_limit_ends=False)
        environment, params = found[cell, "both"].make_environment()
        assert environment.time_limit(params) is None
    assert found["gru", "both"].id == "tmaze-short-gru-both"
    assert Study.from_json(json.loads(json.dumps(study.to_json()))) == study


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\ngoes-on =", '\n"" =', "the main arm has no name"),
        ("\ngoes-on =", "\nGoes-on =", "variant = 'Goes-on'"),
        ('["goes-on", "free"]', '["goes-on", "fre"]', "Did you mean 'free'"),
        ('["goes-on", "free"]', '["goes-on"]', "a list of two or more variants"),
        ('["goes-on", "free"]', "3", "give a table of options, or a list"),
        ("num_envs = 2", "time_limit_ends = true", "two of them change time_limit_ends"),
        ("time_limit_ends", "time_limit_end", "Did you mean 'time_limit_ends'"),
        ("{ time_limit_ends = false }", "{}", "the main arm has the same changes"),
        ("{ time_limit_ends = false }", "{ time_limit_ends = true }", "has the same changes"),
    ],
)
def test_a_mistake_in_the_variants_is_told(old, new, message, tmp_path):
    assert old in VARIANTS
    with pytest.raises(RemanenceError) as told:
        load_tiny(tmp_path, PROFILE + VARIANTS.replace(old, new))
    assert message in str(told.value)


def test_sampled_agents_may_be_evaluated_at_lengths_of_their_own(tmp_path):
    own = "sampled_lengths = [2]\n"
    assert own in PROFILE
    text = PROFILE.replace(own, own.replace("2", "3"))
    job = load_tiny(tmp_path, text).jobs[0]
    assert (job.list_lengths(), job.list_lengths(sampled=True)) == ((2, 100), (3,))
    shared = load_tiny(tmp_path, PROFILE.replace(own, ""))
    assert shared.jobs[0].list_lengths(sampled=True) == (2, 100)
    with pytest.raises(RemanenceError, match="sampled_lengths = "):
        load_tiny(tmp_path, text.replace("[3]", "[0]"))


def test_the_study_of_choices_changes_one_thing_at_a_time():
    study = load_profile("tmaze", "choices", PROFILES)
    arms: dict[str, set[tuple[str, str]]] = {}
    changes: dict[str, dict] = {}
    for job in study.jobs:
        assert job.seeds == tuple(range(1, 11))
        assert job.make_config().num_iterations == 250
        arms.setdefault(job.variant, set()).add((job.preset, job.cell))
        changes[job.variant] = dict(job.changes)
    cells = ("gru", "brc", "nbrc", "mingru", "bmru")
    every = {(preset, cell) for preset in ("tmaze-short", "tmaze-long") for cell in cells}
    assert all(found == every for found in arms.values())
    base = changes.pop("")
    assert base == {"time_limit_ends": False, "initialization": "xavier"}
    differences = [dict(it.items() - base.items()) for it in changes.values()]
    single = [it for it in differences if len(it) == 1]
    varied = {"time_limit_ends", "time_limit_factor", "normalize_advantages", "initialization"}
    assert {name for it in single for name in it} == varied
    combined = [it for it in differences if it not in single]
    assert combined
    assert all({name: it[name]} in single for it in combined for name in it)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"wider"', "2", "variant = 2"),
        ('"wider"', '"../wider"', "variant = '../wider' is not possible: use 1 to 40 lower-case"),
        ('"wider"', '"Wider"', "variant = 'Wider'"),
        ('"wider"', f'"{"w" * 41}"', "use 1 to 40"),
        ('"wider"', '""', "seed 1 is given 2 times; name a variant"),
        ("variant =", "variants =", "Did you mean 'variant'"),
        ("surrogate_width =", "surrogate_with =", "Did you mean 'surrogate_width'"),
        (
            ", surrogate_width = 2",
            "",
            "variant = 'wider' is not possible: the main arm has the same",
        ),
        # Another arm of the same name, or the same arm under another name.
        (
            "",
            WIDER.replace("[1, 2]", "[3, 4]\nseeds_per_job = 1").replace("= 2 }", "= 3 }"),
            "and {",
        ),
        ("", WIDER.replace("wider", "broader"), "the variant 'broader' has the same changes"),
    ],
)
def test_a_mistake_in_a_variant_is_told(old, new, message, tmp_path):
    arm = WIDER.replace(old, new) if old else WIDER + new
    assert arm != WIDER
    with pytest.raises(RemanenceError) as told:
        load_tiny(tmp_path, PROFILE + arm)
    assert message in str(told.value)


def test_a_study_has_a_main_arm(tmp_path):
    head = PROFILE[: PROFILE.index("[[trainings]]")]
    with pytest.raises(RemanenceError, match="figures and claims are about the main arm"):
        load_tiny(tmp_path, head + WIDER)


def test_a_study_whose_changes_have_lists_can_be_taken_up_again(tmp_path):
    nested = "num_envs = 4, length = [1, 5], cell_options = { surrogate = 'box' }"
    lists = PROFILE.replace("num_envs = 4", nested).replace('"gru", ', "")
    study = load_tiny(tmp_path, lists)
    for _ in range(2):
        StudyDirectory(tmp_path / "study").begin(study)
    assert StudyDirectory(tmp_path / "study").read_study() == study
    assert json.loads(json.dumps(study.to_json())) == study.to_json()


def test_a_variant_can_be_added_to_a_study_that_was_begun_and_none_taken_away(tmp_path):
    directory = StudyDirectory(tmp_path / "study")
    few = load_tiny(tmp_path, PROFILE + VARIANTS.replace(BOTH, ""))
    many = load_tiny(tmp_path, PROFILE + VARIANTS)
    directory.begin(few)
    begun = directory.begin(many)
    assert begun.jobs[: len(few.jobs)] == few.jobs
    assert {job.id: job for job in begun.jobs} == {job.id: job for job in many.jobs}
    assert directory.begin(many) == directory.read_study() == begun
    with pytest.raises(RemanenceError, match="a different study was started here"):
        directory.begin(few)


def test_a_study_goes_on_with_what_presets_chose_when_it_was_begun(tmp_path):
    """A plan of an earlier version names no choices, because there were none."""
    asked = load_tiny(tmp_path, PROFILE)
    assert all(dict(job.changes)["time_limit_ends"] for job in asked.jobs)
    directory, older = StudyDirectory(tmp_path / "study"), []
    for job in asked.jobs:
        changes = dict(job.changes)
        del changes["time_limit_ends"], changes["initialization"]
        older.append(dataclasses.replace(job, changes=changes))
    directory.begin(dataclasses.replace(asked, jobs=older))
    assert directory.begin(asked).jobs == tuple(older)
    config = directory.read_study().jobs[0].make_config()
    assert (config.time_limit_ends, config.initialization) == (False, "xavier")
    # What is added to it is like it.
    text = PROFILE + VARIANTS.replace(GOES_ON, "").replace(BOTH, "")
    added = [job for job in directory.begin(load_tiny(tmp_path, text)).jobs if job.variant]
    assert {job.variant for job in added} == {"free"}
    assert not any(
        {"time_limit_ends", "initialization"} & dict(job.changes).keys() for job in added
    )


def test_lengths_for_sampled_actions_can_be_chosen_until_they_are_asked_for(tmp_path):
    directory = StudyDirectory(tmp_path / "study")
    plain = load_tiny(tmp_path, PROFILE)
    sampled = [
        dataclasses.replace(it, stages=(*it.stages, "sample"), sampled_lengths=(2, 3))
        for it in plain.jobs
    ]
    directory.begin(plain)
    assert directory.begin(dataclasses.replace(plain, jobs=sampled)).jobs == tuple(sampled)
    others = [dataclasses.replace(it, sampled_lengths=(2, 4)) for it in sampled]
    with pytest.raises(RemanenceError, match="sampled_lengths"):
        directory.begin(dataclasses.replace(plain, jobs=others))
