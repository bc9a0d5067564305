"""Tables that every experiment has, from the records of its study."""

from typing import Any

import numpy as np

from remanence.figures import Columns, Tables, count_rows, tabulate_levels
from remanence.report._records import IDENTITY, Records

# An empty table has columns too.
AGENT_COLUMNS = (*IDENTITY, "stability", "vaa", "vaa_limit")
UNMEASURED = {"stability": "", "vaa": np.nan, "vaa_limit": np.nan}

Row = dict[str, Any]
AgentKey = tuple[str, int]


def derive_common_tables(records: Records) -> Tables:
    """`agents`, `outcomes`, `curves`, `growth` and `levels`.

    `agents` has a row for each agent of which anything is known but its learning curve, with
    `stability`, `vaa` and `vaa_limit`; the others are as `remanence.figures` has them.

    >>> from remanence import report
    >>> tables = report.derive_common_tables(report.read_records("examples/agents/mingru"))
    >>> tables["growth"]["name"].item(), len(tables["curves"]["return"])
    ('length', 250)
    """
    agents = _list_agents(records)
    # A table of no rows may not know what grows.
    outcomes = {records.growth.name: np.zeros(0), **records.tables["outcomes"]}
    stability = [agents[key]["stability"] for key in _list_keys(outcomes)]
    growth = {"name": records.growth.name, "label": records.growth.label}
    return {
        "agents": stack_rows(list(agents.values()), AGENT_COLUMNS),
        "outcomes": {**outcomes, "stability": np.array(stability, str)},
        "curves": records.tables["curves"],
        "growth": {name: np.array([word]) for name, word in growth.items()},
        "levels": tabulate_levels(records.levels),
    }


def stack_rows(rows: list[Row], names: tuple[str, ...]) -> Columns:
    """Rows as columns (rows,) of the given names.

    >>> from remanence import report
    >>> rows = [{"seed": 1, "vaa": 0.5}, {"seed": 2, "vaa": 1.0}]
    >>> report.stack_rows(rows, ("seed",))["seed"].tolist()
    [1, 2]
    """
    return {name: np.array([row[name] for row in rows]) for name in names}


def list_rows(columns: Columns) -> list[Row]:
    """Columns (rows,) as rows.

    >>> from remanence import report
    >>> report.list_rows({"seed": np.array([1, 2]), "vaa": np.array([0.5, 1.0])})
    [{'seed': 1, 'vaa': 0.5}, {'seed': 2, 'vaa': 1.0}]
    """
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def index_by_agent(columns: Columns) -> dict[AgentKey, Row]:
    """The row of every agent, by job and seed, in a table that has one for each.

    >>> from remanence import report
    >>> columns = {"job": np.array(["gru", "gru"]), "seed": np.array([1, 2])}
    >>> report.index_by_agent({**columns, "vaa": np.array([0.5, 1.0])})["gru", 2]["vaa"]
    1.0
    """
    return dict(zip(_list_keys(columns), list_rows(columns), strict=True))


def _list_agents(records: Records) -> dict[AgentKey, Row]:
    measured = index_by_agent(records.tables["stability"])
    known: dict[AgentKey, Row] = {}
    for table in ("stability", "certificates", "outcomes", "sampled_outcomes"):
        columns = {name: records.tables[table][name] for name in IDENTITY}
        known |= index_by_agent(columns) if count_rows(columns) else {}
    return {
        key: identity | {name: measured.get(key, UNMEASURED)[name] for name in UNMEASURED}
        for key, identity in sorted(known.items())
    }


def _list_keys(columns: Columns) -> list[AgentKey]:
    return list(zip(columns["job"].tolist(), columns["seed"].tolist(), strict=True))
