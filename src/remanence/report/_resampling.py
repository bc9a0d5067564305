"""Could a verdict have been told from its opposite with so many models? Asked of drawn studies.

From the models of a study others of the same size are drawn, with replacement and within each of
its jobs, and judged by the same rules (Efron 1979).
"""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from remanence.figures import Columns, Tables, count_rows
from remanence.report._claims import Claim, Finding, judge_claims

NUM_STUDIES = 200
# What a rule without exceptions has to be told from: that one model in ten is an exception.
RARE = 0.1

Draws = Mapping[str, np.ndarray]
Places = dict[tuple[str, int], np.ndarray]


def weigh_findings(
    claims: Mapping[str, Claim],
    tables: Tables,
    findings: Mapping[str, Finding],
    num_studies: int | None = None,
) -> dict[str, Finding]:
    """Findings with how sure each verdict is: the share of drawn studies that come to the same.

    A verdict that a single model could overturn is the same in every drawn study if none of these
    models does. It is as sure as that such a model would be among them if one in ten were; and that
    one is among them is sure.

    >>> from remanence import report
    >>> models = {"job": np.array(["gru"] * 6), "seed": np.arange(6), "end": np.array([4.0] * 6)}
    >>> def judge(tables):
    ...     return report.conclude("all", (tables["models"]["end"] == 4).all(), tables["models"])
    >>> claims = {"all": report.Claim("All do.", "all do", judge, "", overturned=report.AGREES)}
    >>> found = report.judge_claims(claims, {"models": models})
    >>> round(report.weigh_findings(claims, {"models": models}, found)["all"].sureness, 2)
    0.47
    """
    number = NUM_STUDIES if num_studies is None else num_studies
    tested = {name: claims[name] for name, it in findings.items() if it.agrees is not None}
    verdicts: dict[str, list[bool]] = {name: [] for name in tested}
    with warnings.catch_warnings(action="ignore"):
        for drawn in draw_studies(tables, number if tested else 0):
            for name, finding in judge_claims(tested, drawn).items():
                verdicts[name] += [] if finding.agrees is None else [finding.agrees]
    return {
        name: _weigh(claims[name], it, verdicts[name]) if name in tested else it
        for name, it in findings.items()
    }


def _weigh(claim: Claim, finding: Finding, verdicts: list[bool]) -> Finding:
    sureness = verdicts.count(bool(finding.agrees)) / len(verdicts) if verdicts else 0.0
    if claim.overturned:
        kept = finding.verdict == claim.overturned
        sureness = 1 - (1 - RARE) ** finding.num_models if kept else 1.0
    return dataclasses.replace(finding, sureness=sureness)


def draw_studies(tables: Tables, number: int) -> Iterator[Tables]:
    """Tables of studies that are drawn from the agents of one; always the same."""
    places = _Places(tables)
    generator = np.random.default_rng(0)
    for _ in range(number):
        draws = {job: generator.choice(seeds, len(seeds)) for job, seeds in places.seeds.items()}
        yield _DrawnTables(tables, places, draws)


class _Places:
    """Where the rows of each agent are, in the tables that are about agents."""

    def __init__(self, tables: Tables):
        self._found = {name: _find_places(table) for name, table in tables.items()}
        agents = sorted({agent for places in self._found.values() for agent in places or ()})
        # The seeds of each job, in whichever table they are.
        self.seeds: dict[str, list[int]] = {}
        for job, seed in agents:
            self.seeds.setdefault(job, []).append(seed)

    def find(self, name: str) -> Places | None:
        return self._found[name]


def _find_places(table: Columns) -> Places | None:
    if not {"job", "seed"} <= table.keys() or not count_rows(table):
        return None
    jobs, job_of_row = np.unique(table["job"], return_inverse=True)
    seeds, seed_of_row = np.unique(table["seed"], return_inverse=True)
    codes = job_of_row * len(seeds) + seed_of_row
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    return {
        (str(jobs[code // len(seeds)]), int(seeds[code % len(seeds)])): rows
        for code, rows in zip(found, np.split(order, starts[1:]), strict=True)
    }


class _DrawnTables(Mapping[str, Columns]):
    """Tables with the rows of the agents that were drawn, who are numbered anew; as asked for."""

    def __init__(self, tables: Tables, places: _Places, draws: Draws):
        self._tables, self._places, self._draws = tables, places, draws
        self._made: dict[str, Columns] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __getitem__(self, name: str) -> Columns:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Columns:
        table, places = self._tables[name], self._places.find(name)
        if places is None:
            return table
        parts = [
            (number, places[job, int(seed)])
            for job, seeds in self._draws.items()
            for number, seed in enumerate(seeds)
            if (job, int(seed)) in places
        ]
        rows = np.concatenate([rows for _, rows in parts]) if parts else np.zeros(0, int)
        numbers = np.repeat([number for number, _ in parts], [len(rows) for _, rows in parts])
        return {key: column[rows] for key, column in table.items()} | {"seed": numbers}
