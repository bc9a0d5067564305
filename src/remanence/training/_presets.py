"""Trainings by name: a task, a network and the numbers of PPO that belong together."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from remanence import envs
from remanence._registry import Registry
from remanence.networks import Architecture, architectures, make_architecture
from remanence.training._changes import (
    CELL,
    ENVIRONMENT,
    NETWORK,
    PPO,
    merge_cell_options,
    sort_changes,
)
from remanence.training._config import PPOConfig, change_config


@dataclasses.dataclass(frozen=True)
class Cost:
    """What was measured of a training with one network, for estimates.

    Seconds are those of one core of a server processor, `seconds_per_agent` those of all that
    follows training, and `seconds_per_size` what is added to them for every unit of what grows that
    an agent is evaluated at; bytes are those of a run's files, mostly weights and Adam's moments.

    >>> from remanence import training
    >>> training.Cost(seconds_per_iteration=0.5).seconds_to_compile
    15.0
    """

    seconds_per_iteration: float = 0.12
    seconds_per_agent: float = 1.0
    seconds_per_size: float = 0.0
    seconds_to_compile: float = 15.0
    bytes_per_agent: float = 60e3


class Setup(NamedTuple):
    """What `train` takes: an environment with its parameters, a network, and numbers of PPO.

    >>> from remanence import training
    >>> setup = training.get_preset("lookup-tree").set_up("gru", {"num_iterations": 20})
    >>> setup.network.cell, setup.config.num_iterations, setup.config.anneal_iterations
    ('gru', 20, 250)
    """

    env: tuple[envs.AbstractEnvironment, Any]
    network: Architecture
    config: PPOConfig


@dataclasses.dataclass(frozen=True)
class Preset:
    """A training by name: which environment, which network, which numbers.

    `costs` are by the name of a network, or by those of a network and a cell where cells differ, as
    far as somebody has measured them. `choices` are options that whoever begins a training or a
    study takes unless told otherwise, and `cell_choices` further ones for some cells. They become
    changes like any other, so that runs and plans name them and stay what they are when a preset
    chooses otherwise.

    >>> from remanence import training
    >>> costs = {"small": training.Cost(seconds_per_iteration=0.5)}
    >>> preset = training.Preset("lookup-tree-maze", {"num_mazes": (1, 3)}, costs=costs)
    >>> environment, params = preset.make_environment(time_limit_factor=None)
    >>> environment.read_growth(params), environment.time_limit(params)
    ((1, 3), None)
    >>> preset.find_cost("small", "gru").seconds_per_iteration
    0.5
    """

    environment: str
    environment_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    architecture: str = "small"
    config: PPOConfig = dataclasses.field(default_factory=PPOConfig)
    costs: Mapping[str | tuple[str, str], Cost] = dataclasses.field(default_factory=dict)
    choices: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cell_choices: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    def make_environment(self, **changes: Any) -> tuple[envs.AbstractEnvironment, Any]:
        """The environment and its parameters, with any of its options changed."""
        return envs.make(self.environment, **{**self.environment_options, **changes})

    def set_up(
        self, cell: str, changes: Mapping[str, Any] | None = None, network: str | None = None
    ) -> Setup:
        """What to train, with options of the environment, network, cell and PPO changed by name.

        `network` is another one's name than the preset's. An unknown option is answered with the
        nearest known one; a name that two of them have is refused. What the preset chooses is in
        force only if `changes` say so.

        >>> from remanence import training
        >>> changes = {"num_mazes": (1, 5), "state_size": 8, "surrogate": "box", "discount": 0.9}
        >>> env, network, config = training.get_preset("lookup-tree").set_up("bmru", changes)
        >>> env[0].read_growth(env[1]), network.state_size, config.discount
        ((1, 5), 8, 0.9)
        >>> network.cell_options
        (('surrogate', 'box'),)
        """
        network = network or self.architecture
        found = sort_changes(self.environment, cell, changes or {})
        options = merge_cell_options(architectures[network], found[NETWORK], found[CELL])
        return Setup(
            self.make_environment(**found[ENVIRONMENT]),
            make_architecture(network, cell=cell, **options),
            change_config(self.config, found[PPO]),
        )

    def choose(self, cell: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The changes, and with them what the preset chooses of all that they leave open.

        >>> from remanence import training
        >>> preset = training.Preset("lookup-tree-maze", choices={"time_limit_ends": True})
        >>> preset.choose("gru", {"discount": 0.9})
        {'time_limit_ends': True, 'discount': 0.9}
        """
        return {**self.choices, **self.cell_choices.get(cell, {}), **changes}

    def find_cost(self, network: str, cell: str) -> Cost:
        """What a network with that cell costs; one that was not measured counts as a small one."""
        return self.costs.get((network, cell)) or self.costs.get(network, Cost())


presets: Registry[Preset] = Registry("preset")
register_preset = presets.register


def get_preset(name: str) -> Preset:
    """The preset of that name; the name of an environment stands for a training with defaults.

    >>> from remanence import training
    >>> training.get_preset("lookup-tree").architecture
    'wide'
    >>> training.get_preset("lookup-tree-maze").architecture
    'small'
    """
    if name not in presets and name in envs.registry:
        return Preset(name)
    return presets[name]
