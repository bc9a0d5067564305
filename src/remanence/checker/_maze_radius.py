"""Radii of disturbances in rows of mazes, verified: what a memory survives, and what breaks it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._certificates import PORTABLE, agent
from ._fields import choice, demand, number, optional, record, several, whole
from ._maze_check import WAYS, show_table
from ._maze_disturbed import DisturbedSets
from ._maze_fields import (
    GREEDY,
    MOST_HISTORY,
    MOST_MAZES,
    MOST_ROUNDS,
    MOST_TABLE,
    STALL,
    WALKS,
    WRONG_ARM,
    environment,
    list_tables,
    table,
    visit,
)
from ._maze_sets import NotProvedError, prove_by
from ._mazes import (
    DOWN,
    NAMES,
    UP,
    Mazes,
    Spot,
    TooManyError,
    at_junction,
    go,
    list_actions,
    replay,
)
from ._program import Look, Program, project
from ._statements import NOT_REPRODUCED, VERIFIED, Statement, judge

KIND, FORMAT = "remanence maze radius", 1
MOST_OBSERVATIONS = 10_000
MOST_NUMBERS = 2 * MOST_TABLE + 1  # of an observation


def radius(value: Any, name: str) -> float:
    """A number of 0 or more."""
    found = number(value, name)
    demand(0 <= found <= 1e6, f"{name} should be from 0 to 1e6, not {found:g}")
    return found


def _is_undisturbed_or_not(found: dict[str, Any], name: str) -> None:
    undisturbed = found["observations"] is None
    demand(undisturbed == (found["radius"] == 0), f"{name} has no observations, or needs none")
    demand(undisturbed or found["kind"] == WRONG_ARM, f"{name} should end with the wrong arm")


_certified = record(
    radius=radius,
    history=whole(0, MOST_HISTORY),
    reach=whole(0, MOST_HISTORY),
    num_rounds=whole(1, MOST_ROUNDS),
)
_broken = record(
    _is_undisturbed_or_not,
    radius=radius,
    kind=choice(WRONG_ARM, STALL),
    mazes=several(visit, 1, MOST_MAZES),
    observations=optional(several(several(number, 1, MOST_NUMBERS), 1, MOST_OBSERVATIONS)),
)
_radius = record(
    kind=choice(KIND),
    format=choice(FORMAT),
    agent=agent,
    environment=environment,
    program=PORTABLE,
    walk=choice(*WALKS),
    tables=several(
        record(table=table, certified=optional(_certified), broken=optional(_broken)),
        1,
        2**MOST_TABLE,
    ),
)


def read_maze_radius(found: Any) -> dict[str, Any]:
    """A file of this kind, whole: every table, in order."""
    read = _radius(found, "radius")
    given = [it["table"] for it in read["tables"]]
    demand(given == list_tables(read["environment"]["table_size"]), "not every table, in order")
    claims = [it[kind] for it in read["tables"] for kind in ("certified", "broken")]
    demand(any(claim is not None for claim in claims), "this file claims nothing")
    return read


def check_maze_radius(found: Mapping[str, Any], program: Program) -> Iterator[Statement]:
    """Statements about all tables."""
    limits = {}
    for it in found["tables"]:
        name = show_table(it["table"])
        limits[name] = np.inf
        if it["broken"] is not None:
            problem = find_problem(
                Mazes(program, found["environment"], it["table"]), found["walk"], it["broken"]
            )
            limits[name] = it["broken"]["radius"] if problem is None else np.inf
            says = f"{name}: {_describe_break(it['broken'])}"
            yield judge("broken", f"broken.{name}", says, problem is None, problem)
    for it in found["tables"]:
        if it["certified"] is not None:
            mazes = Mazes(program, found["environment"], it["table"])
            limit = limits[show_table(it["table"])]
            yield _check_certified(mazes, found["walk"], it["certified"], limit)


def _describe_break(claim: Mapping[str, Any]) -> str:
    ends = "it stalls" if claim["kind"] == STALL else "the wrong arm is the better one"
    where = f"in maze {len(claim['mazes']):,}"
    if claim["observations"] is None:
        return f"{ends} {where}, without any disturbance"
    return f"with observations off by {claim['radius']:.6g} at most, {ends} {where}"


def find_problem(mazes: Mazes, walk: str, claim: Mapping[str, Any]) -> str | None:
    """What is wrong with mazes and observations that should break an agent; None if nothing is."""
    if claim["observations"] is None:
        return replay(mazes, walk, claim)
    steps = list(_list_steps(claim["mazes"]))
    if len(steps) != len(claim["observations"]):
        return "there is not one observation for each step"
    state, spot = mazes.program.start, None
    for left, (entered, action), numbers in zip(
        range(len(steps))[::-1], steps, claim["observations"], strict=True
    ):
        if (entered is None) != (spot is not None):
            return "a maze does not end with an arm, or goes on after it"
        spot = entered or spot
        assert spot is not None
        if spot.entry >= len(mazes.table) or spot.length not in mazes.environment["lengths"]:
            return "a maze is none of those that are spoken of"
        look = _look(mazes, spot, numbers, claim["radius"])
        if look is None:
            return "an observation is further off than the radius, or is no observation"
        state, logits = mazes.program.step(look, state)
        if not left:
            return _judge_end(mazes, walk, spot, action, logits)
        taken = [int(logits.argmax())] if walk == GREEDY else list_actions(walk, spot)
        if action not in taken:
            return "the agent does not do so"
        spot = go(spot, action)
    return "it does not end"


def _list_steps(visits: list[dict[str, Any]]) -> Iterator[tuple[Spot | None, int]]:
    """All actions in a row, with the entrance of the maze that begins with it, if one does."""
    for place, it in enumerate(visits):
        entered = Spot(it["index"], it["length"], 0, entered=True, first=place == 0)
        for name, count in it["actions"]:
            for _ in range(count):
                yield entered, NAMES[name]
                entered = None


def _look(mazes: Mazes, spot: Spot, numbers: list[float], radius: float) -> Look | None:
    """What the network makes of numbers that are near what there is to be seen; else None."""
    program, true = mazes.program, np.array(mazes.observe(spot), np.float64)
    seen = np.array(numbers, program.dtype)
    exact = len(seen) == len(true) and np.all(seen.astype(np.float64) == numbers)
    if not exact or not np.all(np.abs(seen.astype(np.float64) - true) <= radius):
        return None
    features = program.encode(seen)
    return features, project(program.shape["cell"], program.layers[0], features)


def _judge_end(mazes: Mazes, walk: str, spot: Spot, action: int, logits: np.ndarray) -> str | None:
    right = mazes.find_right_arm(spot)
    wrong = UP + DOWN - right
    fails = logits.argmax() == wrong if walk == GREEDY else not logits[right] > logits[wrong]
    sound = bool(np.isfinite(logits).all()) and at_junction(spot) and action == wrong
    return None if sound and fails else "its last step does not take the wrong arm"


def _check_certified(mazes: Mazes, walk: str, claim: Mapping[str, Any], limit: float) -> Statement:
    name = show_table(list(mazes.table))
    says = f"{name}: if no number seen is ever off by more than {claim['radius']:.6g}, {WAYS[walk]}"
    if claim["radius"] >= limit:
        return judge("survives", f"survives.{name}", says, False, "a smaller one breaks it")
    try:
        sets = DisturbedSets(mazes, claim["history"], claim["reach"], claim["radius"])
        prove_by(sets, walk, claim["num_rounds"] + claim["history"])
    except (NotProvedError, TooManyError) as error:
        note = f"the sets do not prove it: {error}"
        return Statement("survives", f"survives.{name}", says, NOT_REPRODUCED, note)
    return Statement("survives", f"survives.{name}", says, VERIFIED)
