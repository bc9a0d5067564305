"""How often an agent that samples its actions decides right, on average over many mazes."""

import numpy as np

from ._mazes import DOWN, LEFT, RIGHT, UP, Mazes, Spot, TooManyError, go

MOST_NODES = 4_000  # of one index and length, for which equations are solved
NUM_MAZES = 10_000
ACCURACY = 1e-8
# No probability is too small to be doubled to 1 so often.
MOST_DOUBLINGS, SETTLED, MOST_IN_THE_LIMIT = 1_200, 1e-11, 2_000

Node = tuple[Spot, bytes]


class Decisions:
    """How often decisions are right, without a time limit.

    A maze is entered with a memory and left with one, each with some probability.
    """

    def __init__(self, mazes: Mazes):
        nodes = _find_nodes(mazes)
        memories = {memory: n for n, memory in enumerate(sorted({it for spot, it in nodes}))}
        right, leaves = _solve(mazes, nodes, memories)
        size, start = len(memories), mazes.program.start.tobytes()
        # With which memory a maze is left, and whether it was decided right, after each memory.
        self._power, self._done = np.zeros((size, size)), np.zeros(size)
        for spot in mazes.enter(first=False):
            odd = _find_odds(mazes, spot)
            for memory, number in memories.items():
                node = (spot, mazes.remember(spot, memory))
                if node in right:
                    self._done[number] += odd * right[node]
                    self._power[number] += odd * leaves[node]
        self._first, self._mass = 0.0, np.zeros(size)
        for spot in mazes.enter(first=True):
            node, odd = (spot, mazes.remember(spot, start)), _find_odds(mazes, spot)
            self._first += odd * right[node]
            self._mass += odd * leaves[node]

    def average(self, num_mazes: int) -> float:
        """The mean share of right ones in so many mazes.

        The shares of all mazes are added up with powers of probabilities, by doubling.
        """
        total, mass, left = self._first, self._mass, num_mazes - 1
        done, power = self._done, self._power
        while left:
            if left % 2:
                total, mass = total + float(mass @ done), mass @ power
            done, power, left = done + power @ done, power @ power, left // 2
        return total / num_mazes

    def find_limit(self) -> float:
        """The mean share of right ones in ever more mazes.

        A maze is skipped with probability 1/2, which changes no mean and lets powers converge that
        would go round in circles. All numbers are sums and products of positive ones, so however
        rare something is, how probable it is stays right in most digits.
        """
        kept = np.flatnonzero(self._mass + self._power.sum(0))  # others no maze is left with
        if len(kept) > MOST_IN_THE_LIMIT:
            raise TooManyError(f"there are more than {MOST_IN_THE_LIMIT:,} memories")
        power = self._power[np.ix_(kept, kept)]
        if not np.allclose(power.sum(1), 1):
            raise TooManyError("some of what follows is lost in rounding")
        power = power / 2 + np.eye(len(kept)) / 2
        for _ in range(MOST_DOUBLINGS):
            power = power / power.sum(1, keepdims=True)  # which is 1 but for rounding
            doubled = power @ power
            settled = np.abs(doubled - power) <= SETTLED * power
            if settled.all():
                return float(self._mass[kept] @ doubled @ self._done[kept])
            power = doubled
        raise TooManyError("it does not settle")


def _find_nodes(mazes: Mazes) -> dict[Node, None]:
    """Everywhere an agent can come to."""
    start = mazes.program.start.tobytes()
    queue = [(spot, mazes.remember(spot, start)) for spot in mazes.enter(first=True)]
    nodes = dict.fromkeys(queue)
    for spot, memory in queue:
        ahead = {go(spot, action) for action in (RIGHT, UP, LEFT, DOWN)}
        spots = [*(it for it in ahead if it), *(mazes.enter(first=False) if None in ahead else ())]
        for target in spots:
            node = (target, mazes.remember(target, memory))
            if node not in nodes:
                nodes[node] = None
                queue.append(node)
    return nodes


def _solve(
    mazes: Mazes, nodes: dict[Node, None], memories: dict[bytes, int]
) -> tuple[dict[Node, float], dict[Node, np.ndarray]]:
    """From each node, how probable the right arm is, and each memory to leave the maze with."""
    right, leaves = {}, {}
    kinds: dict[tuple[int, int], list[Node]] = {}
    for node in nodes:
        kinds.setdefault(node[0][:2], []).append(node)
    for inside in kinds.values():
        if len(inside) > MOST_NODES:
            raise TooManyError(f"there are more than {MOST_NODES:,} equations")
        numbers = {node: number for number, node in enumerate(inside)}
        stays, ends = np.eye(len(inside)), np.zeros((len(inside), 1 + len(memories)))
        for (spot, memory), number in numbers.items():
            logits = mazes.decode(spot, memory).astype(np.float64)
            likely = np.exp(logits - logits.max())
            likely /= likely.sum()
            for action in (RIGHT, UP, LEFT, DOWN):
                target = go(spot, action)
                if target is None:
                    ends[number, 0] += likely[action] * (action == mazes.find_right_arm(spot))
                    ends[number, 1 + memories[memory]] += likely[action]
                else:
                    stays[number, numbers[target, mazes.remember(target, memory)]] -= likely[action]
        for node, row in zip(inside, np.linalg.solve(stays, ends), strict=True):
            total = float(row[1:].sum())  # 1 but for rounding
            if not abs(total - 1) < ACCURACY:
                raise TooManyError("arms are taken too rarely for numbers of this precision")
            right[node], leaves[node] = float(row[0]) / total, row[1:] / total
    return right, leaves


def _find_odds(mazes: Mazes, spot: Spot) -> float:
    """A fair coin for the goal, then any index that has it, and any length."""
    alike = sum(entry == mazes.table[spot.entry] for entry in mazes.table)
    return 0.5 / (alike * len(mazes.environment["lengths"]))
