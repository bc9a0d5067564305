"""Trained agents as they are given on the command line: a run, or one agent's file."""

from pathlib import Path
from typing import Any

from remanence import envs
from remanence.cli._options import parse_seeds
from remanence.errors import InvalidOptionError, StoreError
from remanence.networks import Agent, read_origin
from remanence.study import AgentGroup, AgentRecords, hash_weights, open_group
from remanence.training import RunDirectory

Environment = tuple[envs.AbstractEnvironment, Any]


def open_agents(path: Path, seeds: str | None = None, out: Path | None = None) -> AgentGroup:
    """The agents of a run, all or those asked for, or the one in a file.

    What is found out about them goes to `out`, or else to their run; that of a file which is part
    of no run goes beside the file. A file that is one of a run's agents must be the one that its
    name says.
    """
    run = RunDirectory(path if path.is_dir() else path.absolute().parent.parent)
    known = _list_seeds(run, path)
    if known:
        records = AgentRecords(out or run.path)
        return open_group(run, records, _choose_seeds(seeds, known))
    origin = read_origin(path)
    if "environment" not in origin:
        remedy = "give the run's directory, or a file that `remanence train` wrote"
        raise StoreError(path, "this file does not say which environment it was trained on", remedy)
    wanted = _choose_seeds(seeds, [origin.get("seed", 0)])
    return AgentGroup(
        agents={seed: Agent.load(path) for seed in wanted},
        env=envs.restore(origin["environment"]),
        weights={seed: hash_weights(path) for seed in wanted},
        records=AgentRecords(out or path.parent),
    )


def _list_seeds(run: RunDirectory, path: Path) -> list[int]:
    """The seeds of a run that a path stands for: all, one, or none if it is no part of the run."""
    if not path.is_dir() and not run.exists:
        return []
    seeds = run.read_description()["what"]["seeds"]
    return [seed for seed in seeds if path.is_dir() or run.agent_path(seed) == path.absolute()]


def _choose_seeds(seeds: str | None, known: list[int]) -> list[int]:
    wanted = known if seeds is None else parse_seeds(seeds)
    if any(seed not in known for seed in wanted):
        raise InvalidOptionError(
            "seeds", seeds, f"this run has the seeds {', '.join(map(str, known))}"
        )
    return wanted
