"""How robust a memory of a table is: a radius of disturbances that it survives for ever, and one
that it does not.

Every observation may be off by as much as the radius in each of its numbers, each step anew, that
of the table included. The truth lies between a radius that is proved, for every sequence of mazes,
and one at which a disturbance was found.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from remanence.certificates._attack import LARGEST
from remanence.certificates._identity import AbstractDocument
from remanence.certificates.mazes._breaking import Breaker, MazeBreak, break_undisturbed
from remanence.certificates.mazes._certify import (
    BUDGET,
    OnTable,
    describe_mazes,
    ignore,
    make_prover,
)
from remanence.certificates.mazes._enclosing import STAGES, bound, judge, measure
from remanence.certificates.mazes._finding import CERTIFIED, TableFinding
from remanence.certificates.mazes._looks import UndecidedError
from remanence.certificates.mazes._prover import ENCLOSABLE, FINITE, Prover
from remanence.certificates.mazes._rows import show_table
from remanence.certificates.mazes._walks import ANY, GREEDY, STRAIGHT, WALKS
from remanence.certificates.mazes._world import list_tables
from remanence.envs import AbstractEnvironment
from remanence.errors import UnknownNameError
from remanence.networks import Agent

KIND, FORMAT = "remanence maze radius", 1
SMALLEST = 1e-5
NUM_HALVINGS = 8
NUM_FINER = 2  # stages that are tried beyond what it takes without disturbance
# Of the radius that sets were found for, so that a coarser arithmetic finds them good as well.
CLAIMED = 0.98


@dataclasses.dataclass(frozen=True)
class Proof:
    """A radius, and the sets that prove it, told apart by so much of the past."""

    radius: float
    history: int
    reach: int
    num_rounds: int

    @property
    def stage(self) -> tuple[int, int]:
        """How much of the past is told apart."""
        return self.history, self.reach

    def to_json(self) -> dict[str, Any]:
        """As the independent checker reads it."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class TableRadius:
    """What disturbances a memory of one table survives: proved, and found to break it.

    >>> from remanence.certificates import mazes
    >>> radius = mazes.TableRadius((1, -1), proof=None, broken=None)
    >>> radius.certified, radius.to_json()["table"]
    (0.0, [1, -1])
    """

    table: tuple[int, ...]
    proof: Proof | None
    broken: MazeBreak | None

    @property
    def certified(self) -> float:
        """The radius that is proved; 0 if none is."""
        return self.proof.radius if self.proof else 0.0

    def to_json(self) -> dict[str, Any]:
        """As the independent checker reads it."""
        return {
            "table": list(self.table),
            "certified": self.proof.to_json() if self.proof else None,
            "broken": self.broken.to_json() if self.broken else None,
        }


@dataclasses.dataclass(frozen=True)
class MazeRadius(AbstractDocument):
    """What disturbances of observations an agent survives in every sequence of mazes.

    `walk` is the way of walking that is spoken of. `certified` is 0 where nothing is proved of some
    table, and `broken` is the smallest disturbance that makes it fail with any; None if none was
    found.

    >>> from remanence import envs, networks
    >>> from remanence.certificates import mazes
    >>> architecture = networks.Architecture(cell="bmru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 4, 4, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 4, key=jax.random.key(1))
    >>> agent = networks.Agent(policy, value, architecture)
    >>> radius = mazes.find_maze_radius(agent, envs.make("lookup-tree-maze", table_size=2))
    >>> radius.walk, radius.certified, radius.broken.radius, len(radius.tables)
    ('any', 0.0, 0.0, 2)
    >>> radius.save("radius.json")
    >>> sorted(radius.to_json())
    ['agent', 'environment', 'format', 'kind', 'program', 'tables', 'walk']
    """

    program: Mapping[str, Any]
    walk: str
    tables: Sequence[TableRadius]

    @property
    def certified(self) -> float:
        """The radius that is proved for all tables; 0 if none is."""
        return min(it.certified for it in self.tables)

    @property
    def broken(self) -> MazeBreak | None:
        """The smallest disturbance that does harm with some table."""
        found = [it.broken for it in self.tables if it.broken is not None]
        return min(found, key=lambda it: it.radius, default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.describe_subject(KIND, FORMAT),
            "program": dict(self.program),
            "walk": self.walk,
            "tables": [it.to_json() for it in self.tables],
        }


def find_maze_radius(
    agent: Agent,
    env: tuple[AbstractEnvironment, Any],
    *,
    walk: str | None = None,
    lengths: Sequence[int] | None = None,
    budget: int = BUDGET,
    on_table: OnTable = ignore,
) -> MazeRadius:
    """Prove a radius for each table of an agent, and look for a disturbance that breaks it.

    Without a `walk`, it is the strongest one for which the memory of all tables is certified, or of
    most of them. Lengths, `budget` and `on_table` are those of `certify_mazes`.

    >>> from remanence import envs, networks
    >>> from remanence.certificates import mazes
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 4, 4, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 4, key=jax.random.key(1))
    >>> agent = networks.Agent(policy, value, architecture)
    >>> env = envs.make("lookup-tree-maze", table_size=2)
    >>> mazes.find_maze_radius(agent, env, walk="straight", lengths=[1, 2]).broken.kind
    'wrong arm'
    """
    if walk is not None and walk not in WALKS:
        raise UnknownNameError("walk", walk, WALKS)
    prover = make_prover(agent, env, lengths, budget)
    walks = (ANY, STRAIGHT, GREEDY) if walk is None else (walk,)
    walk, findings = _settle(prover, list_tables(prover.maze), walks)
    tables = []
    for number, finding in enumerate(findings, start=1):
        tables.append(_find_radius(agent, prover, finding))
        on_table(number, len(findings))
    return MazeRadius(**describe_mazes(agent, prover), walk=walk, tables=tuple(tables))


def can_survive(architecture: Mapping[str, Any]) -> bool:
    """Whether radii are proved of such networks: of one layer of BMRU, minGRU or hybrid.

    >>> from remanence.certificates import mazes
    >>> [mazes.can_survive({"cell": cell, "num_layers": 1}) for cell in ("bmru", "gru")]
    [True, False]
    """
    return architecture["cell"] in (*FINITE, *ENCLOSABLE) and architecture["num_layers"] == 1


def _settle(
    prover: Prover, tables: Sequence[tuple[int, ...]], walks: Sequence[str]
) -> tuple[str, list[TableFinding]]:
    """The first way of walking with the most tables that are certified, and what is known of it."""
    found = {}
    for walk in walks:
        found[walk] = [prover.settle(table, walk) for table in tables]
        if all(it.verdict == CERTIFIED for it in found[walk]):
            break
    best = max(found, key=lambda walk: sum(it.verdict == CERTIFIED for it in found[walk]))
    return best, found[best]


def _find_radius(agent: Agent, prover: Prover, finding: TableFinding) -> TableRadius:
    if finding.refutation is not None:
        return TableRadius(finding.table, None, break_undisturbed(finding.refutation))
    broken = Breaker(agent.policy, prover.open_case(finding.table, finding.walk)).search()
    proof = None
    if finding.verdict == CERTIFIED and can_survive(dataclasses.asdict(agent.architecture)):
        proof = prove_radius(prover, finding, LARGEST if broken is None else broken.radius)
    return TableRadius(finding.table, proof, broken)


def prove_radius(prover: Prover, finding: TableFinding, largest: float) -> Proof | None:
    """By halving, in logarithms; with sets as fine as it takes without disturbance, or finer."""
    low, high, found, stages = SMALLEST, largest, None, _list_stages(finding)
    for number in range(1 + NUM_HALVINGS if low < high else 0):
        middle = low if number == 0 else float(np.sqrt(low * high))
        tried = (try_radius(prover, finding, middle, *stage) for stage in stages)
        proof = next((it for it in tried if it is not None), None)
        if proof is None:
            high = middle
        else:
            # What is too coarse here is so for larger radii.
            low, found, stages = middle, proof, stages[stages.index(proof.stage) :]
        if found is None:
            break
    return found and dataclasses.replace(found, radius=CLAIMED * found.radius)


def _list_stages(finding: TableFinding) -> list[tuple[int, int]]:
    """How much of the past is told apart: as without disturbance, then more of earlier mazes."""
    if finding.history is None or finding.reach is None:
        return [(0, 0)]  # all memories of a BMRU were found
    finer = [it for it in STAGES if it[0] == it[1] > finding.history]
    return [(finding.history, finding.reach), *finer[:NUM_FINER]]


def try_radius(
    prover: Prover, finding: TableFinding, radius: float, history: int, reach: int
) -> Proof | None:
    """Whether sets of memories that are told apart by so much prove this radius."""
    case = prover.open_case(finding.table, finding.walk)
    try:
        enclosure = bound(case, prover.disturb_boxes(radius, history, reach))
    except UndecidedError:
        return None
    if enclosure is None or not judge(case, enclosure, measure(case, enclosure)):
        return None
    return Proof(radius, history, reach, enclosure.num_rounds)


def make_maze_radius_rows(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of a table of radii, one for each table, from what `MazeRadius.to_json` wrote.

    `broken_in` is the maze in which the disturbance that was found does harm.

    >>> from remanence.certificates import mazes
    >>> table = {"table": [1, -1], "certified": {"radius": 0.5}, "broken": None}
    >>> list(mazes.make_maze_radius_rows({"walk": "any", "tables": [table]}))[0]["table"]
    '+-'
    """
    for it in found["tables"]:
        certified, broken = it["certified"], it["broken"]
        yield {
            "table": show_table(it["table"]),
            "walk": found["walk"],
            "radius_certified": certified["radius"] if certified else 0.0,
            "radius_broken": broken["radius"] if broken else None,
            "broken_in": len(broken["mazes"]) if broken else None,
        }
