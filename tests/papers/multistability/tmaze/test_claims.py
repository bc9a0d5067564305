"""Verdicts on small tables that were made by hand."""

import numpy as np
import pytest

from remanence.papers.multistability.tmaze._tables import MODEL_COLUMNS, derive_tables
from remanence.papers.multistability.tmaze.claims import CLAIMS, SECTIONS
from remanence.report import AGREES, DISAGREES, UNTESTED, judge_claims, read_records
from tests.report.stores import write_study

MODEL = {
    "job": "job",
    "preset": "tmaze-short",
    "model": "gru",
    "cell": "gru",
    "variant": "",
    "parallelizable": False,
    "num_iterations": 250,
    "seed": 0,
    "stability": "bistable",
    "vaa": 1.0,
    "vaa_limit": 1.0,
    "length": 100,
    "outcome": "solved",
    "longest": 10**6,
    "outcome_longest": "solved",
    "return_longest": 4.0,
    "trained_low": 1.0,
    "trained_high": 3.0,
    "learned": True,
    "solves_shorter": "yes",
    "solves_longer": "yes",
    "lasting": "yes",
    "last_miss": 0.0,
    "transient": 10.0,
}
FAILS = {
    "outcome": "random",
    "outcome_longest": "random",
    "return_longest": 1.95,
    "solves_longer": "no",
    "lasting": "no",
}
MISSES = {"solves_shorter": "no", "lasting": "no", "last_miss": 10.0}
MONOSTABLE = {"stability": "monostable", "vaa": 0.5}
LONG = {"preset": "tmaze-long"}
LINEAR = {"parallelizable": True}
MINGRU = LINEAR | MONOSTABLE | FAILS | {"model": "mingru", "cell": "mingru"}
DEEP = MINGRU | {"model": "deep-mingru"}
BMRU = LINEAR | {"model": "bmru", "cell": "bmru", "transient": 1.0}
KINDS = (MINGRU, DEEP, BMRU)
LONG_KINDS = tuple(kind | LONG for kind in KINDS)
EARLY = {"mingru": 2.0, "deep-mingru": 2.9}  # return at length 10
UNABLE = {"learned": False}
TIMES_OUT = {"outcome": "timeout", "outcome_longest": "timeout", "return_longest": 0.0}


def make_tables(*groups, curves=None):
    """Tables of models, each group as (number, changes to MODEL), and of curves if given."""
    rows = [MODEL | changes for number, changes in groups for _ in range(number)]
    rows = [row | {"seed": seed} for seed, row in enumerate(rows)]
    assert set(MODEL) == set(MODEL_COLUMNS)
    models = {name: np.array([row[name] for row in rows]) for name in MODEL}
    return {
        "models": models,
        "outcomes": make_outcomes(rows),
        "curves": make_curves(**(curves or {})),
    }


def make_outcomes(rows):
    """Returns at length 10 and at the longest; 4 is what solving gives."""
    found = [
        (row["job"], row["seed"], length, value, "solved" if value == 4 else "random")
        for row in rows
        for length, value in (
            (2, 4.0),
            (10, row.get("early", EARLY.get(row["model"], 4.0))),
            (row["longest"], row["return_longest"]),
        )
    ]
    names = ("job", "seed", "length", "return", "outcome")
    return {name: np.array([row[index] for row in found]) for index, name in enumerate(names)}


def make_curves(starts=None, **ends):
    """Curves for each training, that rise at once from its start to the given returns.

    They belong to the models of `make_tables`, in their order.
    """
    starts = starts or {}
    agents = [(preset, end) for preset, returns in ends.items() for end in returns]
    rows = [
        (preset.replace("_", "-"), seed, iteration, end if iteration > 2 else starts.get(preset, 0))
        for seed, (preset, end) in enumerate(agents)
        for iteration in range(1, 21)
    ]
    names = ("preset", "seed", "iteration", "return")
    columns = {name: np.array([row[index] for row in rows]) for index, name in enumerate(names)}
    same = {"job": "job", "model": "gru", "parallelizable": False}
    same |= {"num_iterations": 20, "finished": True}
    return columns | {name: np.full(len(rows), value) for name, value in same.items()}


LATE = {"last_miss": 11.0}
SLOW = {"transient": 30.0}
OPEN = {"transient": np.inf}
UNSEEN = {"transient": np.nan}
NONLINEAR = tuple({"model": cell, "cell": cell} for cell in ("gru", "brc", "nbrc"))


def of_each(*groups):
    """So many models of each nonlinear cell."""
    return [(number, cell | changes) for cell in NONLINEAR for number, changes in groups]


CASES = [
    ("correlation", [(6, {}), (6, MONOSTABLE | FAILS)], AGREES),
    ("correlation", [(6, {}), (6, MONOSTABLE)], DISAGREES),
    ("correlation", [(6, FAILS), (6, MONOSTABLE)], DISAGREES),
    ("correlation", [(6, {}), (4, MONOSTABLE | FAILS)], UNTESTED),
    ("monostable-fail", [(6, MONOSTABLE | FAILS)], AGREES),
    ("monostable-fail", [(9, MONOSTABLE | FAILS), (1, MONOSTABLE)], DISAGREES),
    ("monostable-fail", [(4, MONOSTABLE | FAILS)], UNTESTED),
    ("bistable-solve", [(4, {}), (3, FAILS)], AGREES),
    ("bistable-solve", [(3, {}), (3, FAILS)], DISAGREES),
    ("necessary", [(6, MONOSTABLE | FAILS), (2, {})], AGREES),
    ("necessary", [(6, MONOSTABLE)], DISAGREES),
    ("two-ways", [(3, LONG), (3, LONG | MONOSTABLE | SLOW), (5, MONOSTABLE)], AGREES),
    ("two-ways", [(3, LONG), (3, LONG | MONOSTABLE), (5, MONOSTABLE)], DISAGREES),
    ("two-ways", [(6, LONG | MONOSTABLE | SLOW), (5, MONOSTABLE)], DISAGREES),
    ("two-ways", [(6, LONG), (6, LONG | MONOSTABLE | SLOW | FAILS), (5, MONOSTABLE)], DISAGREES),
    ("two-ways", [(6, LONG), (6, LONG | MONOSTABLE | SLOW)], UNTESTED),
    ("two-ways", [(3, LONG), (3, LONG | MONOSTABLE | OPEN), (5, MONOSTABLE | OPEN)], UNTESTED),
    ("two-ways", [(3, LONG | UNSEEN), (3, LONG | MONOSTABLE | UNSEEN), (5, UNSEEN)], UNTESTED),
    ("fewer-bistable", [(6, {}), (3, LONG), (3, LONG | MONOSTABLE)], AGREES),
    ("fewer-bistable", [(3, {}), (3, MONOSTABLE), (6, LONG)], DISAGREES),
    (
        "bistable-counts",
        of_each((19, {}), (11, MONOSTABLE), (12, LONG), (18, LONG | MONOSTABLE)),
        AGREES,
    ),
    ("bistable-counts", of_each((30, {}), (12, LONG), (18, LONG | MONOSTABLE)), DISAGREES),
    # Either count may be chance, and both are not.
    (
        "bistable-counts",
        of_each((22, {}), (8, MONOSTABLE), (16, LONG), (14, LONG | MONOSTABLE)),
        AGREES,
    ),
    (
        "bistable-counts",
        of_each((23, {}), (7, MONOSTABLE), (17, LONG), (13, LONG | MONOSTABLE)),
        DISAGREES,
    ),
    (
        "bistable-counts",
        [
            *of_each((19, {}), (11, MONOSTABLE), (12, LONG), (18, LONG | MONOSTABLE)),
            (60, {"model": "lstm", "cell": "lstm"}),
        ],
        AGREES,
    ),
    ("bistable-counts", of_each((19, {}), (10, MONOSTABLE), (40, LONG)), UNTESTED),
    ("bistable-counts", [(57, {}), (33, MONOSTABLE), (90, LONG)], UNTESTED),
    ("fewer-bistable", [(3, {}), (9, {"stability": ""}), (6, LONG)], UNTESTED),
    ("sufficient", [(9, {}), (1, {"lasting": "no"}), (9, UNABLE)], AGREES),
    ("sufficient", [(9, {}), (9, LONG | MISSES)], AGREES),
    ("sufficient", [(6, {}), (1, {"lasting": "no"})], DISAGREES),
    ("sufficient", [(6, {"lasting": ""})], UNTESTED),
    ("short-lasting", [(6, {})], AGREES),
    ("short-lasting", [(6, {"outcome_longest": "random"})], DISAGREES),
    ("every-cell", [(5, {"model": it}) for it in ("gru", "brc", "nbrc")], AGREES),
    ("every-cell", [(5, {"model": it}) for it in ("gru", "brc")], UNTESTED),
    ("to-random", [(6, MONOSTABLE | FAILS)], AGREES),
    ("to-random", [(6, MONOSTABLE | FAILS | {"return_longest": 1.5})], DISAGREES),
    ("always-forget", [(6, MONOSTABLE | FAILS)], AGREES),
    ("always-forget", [(6, MONOSTABLE | FAILS), (1, MONOSTABLE | TIMES_OUT)], DISAGREES),
    ("long-monostable", [(6, LONG | MONOSTABLE | FAILS | {"outcome": "solved"})], AGREES),
    ("long-monostable", [(6, LONG | MONOSTABLE | FAILS)], UNTESTED),
    ("long-monostable", [(6, LONG | MONOSTABLE)], DISAGREES),
    ("long-longer", [(6, LONG)], AGREES),
    ("long-longer", [(6, LONG | {"solves_longer": "no"})], DISAGREES),
    ("long-longer", [(6, LONG | {"solves_longer": ""})], UNTESTED),
    ("long-shorter", [(6, LONG | MISSES)], AGREES),
    ("long-shorter", [(6, LONG), (6, LONG | MISSES)], DISAGREES),
    ("not-guaranteed", [(5, LONG), (1, LONG | MISSES)], AGREES),
    ("not-guaranteed", [(5, LONG), (6, LONG | MISSES | {"solves_longer": "no"})], DISAGREES),
    ("misleading-transients", [(4, LONG | MISSES), (3, LONG | MISSES | LATE)], AGREES),
    ("misleading-transients", [(3, LONG | MISSES), (3, LONG | MISSES | LATE)], DISAGREES),
    ("misleading-transients", [(5, LONG | MISSES | {"last_miss": np.inf})], DISAGREES),
    ("misleading-transients", [(9, LONG), (3, LONG | MISSES)], UNTESTED),
    ("slow-transients", [(6, {}), (6, LONG | SLOW)], AGREES),
    ("slow-transients", [(6, {}), (6, LONG | {"transient": 15.0})], DISAGREES),
    ("slow-transients", [(6, {}), (6, LONG | OPEN)], AGREES),
    ("slow-transients", [(6, OPEN), (6, LONG | OPEN)], UNTESTED),
    ("short-better", [(6, {}), (6, LONG | FAILS)], AGREES),
    ("short-better", [(6, {}), (6, LONG)], DISAGREES),
    ("equal-shares", [(15, {}), (15, FAILS), (15, LONG), (15, LONG | FAILS)], AGREES),
    ("equal-shares", [(30, {}), (15, LONG), (15, LONG | FAILS)], DISAGREES),
    ("equal-shares", [(29, {}), (15, LONG), (15, LONG | FAILS)], UNTESTED),
    ("exploration", [(6, {}), (1, LONG), (5, LONG | TIMES_OUT)], AGREES),
    ("exploration", [(6, {}), (4, LONG), (2, LONG | TIMES_OUT)], DISAGREES),
    ("exploration", [(1, {}), (5, TIMES_OUT), (6, LONG)], DISAGREES),
    ("difficulty", [(9, {}), (1, UNABLE), (3, LONG), (7, LONG | UNABLE)], AGREES),
    ("difficulty", [(9, {}), (1, UNABLE), (9, LONG), (1, LONG | UNABLE)], DISAGREES),
    ("difficulty", [(8, {}), (2, UNABLE), (10, LONG | UNABLE)], DISAGREES),
    ("two-mechanisms", [(6, {}), (1, FAILS), (5, FAILS | MONOSTABLE)], AGREES),
    ("two-mechanisms", [(6, {}), (5, FAILS), (1, FAILS | MONOSTABLE)], DISAGREES),
    ("two-mechanisms", [(6, MONOSTABLE), (6, FAILS)], DISAGREES),
    ("two-mechanisms", [(6, {}), (9, TIMES_OUT), (4, FAILS | MONOSTABLE)], UNTESTED),
    ("short-arrive", [(4, FAILS), (2, {"outcome": "timeout"})], AGREES),
    ("short-arrive", [(2, FAILS), (4, {"outcome": "timeout"})], DISAGREES),
    ("halves", [(3, {}), (3, FAILS), (9, {"outcome": "timeout"})], AGREES),
    ("halves", [(6, {}), (1, FAILS)], DISAGREES),
    ("fewer-learn", [(6, BMRU), (6, BMRU | LONG | UNABLE)], AGREES),
    ("fewer-learn", [(6, BMRU), (6, BMRU | LONG)], DISAGREES),
    ("fewer-learn", [(6, BMRU), (6, BMRU | LONG), (9, DEEP | UNABLE)], DISAGREES),
    ("fewer-learn", [(6, DEEP), (6, BMRU | LONG)], UNTESTED),
    (
        "learned-counts",
        [(30, it) for it in KINDS]
        + [(8, it) for it in LONG_KINDS]
        + [(22, it | UNABLE) for it in LONG_KINDS],
        AGREES,
    ),
    (
        "learned-counts",
        [(30, it) for it in KINDS]
        + [(8, it) for it in LONG_KINDS]
        + [(22, it | UNABLE) for it in LONG_KINDS]
        + [(90, LONG | LINEAR | {"model": "hybrid", "cell": "hybrid"})],
        AGREES,
    ),
    ("learned-counts", [(30, BMRU), (30, BMRU | LONG)], UNTESTED),
    ("learned-counts", [(30, it) for it in (*KINDS, *LONG_KINDS)], DISAGREES),
    ("mingru-longer", [(6, MINGRU), (6, MINGRU | LONG)], AGREES),
    ("mingru-longer", [(6, MINGRU), (6, MINGRU | LONG | {"outcome_longest": "solved"})], DISAGREES),
    ("mingru-shorter", [(6, MINGRU | LONG | MISSES)], AGREES),
    ("mingru-shorter", [(6, MINGRU | LONG)], DISAGREES),
    ("mingru-shorter", [(6, MINGRU | LONG | UNABLE)], UNTESTED),
    ("bmru-everywhere", [(6, BMRU), (5, BMRU | LONG)], AGREES),
    ("bmru-everywhere", [(6, BMRU), (5, BMRU | LONG | FAILS)], DISAGREES),
    ("bmru-everywhere", [(6, BMRU), (9, BMRU | LONG | UNABLE)], UNTESTED),
    ("bmru-everywhere", [(6, BMRU), (5, BMRU | LONG | {"lasting": ""})], UNTESTED),
    ("bmru-shorter", [(6, BMRU | LONG), (5, LONG), (1, LONG | MISSES)], AGREES),
    ("bmru-shorter", [(6, BMRU | LONG), (6, LONG), (1, LONG | MONOSTABLE | MISSES)], DISAGREES),
    ("lack", [(6, {}), (6, MINGRU), (1, MONOSTABLE | FAILS)], AGREES),
    ("lack", [(6, {}), (6, MINGRU), (1, MONOSTABLE)], DISAGREES),
    ("lack", [(6, {}), (6, MINGRU), (1, DEEP | {"lasting": "yes"})], DISAGREES),
    ("lack", [(6, {}), (6, MINGRU), (1, {"stability": ""})], AGREES),
    ("lack", [(6, {}), (6, MINGRU | {"lasting": ""})], UNTESTED),
    ("bmru-at-once", [(6, BMRU)], AGREES),
    ("bmru-at-once", [(6, BMRU), (1, BMRU | {"transient": np.inf})], DISAGREES),
    ("bmru-at-once", [(6, BMRU), (1, BMRU | {"transient": np.nan})], AGREES),
    ("bmru-at-once", [(6, BMRU), (1, BMRU | {"transient": 2.0})], DISAGREES),
    ("kinds", [(6, MINGRU), (6, BMRU)], AGREES),
    ("kinds", [(6, MINGRU), (6, BMRU | MONOSTABLE)], DISAGREES),
    ("deep-lasting", [(6, MINGRU), (6, DEEP | {"early": 4.0})], AGREES),
    ("deep-lasting", [(6, MINGRU), (6, DEEP)], DISAGREES),
    ("deep-lasting", [(6, MINGRU | {"early": 4.0}), (6, DEEP | {"early": 4.0})], DISAGREES),
    ("deep-better", [(6, MINGRU), (6, DEEP)], AGREES),
    ("deep-better", [(6, MINGRU), (6, DEEP | {"early": 1.9})], DISAGREES),
    ("deep-better", [(6, MINGRU), (6, DEEP | {"early": 4.0, "return_longest": 4.0})], DISAGREES),
    ("deep-better", [(6, MINGRU), (6, DEEP | {"longest": 10**4, "return_longest": 0.0})], AGREES),
    ("deep-better", [(6, MINGRU), (6, DEEP | UNABLE)], UNTESTED),
    ("deep-below", [(6, DEEP), (6, BMRU)], AGREES),
    ("deep-below", [(6, DEEP | {"return_longest": 3.9}), (6, BMRU)], DISAGREES),
    ("deep-below", [(6, DEEP | {"longest": 10**4, "early": 3.5}), (6, BMRU)], DISAGREES),
    ("simple-first", [(6, {}), (3, LONG), (3, LONG | FAILS)], AGREES),
    ("simple-first", [(6, FAILS), (6, LONG)], DISAGREES),
]


@pytest.mark.parametrize(("name", "groups", "verdict"), CASES)
def test_verdicts_follow_the_models(name, groups, verdict):
    finding = CLAIMS[name].judge(make_tables(*groups))
    assert finding.verdict == verdict, finding.ours


BOTH = {"tmaze_short": [4.0] * 6, "tmaze_long": [4.0] * 6}
HARD = BOTH | {"tmaze_long": [1.0] * 6}
SPREAD = {"tmaze_short": [4.0] * 6, "tmaze_long": [4.0, 0.0] * 3}
OF_BOTH = [(6, {}), (6, LONG)]
NOT_BISTABLE = [(6, {}), (6, LONG | MONOSTABLE)]
NOT_SOLVED = [(6, {}), (6, LONG | FAILS)]


@pytest.mark.parametrize(
    ("name", "curves", "groups", "verdict"),
    [
        ("fast-learning", {"tmaze_short": [4.0] * 6}, [], AGREES),
        ("fast-learning", {"tmaze_short": [4.0] * 2 + [3.0] * 4}, [], DISAGREES),
        ("short-spread", {"tmaze_short": [4.0] * 6}, [], AGREES),
        ("short-spread", {"tmaze_short": [4.0] * 5 + [2.0]}, [], DISAGREES),
        ("long-struggle", {"tmaze_long": [4.0, 0.0] * 3}, [], AGREES),
        ("long-struggle", {"tmaze_long": [4.0] * 6}, [], DISAGREES),
        ("long-struggle", {"tmaze_short": [4.0] * 6}, [], UNTESTED),
        ("hard-exploration", SPREAD | {"starts": {"tmaze_short": 1.0}}, [], AGREES),
        ("hard-exploration", SPREAD, [], DISAGREES),
        ("hard-exploration", SPREAD | {"starts": {"tmaze_long": 1.0}}, [], DISAGREES),
        ("short-efficient", HARD, OF_BOTH, AGREES),
        ("short-efficient", BOTH, OF_BOTH, DISAGREES),
        ("short-efficient", HARD, NOT_BISTABLE, UNTESTED),
        ("cheaper", HARD, OF_BOTH, AGREES),
        ("cheaper", BOTH, OF_BOTH, DISAGREES),
        ("cheaper", HARD, NOT_SOLVED, UNTESTED),
    ],
)
def test_verdicts_follow_the_curves(name, curves, groups, verdict):
    finding = CLAIMS[name].judge(make_tables(*groups, curves=curves))
    assert finding.verdict == verdict, finding.ours


def test_the_widest_spread_is_told():
    curves = make_curves(tmaze_short=[4.0] * 6)
    falls = (curves["iteration"] == 7) & (curves["seed"] < 3)
    curves["return"] = np.where(falls, 0.0, curves["return"])
    said = CLAIMS["short-spread"].judge(make_tables() | {"curves": curves}).ours
    assert "; 2.00 at its largest, in iteration 7" in said


@pytest.mark.parametrize("name", ["deep-better", "deep-lasting", "deep-below"])
def test_nothing_is_said_of_networks_that_share_no_length(name):
    tables = make_tables((6, MINGRU), (6, DEEP), (6, BMRU))
    deep = tables["outcomes"]["seed"] // 6 == 1
    tables["outcomes"]["length"] = tables["outcomes"]["length"] + np.where(deep, 1, 0)
    finding = CLAIMS[name].judge(tables)
    assert finding.verdict == UNTESTED
    assert "no length" in finding.ours


def test_iterations_without_a_return_count_as_iterations():
    curves = make_curves(tmaze_short=[4.0] * 6)
    known = curves["iteration"] > 12
    tables = make_tables() | {"curves": {name: it[known] for name, it in curves.items()}}
    finding = CLAIMS["fast-learning"].judge(tables)
    assert finding.verdict == DISAGREES
    assert "median: iteration 13" in finding.ours


def test_trainings_that_were_not_finished_are_not_judged():
    tables = make_tables(curves={"tmaze_long": [4.0] * 6})
    unfinished = {"finished": np.zeros_like(tables["curves"]["finished"])}
    tables |= {"curves": tables["curves"] | unfinished}
    assert CLAIMS["long-struggle"].judge(tables).verdict == UNTESTED


def test_trainings_that_were_cut_short_are_named():
    groups = [(6, {}), (6, LONG | {"num_iterations": 100})]
    said = CLAIMS["fewer-bistable"].judge(make_tables(*groups)).ours
    assert said.endswith(" (long-trained for 100 of 250 iterations)")
    said = CLAIMS["deep-below"].judge(make_tables((6, DEEP | {"num_iterations": 30}), (6, BMRU)))
    assert said.ours.endswith(" (deep minGRU for 30 of 250 iterations)")
    assert "iterations" not in CLAIMS["fewer-bistable"].judge(make_tables((6, {}), (6, LONG))).ours


def test_how_many_learn_is_not_judged_on_trainings_that_were_cut_short():
    tables = make_tables((30, {}), (30, LONG | FAILS | {"num_iterations": 100}))
    findings = judge_claims(CLAIMS, tables)
    assert CLAIMS["equal-shares"].judge(tables).verdict == DISAGREES
    assert findings["equal-shares"].verdict == UNTESTED
    assert findings["bistable-solve"].verdict == AGREES


def test_every_claim_has_a_case():
    learning = {"fast-learning", "short-spread", "long-struggle", "hard-exploration"}
    learning |= {"short-efficient", "cheaper"}
    assert {name for name, _, _ in CASES} | learning == set(CLAIMS)


def test_every_claim_can_be_judged_on_any_store(tmp_path):
    study = write_study(tmp_path)
    for presets in (("tmaze-short", "tmaze-long"), ("tmaze-short",), ()):
        for file in [*study.rglob("*.parquet"), *study.rglob("seed-*.json")]:
            if not any(preset in str(file.relative_to(study)) for preset in presets):
                file.unlink()
        for finding in judge_claims(CLAIMS, derive_tables(read_records(study))).values():
            assert "could not be judged" not in finding.ours
            assert "nan" not in finding.ours
            assert presets or finding.verdict == UNTESTED


def test_sections_name_no_claim_twice():
    assert sum(len(section.CLAIMS) for section in SECTIONS) == len(CLAIMS)
