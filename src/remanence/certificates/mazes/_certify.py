"""Certificates for every sequence of mazes, however many: of one agent, for all tables."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from remanence._numbers import check_whole
from remanence.certificates._identity import (
    PORTABLE_VERSION,
    AbstractDocument,
    identify_agent,
    take_policy,
)
from remanence.certificates.mazes._finding import CERTIFIED, REFUTED, UNDECIDED, TableFinding
from remanence.certificates.mazes._prover import Prover
from remanence.certificates.mazes._world import MOST_ENTRIES, check_lengths, list_tables
from remanence.envs import AbstractEnvironment, LookupTreeMaze
from remanence.errors import InvalidOptionError
from remanence.networks import Agent, check_fits

KIND, FORMAT = "remanence maze certificate", 2
BUDGET = 100_000

OnTable = Callable[[int, int], Any]


def ignore(number: int, total: int) -> None:
    """Tell nobody."""
    del number, total


@dataclasses.dataclass(frozen=True)
class MazeCertificate(AbstractDocument):
    """What is known of every sequence of mazes, for one agent: a finding for each table and walk.

    From the maze `forgotten` on, a table and its opposite are right with 51% at most, on average,
    if both see the same; None where that is not shown.

    >>> from remanence import envs, networks
    >>> from remanence.certificates import mazes
    >>> architecture = networks.Architecture(cell="bmru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 4, 4, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 4, key=jax.random.key(1))
    >>> agent = networks.Agent(policy, value, architecture)
    >>> env = envs.make("lookup-tree-maze", table_size=2)
    >>> certificate = mazes.certify_mazes(agent, env)
    >>> certificate.judge("any"), len(certificate.select("any")), certificate.find_earliest("any")
    ('refuted', 2, 1)
    >>> certificate.save("certificate.json")
    """

    program: Mapping[str, Any]
    findings: tuple[TableFinding, ...]
    forgotten: int | None = None

    def select(self, walk: str) -> list[TableFinding]:
        """The findings for one way of walking, a table each."""
        return [found for found in self.findings if found.walk == walk]

    def judge(self, walk: str) -> str:
        """The verdict for all tables together."""
        verdicts = {found.verdict for found in self.select(walk)}
        return next(it for it in (REFUTED, UNDECIDED, CERTIFIED) if it in verdicts)

    def find_earliest(self, walk: str) -> int | None:
        """After how many mazes the first of the sequences ends that refute; None if none does."""
        found = [it.refutation.num_mazes for it in self.select(walk) if it.refutation]
        return min(found, default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.describe_subject(KIND, FORMAT),
            "program": dict(self.program),
            "findings": [found.to_json() for found in self.findings],
            "forgotten": self.forgotten,
        }


def can_certify_mazes(environment: AbstractEnvironment) -> bool:
    """Whether certificates for every sequence of mazes are to be had in an environment.

    >>> from remanence import envs
    >>> from remanence.certificates import mazes
    >>> [mazes.can_certify_mazes(maze) for maze in (envs.TMaze(), envs.LookupTreeMaze())]
    [False, True]
    """
    return isinstance(environment, LookupTreeMaze)


def certify_mazes(
    agent: Agent,
    env: tuple[AbstractEnvironment, Any],
    *,
    lengths: Sequence[int] | None = None,
    budget: int = BUDGET,
    on_table: OnTable = ignore,
) -> MazeCertificate:
    """Settle how an agent's memory of each table fares in every sequence of mazes.

    Mazes have these lengths, or all that they can have in `env`. `budget` bounds how many pairs of
    place and memory are looked at for each table and walk, and a fifth of it how many sets; where
    that is not enough, the verdict is "undecided". `on_table` is told how many tables are done, of
    how many.

    >>> from remanence import envs, networks
    >>> from remanence.certificates import mazes
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 4, 4, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 4, key=jax.random.key(1))
    >>> agent = networks.Agent(policy, value, architecture)
    >>> env = envs.make("lookup-tree-maze", table_size=2)
    >>> mazes.certify_mazes(agent, env, lengths=[1, 2]).environment["lengths"]
    [1, 2]
    """
    prover = make_prover(agent, env, lengths, budget)
    tables, findings = list_tables(prover.maze), []
    for number, table in enumerate(tables, start=1):
        findings += prover.decide(table).values()
        on_table(number, len(tables))
    return MazeCertificate(
        **describe_mazes(agent, prover),
        findings=tuple(findings),
        forgotten=prover.find_forgotten(),
    )


def make_prover(
    agent: Agent,
    env: tuple[AbstractEnvironment, Any],
    lengths: Sequence[int] | None,
    budget: int,
) -> Prover:
    """A prover for an agent in mazes of these lengths, or of all that they can have."""
    maze, params = env
    check_whole("budget", budget, 1)
    if not isinstance(maze, LookupTreeMaze):
        remedy = "sequences of mazes are those of LookupTreeMaze, without the previous action"
        raise InvalidOptionError("env", type(maze).__name__, remedy)
    if maze.table_size > MOST_ENTRIES:
        remedy = f"each of its 2^n - 2 tables is settled; up to {MOST_ENTRIES} entries are possible"
        raise InvalidOptionError("table_size", maze.table_size, remedy)
    check_fits(agent, maze)
    low, high = int(np.min(params.length_low)), int(np.max(params.length_high))
    chosen = check_lengths(range(low, high + 1) if lengths is None else lengths)
    return Prover(*take_policy(agent), maze, chosen, budget)


def describe_mazes(agent: Agent, prover: Prover) -> dict[str, dict[str, Any]]:
    """The agent, the environment and the program that a certificate speaks of."""
    precision = f"binary{8 * prover.policy.dtype.itemsize}"
    return {
        "agent": identify_agent(agent),
        "environment": {
            "name": "lookup-tree-maze",
            "table_size": prover.maze.table_size,
            "index_encoding": prover.maze.index_encoding,
            "lengths": list(prover.lengths),
        },
        "program": {"name": "portable", "version": PORTABLE_VERSION, "precision": precision},
    }
