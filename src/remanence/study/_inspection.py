"""What of a job's files is damaged or of something else, so that it has to be made anew.

A file that is missing is no flaw: the job makes it.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from remanence import envs
from remanence.certificates import identify_environment, make_row, read_certificate
from remanence.errors import StoreError
from remanence.networks import architectures, read_agent
from remanence.store import locate_difference, read_table
from remanence.study._directory import StudyDirectory
from remanence.study._plan import Job
from remanence.study._records import AgentRecords, hash_weights
from remanence.study._rows import Columns, Row
from remanence.study._stages import stages
from remanence.study._status import DONE, read_job_status
from remanence.training import find_foreign, read_hashes

_OTHER_WEIGHTS = "this certificate is of another agent's weights"


@dataclasses.dataclass(frozen=True)
class Flaw:
    """A file that cannot stay, and why."""

    path: Path
    problem: str


def is_done(directory: StudyDirectory, job: Job) -> bool:
    """Whether a job says that it is done, and all that it makes is there, whole and its own."""
    status = read_job_status(directory.status_path(job))
    if status.state != DONE or not directory.has_results(job):
        return False
    return not find_flaws(directory, job)


def find_flaws(directory: StudyDirectory, job: Job) -> list[Flaw]:
    """The first flaws that there are: in the description of a run, in the run, in its results."""
    for find in (find_description_flaws, find_run_flaws, find_result_flaws):
        flaws = find(directory, job)
        if flaws:
            return flaws
    return []


def find_description_flaws(directory: StudyDirectory, job: Job) -> list[Flaw]:
    """Whether the description of a run that was begun is there, and is that of the job."""
    run = directory.open_run(job)
    try:
        run.refuse_leftovers()
        if not run.exists:
            return []
        found = run.read_description()["what"]
    except StoreError as error:
        return [Flaw(run.description_path, _say_problem(error))]
    problem = find_other_run(found, job)
    return [Flaw(run.description_path, problem)] if problem else []


def find_other_run(what: Mapping[str, Any], job: Job) -> str | None:
    """Why a run of which that is said is not the job's, if it is not."""
    wanted = _describe(job)
    difference = locate_difference("run", {part: what.get(part) for part in wanted}, wanted)
    return f"this is another run: {_say(difference)}" if difference else None


def find_run_flaws(directory: StudyDirectory, job: Job) -> list[Flaw]:
    """What is wrong with the agents and curves of a run whose description is right."""
    what = _describe(job)

    def check_agent(seed: int) -> Callable[[Path], str | None]:
        return lambda path: find_foreign(read_agent(path)[1], seed, what)

    run = directory.open_run(job)
    checks = {run.agent_path(seed): check_agent(seed) for seed in job.seeds}
    checks[run.curves_path] = lambda path: _find_odd_seeds(read_table(path), job)
    return list(_find(checks))


def find_checkpoint_flaws(directory: StudyDirectory, job: Job) -> list[Flaw]:
    """What is wrong with the checkpoint that a training is to go on from."""
    run = directory.open_run(job)
    try:
        run.check_checkpoint()
    except StoreError as error:
        return [Flaw(run.checkpoint_path, _say_problem(error))]
    return []


def find_result_flaws(directory: StudyDirectory, job: Job) -> list[Flaw]:
    """What is wrong with what was found out about agents, all of which are there and right."""
    run, records = directory.open_run(job), directory.open_records(job)
    known = read_hashes(run.path)
    files = {seed: run.agent_path(seed) for seed in job.seeds}
    weights = {s: hash_weights(it) if it.exists() else known[s] for s, it in files.items()}
    tables = dict(_find_table_flaws(records, job, weights))
    table = records.table_path("certificates")
    rows = {} if table in tables or not table.exists() else _read_rows(records)
    certificates = _find_certificate_flaws(records, job, weights, rows)
    if _OTHER_WEIGHTS in certificates.values():
        # Older tables do not say which weights they are of; certificates do, made beside them.
        problem = "a certificate beside it is about other weights, so this may be too"
        for name in ("evaluations", "stability"):
            path = records.table_path(name)
            if path not in tables and path.exists() and records.read_weights(name) is None:
                tables[path] = problem
    if certificates:
        problem = "it repeats a certificate that is made again"
        tables.setdefault(table, problem)
    return [
        Flaw(path, problem) for path, problem in {**certificates, **tables}.items() if path.exists()
    ]


def _describe(job: Job) -> dict[str, Any]:
    """What the description of a job's run has to say of it."""
    return {
        "environment": envs.describe(*job.make_environment()),
        "architecture": json.loads(job.make_architecture().to_json()),
        "config": job.make_config().to_json(),
        "seeds": list(job.seeds),
    }


def _find(checks: Mapping[Path, Callable[[Path], str | None]]) -> Iterator[Flaw]:
    for path, check in checks.items():
        if not path.exists():
            continue
        try:
            problem = check(path)
        except StoreError as error:
            problem = _say_problem(error)
        if problem:
            yield Flaw(path, problem)


def _find_table_flaws(
    records: AgentRecords, job: Job, weights: Mapping[int, str]
) -> Iterator[tuple[Path, str]]:
    for stage in [stages[name] for name in job.stages]:
        optional = list(_find_stage_flaws(records, job, weights, stage.optional_tables))
        if optional:
            # That one of these is missing, nobody notices; so the whole stage is done again.
            problem = f"it was made together with {optional[0][0].name}, which is made again"
            yield records.table_path(stage.tables[0]), problem
        yield from optional
        yield from _find_stage_flaws(records, job, weights, stage.tables)


def _find_stage_flaws(
    records: AgentRecords, job: Job, weights: Mapping[int, str], tables: Sequence[str]
) -> Iterator[tuple[Path, str]]:
    for table in tables:
        path = records.table_path(table)
        try:
            problem = path.exists() and _find_foreign_rows(records, table, job, weights)
        except StoreError as error:
            problem = _say_problem(error)
        except (LookupError, TypeError, ValueError) as error:
            problem = f"the table is damaged ({type(error).__name__}: {error})"
        if problem:
            yield path, problem


def _find_foreign_rows(
    records: AgentRecords, table: str, job: Job, weights: Mapping[int, str]
) -> str | None:
    columns = read_table(records.table_path(table))
    for name in ("preset", "network", "cell"):
        found = set(columns.get(name, np.zeros(0)).tolist())
        if name == "network":
            found = {architectures.find_name(network) for network in found}
        if found and found != {getattr(job, name)}:
            return f"it is of another training: {name} is {_list(found)}"
    growth = job.make_environment()[0].growth
    axis = growth.name if growth else ""
    lengths = job.list_lengths(sampled=table.startswith("sampled_"))
    if axis in columns and set(columns[axis].tolist()) != set(lengths):
        return "its lengths are not those of the plan"
    told = records.read_weights(table)
    if told is not None and told != weights:
        return "it is about agents with other weights"
    return _find_odd_seeds(columns, job)


def _find_odd_seeds(columns: Columns, job: Job) -> str | None:
    found = set(columns.get("seed", np.zeros(0)).tolist())
    if found == set(job.seeds):
        return None
    return f"its seeds are {_list(found)} and should be {_list(job.seeds)}"


def _find_certificate_flaws(
    records: AgentRecords, job: Job, weights: Mapping[int, str], rows: Mapping[int, Row]
) -> dict[Path, str]:
    """`rows` are what the table of certificates says of them, by seed."""
    if "certify" not in job.stages:
        return {}
    environment = identify_environment(*job.make_environment())

    def check_certificate(seed: int) -> Callable[[Path], str | None]:
        def check(path: Path) -> str | None:
            found = read_certificate(path)
            try:
                row = make_row(found)
                problem = _find_other_subject(found, weights[seed], environment, job.budget)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                return f"the certificate is damaged ({type(error).__name__}: {error})"
            # The table has a digest, a certificate has none.
            disagrees = seed in rows and not _agree(rows[seed], row)
            told = "the certificate is damaged: the table of certificates says something else"
            return problem or (told if disagrees else None)

        return check

    checks = {records.certificate_path(it): check_certificate(it) for it in job.seeds}
    return {flaw.path: flaw.problem for flaw in _find(checks)}


def _find_other_subject(
    found: Mapping[str, Any], policy: str, environment: Mapping[str, Any], budget: int
) -> str | None:
    """Why a certificate is not what the plan asks of an agent, if it is not."""
    if found["agent"]["sha256"] != policy:
        return _OTHER_WEIGHTS
    difference = locate_difference("environment", found["environment"], environment)
    if difference:
        return f"this certificate is of another environment: {_say(difference)}"
    # A certificate that leaves nothing open does not say how far it might have looked.
    difference = locate_difference("budget", found["compiled"]["budget"] or budget, budget)
    return f"this certificate was made otherwise: {_say(difference)}" if difference else None


def _read_rows(records: AgentRecords) -> dict[int, Row]:
    """The rows of the table of certificates, by seed."""
    columns = records.read("certificates")
    lists = [column.tolist() for column in columns.values()]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    return {row["seed"]: row for row in rows}


def _agree(told: Row, row: Row) -> bool:
    """Whether a table says of a certificate what the certificate says, in as far as it does."""
    return all(_is_same(told.get(name, value), value) for name, value in row.items())


def _is_same(one: Any, other: Any) -> bool:
    """Unknown numbers of float columns are read as NaN."""
    if other is None:
        return one is None or (isinstance(one, float) and math.isnan(one))
    return one == other


def _say_problem(error: StoreError) -> str:
    return " ".join(error.problem.split())


def _say(difference: tuple[str, Any, Any]) -> str:
    place, found, wanted = difference
    return f"{place} is {found!r} and should be {wanted!r}"


def _list(values: Any) -> str:
    return ", ".join(map(str, sorted(values, key=str))) or "none"
