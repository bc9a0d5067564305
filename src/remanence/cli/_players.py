"""Who plays: a script, an untrained network of some cell, or a trained agent."""

from pathlib import Path
from typing import NamedTuple

import jax

from remanence.cells import registry as cell_registry
from remanence.cli._agents import Environment, open_agents
from remanence.envs import AbstractEnvironment, Script
from remanence.errors import InvalidOptionError, StoreError, UnknownNameError
from remanence.networks import (
    Agent,
    Architecture,
    count_parameters,
    make_policy,
    make_value,
)
from remanence.training import LARGEST_SEED

OPTIMAL = "optimal"


class Player(NamedTuple):
    """An agent as it is shown; `sampled` says that it draws its actions."""

    name: str
    agent: Agent | Script
    sampled: bool

    @property
    def num_parameters(self) -> int:
        if isinstance(self.agent, Script):
            return 0
        return sum(array.size for array in count_parameters(self.agent.policy))


def find_trained(agent: str) -> Path | None:
    """The run or file that an agent's name stands for, or None if it is no path."""
    path = Path(agent)
    if agent == OPTIMAL or agent in cell_registry:
        return None
    if path.exists():
        return path
    if path.suffix or len(path.parts) > 1:
        raise StoreError(path, "there is no such run or agent", "check the path")
    raise UnknownNameError("agent", agent, [OPTIMAL, *cell_registry], registered=True)


def load_player(path: Path, seed: int | None, sampled: bool) -> tuple[Player, Environment]:
    """One trained agent of a run, its first if no seed is given, and what it was trained on."""
    group = open_agents(path, None if seed is None else str(seed))
    seed, agent = next(iter(group.agents.items()))
    return Player(f"{path}, seed {seed}", agent, sampled), group.env


def make_player(name: str, environment: AbstractEnvironment, seed: int) -> Player:
    """The scripted optimal agent, or an untrained network with the cell of that name."""
    if name == OPTIMAL:
        script = environment.script()
        if script is None:
            raise InvalidOptionError(
                "agent", name, "nobody has written a script that solves this environment"
            )
        return Player(name, script, sampled=False)
    if not 0 <= seed <= LARGEST_SEED:
        raise InvalidOptionError("seed", seed, f"use a whole number from 0 to {LARGEST_SEED:,}")
    # The usual network has five units, a hybrid an even number, an LSTM two numbers for each.
    architecture = Architecture(cell=name, state_size={"hybrid": 6, "lstm": 10}.get(name, 5))
    size, key = environment.observation_size, jax.random.key(seed)
    policy = make_policy(architecture, size, environment.num_actions, key=key)
    agent = Agent(policy, make_value(architecture, size, key=key), architecture)
    return Player(name, agent, sampled=True)


def list_untrained(environment: AbstractEnvironment) -> list[str]:
    """Everybody who plays without training: the script, if there is one, and all cells."""
    return [*([] if environment.script() is None else [OPTIMAL]), *cell_registry]
