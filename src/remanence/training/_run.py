"""A run on disk: a directory that anyone can read without us.

run.json                 configuration, versions, the command line if there was one
curves.parquet           a row for each seed and iteration
agents/seed-1.safetensors ...
packed.tar.xz            in an archive, small files such as these in one
weights.json             in an archive without agents, the hashes of their policies by seed
checkpoint.safetensors   all of the state, curves so far included: what a resumed run reads
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from remanence import envs
from remanence.certificates import hash_policy
from remanence.errors import StoreError
from remanence.networks import Agent, read_agent
from remanence.store import (
    find_difference,
    find_packed,
    load_arrays,
    locate_difference,
    name_leaves,
    read_json,
    read_table,
    restore_leaves,
    save_arrays,
    set_aside,
    write_json,
    write_table,
)
from remanence.training._config import complete_config
from remanence.training._description import FORMAT, find_foreign, is_description
from remanence.training._learner import LearnerState
from remanence.training._left_out import read_hashes

AGENT_FOLDER = "agents"
_DESCRIPTION, _CHECKPOINT, _CURVES = "run.json", "checkpoint.safetensors", "curves.parquet"
_STATE, _CURVE = "state.", "curve."

Curves = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class RunDirectory:
    """Reads and writes one run.

    >>> from pathlib import Path
    >>> from remanence import training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> run.read_description()["what"]["seeds"], run.agent_path(1).name
    ([1], 'seed-1.safetensors')
    >>> agents, (environment, params) = run.load_agents(), run.load_environment()
    >>> agents[1].architecture.cell, environment.read_growth(params)
    ('mingru', (1, 3))
    >>> {name: len(column) for name, column in run.load_curves().items()}["return"]
    250
    """

    path: Path

    def __post_init__(self):
        object.__setattr__(self, "path", Path(self.path))

    @property
    def exists(self) -> bool:
        return self.description_path.exists()

    def create(self, description: Mapping[str, Any]) -> None:
        """Begin a run; an existing one is never overwritten.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> run = training.RunDirectory(Path("examples/agents/mingru"))
        >>> copy = training.RunDirectory(Path("copy"))
        >>> copy.create(run.read_description())
        >>> copy.exists
        True
        """
        if self.exists:
            raise StoreError(
                self.path, "there is a run here already", "resume it or choose another directory"
            )
        self.refuse_leftovers()
        write_json(self.description_path, description)

    def refuse_leftovers(self) -> None:
        """Raise if there are files of a run whose description is missing: they may be of any.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> run = training.RunDirectory(Path("examples/agents/mingru"))
        >>> run.refuse_leftovers()
        >>> run.description_path.unlink()
        >>> run.refuse_leftovers()
        Traceback (most recent call last):
        remanence.errors.StoreError: ...: this directory holds agents of a run, but ...
        """
        agents = f"agents/*{self._name_agent(0).suffix}"
        parts = {"agents": agents, "a checkpoint": _CHECKPOINT, "learning curves": _CURVES}
        found = [name for name, files in parts.items() if any(self.path.glob(files))]
        if found and not self.exists:
            raise StoreError(
                self.path,
                f"this directory holds {found[0]} of a run, but the run's description "
                f"({_DESCRIPTION}) is missing",
                "restore the file or choose another directory",
            )

    def check(self, description: Mapping[str, Any]) -> None:
        """Raise unless what is to be resumed is what was begun, with the same versions.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> run = training.RunDirectory(Path("examples/agents/mingru"))
        >>> now = run.read_description()
        >>> run.check(now)
        >>> run.check(now | {"what": now["what"] | {"seeds": [1, 2]}})
        Traceback (most recent call last):
        remanence.errors.StoreError: ...: this run was started with other settings: ...
        """
        found = self.read_description()
        # Earlier versions of remanence wrote down the versions of fewer packages.
        versions = {name: description["versions"].get(name) for name in found["versions"]}
        whats = (_complete(found["what"]), _complete(description["what"]))
        for part, (before, now) in {
            "what": whats,
            "versions": (found["versions"], versions),
        }.items():
            difference = find_difference(part, before, now)
            if difference:
                raise StoreError(
                    self.description_path,
                    f"this run was started with other settings: {difference}",
                    "repeat its settings, or choose another directory",
                )

    def read_description(self) -> dict[str, Any]:
        """The contents of run.json."""
        found = read_json(self.description_path)
        if not is_description(found):
            raise StoreError(
                self.description_path,
                "this version cannot read this run",
                "use the version that wrote it",
            )
        return found

    def save_checkpoint(self, states: LearnerState, curves: Curves) -> None:
        """Write all of the state as one file, in one step."""
        arrays = {_STATE + name: leaf for name, leaf in name_leaves(states).items()}
        arrays |= {_CURVE + name: curve for name, curve in curves.items()}
        header = {"kind": "checkpoint", "format": FORMAT, "run": self.read_description()}
        save_arrays(self.checkpoint_path, arrays, header)

    def load_checkpoint(self, template: LearnerState) -> tuple[LearnerState, Curves] | None:
        """The last checkpoint, or None if the run was killed before its first."""
        arrays = self.check_checkpoint()
        if arrays is None:
            return None
        states = restore_leaves(template, _strip(arrays, _STATE), self.checkpoint_path)
        return states, _strip(arrays, _CURVE)

    def check_checkpoint(self) -> Mapping[str, np.ndarray] | None:
        """The arrays of the last checkpoint, if any; raise if it is not whole or not this run's.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> training.RunDirectory(Path("examples/agents/mingru")).check_checkpoint() is None
        True
        """
        if not self.checkpoint_path.exists():
            return None
        arrays, run = self._read_checkpoint()
        what = self.read_description()["what"]
        # Checkpoints of earlier versions do not say which run they are of.
        difference = locate_difference("what", run["what"] if run else what, what)
        if difference:
            place, ours, theirs = difference
            raise StoreError(
                self.checkpoint_path,
                f"this is the checkpoint of another run: {place} is {ours!r} and should be "
                f"{theirs!r}",
                "put the run's own file back, or start the run again",
            )
        return arrays

    def recall_description(self) -> dict[str, Any] | None:
        """The run's description as the last checkpoint has it, if there is one that does.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> training.RunDirectory(Path("examples/agents/mingru")).recall_description() is None
        True
        """
        try:
            return self._read_checkpoint()[1]
        except StoreError:
            return None

    def restore_description(self, description: Mapping[str, Any]) -> None:
        """Write a description that was lost.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> run = training.RunDirectory(Path("examples/agents/mingru"))
        >>> description = run.read_description()
        >>> run.description_path.unlink()
        >>> run.restore_description(description)
        >>> run.exists
        True
        """
        write_json(self.description_path, description)

    def _read_checkpoint(self) -> tuple[Mapping[str, np.ndarray], dict[str, Any] | None]:
        arrays, header = load_arrays(self.checkpoint_path)
        ours = isinstance(header, dict) and header.get("kind") == "checkpoint"
        if not ours or header.get("format") != FORMAT:
            raise StoreError(
                self.checkpoint_path,
                "this version cannot read this checkpoint",
                "start the run again",
            )
        run = header.get("run")
        return arrays, run if is_description(run) else None

    def save_curves(self, seeds: Sequence[int], curves: Curves) -> None:
        """Write the curves, an array (iterations, seeds) for each metric, as one long table.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> run = training.RunDirectory(Path("run"))
        >>> run.save_curves([1, 2], {"return": np.array([[0.5, 1.0]])})
        >>> {name: column.tolist() for name, column in run.load_curves().items()}
        {'seed': [1, 2], 'iteration': [1, 1], 'return': [0.5, 1.0]}
        """
        num_iterations = len(next(iter(curves.values())))
        columns = {
            "seed": np.tile(np.array(seeds, np.int64), num_iterations),
            "iteration": np.repeat(np.arange(1, num_iterations + 1), len(seeds)),
        }
        write_table(
            self.curves_path,
            columns | {name: curve.ravel() for name, curve in curves.items()},
        )

    def save_agent(self, seed: int, agent: Agent) -> None:
        """Write the agent of one seed.

        If it replaces another, as after more iterations, all that was found out about the run's
        agents is set aside, under names that end in .replaced.

        >>> from pathlib import Path
        >>> from remanence import training
        >>> run = training.RunDirectory(Path("examples/agents/mingru"))
        >>> copy = training.RunDirectory(Path("copy"))
        >>> copy.create(run.read_description())
        >>> copy.save_agent(1, run.load_agents()[1])
        >>> list(copy.load_agents())
        [1]
        """
        what = self.read_description()["what"]
        origin = {"seed": seed, "environment": what["environment"], "config": what["config"]}
        # Before it is written: killed in between, a run must not keep results of other weights.
        if _hash_policy(self.agent_path(seed)) not in (None, _hash_agent(agent)):
            self._set_results_aside()
        agent.save(self._name_agent(seed), origin)

    def _set_results_aside(self) -> None:
        tables = (file for file in self.path.glob("*.parquet") if file != self.curves_path)
        drawn = (self.path / name for name in ("report.html", "claims.md"))
        folders = ("*evaluation.png", "certificates/*.json", "figures/*.png", "figures/*.svg")
        listed = (file for pattern in folders for file in self.path.glob(pattern))
        for file in (*tables, *drawn, *listed):
            set_aside(file)

    def load_agents(self, seeds: Sequence[int] | None = None) -> dict[int, Agent]:
        """The agents of all seeds or of some, by seed; a file of another training is refused."""
        what = self.read_description()["what"]
        wanted = what["seeds"] if seeds is None else seeds
        return {seed: self._load_agent(seed, what) for seed in wanted}

    def _load_agent(self, seed: int, what: Mapping[str, Any]) -> Agent:
        path = self.agent_path(seed)
        if seed in read_hashes(self.path) and not path.exists():
            problem = "the weights of this agent were left out of an archive"
            raise StoreError(path, problem, "train it again, or archive it with `--weights all`")
        problem = find_foreign(read_agent(path)[1], seed, what)
        if problem:
            raise StoreError(path, problem, "put the run's own file back, or train it again")
        return Agent.load(path)

    def load_curves(self) -> Curves:
        """The learning curves: columns `seed`, `iteration` and one for each metric."""
        return read_table(self.curves_path)

    def load_environment(self) -> tuple[envs.AbstractEnvironment, Any]:
        """The environment that the run was trained on, and its parameters."""
        return envs.restore(self.read_description()["what"]["environment"])

    @property
    def description_path(self) -> Path:
        """What the run is."""
        return self.path / _DESCRIPTION

    @property
    def checkpoint_path(self) -> Path:
        """All of the state, from which a run goes on."""
        return self.path / _CHECKPOINT

    @property
    def curves_path(self) -> Path:
        """The learning curves."""
        return self.path / _CURVES

    def agent_path(self, seed: int) -> Path:
        """The weights of one seed; unpacked for this process, if they are in an archive's pack."""
        return find_packed(self._name_agent(seed))

    def _name_agent(self, seed: int) -> Path:
        return self.path / AGENT_FOLDER / f"seed-{seed}.safetensors"


def _hash_agent(agent: Agent) -> str:
    return hash_policy(name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)}))


def _hash_policy(path: Path) -> str | None:
    """The hash of the policy in an agent's file; None if there is none that can be read."""
    try:
        return hash_policy(read_agent(path)[0])
    except StoreError:
        return None


def _strip(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _complete(what: Mapping[str, Any]) -> dict[str, Any]:
    return {**what, "config": complete_config(what["config"])}
