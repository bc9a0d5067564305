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
    """The agents of a run by seed, all or those asked for, and what they were trained on."""
    if path.is_dir():
        run = RunDirectory(path)
        agents, env = run.load_agents(), run.load_environment()
    else:
        origin = read_origin(path)
        if "environment" not in origin:
            remedy = "give the run's directory, or a file that `remanence train` wrote"
            raise StoreError(path, "does not say which environment it was trained on", remedy)
        agents, env = {origin.get("seed", 0): Agent.load(path)}, envs.restore(origin["environment"])
    wanted = list(agents) if seeds is None else parse_seeds(seeds)
    missing = [seed for seed in wanted if seed not in agents]
    if missing:
        remedy = f"the run has {', '.join(map(str, agents))}"
        raise InvalidOptionError("seeds", seeds, remedy)
    return {seed: agents[seed] for seed in wanted}, env


def find_home(path: Path) -> Path:
    """The directory that what is found out about agents is written to: their run's, if any."""
    if path.is_dir():
        return path
    run = path.parent.parent
    return run if RunDirectory(run).exists else path.parent
