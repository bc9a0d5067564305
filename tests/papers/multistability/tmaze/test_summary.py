"""What stands at the top of the page, of studies large and small."""

import pytest

from remanence.papers.multistability.tmaze._summary import summarize
from remanence.papers.multistability.tmaze.claims import CLAIMS
from remanence.report import Finding, judge_claims
from tests.papers.multistability.tmaze.test_claims import FAILS, LONG, MONOSTABLE, make_tables

UNDECIDED = {"lasting": "", "stability": "monostable"}


def test_five_sentences_say_who_lasts():
    tables = make_tables((6, {}), (4, MONOSTABLE | FAILS), (5, LONG), (1, LONG | {"lasting": "no"}))
    findings = {
        "one": Finding("", True),
        "two": Finding("", False),
        "three": Finding("", None),
    }
    assert summarize(tables, findings) == [
        "The agents of this study are 10 trained on lengths 1–3 and 6 trained on length 100 (GRU).",
        "Length 100 is solved by 12 of 12 whose memory is bistable (with two states to rest in) "
        "and 0 of 4 whose memory is monostable (with only one).",
        "Of the bistable ones, 6 of 6 trained on lengths 1–3 and 5 of 6 trained on length 100 are "
        "certified to take the right arm at every length from 2 on, however long the maze is.",
        "None of the 4 monostable ones is certified for every length from 2 on.",
        "Of the paper's 3 claims it agrees with 1 and disagrees with 1; it is too small to test "
        "the other 1.",
    ]


@pytest.mark.parametrize("groups", [[(1, {})], [(2, UNDECIDED)], [(3, {"stability": ""})]])
def test_a_small_study_is_summed_up_without_what_it_lacks(groups):
    tables = make_tables(*groups)
    sentences = summarize(tables, judge_claims(CLAIMS, tables))
    assert 2 <= len(sentences) <= 4
    assert (
        sentences[-1] == f"The study is too small to test any of the paper's {len(CLAIMS)} claims."
    )
    assert "nan" not in " ".join(sentences)
