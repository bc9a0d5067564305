"""What is known of the agents of a study, or of a run, as columns.

A file that is missing or broken is named among the problems, and the rest is read.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from remanence.certificates import LengthSet, read_certificate
from remanence.errors import RemanenceError, StoreError
from remanence.figures import Columns, count_rows, keep_rows
from remanence.study import (
    JobStatus,
    RunEntry,
    StudyDirectory,
    list_entries,
    read_status,
)
from remanence.training import RunDirectory

# The columns of each table, and NumPy's letters for what may be in them.
WHOLE, NUMBER, WORD = "iu", "iuf", "OUT"
OUTCOMES = {"seed": WHOLE, "return": NUMBER, "outcome": WORD}
DECISIONS = dict.fromkeys(("seed", "first", "last", "num_right", "num_decisions"), WHOLE)
NEEDED = {
    "evaluations": {"seed": WHOLE, "return": NUMBER, "end": WORD},
    "outcomes": OUTCOMES,
    "sampled_outcomes": OUTCOMES,
    "decisions": DECISIONS,
    "sampled_decisions": DECISIONS,
    "stability": {"seed": WHOLE, "vaa": NUMBER, "vaa_limit": NUMBER, "stability": WORD},
    "orbits": {"seed": WHOLE, "cue": WHOLE, "step": WHOLE, "unit": WHOLE, "state": NUMBER},
    "certificates": {
        **{"seed": WHOLE, "solved": WORD, "optimal": WORD},
        **{"transient_up": NUMBER, "transient_down": NUMBER},
    },
    "maze_certificates": {"seed": WHOLE, "table": WORD, "walk": WORD, "verdict": WORD},
    "curves": {"seed": WHOLE, "iteration": WHOLE, "return": NUMBER},
}
IDENTITY = (
    *("job", "preset", "model", "cell", "variant"),
    *("parallelizable", "num_iterations", "seed"),
)


class GrowthWords(NamedTuple):
    """What grows in the task, by the name of its column and in words."""

    name: str
    label: str


@dataclasses.dataclass(frozen=True)
class Records:
    """What was planned, tables, certificates by run and seed, and what could not be read.

    All of it is of one arm of the study, the main one, and nothing that is made of these records
    mixes arms; `variants` has the records of the others by their names, so that
    `derive_tables(records.variants[name])` gives the same tables of another arm.

    `description` is what study.json or run.json says, `status` has the state of every run by its
    id. Every table has the columns of `IDENTITY`, which say which agent a row is about; unknown
    numbers are NaN, unknown words empty. `levels` are returns to compare with, by name.

    >>> from remanence import report
    >>> records = report.read_records("examples/agents/mingru")
    >>> records.trained, records.levels["optimal"], records.problems
    ({'mingru': (1, 3)}, 4.0, ())
    """

    path: Path
    description: Mapping[str, Any]
    jobs: Sequence[RunEntry]
    status: Mapping[str, JobStatus]
    tables: Mapping[str, Columns]
    certificates: Mapping[tuple[str, int], Mapping[str, Any]]
    problems: tuple[str, ...]
    growth: GrowthWords
    levels: Mapping[str, float]
    variants: Mapping[str, "Records"] = dataclasses.field(default_factory=dict)

    @property
    def arms(self) -> "list[Records]":
        """The records of every arm: these, and those of the variants."""
        return [self, *self.variants.values()]

    @property
    def trained(self) -> dict[str, tuple[int, int] | None]:
        """The lowest and the highest value of what grows that each run was trained on."""
        found = {entry.id: entry.about["trained"] for entry in self.jobs}
        return {id: None if ends is None else (ends[0], ends[1]) for id, ends in found.items()}


def read_records(path: str | Path) -> Records:
    """All that is there of the study, or of the run, in a directory.

    >>> from remanence import report
    >>> curves = report.read_records("examples/agents/mingru").tables["curves"]
    >>> curves["model"][0].item(), curves["iteration"].max().item()
    ('mingru', 250)
    """
    path = Path(path)
    entries = list_entries(path)
    run = RunDirectory(path)
    description = run.read_description() if run.exists else StudyDirectory(path).read_description()
    status = {entries[0].id: JobStatus(state="done")} if run.exists else read_status(path).jobs
    names = dict.fromkeys(["", *(entry.variant for entry in entries)])
    arms = {
        name: _read_arm(path, description, [it for it in entries if it.variant == name], status)
        for name in names
    }
    main = arms.pop("")
    return dataclasses.replace(main, variants=arms)


def _read_arm(
    path: Path,
    description: Mapping[str, Any],
    entries: Sequence[RunEntry],
    status: Mapping[str, JobStatus],
) -> Records:
    """All that is there of some runs, which are an arm of a study."""
    problems = list(_list_absences(entries))
    growth = _find_growth(entries)
    return Records(
        path,
        description,
        entries,
        {entry.id: status[entry.id] for entry in entries},
        tables={
            name: _read_all(path, entries, name, growth, problems) for name in _list_names(entries)
        },
        certificates=dict(_read_certificates(path, entries, problems)),
        problems=tuple(problems),
        growth=growth,
        levels=next((it for entry in entries if (it := entry.about["levels"])), {}),
    )


def _list_names(entries: Sequence[RunEntry]) -> list[str]:
    """The tables that every study may have, and those that only stages of this one make."""
    return list(dict.fromkeys([*NEEDED, *(name for entry in entries for name in entry.tables)]))


def _find_growth(entries: Sequence[RunEntry]) -> GrowthWords:
    for entry in entries:
        if entry.about["growth"]:
            return GrowthWords(**entry.about["growth"])
    return GrowthWords("length", "length")


def explain(path: Path, what: str, error: Exception) -> str:
    """What is missing and why; paths as they are within the study, wherever that lies."""
    return f"{what} ({str(error).replace(f'{path}/', '').rstrip('.')})."


def _read_all(
    path: Path,
    entries: Sequence[RunEntry],
    table: str,
    growth: GrowthWords,
    problems: list[str],
) -> Columns:
    """A table of all runs in which the same grows, with the columns that all of them have."""
    parts = []
    for entry in entries:
        if not entry.records.can_read(table):
            continue
        try:
            part = _read_part(entry, table)
        except StoreError as error:
            problems.append(explain(path, f"{entry.id}: no {table}", error))
            continue
        if table in ("evaluations", "outcomes") and growth.name not in part:
            problems.append(
                f"{entry.id}: no {table} by {growth.name}, which is what grows on this page; "
                "a report of that run alone has them by what grows there."
            )
            continue
        parts.append(part)
        problems += _find_missing_seeds(entry, table, part)
        if table == "curves" and not np.all(part["finished"]):
            problems.append(f"{entry.id}: the training has not come to its end.")
    if not parts:
        return {name: np.zeros(0) for name in {*IDENTITY, *NEEDED.get(table, ()), "finished"}}
    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _list_absences(entries: Sequence[RunEntry]) -> Iterator[str]:
    """What runs of a study lack; those that have nothing, if several, in one sentence."""
    # Orbits are kept for figures alone, and older runs do not have them.
    wanted = {it.id: [table for table in it.tables if table != "orbits"] for it in entries}
    absent = {
        it.id: [table for table in wanted[it.id] if not it.records.can_read(table)]
        for it in entries
    }
    blank = [name for name, tables in absent.items() if tables == wanted[name]]
    if len(blank) > 1:
        yield f"{len(blank)} jobs have no results: {', '.join(blank)}."
        absent = {name: tables for name, tables in absent.items() if name not in blank}
    yield from (f"{name}: no {', no '.join(it)}." for name, it in absent.items() if it)


def _read_part(entry: RunEntry, table: str) -> Columns:
    file, columns = entry.records.table_path(table), entry.records.read(table)
    for name, kinds in NEEDED.get(table, {"seed": WHOLE}).items():
        if name not in columns:
            raise StoreError(file, f"has no column {name!r}", "make it again")
        if columns[name].dtype.kind not in kinds:
            raise StoreError(
                file, f"holds values of another kind in its column {name!r}", "make it again"
            )
    number = count_rows(columns)
    identity = {
        "job": entry.id,
        "preset": entry.preset,
        "model": entry.model,
        "cell": entry.cell,
        "variant": entry.variant,
        "parallelizable": bool(entry.about["parallelizable"]),
        "num_iterations": entry.num_iterations,
    }
    named = {name: np.full(number, value) for name, value in identity.items()}
    known = {name: _fill_unknown(column) for name, column in columns.items()}
    if table != "curves":
        return known | named
    named["finished"] = np.full(number, _count_iterations(columns) >= entry.num_iterations)
    # An iteration in which no episode ended has no return.
    return keep_rows(known | named, np.isfinite(known["return"]))


def _fill_unknown(column: np.ndarray) -> np.ndarray:
    """Numbers with NaN and words with nothing where something is unknown."""
    if column.dtype.kind in WORD:
        return np.ma.filled(column, "").astype(str)
    return np.ma.filled(column.astype(float), np.nan) if np.ma.is_masked(column) else column


def _count_iterations(columns: Columns) -> int:
    return int(columns["iteration"].max()) if count_rows(columns) else 0


def _find_missing_seeds(entry: RunEntry, table: str, columns: Columns) -> list[str]:
    missing = sorted(set(entry.seeds) - set(columns["seed"].tolist()))
    seeds = ", ".join(map(str, missing))
    # Iterations in which no episode ended are left out of curves.
    what = "no return" if table == "curves" else "nothing"
    return [f"{entry.id}: {what} in {table} of seed {seeds}."] if missing else []


def _read_certificates(
    path: Path, entries: Sequence[RunEntry], problems: list[str]
) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    for entry in entries:
        files = {seed: entry.records.certificate_path(seed) for seed in entry.seeds}
        begun = any(file.exists() for file in files.values())
        for seed, file in files.items() if begun else ():
            try:
                yield (entry.id, seed), _read_certificate(file)
            except RemanenceError as error:
                what = f"{entry.id}: no certificate of seed {seed}"
                problems.append(explain(path, what, error))


def _read_certificate(path: Path) -> Mapping[str, Any]:
    found = read_certificate(path)
    try:
        describe_certificate(found)
    except (LookupError, TypeError, ValueError) as error:
        raise StoreError(path, "parts of this certificate are missing", "make it again") from error
    return found


def describe_certificate(certificate: Mapping[str, Any]) -> dict[str, str]:
    """What a row of the report's tables of certificates says."""
    compiled, contraction = certificate["compiled"], certificate["contraction"]
    settled = [
        "open" if cue["transient"] is None else f"{cue['transient']:,}" for cue in compiled["cues"]
    ]
    return {
        "solved": _show_lengths(compiled["solved"]),
        "optimal": _show_lengths(compiled["optimal"]),
        "failure": _show_failure(compiled),
        "settled": " / ".join(settled),
        "merge": _show_merge(compiled["merge"], "open" in settled),
        "contraction": "not proved" if contraction is None else "proved",
    }


def _show_failure(compiled: Mapping[str, Any]) -> str:
    """Where it is first not right in time; if nowhere, where it first wastes a step."""
    failure, waste = (compiled["failures"][name] for name in ("solved", "optimal"))
    if failure is not None:
        return f"{failure['kind']} at {failure['length']:,}"
    found = "not known" if compiled["solved"] is None else "none"
    return f"{found}; first waste: {waste['kind']} at {waste['length']:,}" if waste else found


def _show_merge(merge: int | None, is_open: bool) -> str:
    if merge is None:
        return "open" if is_open else "never"
    return f"{merge:,}"


def _show_lengths(lengths: dict[str, Any] | None) -> str:
    return "undecided" if lengths is None else str(LengthSet.from_json(lengths))
