"""Certificates of sequences of mazes, read with suspicion: these fields, and no others."""

import itertools
from typing import Any

from ._certificates import ACTIONS, MOST_PORTABLE, PORTABLE, agent
from ._fields import choice, demand, number, optional, read_object, several, whole

KIND, FORMAT = "remanence maze certificate", 1
MOST_TABLE, MOST_LENGTHS, LONGEST = 12, 100, 1_000
MOST_MEMORIES, MOST_MAZES, MOST_RUNS = 1_000_000, 100_000, 100_000
MOST_HISTORY, MOST_ROUNDS = 64, 100_000
GREEDY, STRAIGHT, ANY = WALKS = ("greedy", "straight", "any")
CERTIFIED, REFUTED, UNDECIDED = VERDICTS = ("certified", "refuted", "undecided")
SEARCH, SETS = "search", "sets"
WRONG_ARM, STALL = "wrong arm", "stall"


def environment(value: Any, name: str) -> dict[str, Any]:
    """Which mazes are spoken of."""
    found = read_object(
        value,
        name,
        name=choice("lookup-tree-maze"),
        table_size=whole(2, MOST_TABLE),
        index_encoding=choice("scalar", "one-hot"),
        lengths=several(whole(1, LONGEST), 1, MOST_LENGTHS),
    )
    ascending = all(low < high for low, high in itertools.pairwise(found["lengths"]))
    demand(ascending, f"{name}.lengths should ascend")
    return found


def _run(value: Any, name: str) -> list[Any]:
    """An action, and how often in a row."""
    action, count = several(lambda it, _: it, 2, 2)(value, name)
    return [choice(*ACTIONS)(action, name), whole(1, MOST_PORTABLE)(count, name)]


def visit(value: Any, name: str) -> dict[str, Any]:
    """A maze, and what is done in it."""
    found = read_object(
        value,
        name,
        index=whole(0, MOST_TABLE - 1),
        length=whole(1, LONGEST),
        actions=several(_run, 1, MOST_RUNS),
    )
    named = [action for action, _ in found["actions"]]
    shortest = all(one != other for one, other in itertools.pairwise(named))
    demand(shortest, f"{name} names an action twice in a row")
    return found


def _refutation(value: Any, name: str) -> dict[str, Any]:
    """A sequence of mazes, and how it ends."""
    found = read_object(
        value,
        name,
        kind=choice(WRONG_ARM, STALL),
        earliest=choice(True, False),
        mazes=several(visit, 1, MOST_MAZES),
    )
    steps = sum(count for it in found["mazes"] for _, count in it["actions"])
    demand(steps <= MOST_PORTABLE, f"{name} takes {steps:,} steps, more than are followed")
    return found


def _finding(value: Any, name: str) -> dict[str, Any]:
    """What is said of one table and one way of walking, and only what goes with it."""
    found = read_object(
        value,
        name,
        table=several(choice(-1, 1), 2, MOST_TABLE),
        walk=choice(*WALKS),
        verdict=choice(*VERDICTS),
        method=choice(SEARCH, SETS, None),
        num_memories=optional(whole(1, MOST_MEMORIES)),
        history=optional(whole(1, MOST_HISTORY)),
        reach=optional(whole(0, MOST_HISTORY)),
        num_rounds=optional(whole(1, MOST_ROUNDS)),
        least_margin=optional(number),
        sampled_share=optional(number),
        refutation=optional(_refutation),
        budget=optional(whole(1, 10**9)),
    )
    told = {field for field, it in found.items() if it is not None}
    told -= {"table", "walk", "verdict", "method"}
    if found["walk"] == ANY and "num_memories" in told:
        told -= {"sampled_share"}
    margin = set() if found["walk"] == GREEDY else {"least_margin"}
    searched, enclosed = {"num_memories", *margin}, {"history", "reach", "num_rounds", *margin}
    fitting = {
        (CERTIFIED, SEARCH): [searched],
        (CERTIFIED, SETS): [enclosed],
        (REFUTED, SEARCH): [{"refutation", *searched}, {"refutation"}],
        (REFUTED, None): [{"refutation"}],
        (UNDECIDED, None): [{"budget"}],
    }
    kind = (found["verdict"], found["method"])
    demand(told in fitting.get(kind, []), f"{name} tells what does not go with {kind}")
    return found


def read_certificate(found: Any) -> dict[str, Any]:
    """A certificate of this kind, whole: every table with every way of walking, in order."""
    read = read_object(
        found,
        "certificate",
        kind=choice(KIND),
        format=choice(FORMAT),
        agent=agent,
        environment=environment,
        program=lambda value, name: read_object(value, name, **PORTABLE),
        findings=several(_finding, 1, 3 * 2**MOST_TABLE),
        forgotten=optional(whole(1, 10**7)),
    )
    size = read["environment"]["table_size"]
    wanted = [[table, walk] for table in list_tables(size) for walk in WALKS]
    given = [[finding["table"], finding["walk"]] for finding in read["findings"]]
    demand(given == wanted, "the findings are not one for each table and way of walking, in order")
    return read


def list_tables(size: int) -> list[list[int]]:
    """All tables but those whose entries are equal; the first entry changes fastest."""
    numbers = range(1, 2**size - 1)
    return [[1 if number >> entry & 1 else -1 for entry in range(size)] for number in numbers]
