"""What agents that sample come to in corridors without end, from the attractors of their memory.

Once a memory repeats itself, what matters of a long way is in which phase it ends. That is a chain
from one cell to the next, and forgets where it began.
"""

from typing import Any, NamedTuple

import numpy as np

from remanence.certificates._chances import SampledAgent, SampledOrbit
from remanence.certificates._passage import FAINT, Cloud, step_walk
from remanence.certificates._sampled_junction import MOST_STEPS, Lingering
from remanence.certificates._walker import GOALS
from remanence.envs import AbstractEnvironment, TMaze
from remanence.errors import InvalidOptionError
from remanence.networks import Agent

BUDGET = 1_000_000
MOST_PHASES = 256
FAR = 2**40  # from the wall
CERTAIN = 1e-9  # a drift that near to the time limit's is not told from it


class Limit(NamedTuple):
    """What the chance of the right arm tends to as corridors get longer, for one cue.

    It is between `low` and `high`, which differ by what was too improbable to follow, or because
    the chance goes on changing with the length: then `right` is None. `timeout` is the chance that
    no arm is entered in time. All of it is None where the memory does not repeat itself within the
    budget, or the walk takes just as long as its time limit.

    >>> from remanence import certificates
    >>> certificates.Limit(0, right=0.75, low=0.75, high=0.76, timeout=0.0).cue
    0
    """

    cue: int
    right: float | None = None
    low: float | None = None
    high: float | None = None
    timeout: float | None = None


def find_limits(
    agent: Agent, env: tuple[AbstractEnvironment, Any], *, budget: int = BUDGET
) -> list[Limit]:
    """The limits of an agent that samples in a T-maze, cue by cue.

    `budget` bounds the steps for which a memory is followed until it repeats itself.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> [round(it.right, 3) for it in certificates.find_limits(agent, envs.make("tmaze"))]
    [0.719, 0.281]
    """
    environment, params = env
    if not can_find_limits(environment):
        remedy = "limits of sampled agents are for the T-maze without the previous action"
        raise InvalidOptionError("env", type(environment).__name__, remedy)
    sampled, factor = SampledAgent(agent, environment), int(np.max(params.limit_factor))
    return [
        _find_limit(cue, sampled.follow(goal), factor, budget) for cue, goal in enumerate(GOALS)
    ]


def _find_limit(cue: int, orbit: SampledOrbit, factor: int, budget: int) -> Limit:
    if not orbit.close(budget):
        return Limit(cue)
    moves = orbit.list_cycle()
    pace = factor * float((moves[:, 0] - moves[:, 1]).mean())
    if factor and pace < 1 - CERTAIN:
        return Limit(cue, right=0.0, low=0.0, high=0.0, timeout=1.0)
    if factor and pace < 1 + CERTAIN:
        return Limit(cue)
    right, left_out = _respond(orbit)
    weights = weigh_phases(moves)
    if weights is None:
        low, high = float(right.min()), float((right + left_out).max())
        return Limit(cue, low=low, high=high, timeout=0.0)
    low, loss = float(weights @ right), float(weights @ left_out + 1 - weights.sum())
    return Limit(cue, right=low, low=low, high=low + max(0.0, loss), timeout=0.0)


def _respond(orbit: SampledOrbit) -> tuple[np.ndarray, np.ndarray]:
    """The chance of the right arm after an arrival in each phase, and what is left out of it."""
    assert orbit.closure is not None
    transient, period = orbit.closure
    states = orbit.read_states(transient + np.arange(period))
    lingering = Lingering(orbit.agent, states, None)
    lingering.extend(MOST_STEPS)
    entered = lingering.arms.sum(0)
    return entered[:, GOALS.index(orbit.goal)], np.maximum(0, 1 - entered.sum(1))


def weigh_phases(moves: np.ndarray) -> np.ndarray | None:
    """How likely each phase is when a far cell is reached first, from the chances of moves.

    They fall short of 1 by what is left out. None if that depends on the cell however far it is,
    or if there are too many phases, or no drift.
    """
    period = len(moves)
    if period == 1:
        return np.ones(1)
    if period > MOST_PHASES or (moves[:, 0] - moves[:, 1]).sum() <= 0:
        return None
    chain = np.array([_climb(moves, phase) for phase in range(period)])
    loss = float(np.max(1 - chain.sum(1)))
    chain /= chain.sum(1, keepdims=True)
    values, vectors = np.linalg.eig(chain.T)
    order = np.argsort(-np.abs(values))
    if abs(values[order[1]]) > 1 - CERTAIN:
        return None
    weights = np.real(vectors[:, order[0]])
    # What one step of the chain loses, its weights lose as often as it takes to forget.
    memory = 1 / (1 - abs(values[order[1]]))
    return weights / weights.sum() * max(0.0, 1 - loss * memory)


def _climb(moves: np.ndarray, phase: int) -> np.ndarray:
    """The chance of each phase in which the next cell is reached first, from one phase."""
    reached = np.zeros(len(moves))
    cloud, time = Cloud(np.ones(1), FAR), phase
    while cloud.chances.sum() > FAINT and time < MOST_STEPS:
        right, left = moves[time % len(moves)]
        cloud, arrived = step_walk(cloud, right, left, FAR + 1)
        time += 1
        reached[time % len(moves)] += arrived
    return reached


def can_find_limits(environment: AbstractEnvironment) -> bool:
    """Whether the limits of agents that sample are to be had in an environment.

    >>> from remanence import certificates, envs
    >>> mazes = (envs.TMaze(), envs.PreviousAction(envs.TMaze()), envs.LookupTreeMaze())
    >>> [certificates.can_find_limits(maze) for maze in mazes]
    [True, False, False]
    """
    return isinstance(environment, TMaze)
