"""What was found out about agents, as files of one directory: mostly that of their run.

curves.parquet               a row for each agent and iteration, which training writes
evaluations.parquet          a row for each episode of greedy agents
outcomes.parquet             a row for each agent and value of what grows, from the same episodes
decisions.parquet            right decisions against how many were taken before, if many were
sampled_evaluations.parquet, sampled_outcomes.parquet, sampled_decisions.parquet
                             the same of agents that sample
sampled_limits.parquet       what agents that sample come to in corridors without end
radii/seed-1.json ...
radii.parquet                how much disturbance of observations each agent survives
stability.parquet            a row for each agent
orbits.parquet               how the memory of each agent begins to settle
certificates/seed-1.json ...
certificates.parquet         a row for each agent
maze-certificates/seed-1.json ...
maze_certificates.parquet    a row for each agent, table and way of walking
packed.tar.xz                in an archive, files of the folders above in one
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from remanence import envs
from remanence.certificates import hash_policy, make_row, read_certificate
from remanence.errors import StoreError
from remanence.networks import Agent, read_agent
from remanence.store import (
    find_packed,
    hold_directory,
    open_pack,
    read_about,
    read_table,
    unpack,
    write_table,
)
from remanence.study._older import derive_outcomes, find_older_table, is_exact, modernize
from remanence.study._rows import Columns, collect_rows
from remanence.training import RunDirectory

# Where certificates of single agents are in a run, and what disturbances they survive.
CERTIFICATE_FOLDERS = ("certificates", "maze-certificates", "radii")
CERTIFICATES, MAZE_CERTIFICATES, RADII = CERTIFICATE_FOLDERS
_WEIGHTS = "weights"


@dataclasses.dataclass(frozen=True)
class AgentRecords:
    """Reads and writes what is known of agents.

    Each table says in its file which weights its rows are about, by a hash for each seed. `older`
    is where earlier versions of remanence kept tables and certificates, by their names.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> records = study.AgentRecords(Path("run"))
    >>> columns = {"seed": np.array([1]), "stability": np.array(["bistable"])}
    >>> records.write("stability", columns, weights={1: "4f2a"})
    >>> more = {"seed": np.array([2]), "stability": np.array(["monostable"])}
    >>> records.update("stability", more, weights={1: "4f2a", 2: "9b1c"})
    >>> records.read("stability")["stability"].tolist(), records.read_weights("stability")
    (['bistable', 'monostable'], {1: '4f2a', 2: '9b1c'})
    >>> records.has("stability"), records.can_read("outcomes"), records.list_certified()
    (True, False, [])
    >>> records.table_path("stability").as_posix(), records.certificate_path(1).as_posix()
    ('run/stability.parquet', 'run/certificates/seed-1.json')
    >>> records.maze_certificate_path(1).as_posix()
    'run/maze-certificates/seed-1.json'
    >>> records.radius_path(1).as_posix()
    'run/radii/seed-1.json'
    """

    path: Path
    older: Mapping[str, Path] = dataclasses.field(default_factory=dict)

    def table_path(self, table: str) -> Path:
        """The file of a table; where an earlier version left it, if it is only there."""
        path = self.path / f"{table}.parquet"
        older = self.older.get(table) or find_older_table(self.path, table)
        return older if older and older.exists() and not path.exists() else path

    def certificate_path(self, seed: int) -> Path:
        """The certificate of one agent."""
        path, *older = (folder / f"seed-{seed}.json" for folder in self._list_folders())
        path = find_packed(path)
        found = [file for file in older if file.exists()]
        return found[0] if found and not path.exists() else path

    def maze_certificate_path(self, seed: int) -> Path:
        """The certificate of one agent for every sequence of mazes."""
        return find_packed(self.path / MAZE_CERTIFICATES / f"seed-{seed}.json")

    def radius_path(self, seed: int) -> Path:
        """What one agent survives of disturbances, with the evidence."""
        return find_packed(self.path / RADII / f"seed-{seed}.json")

    def _list_folders(self) -> list[Path]:
        """Where certificates are, and where an earlier version left them."""
        older = self.older.get("certificates")
        return [self.path / CERTIFICATES, *([older.with_suffix("")] if older else [])]

    def has(self, *tables: str) -> bool:
        """Whether all of these tables are there."""
        return all(self.table_path(table).exists() for table in tables)

    def can_read(self, table: str) -> bool:
        """Whether a table is there, or can be made of one that is."""
        sources = {"outcomes": self.has("evaluations"), "certificates": self.list_certified()}
        return self.has(table) or bool(sources.get(table))

    def read(self, table: str) -> Columns:
        """A table, with the columns that the present version gives it."""
        try:
            if table == "outcomes" and not self.has(table):
                return derive_outcomes(self.read("evaluations"))
            if table == "certificates" and not self.has(table):
                return self.tabulate_certificates(self.list_certified())
            if self._may_be_sampled(table):
                problem = "an earlier version wrote this, without saying if actions were sampled"
                raise StoreError(self.table_path(table), problem, "run `remanence evaluate` again")
            return modernize(table, read_table(self.table_path(table)))
        except (LookupError, TypeError, ValueError) as error:
            problem = f"its columns are not those of this version ({error!r})"
            raise StoreError(self.table_path(table), problem, "make it again") from error

    def _may_be_sampled(self, table: str) -> bool:
        """Whether a table is one that sampled episodes were once written to as greedy ones were."""
        path = self.table_path(table)
        older = path.exists() and path == find_older_table(self.path, table)
        return older and not is_exact(modernize(table, read_table(path)))

    def list_certified(self) -> list[int]:
        """The seeds that there are certificates of."""
        packed = open_pack(self.path)
        folders = [*self._list_folders(), *([packed / CERTIFICATES] if packed else [])]
        files = (file for it in folders for file in it.glob("seed-*.json"))
        numbers = {file.stem.removeprefix("seed-") for file in files}
        return sorted(int(number) for number in numbers if number.isdecimal())

    def tabulate_certificates(self, seeds: Sequence[int]) -> Columns:
        """The table of certificates, from the certificates of these agents.

        >>> from pathlib import Path
        >>> from remanence import study, training
        >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
        >>> _ = study.certify_agents(group)
        >>> group.records.tabulate_certificates([1])["solved_span"].tolist()
        [13.0]
        """
        found = {seed: read_certificate(self.certificate_path(seed)) for seed in seeds}
        return collect_rows([{"seed": seed, **make_row(it)} for seed, it in found.items()])

    def read_weights(self, table: str) -> dict[int, str] | None:
        """The hashes of the policies that a table is about, by seed; None if it does not say."""
        told = read_about(self.table_path(table)).get(_WEIGHTS)
        return None if told is None else {int(seed): it for seed, it in json.loads(told).items()}

    def write(self, table: str, columns: Columns, weights: Mapping[int, str]) -> None:
        """Write a table about all agents that it names, of which `weights` may leave out some."""
        named = np.unique(columns["seed"]).tolist()
        about = {_WEIGHTS: json.dumps({seed: weights[seed] for seed in named if seed in weights})}
        write_table(self.path / f"{table}.parquet", columns, about)

    def update(self, table: str, columns: Columns, weights: Mapping[int, str]) -> None:
        """Write rows about some agents, and keep those about others that are still the same."""
        # Two commands may ask different agents of one run at the same time.
        with hold_directory(self.path, wait=True):
            kept, told = self._find_kept(table, columns, weights)
            fresh = {seed: weights[seed] for seed in np.unique(columns["seed"]).tolist()}
            self.write(table, _join(kept, columns) if kept else columns, told | fresh)

    def _find_kept(
        self, table: str, columns: Columns, weights: Mapping[int, str]
    ) -> tuple[Columns | None, dict[int, str]]:
        """Rows that stay, and the weights that they are about, as far as that is known.

        A table of an earlier version names no weights. It is there still, so its agents are too:
        where an agent gives way to another, so does what was found out about it.
        """
        if not self.can_read(table) or self._may_be_sampled(table):
            return None, {}
        told, found = (self.has(table) and self.read_weights(table)) or {}, self.read(table)
        known = set(found["seed"].tolist()) - set(columns["seed"].tolist())
        kept = [seed for seed in known if told.get(seed, weights.get(seed)) == weights.get(seed)]
        if not kept or set(found) != set(columns):
            return None, {}
        rows = np.isin(found["seed"], kept)
        return {name: column[rows] for name, column in found.items()}, told


def _join(kept: Columns, columns: Columns) -> Columns:
    joined = {name: np.ma.concatenate([kept[name], columns[name]]) for name in columns}
    order = np.argsort(joined["seed"], kind="stable")
    return {name: column[order] for name, column in joined.items()}


@dataclasses.dataclass(frozen=True)
class AgentGroup:
    """Agents of which something is to be found out, and where that is written.

    `weights` has the hashes of these agents and of their siblings in the run, by seed.

    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
    >>> group.agents[1].architecture.cell, group.env[0].num_actions, group.records.path.name
    ('mingru', 4, 'mingru')
    """

    agents: Mapping[int, Agent]
    env: tuple[envs.AbstractEnvironment, Any]
    weights: Mapping[int, str]
    records: AgentRecords


def open_group(
    run: RunDirectory, records: AgentRecords | None = None, seeds: list[int] | None = None
) -> AgentGroup:
    """The agents of a run, all or some; what is found out goes to the run if nobody says else.

    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
    >>> list(group.agents), list(group.weights)
    ([1], [1])
    """
    agents = run.load_agents(seeds)
    unpack(run.path)  # what is found out about them lies beside files that an archive has packed
    known = run.read_description()["what"]["seeds"]
    weights = {s: hash_weights(run.agent_path(s)) for s in known if run.agent_path(s).exists()}
    return AgentGroup(agents, run.load_environment(), weights, records or AgentRecords(run.path))


def hash_weights(path: Path) -> str:
    """The hash of the policy in an agent's file, by which certificates name it too.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> study.hash_weights(Path("examples/agents/mingru/agents/seed-1.safetensors"))[:16]
    '3c706d50b2ca476a'
    """
    return hash_policy(read_agent(path)[0])
