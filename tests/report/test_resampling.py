"""How sure a verdict is, against what the binomial distribution says."""

import numpy as np
import pytest
from scipy import stats

from remanence.report import AGREES, DISAGREES, Claim, conclude, judge_claims, weigh_findings
from remanence.report._resampling import draw_studies


def make_tables(*flags):
    """A model for each flag, in two jobs; beside each, two rows of a curve that name it."""
    flags = np.array(flags)
    seeds = np.arange(len(flags)) // 2 + 10
    jobs = np.where(np.arange(len(flags)) % 2, "one", "other")
    names = np.char.add(jobs, seeds.astype(str))
    models = {"job": jobs, "seed": seeds, "able": flags, "name": names}
    curves = {it: np.repeat(models[it], 2) for it in ("job", "seed", "name")}
    return {"models": models, "curves": curves, "growth": {"name": np.array(["length"])}}


def weigh(judge, tables, **options):
    claims = {"it": Claim("They are.", "so", judge, "", **options)}
    found = judge_claims(claims, tables)
    return weigh_findings(claims, tables, found, num_studies=1000)["it"]


def judge_most(tables):
    able = tables["models"]["able"]
    return conclude("", able.mean() > 0.5, tables["models"])


def judge_all(tables):
    return conclude("", tables["models"]["able"].all(), tables["models"])


def test_agents_are_drawn_whole_within_their_jobs_and_are_numbered_anew():
    tables = make_tables(*[True] * 12)
    drawn = list(draw_studies(tables, 20))
    for study in drawn:
        models, curves = study["models"], study["curves"]
        for job in ("one", "other"):
            seeds = models["seed"][models["job"] == job].tolist()
            assert seeds == list(range(6))
            assert all(name.startswith(job) for name in models["name"][models["job"] == job])
        keys = zip(models["job"], models["seed"], strict=True)
        of_model = dict(zip(keys, models["name"], strict=True))
        for job, seed, name in zip(curves["job"], curves["seed"], curves["name"], strict=True):
            assert of_model[job, seed] == name
        assert len(curves["seed"]) == 24
        assert study["growth"] is tables["growth"]
    assert len({tuple(study["models"]["name"]) for study in drawn}) == 20


def test_a_verdict_is_as_sure_as_the_binomial_says():
    finding = weigh(judge_most, make_tables(*[True, True, True, False, True, False, True, False]))
    # Of the drawn ones 5 or more of 8: within each job four are drawn, of which 3 and 2 are able.
    of_three, of_two = (
        np.asarray(stats.binom.pmf(np.arange(5), 4, share)) for share in (0.75, 0.5)
    )
    expected = np.convolve(of_three, of_two)[5:].sum()
    # Three standard deviations of a share of 1,000.
    assert finding.sureness == pytest.approx(expected, abs=0.05)
    assert not finding.sure
    assert weigh(judge_most, make_tables(*[True] * 8)).sureness == 1


def test_a_verdict_that_one_model_could_overturn_needs_many():
    for number, sure in ((10, False), (28, False), (29, True)):
        finding = weigh(judge_all, make_tables(*[True] * number), overturned=AGREES)
        assert finding.sureness == pytest.approx(1 - 0.9**number)
        assert finding.sure == sure
    refuted = weigh(judge_all, make_tables(*[True] * 9, False), overturned=AGREES)
    assert (refuted.verdict, refuted.sureness) == (DISAGREES, 1)


def test_what_has_no_verdict_is_not_weighed():
    finding = weigh(judge_all, make_tables(True, True))
    assert finding.agrees is None
    assert np.isnan(finding.sureness)
    assert finding.sure
