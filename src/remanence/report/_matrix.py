"""Every claim in every arm of a study, each judged by itself: what depends on what was varied."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from remanence.figures import Columns, StudyFigure, count_rows, draw_matrix
from remanence.report._claims import UNTESTED, Claim, Finding, judge_claims
from remanence.report._experiment import Experiment
from remanence.report._records import Records
from remanence.report._resampling import weigh_findings
from remanence.study import RunEntry

DEFAULT, SAMPLED = "default", "sampled"
MARKS = {"agrees": "✓", "disagrees": "✗", "untested": "–"}
FIGURE = StudyFigure(
    draw_matrix,
    needs=("verdicts",),
    title="What depends on choices",
    caption="Claims down, variants of the study across, and a verdict in each cell, from the "
    "models of that variant alone. Above the line are claims that agree in some variants and not "
    "in others, from the one that agrees in fewest to the one that does in most; below it those "
    "that agree in none. Claims whose verdict is the same agreement everywhere are counted only. "
    "Pale is a verdict that could not be told from its opposite with so many models.",
)


@dataclasses.dataclass(frozen=True)
class Arm:
    """One arm of a study: what it is called, what is other than by default, what was found.

    >>> from remanence import report
    >>> findings = {"most": report.Finding("57 of 90", agrees=True)}
    >>> report.Arm("limit-ends", "time_limit_ends = True", 90, findings).count_agreements()
    (1, 1)
    """

    name: str
    changes: str
    num_agents: int
    findings: Mapping[str, Finding]

    def count_agreements(self) -> tuple[int, int]:
        """How many claims agree, of how many that were tested."""
        tested = [it.agrees for it in self.findings.values() if it.agrees is not None]
        return tested.count(True), len(tested)


def judge_arms(
    experiment: Experiment, records: Records, findings: Mapping[str, Finding]
) -> list[Arm]:
    """The arms of a study in two or more of which there are agents; `findings` are the main one's.

    Agents that sample are an arm of their own where claims are otherwise about greedy ones.
    """
    if not records.variants or not experiment.claims:
        return []
    arms = [Arm(DEFAULT, "", _count_agents(records), findings)]
    for name, changes, arm in _list_others(experiment, records):
        tables = experiment.derive_tables(arm)
        found = judge_claims(experiment.claims, tables)
        found = weigh_findings(experiment.claims, tables, found)
        if name == SAMPLED:
            found |= _find_uncertified(experiment, records, findings)
        arms.append(Arm(name, changes, _count_agents(arm), found))
    known = [arm for arm in arms if arm.num_agents]
    return known if len(known) > 1 else []


def _list_others(experiment: Experiment, records: Records) -> Iterator[tuple[str, str, Records]]:
    for name, arm in records.variants.items():
        yield name, _say_changes(records, arm), arm
    if experiment.judged_greedily and count_rows(records.tables["sampled_outcomes"]):
        yield SAMPLED, "actions are sampled, also in evaluation", _take_sampled(records)


def _take_sampled(records: Records) -> Records:
    """Records of agents that sample; what is certified of greedy ones is not known of them."""
    tables = {**records.tables, "outcomes": records.tables["sampled_outcomes"]}
    return dataclasses.replace(_drop_certificates(records), tables=_drop_rows(tables))


def _drop_certificates(records: Records) -> Records:
    """The same without its certificates and variants."""
    tables = _drop_rows(records.tables)
    return dataclasses.replace(records, tables=tables, certificates={}, variants={})


def _drop_rows(tables: Mapping[str, Columns]) -> dict[str, Columns]:
    none = {name: column[:0] for name, column in tables["certificates"].items()}
    return {**tables, "certificates": none}


def _find_uncertified(
    experiment: Experiment, records: Records, findings: Mapping[str, Finding]
) -> dict[str, Finding]:
    """The claims that are judged by certificates, which only greedy agents have.

    Without them, only those are known not to last that were seen to fail, and none of the others.
    """
    without = judge_claims(experiment.claims, experiment.derive_tables(_drop_certificates(records)))
    untested = Finding("nothing is certified of agents that sample", agrees=None)
    return {name: untested for name, it in without.items() if it.ours != findings[name].ours}


def _say_changes(main: Records, arm: Records) -> str:
    """What jobs of an arm have that none of the main arm has."""
    usual = {change for job in main.jobs for change in _list_changes(job)}
    found = dict.fromkeys(change for job in arm.jobs for change in _list_changes(job))
    return ", ".join(f"{name} = {value}" for name, value in found if (name, value) not in usual)


def _list_changes(job: RunEntry) -> list[tuple[str, str]]:
    changes = {**job.changes, "num_iterations": job.num_iterations}
    return [(name, str(value)) for name, value in changes.items()]


def _count_agents(records: Records) -> int:
    outcomes = records.tables["outcomes"]
    return len(set(zip(outcomes["job"].tolist(), outcomes["seed"].tolist(), strict=True)))


def tabulate_verdicts(claims: Mapping[str, Claim], arms: Sequence[Arm]) -> Columns:
    """A row for each claim and arm, as `figures.draw_matrix` wants them."""
    rows = [
        (name, claim.brief or name.replace("-", " "), arm.name, *_read_cell(arm.findings[name]))
        for name, claim in claims.items()
        for arm in arms
    ]
    names = ("claim", "label", "variant", "verdict", "sure")
    return {name: np.array([row[place] for row in rows]) for place, name in enumerate(names)}


def _read_cell(finding: Finding) -> tuple[str, bool]:
    return ("untested", True) if finding.verdict == UNTESTED else (finding.verdict, finding.sure)


def list_matrix(claims: Mapping[str, Claim], arms: Sequence[Arm]) -> str:
    """The matrix as a table in Markdown; a question mark says that a verdict is not sure."""
    rows = [("claim", *(arm.name for arm in arms)), ("---", *([":-:"] * len(arms)))]
    for name, claim in claims.items():
        cells = (_read_cell(arm.findings[name]) for arm in arms)
        marks = [f"{MARKS[verdict]}{'' if sure else '?'}" for verdict, sure in cells]
        rows.append((claim.brief or name, *marks))
    totals = [f"{agree} of {tested}" for agree, tested in (arm.count_agreements() for arm in arms)]
    rows.append(("**agree, of those tested**", *totals))
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    told = "".join(
        f"- {arm.name}: {arm.changes or 'nothing is changed'} ({arm.num_agents} agents)\n"
        for arm in arms
    )
    return f"{table}\n✓ agrees, ✗ disagrees, – not tested; ? too few models to tell.\n\n{told}"
