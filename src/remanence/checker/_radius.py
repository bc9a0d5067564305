"""Radii of disturbances, verified: what a memory survives for ever, and what breaks it.

Every observation may be off by a radius in each of its numbers, each step anew. Sets of states are
zonotopes: balls whose slopes are segments y, |y| <= 1. After the cue and some steps the memory is
in a set, and after a round it is in that set again; if the agent acts right all the way, it does so
at every length from 2 on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._certificates import LARGEST_SIZE, MOST_LAYERS, agent, cue, environment, flag, two_cues
from ._fields import choice, demand, number, optional, record, several, whole
from ._kernel import (
    DOWN,
    RIGHT,
    SLACK,
    UP,
    Ball,
    Policy,
    UndecidedError,
    from_ends,
    join,
    judge,
    measure,
    span,
)
from ._maze_radius import radius
from ._program import Program, project
from ._statements import NOT_REPRODUCED, VERIFIED, Statement
from ._statements import judge as judge_statement
from ._weights import find_discrete

KIND, FORMAT = "remanence radius", 1
MOST_STEPS, MOST_OBSERVATIONS, MOST_WORK = 5_000, 10_000, 10**10
MOST_SEGMENTS = 5  # for each component of the state
TINY = 1e-30  # what a comparison of programs may take for 0
LARGEST_STATE = LARGEST_SIZE * MOST_LAYERS


vector = several(number, 1, LARGEST_STATE)
# The way into a set, and round.
lasso = record(
    cue=cue,
    steps=whole(0, MOST_STEPS),
    round=whole(1, MOST_STEPS),
    centre=vector,
    radius=several(radius, 1, LARGEST_STATE),
    basis=optional(several(vector, 1, LARGEST_STATE)),
)
certified = record(radius=radius, cues=two_cues(lasso))
broken = record(
    radius=radius,
    cue=cue,
    at_junction=flag,
    observations=several(several(number, 1, 6), 1, MOST_OBSERVATIONS),
)
_radius = record(
    kind=choice(KIND),
    format=choice(FORMAT),
    agent=agent,
    environment=environment,
    certified=optional(certified),
    broken=optional(broken),
)


def read_radius(given: Any) -> dict[str, Any]:
    """A file of this kind, whole."""
    found = _radius(given, "radius")
    claims = found["certified"], found["broken"]
    demand(any(claim is not None for claim in claims), "this file claims nothing")
    return found


def check_radius(
    found: Mapping[str, Any], weights: Mapping[str, np.ndarray], shape: Mapping[str, Any]
) -> Iterator[Statement]:
    """Statements about what breaks the agent, and what it survives."""
    limit = np.inf
    if found["broken"] is not None:
        statement = _check_broken(found["broken"], Program(weights, shape))
        limit = found["broken"]["radius"] if statement.status == VERIFIED else np.inf
        yield statement
    if found["certified"] is not None:
        yield _check_certified(found["certified"], weights, shape, limit)


def _check_broken(claim: Mapping[str, Any], program: Program) -> Statement:
    where = "at the junction" if claim["at_junction"] else "in the corridor"
    cue = {-1: "up", 1: "down"}[claim["cue"]]
    says = (
        f"observations off by {claim['radius']:.6g} at most make it act wrong {where}, "
        f"{len(claim['observations']):,} steps after the cue {cue}"
    )
    return judge_statement("broken", "broken", says, breaks(claim, program))


def breaks(claim: Mapping[str, Any], program: Program) -> bool:
    """Whether these observations are near the true ones, and the last makes the agent act wrong."""
    state, logits, last = program.start, np.zeros(4, program.dtype), len(claim["observations"]) - 1
    for time, numbers in enumerate(claim["observations"]):
        flag = claim["at_junction"] and time == last
        true = np.array(_list_true(claim["cue"] if time == 0 else 0, flag, time, program.shape))
        seen = np.array(numbers, program.dtype)
        near = len(seen) == len(true) and np.all(
            np.abs(seen.astype(float) - true) <= claim["radius"]
        )
        if not near or not np.all(seen.astype(float) == numbers):
            return False
        features = program.encode(seen)
        look = features, project(program.shape["cell"], program.layers[0], features)
        state, logits = program.step(look, state)
    wanted = {-1: UP, 1: DOWN}[claim["cue"]] if claim["at_junction"] else RIGHT
    # A junction that is seen at once is a corridor of length 1, of which nothing is said.
    at_once = claim["at_junction"] and last == 0
    return bool(np.isfinite(logits).all() and not at_once and logits.argmax() != wanted)


def _list_true(cue: int, junction: bool, time: int, shape: Mapping[str, Any]) -> list[float]:
    """What there is to be seen by an agent that has walked right all the time."""
    action = [float(time > 0 and action == RIGHT) for action in range(4)]
    return [float(cue), float(junction), *(action if shape["previous_action"] else [])]


def _check_certified(
    claim: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    shape: Mapping[str, Any],
    limit: float,
) -> Statement:
    says = (
        f"it acts right at every length from 2 on if no observation is ever off by more than "
        f"{claim['radius']:.6g}"
    )
    if claim["radius"] >= limit:
        return judge_statement("radius", "certified", says, False, "a smaller one breaks it")
    try:
        for cue in claim["cues"]:
            prove(DisturbedPolicy(weights, shape, claim["radius"]), cue)
    except (UndecidedError, np.linalg.LinAlgError) as error:
        note = f"the evidence does not prove it: {error}"
        return Statement("radius", "certified", says, NOT_REPRODUCED, note)
    return Statement("radius", "certified", says, VERIFIED)


class DisturbedPolicy(Policy):
    """The policy on balls, whose looks are of all observations within a radius of the true one."""

    def __init__(self, weights: Mapping[str, np.ndarray], shape: Mapping[str, Any], radius: float):
        self.disturbance = radius
        discrete = find_discrete(shape)
        # Units of a BMRU jump, and so does what later layers make of them.
        stacked = shape["num_layers"] > 1 and discrete.any()
        self.sharp = np.full_like(discrete, True) if stacked else discrete
        super().__init__(weights, shape)

    def look(self, cue: int, junction: int, previous: int | None = None) -> Ball:
        action = [number == previous for number in range(4) if self.shape["previous_action"]]
        true = np.array([cue, junction, *action], np.float64)[:, None]
        if self.shape["encoder"]:
            return self.run_dense("encoder", Ball(true, self.disturbance))
        segments = Ball((self.disturbance * np.eye(len(true)))[:, :, None])
        return join([Ball(true), segments], axis=0)

    def update_cell(self, cell: str, name: str, x: Ball, h: Ball) -> Ball:
        if cell != "bmru":
            return super().update_cell(cell, name, x, h)
        n, beta = (it[:1] for it in self.apply(f"{name}inputs", x).split(2))
        held = _switch(n, beta, self.weights[f"{name}alpha"][:, None], h[:1])
        return join([held, Ball(np.zeros_like(h.centre[1:]))], axis=0)

    def advance(self, look: Ball, states: Ball) -> Ball:
        """What a look makes of a zonotope: U(c, x) + U'(box) y, with y of the look as well."""
        x, h = look, states
        if len(look.centre) > 1:
            more, own = len(look.centre) - 1, len(states.centre) - 1
            x = join([look[:1], Ball(np.zeros((own, *look.centre.shape[1:]))), look[1:]], axis=0)
            h = join([states, Ball(np.zeros((more, *states.centre.shape[1:])))], axis=0)
        moved, middle = self.update(x.box(), h.box()), self.update(x[:1], h[:1])
        sharp = self.sharp[None, :, None]
        value = Ball(
            np.where(sharp, moved.centre[:1], middle.centre),
            np.where(sharp, moved.radius[:1], middle.radius),
            moved.error[:1],
        )
        slopes = (np.where(sharp, 0, it[1:]) for it in (moved.centre, moved.radius, moved.error))
        return _tidy(join([value, Ball(*slopes)], axis=0))

    def demand(self, look: Ball, states: Ball, action: int) -> None:
        """Raise unless the agent surely takes an action in all these states after that look."""
        logits = self.decode(look.box()[:1], states.box()[:1])
        if not judge(logits, action)[0].all():
            raise UndecidedError("it may act otherwise in a set")


def _tidy(image: Ball) -> Ball:
    """A zonotope of segments that are exact: the longest ones, and a box around all else."""
    segments, size = image[1:], image.centre.shape[1]
    lengths = np.abs(segments.centre).sum((1, 2))
    kept = np.zeros(len(lengths), bool)
    kept[np.argsort(-lengths, kind="stable")[: MOST_SEGMENTS * size]] = True
    spare = np.where(kept[:, None, None], segments.doubt, segments.reach).sum(0)
    sides = (image.doubt[0] + spare)[:, 0] * SLACK
    box = Ball(np.diag(sides)[:, :, None])
    return join([Ball(image.centre[:1]), Ball(segments.centre[kept]), box], axis=0)


def _switch(n: Ball, beta: Ball, alpha: np.ndarray, held: Ball) -> Ball:
    """Every value that a unit may have: α or -α where it may be set, what it held where not."""
    (least, most), (low, high) = (_find_sizes(it) for it in (n, beta))
    down, up = (end * side >= 0 for end, side in zip(n.ends(n.doubt), (-1, 1), strict=True))
    may_hold, may_set = least <= high + TINY, most + TINY > low
    # Whatever a unit holds it was set to exactly, or it is 0 still.
    size, (first, last) = np.abs(alpha)[None], held.ends(held.doubt)
    known = [(value, (first <= value) & (value <= last)) for value in (-size, 0 * size, size)]
    none = ~np.any([within for _, within in known], axis=0)
    possible = [(value, within & may_hold) for value, within in known]
    possible += [(first, none & may_hold), (last, none & may_hold)]
    possible += [(alpha[None], may_set & up), (-alpha[None], may_set & down)]
    low = np.min([np.where(may, value, np.inf) for value, may in possible], axis=0)
    high = np.max([np.where(may, value, -np.inf) for value, may in possible], axis=0)
    return from_ends(low, high)


def _find_sizes(number: Ball) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest absolute value."""
    low, high = number.ends(number.doubt)
    return np.maximum(np.maximum(low, -high), 0), np.maximum(np.abs(low), np.abs(high))


def prove(policy: DisturbedPolicy, lasso: Mapping[str, Any]) -> None:
    """Raise `UndecidedError` unless the memory comes into the set, and back into it in a round."""
    size = len(policy.start.centre[0])
    centre, widths = np.array(lasso["centre"]), np.array(lasso["radius"])
    basis = lasso["basis"]  # without one, a box
    square = basis is None or [len(row) for row in basis] == [size] * size
    demand(square and len(centre) == len(widths) == size, "a set is not one of such states")
    basis = None if basis is None else np.array(basis)
    work = (lasso["steps"] + lasso["round"]) * size**2 * (MOST_SEGMENTS + 1) * size
    demand(work <= MOST_WORK, "it would take too long to follow these sets")
    opening, arm = policy.look(lasso["cue"], 0), {-1: UP, 1: DOWN}[lasso["cue"]]

    def judge_all(look: Ball, states: Ball) -> None:
        policy.demand(look, states, RIGHT)
        policy.demand(policy.junction, policy.advance(policy.junction, states), arm)

    def follow(states: Ball, steps: int) -> None:
        for _ in range(steps):
            states = policy.advance(policy.corridor, states)
            judge_all(policy.corridor, states)
        if not np.all(measure(states, centre, basis) <= widths):
            raise UndecidedError("the memory does not come into its set")

    states = policy.advance(opening, policy.start)
    judge_all(opening, states)
    follow(states, lasso["steps"])
    inside = span(centre, widths, np.eye(size) if basis is None else basis)
    judge_all(policy.corridor, inside)
    follow(inside, lasso["round"])
