"""The report of a study as one HTML file that needs nothing else."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import numpy as np

from remanence.errors import RemanenceError
from remanence.figures import (
    Looks,
    StudyFigure,
    Tables,
    draw_figure,
    find_look,
    save_figure,
)
from remanence.report._any_study import describe_any_study
from remanence.report._claims import (
    FEWEST_COUNTED,
    FEWEST_MODELS,
    SURE,
    VERDICTS,
    Claim,
    Finding,
    judge_claims,
)
from remanence.report._common_tables import derive_common_tables, list_rows
from remanence.report._experiment import LONGEST_SUMMARY, Experiment, find_experiment
from remanence.report._matrix import FIGURE, Arm, judge_arms, list_matrix, tabulate_verdicts
from remanence.report._records import Records, describe_certificate, read_records
from remanence.report._resampling import NUM_STUDIES, weigh_findings
from remanence.report._rules import describe_rules, find_later, mark_later, say_rules
from remanence.store import write_text
from remanence.study import JobStatus, RunEntry

FORMATS = ("png", "svg")


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of the report: an image as a data URI, or why there is none.

    It has failed if the study has all that it needs.
    """

    title: str
    caption: str
    counterpart: str
    image: str = ""
    problem: str = ""
    failed: bool = False


@dataclasses.dataclass(frozen=True)
class WrittenReport:
    """Where a report was written, what it found on each claim, and what the study lacks.

    `summary` is what the page opens with, `rules` says by which rules claims were judged, `arms`
    are those of a study that has variants, each judged by itself.

    >>> from pathlib import Path
    >>> from remanence import report
    >>> findings = {"most": report.Finding("57 of 90", agrees=True)}
    >>> report.WrittenReport(Path("report.html"), findings, problems=()).count_verdicts()
    {'agrees': 1, 'disagrees': 0, 'not tested at this size': 0}
    """

    path: Path
    findings: Mapping[str, Finding]
    problems: tuple[str, ...]
    summary: tuple[str, ...] = ()
    rules: str = ""
    arms: tuple[Arm, ...] = ()

    def count_verdicts(self) -> dict[str, int]:
        """How many claims there are of each verdict."""
        found = Counter(finding.verdict for finding in self.findings.values())
        return {verdict: found[verdict] for verdict in VERDICTS}


def write_report(study: str | Path, out: str | Path | None = None) -> WrittenReport:
    """Write STUDY/report.html, or `out`; beside it its figures and, as Markdown, its claims.

    Of a study with variants there is the matrix of claims and variants too, in choices.md.

    >>> from remanence import report
    >>> written = report.write_report("examples/agents/mingru", "mingru.html")
    >>> written.problems, written.path.exists()
    ((), True)
    """
    study = Path(study)
    records = read_records(study)
    # A study says which experiment it is of; what a run's directory is called says nothing.
    named = records.description.get("name")
    experiment = find_experiment(str(named)) if named else describe_any_study(study.absolute().name)
    tables = experiment.derive_tables(records)
    path = study / "report.html" if out is None else Path(out)
    pictures = list(draw_pictures(experiment.figures, tables, path.parent / "figures"))
    findings = judge_claims(experiment.claims, tables)
    findings = weigh_findings(experiment.claims, tables, findings)
    arms = judge_arms(experiment, records, findings)
    if arms:
        tables = {**tables, "verdicts": tabulate_verdicts(experiment.claims, arms)}
        pictures += draw_pictures({"choices": FIGURE}, tables, path.parent / "figures")
    failed = [f"the figure {it.title!r} ({it.problem})." for it in pictures if it.failed]
    summary = tuple(experiment.summarize(tables, findings))[:LONGEST_SUMMARY]
    problems = [problem for arm in records.arms for problem in arm.problems]
    later = find_later(records.description, experiment.claims, experiment.later_claims)
    told = say_rules(records.description, describe_rules(experiment.claims), len(later))
    rules = " ".join(filter(None, (told, experiment.about_rules)))
    experiment = dataclasses.replace(experiment, claims=mark_later(experiment.claims, later))
    report = WrittenReport(path, findings, (*problems, *failed), summary, rules, tuple(arms))
    title = experiment.entitle(tables)
    write_text(path, _render(experiment, title, records, report, pictures))
    if findings:
        write_text(path.parent / "claims.md", list_claims(experiment.claims, findings, rules))
    if arms:
        write_text(path.parent / "choices.md", list_matrix(experiment.claims, arms))
    return report


def list_claims(
    claims: Mapping[str, Claim], findings: Mapping[str, Finding], rules: str = ""
) -> str:
    """Claims beside what we found, as a table in Markdown, and below by which rules."""
    rows = [("claim", "agrees if", "ours", "how sure", "verdict"), ("---",) * 5]
    for name, finding in findings.items():
        claim = claims[name]
        said = f"{claim.sentence} ({claim.place})"
        found = (finding.ours, _say_sureness(finding), f"**{finding.verdict}**")
        rows.append((said, claim.rule, *found))
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    table = "".join(f"| {' | '.join(row)} |\n" for row in cells)
    return f"{table}\n{rules}\n" if rules else table


def _say_sureness(finding: Finding) -> str:
    """How sure a verdict is; nothing where there is none, or nobody has asked."""
    if finding.agrees is None or np.isnan(finding.sureness):
        return "–"
    # Not rounded up to what would be sure.
    share = f"{int(100 * finding.sureness)}%"
    return share if finding.sure else f"{share}: too few models to tell it from its opposite"


def _render(
    experiment: Experiment,
    title: str,
    records: Records,
    report: WrittenReport,
    pictures: Sequence[Picture],
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("remanence.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    agents = [row for arm in records.arms for row in list_rows(derive_common_tables(arm)["agents"])]
    jobs = [_describe_job(arm, job, experiment.looks) for arm in records.arms for job in arm.jobs]
    certificates = {key: it for arm in records.arms for key, it in arm.certificates.items()}
    statuses = {id: it for arm in records.arms for id, it in arm.status.items()}
    return environment.get_template("report.html.j2").render(
        experiment=experiment,
        title=title,
        summary=report.summary,
        plan=_complete(records.description),
        jobs=jobs,
        problems=report.problems,
        failures=_list_failures(statuses),
        num_agents=len(agents),
        claims=_group_claims(experiment.claims, report.findings),
        verdicts=report.count_verdicts(),
        fewest=(FEWEST_MODELS, FEWEST_COUNTED),
        sure=(NUM_STUDIES, SURE),
        num_unsure=sum(not finding.sure for finding in report.findings.values()),
        say_sureness=_say_sureness,
        rules=report.rules,
        arms=report.arms,
        pictures=[it for it in pictures if it.title != FIGURE.title],
        matrix=[it for it in pictures if it.title == FIGURE.title],
        certificates=[(job, _certify(certificates, agents, job["id"])) for job in jobs],
        has_certificates=bool(certificates),
        variants=list(records.variants),
        seconds=sum(status.seconds for status in statuses.values()),
    )


def _group_claims(
    claims: Mapping[str, Claim], findings: Mapping[str, Finding]
) -> dict[str, list[tuple[Claim, Finding]]]:
    """Claims and findings by verdict, in the claims' order."""
    return {
        verdict: [
            (claims[name], finding)
            for name, finding in findings.items()
            if finding.verdict == verdict
        ]
        for verdict in VERDICTS
    }


def _complete(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan, with blanks for what an older study may not say."""
    blank = dict.fromkeys(("name", "profile", "note", "started", "commit", "python"), "")
    begun = str(plan.get("started", "")).replace("T", " ").replace("+00:00", " UTC")
    lists = {"command": [], "machine": {}, "versions": {}, "continued": []}
    return {**blank, **lists, **plan, "started": begun}


def _describe_job(records: Records, job: RunEntry, looks: Looks) -> dict[str, Any]:
    status = records.status[job.id]
    return {
        "id": job.id,
        "model": find_look(looks.models, job.model).name,
        "training": find_look(looks.trainings, job.preset).name,
        "variant": job.variant,
        "seeds": _show_seeds(job.seeds),
        "num_seeds": len(job.seeds),
        "num_iterations": job.num_iterations,
        "changes": dict(job.changes),
        "state": status.state,
        "stage": status.stage,
        "minutes": status.seconds / 60,
    }


def _show_seeds(seeds: Sequence[int]) -> str:
    whole = list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]}–{seeds[-1]}" if whole and len(seeds) > 1 else ", ".join(map(str, seeds))


def _list_failures(statuses: Mapping[str, JobStatus]) -> list[tuple[str, str]]:
    """Jobs that failed, and what they failed with."""
    return [
        (name, status.error or "") for name, status in statuses.items() if status.state == "failed"
    ]


def _certify(
    certificates: Mapping[tuple[str, int], Mapping[str, Any]],
    agents: Sequence[Mapping[str, Any]],
    job: str,
) -> list[dict[str, Any]]:
    """What the certificate of each agent of a job says."""
    return [
        {
            "seed": agent["seed"],
            "stability": agent["stability"],
            "vaa": _show_vaa(agent["vaa"], agent["vaa_limit"]),
            **describe_certificate(certificates[job, agent["seed"]]),
        }
        for agent in agents
        if agent["job"] == job and (job, agent["seed"]) in certificates
    ]


def _show_vaa(value: float, limit: float) -> str:
    """After the steps that were taken, and in the limit where that is known to differ."""
    if np.isnan(value):
        return "not known"
    return f"{value:.1f}" if np.isnan(limit) or limit == value else f"{value:.1f} → {limit:.1f}"


def draw_pictures(
    figures: Mapping[str, StudyFigure], tables: Tables, directory: Path
) -> Iterator[Picture]:
    """Draw every figure into a directory; one that cannot be drawn says why.

    An optional one that has nothing to show is left out.
    """
    for name, figure in figures.items():
        about = (figure.title, figure.caption, figure.counterpart)
        absent = " and no ".join(figure.list_absent(tables)).replace("_", " ")
        if absent and figure.optional:
            continue
        if absent:
            yield Picture(*about, problem=f"There are no {absent} in this study.")
            continue
        try:
            drawn = draw_figure(figure, tables)
            for suffix in FORMATS:
                save_figure(drawn, directory / f"{name}.{suffix}")
        except RemanenceError as error:
            yield Picture(*about, problem=str(error), failed=True)
        except Exception as error:  # whatever one figure trips over, the others are drawn
            yield Picture(*about, problem=f"{type(error).__name__}: {error}", failed=True)
        else:
            drawing = (directory / f"{name}.svg").read_text(encoding="utf-8")
            yield Picture(*about, image=embed_drawing(drawing))


def embed_drawing(drawing: str) -> str:
    """An SVG as a data URI, which is a tenth shorter than one in base 64."""
    # A line break within a URI is dropped, and would join the attributes around it.
    return "data:image/svg+xml," + quote(drawing.replace("\n", " "), safe=" /:;=,()?!@*+$~[]{}|")
