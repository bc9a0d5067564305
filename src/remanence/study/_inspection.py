"""What of a job's files is damaged or of something else, so that it has to be made anew.

A file that is missing is no flaw: the job makes it.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from remanence import envs
from remanence.certificates import hash_policy, identify_environment, read_certificate
from remanence.errors import StoreError
from remanence.networks import read_agent
from remanence.store import locate_difference, read_table
from remanence.study._directory import StudyDirectory
from remanence.study._plan import Job
from remanence.study._records import Columns, Row, record_certificate
from remanence.training import find_foreign

_OTHER_WEIGHTS = "this certificate is of another agent's weights"


@dataclasses.dataclass(frozen=True)
class Flaw:
    """A file that cannot stay, and why."""

    path: Path
    problem: str


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

    checks = {directory.agent_path(job, seed): check_agent(seed) for seed in job.seeds}
    checks[directory.table_path("curves", job)] = lambda path: _find_odd_seeds(
        read_table(path), job
    )
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
    tables = _find_table_flaws(directory, job)
    table = directory.table_path("certificates", job)
    certificates = _find_certificate_flaws(
        directory, job, {} if table in tables else _read_rows(table)
    )
    if _OTHER_WEIGHTS in certificates.values():
        # Tables do not say which weights they are of. Certificates do, and were made beside them.
        problem = "a certificate beside it is of other weights, so this may be too"
        for name in ("evaluations", "stability"):
            tables.setdefault(directory.table_path(name, job), problem)
    if certificates:
        problem = "it repeats a certificate that is made anew"
        tables.setdefault(table, problem)
    return [
        Flaw(path, problem) for path, problem in {**certificates, **tables}.items() if path.exists()
    ]


def _describe(job: Job) -> dict[str, Any]:
    """What the description of a job's run has to say of it."""
    return {
        "environment": envs.describe(*job.make_environment()),
        "architecture": json.loads(job.make_architecture().to_json()),
        "config": dataclasses.asdict(job.make_config()),
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


def _find_table_flaws(directory: StudyDirectory, job: Job) -> dict[Path, str]:
    checks = {
        directory.table_path(table, job): lambda path: _find_foreign_rows(read_table(path), job)
        for table in ("evaluations", "stability", "certificates")
    }
    return {flaw.path: flaw.problem for flaw in _find(checks)}


def _find_foreign_rows(columns: Columns, job: Job) -> str | None:
    for name in ("preset", "network", "cell"):
        found = set(columns.get(name, np.zeros(0)).tolist())
        if found != {getattr(job, name)}:
            return f"it is of another training: {name} is {_list(found)}"
    if "length" in columns and set(columns["length"].tolist()) != set(job.lengths):
        return "its lengths are not those of the plan"
    return _find_odd_seeds(columns, job)


def _find_odd_seeds(columns: Columns, job: Job) -> str | None:
    found = set(columns.get("seed", np.zeros(0)).tolist())
    if found == set(job.seeds):
        return None
    return f"its seeds are {_list(found)} and should be {_list(job.seeds)}"


def _find_certificate_flaws(
    directory: StudyDirectory, job: Job, rows: Mapping[int, Row]
) -> dict[Path, str]:
    """`rows` are what the table of certificates says of them, by seed."""
    environment = identify_environment(*job.make_environment())

    def check_certificate(seed: int) -> Callable[[Path], str | None]:
        def check(path: Path) -> str | None:
            found = read_certificate(path)
            try:
                row = record_certificate(seed, found)
                policy = _hash_policy(directory.agent_path(job, seed))
                problem = _find_other_subject(found, policy, environment, job.budget)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                return f"the certificate is damaged ({type(error).__name__}: {error})"
            # The table has a digest, a certificate has none.
            disagrees = seed in rows and not _agree(rows[seed], row)
            told = "the certificate is damaged: the table of certificates says something else"
            return problem or (told if disagrees else None)

        return check

    checks = {directory.certificate_path(job, it): check_certificate(it) for it in job.seeds}
    return {flaw.path: flaw.problem for flaw in _find(checks)}


def _find_other_subject(
    found: Mapping[str, Any], policy: str, environment: Mapping[str, Any], budget: int
) -> str | None:
    """Why a certificate is not what the plan asks of an agent, if it is not."""
    if found["agent"]["sha256"] != policy:
        return _OTHER_WEIGHTS
    difference = locate_difference("environment", found["environment"], environment)
    if difference:
        return f"this certificate is of another maze: {_say(difference)}"
    # A certificate that leaves nothing open does not say how far it might have looked.
    difference = locate_difference("budget", found["compiled"]["budget"] or budget, budget)
    return f"this certificate was made otherwise: {_say(difference)}" if difference else None


def _read_rows(path: Path) -> dict[int, Row]:
    """The rows of a table by seed, if it is there."""
    columns = read_table(path) if path.exists() else {}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*_to_lists(columns), strict=True)]
    return {row["seed"]: row for row in rows}


def _to_lists(columns: Columns) -> list[list[Any]]:
    return [column.tolist() for column in columns.values()]


def _agree(told: Row, row: Row) -> bool:
    """Whether a table says of a certificate what the certificate says, in as far as it does."""
    return all(_is_same(told.get(name, value), value) for name, value in row.items())


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(other):
        return math.isnan(one)
    return one == other


def _hash_policy(path: Path) -> str:
    return hash_policy(read_agent(path)[0])


def _say_problem(error: StoreError) -> str:
    return " ".join(error.problem.split())


def _say(difference: tuple[str, Any, Any]) -> str:
    place, found, wanted = difference
    return f"{place} is {found!r} and should be {wanted!r}"


def _list(values: Any) -> str:
    return ", ".join(map(str, sorted(values, key=str))) or "none"
