"""The runs of a study, or one run alone, as tables and reports see them."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from remanence import cells, envs
from remanence.errors import InvalidOptionError, RemanenceError, StoreError, UnknownNameError
from remanence.networks import architectures
from remanence.study._directory import StudyDirectory
from remanence.study._names import name_model
from remanence.study._plan import Job
from remanence.study._records import AgentRecords
from remanence.study._stages import name_tables, stages
from remanence.training import RunDirectory, describe_growth, get_preset


@dataclasses.dataclass(frozen=True)
class RunEntry:
    """One run: what it is called and what was planned, and where its files are.

    `preset` and `network` are empty where a run does not name them. `changes` are what differs from
    the preset beside the number of iterations, `variant` is the arm of the study that they make,
    empty in the main arm and of a run without a plan. `tables` are those that the plan asks for; of
    a run without a plan, the curves alone.

    >>> from remanence import study
    >>> (entry,) = study.list_entries("examples/agents/mingru")
    >>> entry.model, entry.num_iterations, entry.about["growth"]["name"]
    ('mingru', 250, 'length')
    """

    id: str
    preset: str
    network: str
    cell: str
    seeds: Sequence[int]
    num_iterations: int
    changes: Mapping[str, Any]
    variant: str
    tables: Sequence[str]
    run: RunDirectory
    records: AgentRecords

    @property
    def model(self) -> str:
        """What its agents are, by network and cell."""
        return name_model(self.preset, self.network, self.cell) if self.network else self.cell

    @functools.cached_property
    def about(self) -> Mapping[str, Any]:
        """What the run's description says for later readers; each is None where it is unknown.

        Runs of earlier versions do not say it, nor do studies whose runs were left out of a copy.
        """
        found = self.run.read_description().get("about") if self.run.exists else None
        return found or _find_out(self.cell, self._make_environment)

    @functools.cached_property
    def environment(self) -> envs.AbstractEnvironment | None:
        """What its agents were trained in; None if that is not known here."""
        try:
            environment, _ = self._make_environment()
        except (InvalidOptionError, UnknownNameError):
            return None
        return environment

    def can_have(self, table: str) -> bool | None:
        """Whether a table is there, or a stage could write it; None if its environment is unknown.

        >>> from remanence import study
        >>> (entry,) = study.list_entries("examples/agents/mingru")
        >>> entry.can_have("certificates"), entry.can_have("maze_certificates")
        (True, False)
        """
        if self.records.can_read(table):
            return True
        if self.environment is None:
            return None
        writing = [stages[name] for name in stages if table in stages[name].written]
        return any(stage.supports(self.environment) for stage in writing)

    def _make_environment(self) -> tuple[envs.AbstractEnvironment, Any]:
        if self.run.exists:
            return envs.restore(self.run.read_description()["what"]["environment"])
        # Whether some changes are possible depends on the number of iterations.
        changes = {**self.changes, "num_iterations": self.num_iterations}
        return get_preset(self.preset).set_up(self.cell, changes, self.network).env


def list_entries(path: str | Path) -> list[RunEntry]:
    """The runs of the study in a directory, in the plan's order, or the run in it.

    >>> from remanence import study
    >>> [(entry.id, entry.seeds) for entry in study.list_entries("examples/agents/mingru")]
    [('mingru', [1])]
    """
    path = Path(path)
    run = RunDirectory(path)
    if run.exists:
        return [_describe_run(run)]
    if not (path / "study.json").exists():
        raise StoreError(path, "there is neither a study nor a run here", "check the path")
    directory = StudyDirectory(path)
    return [_describe_job(directory, job) for job in directory.read_study().jobs]


def _describe_job(directory: StudyDirectory, job: Job) -> RunEntry:
    return RunEntry(
        id=job.id,
        preset=job.preset,
        network=job.network,
        cell=job.cell,
        seeds=job.seeds,
        num_iterations=job.num_iterations,
        changes=dict(job.changes),
        variant=job.variant,
        tables=("curves", *name_tables(job.stages)),
        run=directory.open_run(job),
        records=directory.open_records(job),
    )


def _describe_run(run: RunDirectory) -> RunEntry:
    found = run.read_description()
    what, about = found["what"], found.get("about", {})
    return RunEntry(
        id=run.path.absolute().name,
        preset=about.get("preset") or "",
        network=architectures.find_name(about.get("network") or ""),
        cell=what["architecture"]["cell"],
        seeds=what["seeds"],
        num_iterations=what["config"]["num_iterations"],
        changes={
            name: value
            for name, value in about.get("changes", {}).items()
            if name != "num_iterations"
        },
        variant="",
        tables=("curves",),
        run=run,
        records=AgentRecords(run.path),
    )


def _find_out(
    cell: str, make_environment: Callable[[], tuple[envs.AbstractEnvironment, Any]]
) -> dict[str, Any]:
    """What a run is about, as far as its cell and its environment are known here."""
    found: dict[str, Any] = dict.fromkeys(("parallelizable", "growth", "trained", "levels"))
    if cell in cells.registry:
        # Of the cell only its type matters, so its weights are not drawn.
        shapes = eqx.filter_eval_shape(cells.make, cell, 2, 2, key=jax.random.key(0))
        found["parallelizable"] = shapes.linear
    try:
        return found | describe_growth(*make_environment())
    except RemanenceError:
        return found
