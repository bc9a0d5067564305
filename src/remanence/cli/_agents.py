"""Trained agents as they are given on the command line: a run, or one agent's file."""

from pathlib import Path
from typing import Any

from remanence import envs
from remanence.cli._options import parse_seeds
from remanence.errors import InvalidOptionError, StoreError
from remanence.networks import Agent, read_origin
from remanence.training import RunDirectory

Environment = tuple[envs.AbstractEnvironment, Any]


def load_agents(path: Path, seeds: str | None = None) -> tuple[dict[int, Agent], Environment]:
    """The agents of a run by seed, all or those asked for, and what they were trained on.

    A file that is one of a run's agents must be the one that its name says.
    """
    run = RunDirectory(path if path.is_dir() else path.absolute().parent.parent)
    known = _list_seeds(run, path)
    if known:
        return run.load_agents(_choose_seeds(seeds, known)), run.load_environment()
    origin = read_origin(path)
    if "environment" not in origin:
        remedy = "give the run's directory, or a file that `remanence train` wrote"
        raise StoreError(path, "does not say which environment it was trained on", remedy)
    wanted = _choose_seeds(seeds, [origin.get("seed", 0)])
    return {seed: Agent.load(path) for seed in wanted}, envs.restore(origin["environment"])


def _list_seeds(run: RunDirectory, path: Path) -> list[int]:
    """The seeds of a run that a path stands for: all, one, or none if it is no part of the run."""
    if not path.is_dir() and not run.exists:
        return []
    seeds = run.read_description()["what"]["seeds"]
    return [seed for seed in seeds if path.is_dir() or run.agent_path(seed) == path.absolute()]


def _choose_seeds(seeds: str | None, known: list[int]) -> list[int]:
    wanted = known if seeds is None else parse_seeds(seeds)
    if any(seed not in known for seed in wanted):
        raise InvalidOptionError("seeds", seeds, f"the run has {', '.join(map(str, known))}")
    return wanted


def find_home(path: Path) -> Path:
    """The directory that what is found out about agents is written to: their run's, if any."""
    if path.is_dir():
        return path
    run = path.parent.parent
    return run if RunDirectory(run).exists else path.parent
