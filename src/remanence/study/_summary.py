"""A row for each training of a study: how many of its agents are such and such, and mean returns.

What there is to be counted depends on the task. Where agents can be certified for all lengths, a
memory either lasts or not; elsewhere returns at the least and the greatest value of what grows are
averaged.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from remanence.certificates.mazes import ANY, CERTIFIED
from remanence.evaluation import MEASURES
from remanence.store import seal_tables
from remanence.study._entries import RunEntry
from remanence.study._rows import Columns

if TYPE_CHECKING:
    import duckdb

IDENTITY = ("preset", "network", "cell", "variant", "seed")
# 100 is a horizon beyond what is trained on, and far from what is out of reach.
_PROBE = 100
_MULTISTABLE = "stability in ('bistable', 'multistable')"

Tables = Mapping[str, Sequence[Columns]]


class _Column(NamedTuple):
    """How a column is made, from a table with a row for each agent."""

    table: str
    expression: str


def summarize(entries: Sequence[RunEntry], tables: Tables) -> "duckdb.DuckDBPyRelation":
    """The summary of some runs; what is not known of all agents of one is not counted, but null."""
    by_length = all(entry.can_have("certificates") for entry in entries)
    make = _describe_lengths if by_length else _describe_others
    derived, columns = make(tables)
    known = {
        name: found for name, found in {**derived, "curves": tables["curves"]}.items() if found
    }
    identity = ", ".join(IDENTITY)
    agents = " union ".join(f'select distinct {identity} from "{table}"' for table in known)
    joined = " ".join(
        f'left join "{table}" on {_match(table)}' for table in known if table != "curves"
    )
    made = [
        f'if(count("{it.table}".seed) = count(*), {it.expression}, null) as "{name}"'
        for name, it in columns.items()
        if it.table in known
    ]
    labels = [f"agents.{name}" for name in IDENTITY[:-1]]
    shown = ", ".join([*labels, "count(*) as agents", *made])
    query = (
        f"select {shown} from ({agents}) as agents {joined} group by all "
        "order by preset desc, network desc, cell, variant"
    )
    return seal_tables(known, query)


def find_lasting(certificates: Columns) -> dict[int, bool]:
    """By seed, whether a memory is certified for all tables of mazes, however the agent walks.

    `certificates` are columns of the table `maze_certificates`.

    >>> from remanence import study
    >>> verdicts = np.array(["certified", "certified", "refuted", "certified"])
    >>> columns = {"seed": np.array([1, 1, 2, 2]), "walk": np.full(4, "any"), "verdict": verdicts}
    >>> study.find_lasting(columns)
    {1: True, 2: False}
    """
    failing = (certificates["walk"] == ANY) & (certificates["verdict"] != CERTIFIED)
    seeds = np.unique(certificates["seed"]).tolist()
    return {seed: not np.any(failing & (certificates["seed"] == seed)) for seed in seeds}


def _describe_lengths(tables: Tables) -> tuple[Tables, dict[str, _Column]]:
    probed = [_keep_value(part, _PROBE, "outcome") for part in tables["outcomes"]]
    columns = {
        "bistable": _count("stability", _MULTISTABLE),
        f"solved_at_{_PROBE}": _count("outcomes", "outcome = 'solved'"),
        "solved_from_2_on": _count("certificates", "solved_from_2_on"),
        "solved_at_every_length": _count("certificates", "solved = 'every length'"),
    }
    found = {name: tables[name] for name in ("stability", "certificates")}
    return found | {"outcomes": probed}, columns


def _describe_others(tables: Tables) -> tuple[Tables, dict[str, _Column]]:
    columns = {"multistable": _count("stability", _MULTISTABLE)}
    found: dict[str, Sequence[Columns]] = {"stability": tables["stability"]}
    for table, prefix in (("outcomes", ""), ("sampled_outcomes", "sampled_")):
        for value in _find_ends(tables[table]):
            name = f"{prefix}return_at_{value}"
            found[name] = [_keep_value(part, value, "return") for part in tables[table]]
            columns[name] = _Column(name, f'avg("{name}"."return")')
    found["lasting"] = [_keep_lasting(part) for part in tables["maze_certificates"]]
    columns["certified_for_every_table"] = _count("lasting", "lasting")
    return found, columns


def _match(table: str) -> str:
    """That rows are about the same agent; where a name is unknown, it is so in both."""
    return " and ".join(f'agents.{it} is not distinct from "{table}".{it}' for it in IDENTITY)


def _count(table: str, condition: str) -> _Column:
    return _Column(table, f"count(*) filter ({condition})")


def _find_axis(outcomes: Columns) -> str:
    (axis,) = [name for name in outcomes if name not in (*IDENTITY, *MEASURES)]
    return axis


def _find_ends(parts: Sequence[Columns]) -> list[int]:
    """The least and the greatest value of what grows at which all these agents were evaluated."""
    values = [set(part[_find_axis(part)].tolist()) for part in parts]
    common = sorted(set.intersection(*values)) if values else []
    return list(dict.fromkeys([*common[:1], *common[-1:]]))


def _keep_value(outcomes: Columns, value: int, measure: str) -> Columns:
    rows = outcomes[_find_axis(outcomes)] == value
    return {name: outcomes[name][rows] for name in (*IDENTITY, measure)}


def _keep_lasting(certificates: Columns) -> Columns:
    lasting = find_lasting(certificates)
    number = len(lasting)
    labels = {name: certificates[name][:number] for name in IDENTITY[:-1]}
    return labels | {"seed": np.array(list(lasting)), "lasting": np.array(list(lasting.values()))}
