"""What is known of finished jobs, as a small folder that is laid out as a study or a run is.

study.json, run.json     as they are
tables                   each as a well compressed Parquet file
packed.tar.xz            of each run, its agents and certificates
weights.json             instead of agents that are large, the hashes of their policies
status/                  of finished jobs, without the machine that they ran on
archive.json             what was left out, and a digest of all files
"""

import contextlib
import dataclasses
import hashlib
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

import numpy as np

from remanence.errors import InvalidOptionError, StoreError
from remanence.store import (
    read_about,
    read_json,
    write_bytes,
    write_json,
    write_pack,
    write_table,
)
from remanence.study._directory import StudyDirectory
from remanence.study._entries import RunEntry, list_entries
from remanence.study._inspection import find_flaws, is_done
from remanence.study._plan import Job
from remanence.study._records import (
    CERTIFICATES,
    MAZE_CERTIFICATES,
    RADII,
    AgentRecords,
    hash_weights,
)
from remanence.study._results import list_tables
from remanence.study._rows import Columns
from remanence.study._status import DONE, read_job_status
from remanence.training import AGENT_FOLDER, RunDirectory, read_hashes, write_hashes

KEPT_WEIGHTS = ("small", "all", "none")
KEPT_TABLES = ("small", "whole")
# One of five units has 6 KB, one of 128 units 350 KB and more.
LARGEST_SMALL = 65_536
_FORMAT = 1
_NOTE = "archive.json"
_RETURNS = ("seed", "iteration", "return")


@dataclasses.dataclass(frozen=True)
class Archive:
    """What was archived: runs by name, jobs that were left out and why, runs without weights.

    >>> from remanence import study
    >>> study.Archive(["gru"], {"bmru": "waiting"}, [], 5000).left_out
    {'bmru': 'waiting'}
    """

    runs: Sequence[str]
    left_out: Mapping[str, str]
    without_weights: Sequence[str]
    num_bytes: int


def write_archive(
    path: str | Path, out: str | Path, *, weights: str = "small", tables: str = "small"
) -> Archive:
    """Write what is known of a run, or of a study's finished jobs, into a folder of its own.

    All that reads a study or a run reads the folder, and a study goes on in a copy of it: finished
    jobs count as such. Checkpoints are left out. `weights` says of which agents weights are kept,
    by default of those with files of up to 64 KiB. Of `tables` that are small, curves have returns
    alone and orbits single precision, which is what claims and figures need; the others are always
    kept to the bit. The same contents give the same bytes. An earlier archive at `out` is replaced.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> study.write_archive("examples/agents/mingru", "small/mingru").runs
    ['mingru']
    >>> sorted(file.name for file in Path("small/mingru").iterdir())
    ['archive.json', 'curves.parquet', 'packed.tar.xz', 'run.json']
    >>> [entry.seeds for entry in study.list_entries("small/mingru")]
    [[1]]
    """
    _check_choice("weights", weights, KEPT_WEIGHTS)
    _check_choice("tables", tables, KEPT_TABLES)
    path, without = Path(path), []
    entries = list_entries(path)
    left_out = dict(_find_unfinished(path, entries))
    kept = [entry for entry in entries if entry.id not in left_out]
    if not kept:
        problem = f"nothing here is finished ({_list(left_out)})"
        raise StoreError(path, problem, "wait until a training and all that is asked of it is done")
    with _replace_folder(Path(out)) as folder:
        for entry in kept:
            target = folder / entry.run.path.relative_to(path)
            if not _copy_run(entry, target, weights, tables):
                without.append(entry.id)
        if _is_study(path):
            _copy_plan(StudyDirectory(path), folder, {entry.id for entry in kept})
        told = {"tables": tables, "left_out": left_out, "without_weights": without}
        write_json(folder / _NOTE, {"format": _FORMAT, **told, "sha256": _digest(folder)})
        num_bytes = sum(file.stat().st_size for file in _list_files(folder))
    return Archive([entry.id for entry in kept], left_out, without, num_bytes)


def _check_choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InvalidOptionError(option, value, f"it is one of {', '.join(known)}")


def _is_study(path: Path) -> bool:
    return not RunDirectory(path).exists


def _find_unfinished(path: Path, entries: Sequence[RunEntry]) -> Iterator[tuple[str, str]]:
    """The runs that cannot be archived yet, and how far they are."""
    if not _is_study(path):
        (entry,) = entries
        problem = _find_missing(entry)
        if problem:
            yield entry.id, problem
        return
    directory = StudyDirectory(path)
    for job in directory.read_study().jobs:
        if not is_done(directory, job):
            yield job.id, _say_state(directory, job)


def _find_missing(entry: RunEntry) -> str | None:
    """Why the training of a run is not at its end, if it is not."""
    known = read_hashes(entry.run.path)
    missing = [
        seed
        for seed in entry.seeds
        if seed not in known and not entry.run.agent_path(seed).exists()
    ]
    if missing or not entry.run.curves_path.exists():
        return "its training is not finished"
    last = int(entry.run.load_curves()["iteration"].max())
    if last < entry.num_iterations:
        return f"its training has come to iteration {last} of {entry.num_iterations}"
    return None


def _say_state(directory: StudyDirectory, job: Job) -> str:
    status = read_job_status(directory.status_path(job))
    if status.state == DONE:
        flaws = find_flaws(directory, job) if directory.has_results(job) else []
        return f"{flaws[0].path.name}: {flaws[0].problem}" if flaws else "files of it are missing"
    if status.stage and status.iteration < status.num_iterations:
        return f"{status.state}, iteration {status.iteration} of {status.num_iterations}"
    return f"{status.state}, {status.stage}" if status.stage else status.state


def _copy_plan(directory: StudyDirectory, folder: Path, kept: Set[str]) -> None:
    """The plan as it is, and that some of its jobs are done, but not on which machine."""
    copy = StudyDirectory(folder)
    _copy(directory.path / "study.json", folder / "study.json")
    for job in directory.read_study().jobs:
        if job.id in kept:
            status = read_job_status(directory.status_path(job))
            told = dataclasses.replace(status, host="", pid=0, replaced=[])
            write_json(copy.status_path(job), dataclasses.asdict(told))


def _copy_run(entry: RunEntry, target: Path, weights: str, tables: str) -> bool:
    """Write a run in small; returns whether its agents are in it."""
    _copy(entry.run.description_path, target / entry.run.description_path.name)
    for table in _list_tables(entry.records):
        columns = entry.records.read(table)
        columns = _shrink(table, columns) if tables == "small" else columns
        about = read_about(entry.records.table_path(table))
        write_table(target / f"{table}.parquet", columns, about, small=True)
    files = dict(_list_packed(entry))
    hashes = read_hashes(entry.run.path)
    agents = {seed: entry.run.agent_path(seed) for seed in entry.seeds}
    if not hashes and not _keeps_weights(list(agents.values()), weights):
        hashes = {seed: hash_weights(file) for seed, file in agents.items()}
    if hashes:
        write_hashes(target, hashes)
    files |= {} if hashes else {f"{AGENT_FOLDER}/{file.name}": file for file in agents.values()}
    if files:
        write_pack(target, {name: file.read_bytes() for name, file in files.items()})
    return not hashes


def _shrink(table: str, columns: Columns) -> Columns:
    """What is needed of the tables that take most of the space."""
    if table == "curves":
        return {name: columns[name] for name in _RETURNS}
    if table == "orbits":
        return {**columns, "state": columns["state"].astype(np.float32).astype(np.float64)}
    return columns


def _keeps_weights(files: Sequence[Path], weights: str) -> bool:
    if weights != "small":
        return weights == "all"
    return all(file.stat().st_size <= LARGEST_SMALL for file in files)


def _list_tables(records: AgentRecords) -> list[str]:
    """All tables of a run, of stages that are not known here too."""
    found = {file.stem for file in records.path.glob("*.parquet") if file.stem != "evaluation"}
    found |= {table for table in list_tables() if table != "summary" and records.has(table)}
    return sorted(found)


def _list_packed(entry: RunEntry) -> Iterator[tuple[str, Path]]:
    """Files about single agents, by the names that they have in a pack."""
    records = entry.records
    folders = {
        CERTIFICATES: records.certificate_path,
        MAZE_CERTIFICATES: records.maze_certificate_path,
        RADII: records.radius_path,
    }
    for folder, find in folders.items():
        for seed in entry.seeds:
            if find(seed).exists():
                yield f"{folder}/{find(seed).name}", find(seed)


def _copy(source: Path, target: Path) -> None:
    write_bytes(target, source.read_bytes())


@contextlib.contextmanager
def _replace_folder(out: Path) -> Iterator[Path]:
    """A folder to fill, which then takes the place of `out`, unless something goes wrong."""
    _refuse_others(out)
    folder = out.with_name(f".{out.name}.{secrets.token_hex(8)}.part")
    try:
        folder.mkdir(parents=True)
        yield folder
        if out.exists():
            earlier = folder.with_suffix(".earlier")
            out.rename(earlier)
            folder.rename(out)
            shutil.rmtree(earlier)
        else:
            folder.rename(out)
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise StoreError(out, problem, "check space and permissions") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_others(out: Path) -> None:
    """Raise if there is something that is not an archive, or one that has been worked on."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    note = out / _NOTE
    told = read_json(note) if note.exists() else None
    if not isinstance(told, dict) or told.get("sha256") != _digest(out):
        problem = "there is something else than an archive here, or one that has changed since"
        raise StoreError(out, problem, "choose another directory, or remove it first")


def _list_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def _digest(folder: Path) -> str:
    """SHA-256 over names and contents of all files but the one that it is written to."""
    digest = hashlib.sha256()
    for file in _list_files(folder):
        if file != folder / _NOTE:
            name = file.relative_to(folder).as_posix()
            digest.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _list(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{id}: {why}" for id, why in left_out.items())
