"""The tables that the LookupTreeMaze's figures and claims are made from, of a study's records.

Besides those that every experiment has, and like them of the main arm alone, without variants:

task        one row: `table_size`, `index_encoding`, `num_tables`
scores      a row for each agent, `num_mazes` and way of `acting` ("sampled", "greedy"): `return`,
            with an interval from `low` to `high`; `share_right` of the decisions that were taken,
            from `share_low` to `share_high`; `num_decisions`, the mazes that were passed;
            `timeouts`, the share of episodes that ran out of time
groups      a row for each model, `num_mazes` and way of acting: the same, as means over its agents
reach       a row for each model, way of acting and bin of decisions, from the `first` to the `last`
            of an episode: the `share` of right ones, with an interval from `low` to `high`
lost        a row for each model and `when` ("early", "late"): of the decisions from the `first` to
            the `last` of an episode, how many were wrong, how many of these are cured by showing
            the table, the index or the flag again, and how many right ones are spoiled by it
maze_certificates
            for each agent, table and way of walking what is proved of any number of mazes
radii       a row for each agent and table whose robustness was looked at: `radius_certified`,
            `radius_broken`, and the `certified_mazes` that it is right in without disturbance, for
            the same way of walking: infinite, or those before the first failure
variants    `scores` of sampling agents of other arms, and of those of the main arm with the same
            model and seed; `beside` is the variant that a row is to be compared in
sampled_scores_of_nonlinear_models, greedy_scores_of_parallelizable_models, ...
            parts of `scores`

An interval of one agent is over its tables, one of a group over its agents, each of which counts
by its mean over tables (`_intervals.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
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

MEASURES = (
    *("return", "low", "high", "share_right", "share_low", "share_high"),
    *("num_decisions", "timeouts"),
)
SCORE_COLUMNS = (*AGENT_COLUMNS, "acting", "num_mazes", *MEASURES)
VARIANT_COLUMNS = (*SCORE_COLUMNS, "beside")
GROUP_COLUMNS = ("model", "acting", "num_mazes", "num_agents", *MEASURES)
REACH_COLUMNS = (
    *("model", "parallelizable", "acting", "first", "last"),
    *("num_agents", "share", "low", "high"),
)
INTERVENTIONS = ("table", "index", "flag")
COUNTS = (
    *("num_decisions", "num_wrong", "cured_by_none"),
    *(f"{effect}_by_{part}" for effect in ("cured", "spoiled") for part in INTERVENTIONS),
)
RADIUS_COLUMNS = (
    *("job", "model", "seed", "table", "walk"),
    *("radius_certified", "radius_broken", "certified_mazes"),
)
LOST_COLUMNS = ("model", "when", "first", "last", *COUNTS)

Row = dict[str, Any]


def derive_tables(records: Records) -> Tables:
    """All tables, by name."""
    task = describe_task(records.jobs)
    rows = list(_list_scores(records))
    scores = stack_rows(rows, SCORE_COLUMNS)
    return {
        **derive_common_tables(records),
        "task": task,
        "scores": scores,
        "groups": stack_rows(list(_list_groups(scores)), GROUP_COLUMNS),
        "reach": stack_rows(list(_list_reach(records)), REACH_COLUMNS),
        "lost": stack_rows(list(_list_lost(records)), LOST_COLUMNS),
        "maze_certificates": records.tables["maze_certificates"],
        "radii": stack_rows(list(_list_radii(records)), RADIUS_COLUMNS),
        "variants": stack_rows(list(_list_variants(rows, records.variants)), VARIANT_COLUMNS),
        **{
            f"{acting}_scores_of_{kind}_models": select_rows(
                scores, acting=acting, parallelizable=linear
            )
            for acting in PREFIXES
            for kind, linear in KINDS.items()
        },
    }


def _list_scores(records: Records) -> Iterator[Row]:
    known = index_by_agent(derive_common_tables(records)["agents"])
    for acting, prefix in PREFIXES.items():
        for row in list_rows(records.tables[f"{prefix}outcomes"]):
            yield known[row["job"], row["seed"]] | row | {"acting": acting}


def _list_groups(scores: Columns) -> Iterator[Row]:
    for labels, members in _split(scores, ("model", "acting", "num_mazes")):
        yield labels | {
            "num_agents": count_rows(members),
            **_average(members, "return", "low", "high"),
            **_average(members, "share_right", "share_low", "share_high"),
            "num_decisions": float(members["num_decisions"].mean()),
            "timeouts": float(members["timeouts"].mean()),
        }


def _average(members: Columns, name: str, low: str, high: str) -> Row:
    """A measure's mean over agents that have it, and its interval; of one agent, its own.

    An agent that never decides has no share of right decisions.
    """
    known = keep_rows(members, np.isfinite(members[name]))
    if count_rows(known) == 1:
        return {it: known[it].item() for it in (name, low, high)}
    return dict(zip((name, low, high), find_interval(known[name]), strict=True))


def _list_reach(records: Records) -> Iterator[Row]:
    """Right decisions by their number in the longest episodes."""
    for acting, prefix in PREFIXES.items():
        decisions = records.tables[f"{prefix}decisions"]
        decisions = keep_rows(decisions, decisions["num_decisions"] > 0)
        if not count_rows(decisions):
            continue
        most = int(decisions["num_mazes"].max())
        longest = select_rows(decisions, num_mazes=most)
        # The bin in which an episode ends goes on beyond it.
        longest |= {"last": np.minimum(longest["last"], most)}
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
    losses = records.tables.get("losses", {})
    if not count_rows(losses):
        return
    when = np.where(losses["first"] <= LAST_EARLY, "early", "late")
    for labels, members in _split({**losses, "when": when}, ("model", "when")):
        ends = {"first": int(members["first"].min()), "last": int(members["last"].max())}
        yield labels | ends | {name: int(members[name].sum()) for name in COUNTS}


def _list_radii(records: Records) -> Iterator[Row]:
    """What disturbances each memory survives, where that was looked at and it was certified."""
    names = ("job", "seed", "table", "walk")
    certified = {
        tuple(row[name] for name in names): row
        for row in list_rows(records.tables["maze_certificates"])
    }
    for row in list_rows(records.tables.get("radii", {})):
        known = certified.get(tuple(row[name] for name in names))
        if known is not None:
            row["certified_mazes"] = _count_certified_mazes(known)
            yield {name: row[name] for name in RADIUS_COLUMNS}


def _count_certified_mazes(row: Row) -> float:
    if row["verdict"] == "certified":
        return np.inf
    # All shorter sequences are right only if the one that fails was looked for in their order.
    return row["refuted_in"] - 1.0 if row.get("earliest") == 1 else 0.0


def _list_variants(main: Sequence[Row], variants: Mapping[str, Records]) -> Iterator[Row]:
    """Agents of each variant, and those of the main arm that differ from them in it alone."""
    for variant, records in variants.items():
        arm = list(_list_scores(records))
        agents = {(row["model"], row["seed"]) for row in arm}
        same = [row for row in main if (row["model"], row["seed"]) in agents]
        for row in (*same, *arm):
            if row["acting"] == SAMPLED:
                yield row | {"beside": variant}


def _split(columns: Columns, names: Sequence[str]) -> Iterator[tuple[Row, Columns]]:
    """The rows of each combination of values that there is, models in the order of their looks."""
    places = {model: place for place, model in enumerate(order(columns["model"].tolist(), MODELS))}
    found = set(zip(*(columns[name].tolist() for name in names), strict=True))
    for values in sorted(found, key=lambda it: (places[it[names.index("model")]], *it)):
        labels = dict(zip(names, values, strict=True))
        yield labels, select_rows(columns, **labels)
