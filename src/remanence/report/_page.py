"""The report of a study as one HTML file that needs nothing else."""

import base64
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from remanence.errors import RemanenceError
from remanence.figures import (
    MODELS,
    TRAININGS,
    Tables,
    count_rows,
    draw_figure,
    find_look,
    registry,
    save_figure,
    select_rows,
)
from remanence.report._certificates import describe_certificate
from remanence.report._claims import PAPER_ITERATIONS, VERDICTS, Finding, claims, judge_claims
from remanence.report._records import Records, read_records
from remanence.report._states import tabulate_states
from remanence.report._tables import derive_tables
from remanence.store import write_text
from remanence.study import Job

FORMATS = ("png", "svg")


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of the report: an image as a data URI, or why there is none.

    It has failed if the study has all that it needs.
    """

    title: str
    caption: str
    paper: str
    image: str = ""
    problem: str = ""
    failed: bool = False


@dataclasses.dataclass(frozen=True)
class Report:
    """Where a report was written, what it found on each claim, and what the study lacks."""

    path: Path
    findings: Mapping[str, Finding]
    problems: tuple[str, ...]

    def count_verdicts(self) -> dict[str, int]:
        """How many claims there are of each verdict."""
        found = Counter(finding.verdict for finding in self.findings.values())
        return {verdict: found[verdict] for verdict in VERDICTS}


def write_report(study: str | Path, out: str | Path | None = None) -> Report:
    """Write STUDY/report.html, or `out`; beside it its figures and, as Markdown, its claims."""
    study = Path(study)
    records = read_records(study)
    tables = derive_tables(records)
    states, problems = tabulate_states(records, tables["models"])
    path = study / "report.html" if out is None else Path(out)
    pictures = list(draw_pictures({**tables, "states": states}, path.parent / "figures"))
    problems = (*records.problems, *problems, *_list_failed_pictures(pictures))
    report = Report(path, judge_claims(tables), problems)
    write_text(path, _render(records, tables, report, pictures))
    write_text(path.parent / "claims.md", list_claims(report.findings))
    return report


def list_claims(findings: Mapping[str, Finding]) -> str:
    """The paper's claims beside ours, as a table in Markdown."""
    rows = [("the paper", "agrees if", "ours", "verdict"), ("---",) * 4]
    for name, finding in findings.items():
        claim = claims[name]
        said = f"{claim.sentence} ({claim.place})"
        rows.append((said, claim.rule, finding.ours, f"**{finding.verdict}**"))
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def draw_pictures(tables: Tables, directory: Path) -> Iterator[Picture]:
    """Draw every figure into a directory; one that cannot be drawn says why."""
    for name in registry:
        figure = registry[name]
        words = (figure.title, figure.caption, figure.paper)
        try:
            drawn = draw_figure(name, tables)
            for suffix in FORMATS:
                save_figure(drawn, directory / f"{name}.{suffix}")
        except RemanenceError as error:
            needed = [need for need in figure.needs if not count_rows(tables.get(need, {}))]
            absent = f"There are no {' and no '.join(needed)} in this study." if needed else ""
            yield Picture(*words, problem=absent or str(error), failed=not absent)
        except Exception as error:  # whatever one figure trips over, the others are drawn
            yield Picture(*words, problem=f"{type(error).__name__}: {error}", failed=True)
        else:
            image = base64.b64encode((directory / f"{name}.svg").read_bytes()).decode()
            yield Picture(*words, image=f"data:image/svg+xml;base64,{image}")


def _list_failed_pictures(pictures: list[Picture]) -> list[str]:
    return [f"the figure {it.title!r} ({it.problem})." for it in pictures if it.failed]


def _render(records: Records, tables: Tables, report: Report, pictures: list[Picture]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("remanence.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        plan=_complete(records.description),
        jobs=[_describe_job(records, job) for job in records.jobs],
        problems=report.problems,
        failures=_list_failures(records),
        num_agents=count_rows(tables["models"]),
        claims=[(claims[name], finding) for name, finding in report.findings.items()],
        verdicts=report.count_verdicts(),
        num_iterations=sorted({job.num_iterations for job in records.jobs}),
        paper_iterations=PAPER_ITERATIONS,
        pictures=pictures,
        certificates=[
            (_describe_job(records, job), _certify(records, tables, job)) for job in records.jobs
        ],
        seconds=sum(job.seconds for job in records.status.jobs.values()),
    )


def _complete(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan, with blanks for what an older study may not say."""
    blank = dict.fromkeys(("name", "profile", "note", "started", "commit", "python"), "")
    begun = str(plan.get("started", "")).replace("T", " ").replace("+00:00", " UTC")
    lists = {"command": [], "machine": {}, "versions": {}, "continued": []}
    return {**blank, **lists, **plan, "started": begun}


def _describe_job(records: Records, job: Job) -> dict[str, Any]:
    status = records.status.jobs[job.id]
    return {
        "id": job.id,
        "model": find_look(MODELS, job.model).name,
        "training": find_look(TRAININGS, job.preset).name,
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


def _list_failures(records: Records) -> list[tuple[str, str]]:
    """Jobs that failed, and what they failed with."""
    return [
        (name, status.error or "")
        for name, status in records.status.jobs.items()
        if status.state == "failed"
    ]


def _certify(records: Records, tables: Tables, job: Job) -> list[dict[str, Any]]:
    """What the certificate of each agent of a job says."""
    models = select_rows(tables["models"], job=job.id)
    rows = []
    for index, seed in enumerate(models["seed"].tolist()):
        found = records.certificates.get((job.id, seed))
        if found is not None:
            vaa = _show_vaa(models["vaa"][index], models["vaa_limit"][index])
            stability = models["stability"][index]
            rows.append(
                {"seed": seed, "stability": stability, "vaa": vaa, **describe_certificate(found)}
            )
    return rows


def _show_vaa(value: float, limit: float) -> str:
    """After the steps that were taken, and in the limit where that is known to differ."""
    if np.isnan(value):
        return "not known"
    return f"{value:.1f}" if np.isnan(limit) or limit == value else f"{value:.1f} → {limit:.1f}"
