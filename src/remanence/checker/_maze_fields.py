"""Certificates of sequences of mazes, read with suspicion: these fields, and no others."""

import itertools
from typing import Any

from ._certificates import ACTIONS, MOST_PORTABLE, PORTABLE, agent, flag
from ._fields import Reader, choice, demand, number, optional, record, several, whole

KIND, FORMAT = "remanence maze certificate", 2
MOST_TABLE, MOST_LENGTHS, LONGEST = 12, 100, 1_000
MOST_MEMORIES, MOST_MAZES, MOST_RUNS = 1_000_000, 100_000, 100_000
MOST_HISTORY, MOST_ROUNDS = 64, 100_000
GREEDY, STRAIGHT, ANY = WALKS = ("greedy", "straight", "any")
CERTIFIED, REFUTED, UNDECIDED = VERDICTS = ("certified", "refuted", "undecided")
SEARCH, SETS = "search", "sets"
WRONG_ARM, STALL = "wrong arm", "stall"


def _ascends(found: dict[str, Any], name: str) -> None:
    ascending = all(low < high for low, high in itertools.pairwise(found["lengths"]))
    demand(ascending, f"{name}.lengths should ascend")


environment = record(
    _ascends,
    name=choice("lookup-tree-maze"),
    table_size=whole(2, MOST_TABLE),
    index_encoding=choice("scalar", "one-hot"),
    lengths=several(whole(1, LONGEST), 1, MOST_LENGTHS),
)


def _run(value: Any, name: str) -> list[Any]:
    """An action, and how often in a row."""
    action, count = several(lambda it, _: it, 2, 2)(value, name)
    return [choice(*ACTIONS)(action, name), whole(1, MOST_PORTABLE)(count, name)]


def _is_shortest(found: dict[str, Any], name: str) -> None:
    named = [action for action, _ in found["actions"]]
    shortest = all(one != other for one, other in itertools.pairwise(named))
    demand(shortest, f"{name} names an action twice in a row")


# A maze, and what is done in it.
visit = record(
    _is_shortest,
    index=whole(0, MOST_TABLE - 1),
    length=whole(1, LONGEST),
    actions=several(_run, 1, MOST_RUNS),
)


def _is_followed(found: dict[str, Any], name: str) -> None:
    steps = sum(count for it in found["mazes"] for _, count in it["actions"])
    demand(steps <= MOST_PORTABLE, f"{name} takes {steps:,} steps, more than are followed")


_refutation = record(
    _is_followed,
    kind=choice(WRONG_ARM, STALL),
    earliest=flag,
    mazes=several(visit, 1, MOST_MAZES),
)


def _fits_together(found: dict[str, Any], name: str) -> None:
    """Nothing else is told than what goes with a verdict."""
    told = {field for field, it in found.items() if it is not None}
    told -= {"table", "walk", "verdict", "method"}
    if found["walk"] == ANY and "num_memories" in told:
        told -= {"sampled_share", "limit_share"} if "sampled_share" in told else set()
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


table = several(choice(-1, 1), 2, MOST_TABLE)
_FINDING: dict[str, Reader] = {
    "table": table,
    "walk": choice(*WALKS),
    "verdict": choice(*VERDICTS),
    "method": choice(SEARCH, SETS, None),
    "num_memories": optional(whole(1, MOST_MEMORIES)),
    "history": optional(whole(1, MOST_HISTORY)),
    "reach": optional(whole(0, MOST_HISTORY)),
    "num_rounds": optional(whole(1, MOST_ROUNDS)),
    "least_margin": optional(number),
    "sampled_share": optional(number),
    "refutation": optional(_refutation),
    "budget": optional(whole(1, 10**9)),
}


def _certificate(version: int, **more: Reader) -> Reader:
    finding = record(_fits_together, **_FINDING, **more)
    return record(
        kind=choice(KIND),
        format=choice(version),
        agent=agent,
        environment=environment,
        program=PORTABLE,
        findings=several(finding, 1, 3 * 2**MOST_TABLE),
        forgotten=optional(whole(1, 10**7)),
    )


_FIRST, _PRESENT = _certificate(1), _certificate(FORMAT, limit_share=optional(number))


def read_certificate(found: Any) -> dict[str, Any]:
    """A certificate of this kind, whole: every table with every way of walking, in order."""
    version = found.get("format")
    first = type(version) is int and version == 1
    read = (_FIRST if first else _PRESENT)(found, "certificate")
    size = read["environment"]["table_size"]
    wanted = [[table, walk] for table in list_tables(size) for walk in WALKS]
    given = [[finding["table"], finding["walk"]] for finding in read["findings"]]
    demand(given == wanted, "the findings are not one for each table and way of walking, in order")
    return read


def list_tables(size: int) -> list[list[int]]:
    """All tables but those whose entries are equal; the first entry changes fastest."""
    numbers = range(1, 2**size - 1)
    return [[1 if number >> entry & 1 else -1 for entry in range(size)] for number in numbers]
