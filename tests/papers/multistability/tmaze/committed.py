"""Records of the study whose results the repository shows, from its tables and certificates."""

import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from remanence.certificates import read_certificate
from remanence.report import IDENTITY, Records, read_records
from remanence.store import read_table, write_json
from tests.report.stores import write_run

RESULTS = Path(__file__).parents[4] / "docs" / "results" / "tmaze"
NUMBERS = ("seed", "vaa", "vaa_limit", "transient_up", "transient_down")


def read_committed(path: Path) -> Records:
    """Everything but learning curves and orbits, which the repository does not show.

    `path` is where an empty study of the same plan is written to.
    """
    jobs = _write_plan(path)
    tables = {
        name: _read_csv(RESULTS / "tables" / f"{name}.csv")
        for name in ("stability", "certificates")
    }
    tables["outcomes"] = read_table(RESULTS / "tables" / "outcomes.parquet")
    certificates = {
        (job["id"], seed): read_certificate(
            RESULTS / "certificates" / job["id"] / f"seed-{seed}.json"
        )
        for job in jobs
        for seed in job["seeds"]
    }
    empty = read_records(path)
    named = {name: _name_agents(columns) for name, columns in tables.items()}
    return dataclasses.replace(
        empty, tables={**empty.tables, **named}, certificates=certificates, problems=()
    )


def _write_plan(path: Path) -> list[dict]:
    with (RESULTS / "tables" / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    jobs: list[dict[str, Any]] = [
        {
            "id": _name_job(row["preset"], row["network"], row["cell"]),
            **{name: row[name] for name in ("preset", "network", "cell")},
            "seeds": list(range(1, int(row["agents"]) + 1)),
            "num_iterations": _count_iterations(row["network"]),
            "lengths": [2],
            "changes": {},
        }
        for row in rows
    ]
    plan = {"format": 1, "name": "tmaze", "profile": "laptop", "note": "", "jobs": jobs}
    write_json(path / "study.json", plan)
    for job in jobs:
        write_run(path / "runs" / str(job["id"]), job["preset"], job["cell"])
    return jobs


def _name_model(network: str, cell: str) -> str:
    return cell if network == "tmaze" else network


def _name_job(preset: str, network: str, cell: str) -> str:
    return f"{preset}-{_name_model(network, cell)}"


def _count_iterations(network: str) -> int:
    return 10 if network == "deep-mingru" else 250


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: np.array([float(it) if it else np.nan for it in column])
        if name in NUMBERS
        else np.array(column)
        for name, column in columns.items()
    }


def _name_agents(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns with those that say which agent a row is about."""
    labels = list(
        zip(*(columns[name].tolist() for name in ("preset", "network", "cell")), strict=True)
    )
    named = {
        "job": np.array([_name_job(*label) for label in labels]),
        "model": np.array([_name_model(network, cell) for _, network, cell in labels]),
        "variant": np.full(len(labels), ""),
        "parallelizable": np.isin(columns["cell"], ["mingru", "bmru"]),
        "num_iterations": np.array([_count_iterations(network) for _, network, _ in labels]),
        "seed": columns["seed"].astype(int),
    }
    found = columns | named
    assert set(IDENTITY) <= set(found)
    return found
