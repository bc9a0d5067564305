"""Certificates: on which lengths of the T-maze an agent acts right, for all lengths there are.

Of the compiled program and of the portable one, bit for bit: their states are finitely many, every
orbit closes, and what has been seen of it is all there is. And by contraction of the network
itself, however numbers are rounded.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from remanence._numbers import check_whole
from remanence.certificates._arrivals import Undecided
from remanence.certificates._certificate import Certificate, Findings, Horizons
from remanence.certificates._contraction import prove_contraction
from remanence.certificates._course import (
    chart_course,
    find_optimal,
    find_solved,
    find_solved_among,
)
from remanence.certificates._crowds import Crowds, make_crowds
from remanence.certificates._failures import explain_loss, explain_waste
from remanence.certificates._identity import (
    PORTABLE_VERSION,
    identify_agent,
    identify_environment,
    name_compiled_program,
)
from remanence.certificates._itinerary import Itinerary
from remanence.certificates._lengths import LengthSet
from remanence.certificates._portable_walker import PortableWalker
from remanence.certificates._theory import (
    check_compatible,
    check_multistability,
    check_separating,
    find_merge,
    measure_distance,
)
from remanence.certificates._walker import GOALS, AbstractWalker, Walker
from remanence.envs import AbstractEnvironment
from remanence.networks import Agent
from remanence.portable import UnportableError

BUDGET = 1_000_000
PORTABLE_BUDGET = 100_000  # NumPy takes a hundred times as long for a step
# Where a memory takes thousands of steps to settle, so may lingering at each of thousands of
# junctions. A small network's steps are cheap, so that it is given so many times the budget for
# that; a larger one less, in proportion to its weights.
MOST_LINGERING, CHEAP_WEIGHTS = 50, 1_000


def certify(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = BUDGET
) -> Certificate:
    """Settle how a greedy agent does on every length of the T-maze.

    `budget` bounds the steps for which an orbit is followed, and, times 50 for a small network,
    those of all lingering at junctions; where that is not enough, the verdict is "undecided", never
    a guess. Of the parameters of `env`, only the time limit matters.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificate = certificates.certify(agent, envs.make("tmaze"))
    >>> print(certificate.compiled.solved.lengths)
    lengths 1 to 13
    """
    environment, params = env
    compiled = find_compiled(agent, env, budget=budget)
    try:
        portable, unportable = find_portable(agent, env, budget=budget), None
    except (Undecided, UnportableError) as reason:
        portable, unportable = None, str(reason).rstrip(".")
    return Certificate(
        agent=identify_agent(agent),
        environment=identify_environment(environment, params),
        compiled=compiled,
        portable=portable,
        contraction=prove_contraction(agent, environment, params),
        unportable=unportable,
    )


def find_compiled(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = BUDGET
) -> Findings:
    """What the program does that JAX compiles on this machine.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> findings = certificates.find_compiled(agent, envs.make("tmaze"))
    >>> str(findings.solved.lengths), findings.solved.failure.kind
    ('lengths 1 to 13', 'forgets')
    """
    check_whole("budget", budget, 1)
    lingering = budget * _afford_lingering(agent)
    walker = Walker(agent, env[0])
    crowds = make_crowds(walker, agent, env[0])
    return _find(walker, env, name_compiled_program(), budget, lingering, crowds=crowds)


def _afford_lingering(agent: Agent) -> int:
    """How many times the budget of an orbit all lingering at junctions may take."""
    weights = jax.tree.leaves(eqx.filter(agent.policy, eqx.is_inexact_array))
    num_weights = sum(leaf.size for leaf in weights)
    return max(1, MOST_LINGERING * CHEAP_WEIGHTS // max(CHEAP_WEIGHTS, num_weights))


def find_portable(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = PORTABLE_BUDGET
) -> Findings:
    """What the portable program does, on this machine and on every other.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> findings = certificates.find_portable(agent, envs.make("tmaze"))
    >>> findings.closures
    {-1: Closure(transient=54, period=1), 1: Closure(transient=52, period=1)}
    """
    walker = PortableWalker(agent, env[0])
    name = {"name": "portable", "version": PORTABLE_VERSION, "precision": walker.precision}
    budget = min(budget, PORTABLE_BUDGET)
    crowds = make_crowds(walker, agent, env[0])
    return _find(walker, env, name, budget, lingering=budget, at_once=True, crowds=crowds)


def _find(
    walker: AbstractWalker,
    env: tuple[AbstractEnvironment, Any],
    program: Mapping[str, Any],
    budget: int,
    lingering: int,
    at_once: bool = False,
    crowds: Crowds | None = None,
) -> Findings:
    itineraries = {goal: Itinerary(walker, goal, lingering, at_once, crowds) for goal in GOALS}
    # The checker looks at all lengths of both cues, so of the portable program no less is done.
    again = None if at_once else lingering
    for itinerary in itineraries.values():
        itinerary.orbit.extend(budget)
    names = env[0].action_names
    return Findings(
        program=program,
        budget=budget,
        optimal=_find_optimal(itineraries, budget),
        solved=_find_solved(itineraries, int(np.max(env[1].limit_factor)), budget, again),
        closures={goal: itinerary.orbit.closure for goal, itinerary in itineraries.items()},
        compatible=check_compatible(itineraries, names),
        separating=check_separating(itineraries, names),
        multistability=check_multistability(itineraries),
        merge=find_merge(*itineraries.values()),
        distance=measure_distance(*itineraries.values()),
    )


def _find_optimal(itineraries: Mapping[int, Itinerary], budget: int) -> Horizons:
    try:
        sets = {goal: find_optimal(itinerary, budget) for goal, itinerary in itineraries.items()}
        lengths = _intersect(sets)
    except Undecided as reason:
        return Horizons(None, str(reason))
    if lengths.first_missing is None:
        return Horizons(lengths)
    goal = _find_culprit(sets, lengths.first_missing)
    return Horizons(lengths, None, explain_waste(itineraries, goal, lengths.first_missing))


def _find_solved(
    itineraries: Mapping[int, Itinerary], limit_factor: int, budget: int, again: int | None
) -> Horizons:
    try:
        sets = _list_solved(itineraries, limit_factor, budget, again)
        lengths = _intersect(sets)
    except Undecided as reason:
        return Horizons(None, str(reason))
    if lengths.first_missing is None:
        return Horizons(lengths)
    goal, limit = _find_culprit(sets, lengths.first_missing), limit_factor * lengths.first_missing
    failure = explain_loss(itineraries, goal, lengths.first_missing, limit, budget)
    return Horizons(lengths, None, failure)


def _list_solved(
    itineraries: Mapping[int, Itinerary], limit_factor: int, budget: int, again: int | None
) -> dict[int, LengthSet]:
    """The lengths that are solved after each cue; where both matter, all of them.

    If all lengths of one cue cannot be looked at, and the other one is solved on finitely many, it
    is asked for these alone, with `again` so many steps of lingering. The other one comes first.
    """
    sets, doubts = {}, {}
    for goal, itinerary in itineraries.items():
        try:
            sets[goal] = find_solved(chart_course(itinerary, budget), goal, limit_factor)
        except Undecided as reason:
            if again is None:
                raise
            doubts[goal] = reason
    for goal, reason in doubts.items():
        known = next(iter(sets.values()), None)
        if known is None or not known.bounded:
            raise reason
        itineraries[goal].grant(again or 0)
        sets[goal] = find_solved_among(itineraries[goal], known, limit_factor, budget)
    return sets


def _intersect(sets: Mapping[int, LengthSet]) -> LengthSet:
    one, other = sets.values()
    return one & other


def _find_culprit(sets: Mapping[int, LengthSet], length: int) -> int:
    return next(goal for goal, lengths in sets.items() if length not in lengths)
