"""How often an agent that samples its actions decides right in the long run."""

from typing import Any

import numpy as np

from ._mazes import DOWN, LEFT, RIGHT, UP, Mazes, Spot, TooManyError, at_junction, go

MOST_STEPS, STRIDE = 1_000_000, 200
SETTLED = 1e-12


def find_long_run_share(mazes: Mazes, most_memories: int) -> float:
    """The share of right decisions, from the distribution that place and memory settle to.

    One maze follows another for ever; in each step mass moves as the agent does.
    """
    nodes, edges, is_right, leaves = _explore(mazes, most_memories)
    sources, targets, weights = (np.array(it) for it in zip(*edges, strict=True))
    mass = np.zeros(len(nodes))
    mass[: len(list(mazes.enter(first=True)))] = 1
    mass /= mass.sum()
    share = np.inf
    for step in range(MOST_STEPS):
        mass = np.bincount(targets, mass[sources] * weights, len(nodes))
        if step % STRIDE == 0:
            before, share = share, float(mass @ is_right) / max(float(mass @ leaves), 1e-300)
            if abs(share - before) < SETTLED:
                return share
    raise TooManyError("the shares have not settled")


def _explore(mazes: Mazes, most_memories: int) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Nodes, edges with their probabilities, and those of the right arm and of any."""
    start, entrances = mazes.program.start.tobytes(), list(mazes.enter(first=False))
    odds = [_find_odds(mazes, spot) for spot in entrances]
    queue = [(spot, mazes.remember(spot, start)) for spot in mazes.enter(first=True)]
    nodes = {node: number for number, node in enumerate(queue)}
    edges, is_right, leaves = [], [], []
    for node in queue:
        spot, memory = node
        logits = mazes.decode(spot, memory).astype(np.float64)
        likely = np.exp(logits - logits.max())
        likely /= likely.sum()
        turns = float(likely[UP] + likely[DOWN]) if at_junction(spot) else 0.0
        right = float(likely[mazes.find_right_arm(spot)])
        is_right.append(right if at_junction(spot) else 0.0)
        leaves.append(turns)
        ahead = [(go(spot, action), float(likely[action])) for action in (RIGHT, UP, LEFT, DOWN)]
        following = [(target, weight) for target, weight in ahead if target is not None]
        if turns:
            following += [(it, turns * odd) for it, odd in zip(entrances, odds, strict=True)]
        for target, weight in following:
            after = (target, mazes.remember(target, memory))
            if after not in nodes:
                nodes[after] = len(queue)
                queue.append(after)
            edges.append((nodes[node], nodes[after], weight))
        if len(nodes) > most_memories * 4 * len(entrances) * max(mazes.environment["lengths"]):
            raise TooManyError("there are more memories than the certificate says")
    return nodes, edges, np.array(is_right), np.array(leaves)


def _find_odds(mazes: Mazes, spot: Spot) -> float:
    """A fair coin for the goal, then any index that has it, and any length."""
    alike = sum(entry == mazes.table[spot.index] for entry in mazes.table)
    return 0.5 / (alike * len(mazes.environment["lengths"]))
