"""How findings are made and claims are judged, whatever they are about."""

import numpy as np
import pytest

from remanence.report import (
    AGREES,
    DISAGREES,
    UNTESTED,
    Claim,
    Finding,
    combine_chances,
    compare_counts,
    compare_groups,
    conclude,
    judge_claims,
    keep_known,
    say_count,
)

GROUP = {"end": np.array(["right"] * 4 + ["wrong", ""])}


def make_claim(judge, how_many=False):
    return Claim("They are right.", "all are", judge, place="Abstract", how_many=how_many)


def test_a_judge_that_fails_does_not_stop_the_others():
    claims = {
        "broken": make_claim(lambda tables: tables["absent"]),
        "whole": make_claim(lambda tables: conclude("6 are", True, GROUP)),
    }
    findings = judge_claims(claims, {})
    assert "could not be judged: KeyError" in findings["broken"].ours
    assert [findings[name].verdict for name in claims] == [UNTESTED, AGREES]


def test_how_many_learn_is_not_judged_where_some_were_trained_for_less():
    def judge(tables):
        return conclude("6 are", False, GROUP, trained_less=["one for 3 of 9 iterations"])

    claims = {"all": make_claim(judge, how_many=True), "those": make_claim(judge)}
    findings = judge_claims(claims, {})
    assert [findings[name].verdict for name in claims] == [UNTESTED, DISAGREES]
    assert findings["those"].ours == "6 are (one for 3 of 9 iterations)"


@pytest.mark.parametrize(
    ("agrees", "fewest", "verdict"),
    [(True, 6, AGREES), (True, 7, UNTESTED), (False, 6, DISAGREES), (None, 1, UNTESTED)],
)
def test_small_groups_have_no_verdict(agrees, fewest, verdict):
    assert conclude("", agrees, GROUP, GROUP, fewest=fewest).verdict == verdict


def test_of_no_models_nothing_is_concluded():
    assert conclude("0 of 0", True, {}).ours == "there are no such models in this study"
    assert Finding("", None).verdict == UNTESTED


def test_what_is_not_known_is_not_counted():
    assert say_count(keep_known(GROUP, "end"), "end", "right") == "4 of 5 [38–96%]"


def test_counts_are_compared_by_fishers_exact_test():
    # Of two tables with margins (1, 1) and (1, 1), each has probability 1/2.
    assert compare_counts(1, 1, (0, 1)) == pytest.approx(1.0)
    # 5 of 5 against 0 of 5: 2 of the 252 ways to choose five of ten are as extreme.
    assert compare_counts(5, 5, (0, 5)) == pytest.approx(2 / 252)


def test_tests_are_combined_by_fishers_method():
    # -2 ln(p) of an independent test has a chi-squared distribution with 2 degrees of freedom; the
    # tail of the one with 4 is exp(-x / 2) (1 + x / 2).
    x = -2 * np.log(0.2 * 0.1)
    assert combine_chances([0.2, 0.1]) == pytest.approx(np.exp(-x / 2) * (1 + x / 2))
    assert combine_chances([0.3]) == pytest.approx(0.3)


def test_groups_are_compared_one_by_one():
    groups = [GROUP, GROUP, {"end": np.array([], str)}]
    single = compare_counts(4, 6, (1, 9))
    found = compare_groups(groups, [(1, 9), (1, 9), (9, 9)], "end", "right")
    assert found == pytest.approx(combine_chances([single, single]))
