"""The tables that the LookupTreeMaze's figures and claims are made from, of a study's records.

Besides those that every experiment has, and like them of the main arm alone, without variants:

task        one row: `table_size`, `index_encoding`, `num_tables`
scores      a row for each agent, `num_mazes` and way of `acting` ("sampled", "greedy"): `return`,
            with an interval over tables from `low` to `high`; `share_right` of the decisions that
            were taken; `num_decisions`, the mazes that were passed; `timeouts`, the share of
            episodes that ran out of time
groups      a row for each model, `num_mazes` and way of acting: means over its agents, of `return`
            and `share` with intervals
reach       a row for each model, way of acting and bin of decisions, from the `first` to the `last`
            of an episode: the `share` of right ones, with an interval from `low` to `high`
lost        a row for each model and `when` ("early", "late"): of the decisions from the `first` to
            the `last` of an episode, how many were wrong, how many of these are cured by giving
            back the table, the index or the flag, and how many right ones are spoiled by it
variants    `scores` of sampling agents of other arms, and of those of the main arm with the same
            model and seed; `beside` is the variant that a row is to be compared in
sampled_scores_of_nonlinear_models, greedy_scores_of_parallelizable_models, ...
            parts of `scores`

An interval of one agent is over its tables, one of a group over its agents, each of which counts
by its mean over tables (`_intervals.py`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from remanence.figures import Columns, Tables, count_rows, keep_rows, order, select_rows
from remanence.papers.multistability._looks import MODELS
from remanence.papers.multistability.lookup_tree._intervals import (
    find_interval,
    find_nested_interval,
)
from remanence.papers.multistability.lookup_tree._task import describe_task
from remanence.report import (
    AGENT_COLUMNS,
    Records,
    derive_common_tables,
    index_by_agent,
    list_rows,
    stack_rows,
)

SAMPLED, GREEDY = "sampled", "greedy"
PREFIXES = {SAMPLED: "sampled_", GREEDY: ""}
KINDS = {"nonlinear": False, "parallelizable": True}
MAIN_ARM = ""
# As many mazes as an episode of training has at most; later ones are beyond what was trained on.
LAST_EARLY = 20

SCORE_COLUMNS = (
    *(*AGENT_COLUMNS, "acting", "num_mazes", "return", "low", "high"),
    *("share_right", "num_decisions", "timeouts"),
)
VARIANT_COLUMNS = (*SCORE_COLUMNS, "beside")
GROUP_COLUMNS = (
    *("model", "acting", "num_mazes", "num_agents", "return", "return_low", "return_high"),
    *("share", "share_low", "share_high", "num_decisions", "timeouts"),
)
REACH_COLUMNS = (
    *("model", "parallelizable", "acting", "first", "last"),
    *("num_agents", "share", "low", "high"),
)
INTERVENTIONS = ("table", "index", "flag")
COUNTS = (
    *("num_decisions", "num_wrong", "cured_by_none"),
    *(f"{effect}_by_{part}" for effect in ("cured", "spoiled") for part in INTERVENTIONS),
)
LOST_COLUMNS = ("model", "when", "first", "last", *COUNTS)

Row = dict[str, Any]


def derive_tables(records: Records) -> Tables:
    """All tables, by name."""
    task = describe_task(records.jobs)
    common = derive_common_tables(records)
    every_score = list(_list_scores(records, common["agents"]))
    scores = stack_rows([row for row in every_score if row["variant"] == MAIN_ARM], SCORE_COLUMNS)
    return {
        **{name: _keep_main_arm(columns) for name, columns in common.items()},
        "task": task,
        "scores": scores,
        "groups": stack_rows(list(_list_groups(scores)), GROUP_COLUMNS),
        "reach": stack_rows(list(_list_reach(records)), REACH_COLUMNS),
        "lost": stack_rows(list(_list_lost(records)), LOST_COLUMNS),
        "variants": stack_rows(list(_list_variants(every_score)), VARIANT_COLUMNS),
        **{
            f"{acting}_scores_of_{kind}_models": select_rows(
                scores, acting=acting, parallelizable=linear
            )
            for acting in PREFIXES
            for kind, linear in KINDS.items()
        },
    }


def _keep_main_arm(columns: Columns) -> Columns:
    return select_rows(columns, variant=MAIN_ARM) if "variant" in columns else columns


def _list_scores(records: Records, agents: Columns) -> Iterator[Row]:
    known = index_by_agent(agents)
    for acting, prefix in PREFIXES.items():
        for row in list_rows(records.tables[f"{prefix}outcomes"]):
            yield known[row["job"], row["seed"]] | row | {"acting": acting}


def _list_groups(scores: Columns) -> Iterator[Row]:
    for labels, members in _split(scores, ("model", "acting", "num_mazes")):
        found = _average(members, "return")
        # Of one agent the interval is that over its tables.
        if count_rows(members) == 1:
            found = found[0], members["low"].item(), members["high"].item()
        yield labels | {
            "num_agents": count_rows(members),
            **dict(zip(("return", "return_low", "return_high"), found, strict=True)),
            **dict(
                zip(
                    ("share", "share_low", "share_high"),
                    _average(members, "share_right"),
                    strict=True,
                )
            ),
            "num_decisions": float(members["num_decisions"].mean()),
            "timeouts": float(members["timeouts"].mean()),
        }


def _average(members: Columns, name: str) -> tuple[float, float, float]:
    """Over agents that have it: one that never decides has no share of right decisions."""
    return find_interval(members[name][np.isfinite(members[name])])


def _list_reach(records: Records) -> Iterator[Row]:
    """Right decisions by their number in the longest episodes."""
    for acting, prefix in PREFIXES.items():
        decisions = _keep_main_arm(records.tables[f"{prefix}decisions"])
        decisions = keep_rows(decisions, decisions["num_decisions"] > 0)
        if not count_rows(decisions):
            continue
        longest = select_rows(decisions, num_mazes=decisions["num_mazes"].max())
        names = ("model", "parallelizable", "first", "last")
        for labels, members in _split(longest, names):
            shares = members["num_right"] / members["num_decisions"]
            agents = _identify(members)
            mean, low, high = find_nested_interval(shares, agents)
            found = {"num_agents": len(np.unique(agents)), "share": mean, "low": low, "high": high}
            yield labels | {"acting": acting} | found


def _identify(rows: Columns) -> np.ndarray:
    """Which agent each row is about (rows,)."""
    pairs = zip(rows["job"].tolist(), rows["seed"].tolist(), strict=True)
    return np.array([f"{job} {seed}" for job, seed in pairs], str)


def _list_lost(records: Records) -> Iterator[Row]:
    losses = _keep_main_arm(records.tables["losses"])
    when = np.where(losses["first"] <= LAST_EARLY, "early", "late")
    for labels, members in _split({**losses, "when": when}, ("model", "when")):
        ends = {"first": int(members["first"].min()), "last": int(members["last"].max())}
        yield labels | ends | {name: int(members[name].sum()) for name in COUNTS}


def _list_variants(every_score: Sequence[Row]) -> Iterator[Row]:
    """Agents of each variant, and those of the main arm that differ from them in it alone."""
    sampled = [row for row in every_score if row["acting"] == SAMPLED]
    main = [row for row in sampled if row["variant"] == MAIN_ARM]
    for variant in sorted({row["variant"] for row in sampled} - {MAIN_ARM}):
        arm = [row for row in sampled if row["variant"] == variant]
        agents = {(row["model"], row["seed"]) for row in arm}
        same = [row for row in main if (row["model"], row["seed"]) in agents]
        yield from (row | {"beside": variant} for row in (*same, *arm))


def _split(columns: Columns, names: Sequence[str]) -> Iterator[tuple[Row, Columns]]:
    """The rows of each combination of values that there is, models in the order of their looks."""
    places = {model: place for place, model in enumerate(order(columns["model"].tolist(), MODELS))}
    found = set(zip(*(columns[name].tolist() for name in names), strict=True))
    for values in sorted(found, key=lambda it: (places[it[names.index("model")]], *it)):
        labels = dict(zip(names, values, strict=True))
        yield labels, select_rows(columns, **labels)
