"""What the store of a study holds, as columns.

A file that is missing or broken is named among the problems, and the rest is read.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from remanence import cells
from remanence.certificates import read_certificate
from remanence.errors import RemanenceError, StoreError
from remanence.figures import Columns, count_rows, keep_rows
from remanence.report._certificates import describe_certificate
from remanence.store import read_table
from remanence.study import Job, StudyDirectory, StudyStatus, read_status

# The columns of each table, and NumPy's letters for what may be in them.
WHOLE, NUMBER, WORD = "iu", "iuf", "OUT"
NEEDED = {
    "evaluations": {"seed": WHOLE, "length": WHOLE, "return": NUMBER, "end": WORD},
    "stability": {"seed": WHOLE, "vaa": NUMBER, "vaa_limit": NUMBER, "stability": WORD},
    "certificates": {
        **{"seed": WHOLE, "solved": WORD, "optimal": WORD},
        **{"transient_up": WHOLE, "transient_down": WHOLE},
    },
    "curves": {"seed": WHOLE, "iteration": WHOLE, "return": NUMBER},
}
IDENTITY = ("job", "preset", "model", "cell", "parallelizable", "num_iterations", "seed")


@dataclasses.dataclass(frozen=True)
class Records:
    """States of jobs, tables, certificates by job and seed, and what could not be read.

    `description` is what study.json says. Every table has the columns of `IDENTITY`, which say
    which agent a row is about.
    """

    directory: StudyDirectory
    description: Mapping[str, Any]
    status: StudyStatus
    tables: Mapping[str, Columns]
    certificates: Mapping[tuple[str, int], Mapping[str, Any]]
    problems: tuple[str, ...]

    @property
    def jobs(self) -> Sequence[Job]:
        """The plan's jobs, in its order."""
        return self.status.study.jobs


def read_records(path: str | Path) -> Records:
    """All that is there of the study in a directory."""
    directory = StudyDirectory(Path(path))
    status = read_status(path)
    jobs = status.study.jobs
    problems = [absence for job in jobs for absence in _find_absent(directory, job)]
    return Records(
        directory,
        directory.read_description(),
        status,
        tables={name: _read_all(directory, jobs, name, problems) for name in NEEDED},
        certificates=dict(_read_certificates(directory, jobs, problems)),
        problems=tuple(problems),
    )


def explain(directory: StudyDirectory, what: str, error: Exception) -> str:
    """What is missing and why; paths as they are within the study, wherever that lies."""
    return f"{what} ({str(error).replace(f'{directory.path}/', '').rstrip('.')})."


def is_parallelizable(cell: str) -> bool:
    """Whether the update of a registered cell is linear in the state."""
    if cell not in cells.registry:
        return False
    # Of the cell only its type matters, so its weights are not drawn.
    return eqx.filter_eval_shape(cells.make, cell, 2, 2, key=jax.random.key(0)).linear


def _read_all(
    directory: StudyDirectory, jobs: Sequence[Job], table: str, problems: list[str]
) -> Columns:
    """A table of all jobs, with the columns that all of them have."""
    parts = []
    for job in jobs:
        file = directory.table_path(table, job)
        if not file.exists():
            continue
        try:
            part = _read_part(file, job, table)
        except StoreError as error:
            problems.append(explain(directory, f"{job.id}: no {table}", error))
            continue
        parts.append(part)
        problems += _find_missing_seeds(job, table, part)
        if table == "curves" and not np.all(part["finished"]):
            problems.append(f"{job.id}: the training has not come to its end.")
    if not parts:
        return {name: np.zeros(0) for name in {*IDENTITY, *NEEDED[table], "finished"}}
    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _find_absent(directory: StudyDirectory, job: Job) -> list[str]:
    absent = [table for table in NEEDED if not directory.table_path(table, job).exists()]
    return [f"{job.id}: no {', no '.join(absent)}."] if absent else []


def _read_part(file: Path, job: Job, table: str) -> Columns:
    columns = read_table(file)
    for name, kinds in NEEDED[table].items():
        if name not in columns:
            raise StoreError(file, f"has no column {name!r}", "make it anew")
        if columns[name].dtype.kind not in kinds:
            raise StoreError(file, f"has something else in its column {name!r}", "make it anew")
    number = count_rows(columns)
    identity = {
        "job": job.id,
        "preset": job.preset,
        "model": job.model,
        "cell": job.cell,
        "parallelizable": is_parallelizable(job.cell),
        "num_iterations": job.num_iterations,
    }
    named = {name: np.full(number, value) for name, value in identity.items()}
    words = {name: it.astype(str) if it.dtype == object else it for name, it in columns.items()}
    if table != "curves":
        return words | named
    named["finished"] = np.full(number, _count_iterations(columns) >= job.num_iterations)
    # An iteration in which no episode ended has no return.
    return keep_rows(words | named, np.isfinite(words["return"]))


def _count_iterations(columns: Columns) -> int:
    return int(columns["iteration"].max()) if count_rows(columns) else 0


def _find_missing_seeds(job: Job, table: str, columns: Columns) -> list[str]:
    missing = sorted(set(job.seeds) - set(columns["seed"].tolist()))
    seeds = ", ".join(map(str, missing))
    return [f"{job.id}: nothing in {table} of seed {seeds}."] if missing else []


def _read_certificates(
    directory: StudyDirectory, jobs: Sequence[Job], problems: list[str]
) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    for job in jobs:
        files = {seed: directory.certificate_path(job, seed) for seed in job.seeds}
        begun = any(file.exists() for file in files.values())
        for seed, file in files.items() if begun else ():
            try:
                yield (job.id, seed), _read_certificate(file)
            except RemanenceError as error:
                what = f"{job.id}: no certificate of seed {seed}"
                problems.append(explain(directory, what, error))


def _read_certificate(path: Path) -> Mapping[str, Any]:
    found = read_certificate(path)
    try:
        describe_certificate(found)
    except (LookupError, TypeError, ValueError) as error:
        raise StoreError(path, "not a whole certificate", "make it anew") from error
    return found
