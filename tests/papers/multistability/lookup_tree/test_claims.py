"""Verdicts on small tables that were made by hand."""

import re

import numpy as np
import pytest

from remanence.papers.multistability.lookup_tree._tables import SCORE_COLUMNS
from remanence.papers.multistability.lookup_tree.claims import CLAIMS, SECTIONS
from remanence.report import AGENT_COLUMNS, AGREES, DISAGREES, UNTESTED, judge_claims

NUMBERS = (10, 100, 1_000, 10_000)
MODEL = {
    "job": "job",
    "preset": "lookup-tree",
    "model": "gru",
    "cell": "gru",
    "parallelizable": False,
    "num_iterations": 250,
    "variant": "",
    "seed": 0,
    "stability": "multistable",
    "vaa": 1.0,
    "vaa_limit": 1.0,
    "returns": (4.0, 4.0, 4.0, 4.0),
    "end": 4.0,
}
FALLS = {"returns": (4.0, 3.5, 3.0, 2.0)}
FORGETS = {"returns": (4.0, 3.0, 2.0, 1.95)}
WEAK = {"returns": (3.0, 3.0, 3.0, 3.0)}
RANDOM = {"returns": (1.95,) * 4}
STALLS = {"returns": (4.0, 2.0, 0.2, 0.0)}
BETWEEN = {"vaa": 0.5}
MONOSTABLE = {"stability": "monostable", "vaa": 1 / 6}
LINEAR = {"parallelizable": True}
MINGRU = LINEAR | MONOSTABLE | FORGETS | {"model": "mingru", "cell": "mingru"}
BMRU = LINEAR | WEAK | {"model": "bmru", "cell": "bmru"}
HYBRID = LINEAR | {"model": "hybrid", "cell": "hybrid"}
BRIEF = {"num_iterations": 80}
HALF = {"returns": (3.9, 3.5, 3.3, 3.2)}


def make_tables(*groups, greedy=None):
    """Tables of models, each group as (number, changes to MODEL).

    `greedy` are groups of greedy agents; without them there are none.
    """
    sampled, others = (_list_models(*it) for it in (groups, greedy or ()))
    scores = [
        model | score | {"acting": acting}
        for acting, models in (("sampled", sampled), ("greedy", others))
        for model in models
        for score in _list_scores(model["returns"])
    ]
    curves = [
        model | {"iteration": iteration, "return": model["end"], "finished": True}
        for model in sampled
        for iteration in (1, model["num_iterations"])
    ]
    names = {name for name in MODEL if name not in ("returns", "end")}
    return {
        "task": {"num_tables": np.array([6])},
        "agents": _stack(sampled, AGENT_COLUMNS),
        "scores": _stack(scores, SCORE_COLUMNS),
        "curves": _stack(curves, (*names, "iteration", "return", "finished")),
    }


def _list_models(*groups):
    rows = [MODEL | changes for number, changes in groups for _ in range(number)]
    return [row | {"seed": seed} for seed, row in enumerate(rows)]


def _list_scores(returns):
    """A share of right decisions follows from a return, if all mazes are decided."""
    for number, value in zip(NUMBERS, returns, strict=True):
        timeouts = 1.0 if value < 1.5 else 0.0
        yield {
            **{"num_mazes": number, "return": value, "low": value, "high": value},
            "share_right": 1.0 if timeouts else (value + 0.1) / 4.1,
            **{"share_low": 0.0, "share_high": 1.0},
            **{"num_decisions": float(number), "timeouts": timeouts},
        }


def _stack(rows, names):
    return {name: np.array([row[name] for row in rows]) for name in names}


def spread(*values):
    """Nonlinear models, each with its VAA and its return on 10,000 mazes."""
    return [(1, {"vaa": vaa, "returns": (4.0, 4.0, last, last)}) for vaa, last in values]


FALLING = [(0.2, 2.0), (0.3, 2.1), (0.5, 2.5), (0.7, 3.0), (0.9, 3.5), (1.0, 3.6)]
RISING = [(vaa, 6 - last) for vaa, last in FALLING]

CASES = [
    ("all-learn", [(3, {}), (3, BMRU | {"end": 2.5})], AGREES),
    ("all-learn", [(9, {}), (1, BMRU | {"end": 2.3})], DISAGREES),
    ("all-learn", [(4, {})], UNTESTED),
    ("all-learn", [(9, BRIEF)], UNTESTED),
    ("nonlinear-few", [(5, {}), (1, WEAK)], AGREES),
    ("nonlinear-few", [(5, {}), (1, RANDOM)], DISAGREES),
    ("nonlinear-few", [(9, MINGRU)], UNTESTED),
    ("nonlinear-few", [(9, BRIEF)], UNTESTED),
    ("nonlinear-fall", [(6, FALLS)], AGREES),
    ("nonlinear-fall", [(6, {})], DISAGREES),
    ("nonlinear-fall", [(6, {"returns": (3.0, 4.0, 2.0, 2.0)})], DISAGREES),
    ("nonlinear-fall", [(4, FALLS)], UNTESTED),
    ("low-vaa-falls", spread(*FALLING), AGREES),
    ("low-vaa-falls", spread(*RISING), DISAGREES),
    ("low-vaa-falls", spread(*((1.0, last) for _, last in FALLING)), UNTESTED),
    ("multistable-fall", [(6, FALLS), (6, BETWEEN)], AGREES),
    ("multistable-fall", [(6, {}), (6, BETWEEN | FALLS)], DISAGREES),
    ("multistable-fall", [(6, BETWEEN | FALLS)], UNTESTED),
    ("not-sufficient", [(3, FALLS), (3, {})], AGREES),
    ("not-sufficient", [(6, {}), (6, WEAK)], DISAGREES),
    ("not-sufficient", [(9, WEAK)], UNTESTED),
    ("no-clear-kinds", [(9, {}), (1, BETWEEN)], AGREES),
    ("no-clear-kinds", [(9, {}), (9, MONOSTABLE)], DISAGREES),
    ("out-of-scope", [(5, {}), (1, STALLS)], AGREES),
    ("out-of-scope", [(6, {})], DISAGREES),
    ("out-of-scope", [(3, {}), (3, STALLS)], DISAGREES),
    ("kinds", [(5, MINGRU), (5, BMRU)], AGREES),
    ("kinds", [(5, MINGRU), (4, BMRU), (1, BMRU | MONOSTABLE)], DISAGREES),
    ("kinds", [(9, MINGRU), (1, MINGRU | {"stability": "multistable"}), (5, BMRU)], DISAGREES),
    ("mingru-better", [(6, MINGRU | {"returns": (4.0, 3.6, 2.0, 1.95)}), (6, BMRU)], AGREES),
    ("mingru-better", [(6, MINGRU), (6, BMRU)], DISAGREES),
    ("mingru-better", [(6, MINGRU), (4, BMRU)], UNTESTED),
    ("mingru-random", [(6, MINGRU)], AGREES),
    ("mingru-random", [(5, MINGRU), (1, MINGRU | WEAK)], DISAGREES),
    ("bmru-stable", [(6, BMRU)], AGREES),
    ("bmru-stable", [(6, BMRU | {"returns": (2.6, 3.0, 3.0, 3.0)})], AGREES),
    ("bmru-stable", [(6, BMRU | FALLS)], DISAGREES),
    ("bmru-above", [(5, BMRU), (1, BMRU | {"returns": (3.2,) * 4})], AGREES),
    ("bmru-above", [(3, BMRU | RANDOM), (3, BMRU | {"returns": (1.9,) * 4})], DISAGREES),
    ("bmru-subset", [(5, BMRU), (1, BMRU | {"returns": (3.9,) * 4})], AGREES),
    ("bmru-subset", [(5, BMRU), (1, BMRU | {"returns": (4.0, 3.7, 4.0, 4.0)})], DISAGREES),
    ("both-essential", [(6, MINGRU), (6, BMRU)], AGREES),
    ("both-essential", [(6, MINGRU), (6, BMRU | {"returns": (4.0,) * 4})], DISAGREES),
    ("both-essential", [(5, MINGRU), (1, HYBRID | {"model": "mingru"}), (6, BMRU)], DISAGREES),
    ("complementary", [(6, MINGRU), (6, BMRU)], AGREES),
    ("complementary", [(6, MINGRU), (6, BMRU | RANDOM)], DISAGREES),
    ("complementary", [(6, MINGRU | WEAK), (6, BMRU)], DISAGREES),
    ("hybrid-combines", [(6, HYBRID | HALF), (6, MINGRU), (6, BMRU)], AGREES),
    ("hybrid-combines", [(6, HYBRID | WEAK), (6, MINGRU), (6, BMRU)], DISAGREES),
    ("hybrid-combines", [(6, HYBRID | FORGETS), (6, MINGRU), (6, BMRU)], DISAGREES),
    ("hybrid-outperforms", [(6, HYBRID), (6, MINGRU), (6, BMRU)], AGREES),
    ("hybrid-outperforms", [(6, HYBRID | HALF), (6, MINGRU), (6, BMRU)], DISAGREES),
    ("hybrid-outperforms", [(6, HYBRID), (6, MINGRU)], UNTESTED),
    ("hybrid-almost-optimal", [(2, HYBRID), (4, HYBRID | FORGETS)], AGREES),
    ("hybrid-almost-optimal", [(1, HYBRID), (5, HYBRID | FORGETS)], DISAGREES),
    ("synergy", [(6, HYBRID), (6, MINGRU), (6, BMRU)], AGREES),
    ("synergy", [(2, HYBRID), (4, HYBRID | HALF), (6, MINGRU), (6, BMRU)], DISAGREES),
    ("necessary", [(6, MINGRU), (6, {})], AGREES),
    ("necessary", [(6, MINGRU), (1, MONOSTABLE)], DISAGREES),
    ("necessary", [(9, {})], UNTESTED),
    ("transients-required", [(6, {}), (6, HYBRID), (6, BMRU)], AGREES),
    ("transients-required", [(6, FALLS), (6, HYBRID | FALLS), (6, BMRU)], DISAGREES),
    ("transients-required", [(6, BETWEEN), (6, BMRU)], UNTESTED),
    ("monostable-fail", [(6, MINGRU)], AGREES),
    ("monostable-fail", [(6, MINGRU), (1, MINGRU | WEAK)], DISAGREES),
    ("monostable-fail", [(6, MINGRU), (1, MINGRU | {"stability": "multistable"})], DISAGREES),
    ("monostable-fail", [(6, MINGRU | RANDOM)], UNTESTED),
    ("exploit", [(5, {}), (5, BETWEEN | FALLS)], AGREES),
    ("exploit", [(5, {}), (1, BETWEEN)], DISAGREES),
    ("exploit", [(5, FALLS)], DISAGREES),
    ("exploit", [(4, {}), (9, FALLS)], UNTESTED),
    ("lack", [(5, MINGRU), (6, {})], AGREES),
    ("lack", [(5, MINGRU), (1, MINGRU | {"returns": (4.0, 3.9, 3.9, 3.8)})], DISAGREES),
    ("lack", [(4, MINGRU), (6, MINGRU | RANDOM)], UNTESTED),
    ("no-cell-has-both", [(5, MINGRU), (5, BMRU), (5, HYBRID)], AGREES),
    ("no-cell-has-both", [(5, MINGRU), (1, MINGRU | {"stability": "multistable"})], DISAGREES),
    ("no-cell-has-both", [(4, MINGRU), (5, BMRU)], UNTESTED),
]


@pytest.mark.parametrize(("name", "groups", "verdict"), CASES)
def test_verdicts(name, groups, verdict):
    finding = judge_claims({name: CLAIMS[name]}, make_tables(*groups))[name]
    assert finding.verdict == verdict, finding.ours
    assert "could not be judged" not in finding.ours
    assert "nan" not in finding.ours


def test_every_claim_has_a_case_on_which_it_agrees_and_one_on_which_it_does_not():
    for verdict in (AGREES, DISAGREES):
        assert {name for name, _, found in CASES if found == verdict} == set(CLAIMS)


def test_claims_of_all_sections_have_names_of_their_own():
    assert sum(len(section.CLAIMS) for section in SECTIONS) == len(CLAIMS)
    for claim in CLAIMS.values():
        assert claim.place
        assert not claim.rule.endswith(".")


def leave_out_intervals(words):
    return re.sub(r" \[[^]]*]", "", words)


def test_numbers_are_those_of_the_tables():
    tables = make_tables((3, HYBRID), (2, HYBRID | FALLS), (5, MINGRU), (5, BMRU))
    findings = judge_claims(CLAIMS, tables)
    told = {name: leave_out_intervals(it.ours) for name, it in findings.items()}
    assert findings["hybrid-almost-optimal"].ours == (
        "3 of 5 [23–88%] have 3.8 or more up to 10,000 mazes"
    )
    assert told["mingru-random"] == "5 of 5 do (50% of all decisions are right)"
    assert findings["bmru-above"].ours.startswith("mean return 3.00 on 10,000 mazes (3.00 to")
    assert told["bmru-stable"] == (
        "mean return 3.00, 3.00, 3.00, 3.00 on 10, 100, 1,000, 10,000 mazes"
    )
    assert told["hybrid-combines"] == (
        "mean return 4.00, 3.20 on 10, 10,000 mazes (hybrid), 4.00, 1.95 on 10, 10,000 mazes "
        "(minGRU), 3.00, 3.00 on 10, 10,000 mazes (BMRU)"
    )


def test_greedy_agents_are_told_of_where_they_lead_to_another_verdict():
    same = make_tables((6, MINGRU), greedy=[(6, MINGRU)])
    other = make_tables((6, MINGRU), greedy=[(6, MINGRU | WEAK)])
    too_few = make_tables((6, MINGRU), greedy=[(4, MINGRU | WEAK)])
    plain = "6 of 6 do (50% of all decisions are right)"
    findings = [CLAIMS["mingru-random"].judge(it) for it in (same, other, too_few)]
    assert [it.verdict for it in findings] == [AGREES] * 3
    told = [leave_out_intervals(it.ours) for it in findings]
    assert told[::2] == [plain, plain]
    assert told[1] == (
        f"{plain}; of greedy agents, which would disagree: 0 of 6 do (76% of all decisions are "
        "right)"
    )


def test_agents_that_stall_are_not_called_random():
    """Of the decisions that they take all are right, though their returns are low."""
    tables = make_tables((6, MINGRU | STALLS))
    assert CLAIMS["mingru-random"].judge(tables).verdict == DISAGREES


def test_a_number_of_mazes_that_was_not_evaluated_is_not_judged():
    tables = make_tables((6, HYBRID), (6, MINGRU), (6, BMRU))
    few = tables["scores"]["num_mazes"] <= 100
    tables["scores"] = {name: column[few] for name, column in tables["scores"].items()}
    findings = judge_claims(CLAIMS, tables)
    assert findings["mingru-better"].verdict == DISAGREES
    assert findings["hybrid-outperforms"].verdict == UNTESTED
    assert "no such models" in findings["hybrid-outperforms"].ours


def test_shorter_trainings_say_so():
    tables = make_tables((6, MINGRU | BRIEF))
    finding = CLAIMS["mingru-random"].judge(tables)
    assert finding.ours.endswith("(trained for 80 of 250 iterations)")


def test_of_nothing_nothing_is_judged():
    findings = judge_claims(CLAIMS, make_tables())
    assert {finding.verdict for finding in findings.values()} == {UNTESTED}
    assert not [it.ours for it in findings.values() if "could not be judged" in it.ours]
