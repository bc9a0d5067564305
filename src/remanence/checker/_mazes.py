"""What the portable program does in a row of mazes: one sequence replayed, or all of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._maze_fields import ANY, GREEDY, STALL, STRAIGHT
from ._program import Look, Program

RIGHT, UP, LEFT, DOWN = range(4)
NAMES = {"right": RIGHT, "up": UP, "left": LEFT, "down": DOWN}
MOST_NODES = 2_000_000


class TooManyError(Exception):
    """There is more than is looked at."""


class MoreThanSaidError(TooManyError):
    """There is more than there should be."""


class Spot(NamedTuple):
    """A maze and a place in it; `entered` and `first` where an index and the table are seen."""

    entry: int
    length: int
    position: int
    entered: bool = False
    first: bool = False


def at_junction(spot: Spot) -> bool:
    """Whether arms are to either side."""
    return spot.position == spot.length - 1


def go(spot: Spot, action: int) -> Spot | None:
    """Where an action leads; None is an arm."""
    if action in (UP, DOWN):
        return None if at_junction(spot) else Spot(*spot[:3])
    step = spot.position + (1 if action == RIGHT else -1)
    return Spot(spot.entry, spot.length, min(max(step, 0), spot.length - 1))


def list_actions(walk: str, spot: Spot) -> Sequence[int]:
    """The actions that are taken by a walk that does not depend on the agent."""
    if walk == STRAIGHT:
        return [UP, DOWN] if at_junction(spot) else [RIGHT]
    assert walk == ANY
    return [RIGHT, UP, LEFT, DOWN]


class Mazes:
    """An agent's program, with one table, in mazes of some lengths."""

    def __init__(self, program: Program, environment: Mapping[str, Any], table: Sequence[int]):
        self.program, self.environment, self.table = program, environment, table
        self.looks: dict[tuple[int, ...], Look] = {}
        self.after: dict[tuple[tuple[int, ...], bytes], bytes] = {}
        self.logits: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}

    def observe(self, spot: Spot) -> tuple[int, ...]:
        """The numbers that are seen."""
        size = self.environment["table_size"]
        table = list(self.table) if spot.first else [0] * size
        if self.environment["index_encoding"] == "scalar":
            index = [spot.entry if spot.entered else 0]
        else:
            index = [int(spot.entered and spot.entry == number) for number in range(size)]
        return (*table, *index, int(at_junction(spot)))

    def find_right_arm(self, spot: Spot) -> int:
        """The arm that the table says."""
        return DOWN if self.table[spot.entry] > 0 else UP

    def remember(self, spot: Spot, memory: bytes) -> bytes:
        """The memory after what is seen."""
        key = (self.observe(spot), memory)
        if key not in self.after:
            state = np.frombuffer(memory, self.program.dtype)
            self.after[key] = self.program.update(self.look(spot), state).tobytes()
        return self.after[key]

    def decode(self, spot: Spot, memory: bytes) -> np.ndarray:
        """The logits, from a memory after what is seen."""
        key = (self.observe(spot), memory)
        if key not in self.logits:
            state = np.frombuffer(memory, self.program.dtype)
            self.logits[key] = self.program.decode(self.look(spot), state)
        return self.logits[key]

    def look(self, spot: Spot) -> Look:
        """What the network makes of what is seen."""
        seen = self.observe(spot)
        if seen not in self.looks:
            self.looks[seen] = self.program.see(seen)
        return self.looks[seen]

    def measure(self, spot: Spot, memory: bytes) -> float:
        """By how much the right arm's logit is above the other's."""
        logits, right = self.decode(spot, memory), self.find_right_arm(spot)
        return float(logits[right]) - float(logits[UP + DOWN - right])

    def choose(self, walk: str, spot: Spot, memory: bytes) -> Sequence[int]:
        """The actions that are taken."""
        if walk == GREEDY:
            return [int(self.decode(spot, memory).argmax())]
        return list_actions(walk, spot)

    def fails(self, walk: str, spot: Spot, memory: bytes) -> bool:
        """Whether the wrong arm is taken, or is as good as the right one."""
        if not at_junction(spot):
            return False
        if walk == GREEDY:
            return self.choose(walk, spot, memory) == [UP + DOWN - self.find_right_arm(spot)]
        return not self.measure(spot, memory) > 0

    def enter(self, first: bool) -> Iterator[Spot]:
        """The entrances of all mazes."""
        for index in range(self.environment["table_size"]):
            for length in self.environment["lengths"]:
                yield Spot(index, length, 0, entered=True, first=first)


class Census(NamedTuple):
    """What a search came to: all memories, the least margin, and in which maze it first failed."""

    num_memories: int
    least_margin: float
    first_failure: int | None


def search(mazes: Mazes, walk: str, most_memories: int, num_mazes: int | None = None) -> Census:
    """Everywhere an agent can come to, maze by maze; in all of them, or in the first few.

    Of a greedy agent, a walk that never takes an arm is a failure, too.
    """
    met, memories, leaving = set(), set(), {mazes.program.start.tobytes()}
    margin, failure, number = np.inf, None, 0
    while leaving and number != num_mazes:
        number += 1
        level = [(spot, before) for before in leaving for spot in mazes.enter(number == 1)]
        leaving, after = set(), {}
        while level:
            following = []
            for spot, before in level:
                node = (spot, mazes.remember(spot, before))
                if node in met:
                    continue
                met.add(node)
                memories.add(node[1])
                if at_junction(spot):
                    margin = min(margin, mazes.measure(*node))
                if mazes.fails(walk, *node):
                    failure = failure or number
                targets = [go(spot, action) for action in mazes.choose(walk, *node)]
                leaving |= {node[1]} if None in targets else set()
                after[node] = [(target, node[1]) for target in targets if target]
                following += after[node]
            if len(memories) > most_memories:
                raise MoreThanSaidError("there are more memories than the certificate says")
            if len(met) > MOST_NODES:
                raise TooManyError(f"there are more than {MOST_NODES:,} pairs of place and memory")
            level = list(dict.fromkeys(following))
        if walk == GREEDY and failure is None and _stalls(mazes, after):
            failure = number
    return Census(len(memories), margin, failure)


def _stalls(mazes: Mazes, after: Mapping[Any, list[Any]]) -> bool:
    """Whether some walk goes on for ever among the nodes of a maze, each with what comes next."""
    endless = {
        node: [(spot, mazes.remember(spot, before)) for spot, before in following]
        for node, following in after.items()
        if following
    }
    ended = [None]
    while ended:
        ended = [node for node, ahead in endless.items() if not any(it in endless for it in ahead)]
        for node in ended:
            del endless[node]
    return bool(endless)


def replay(mazes: Mazes, walk: str, refutation: Mapping[str, Any]) -> str | None:
    """Step through a sequence of mazes; what is wrong with it, or None if it ends as it says."""
    memory, visits, met = mazes.program.start.tobytes(), refutation["mazes"], set()
    for number, visit in enumerate(visits, start=1):
        known = visit["index"] < len(mazes.table)
        if not known or visit["length"] not in mazes.environment["lengths"]:
            return f"maze {number:,} is none of those that are spoken of"
        spot = Spot(visit["index"], visit["length"], 0, entered=True, first=number == 1)
        actions = [NAMES[name] for name, count in visit["actions"] for _ in range(count)]
        met.clear()
        for step, action in enumerate(actions, start=1):
            memory = mazes.remember(spot, memory)
            met.add((spot, memory))
            last, final = step == len(actions), number == len(visits)
            if last and final and refutation["kind"] != STALL:
                wrong = UP + DOWN - mazes.find_right_arm(spot)
                fails = mazes.fails(walk, spot, memory) and action == wrong
                return None if fails else "its last step does not take the wrong arm"
            if action not in mazes.choose(walk, spot, memory):
                return f"the agent does not do so in maze {number:,}, step {step:,}"
            target = go(spot, action)
            if (target is None) != (last and not final):
                return f"maze {number:,} ends elsewhere"
            if last and final and target is not None:
                again = (target, mazes.remember(target, memory)) in met
                stalls = walk == GREEDY and again
                return None if stalls else "it does not come back to where it was"
            spot = target or spot
    return "it does not end"
