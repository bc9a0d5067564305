"""Environments by name. To add one, write its file and register it here."""

import dataclasses
import inspect
from typing import Any

from remanence._registry import Registry, check_options
from remanence.envs._environment import AbstractEnvironment
from remanence.envs._lookup_tree_maze import LookupTreeMaze
from remanence.envs._previous_action import PreviousAction
from remanence.envs._tmaze import TMaze

registry: Registry[type[AbstractEnvironment]] = Registry("environment")
register = registry.register

register("tmaze", TMaze)
register("lookup-tree-maze", LookupTreeMaze)


def make(
    name: str, *, previous_action: bool = False, **options: Any
) -> tuple[AbstractEnvironment, Any]:
    """The environment of that name and its parameters, as `gymnax.make` returns them.

    `options` are the environment's own, static (such as `table_size`) and traced (such as
    `length`) alike. `previous_action` appends the last action to the observation.
    """
    environment_class = registry[name]
    static, traced = list_options(name)
    check_options(name, options, [*static, *traced, "previous_action"])
    environment = environment_class(**{k: v for k, v in options.items() if k in static})
    params = environment_class.Params(**{k: v for k, v in options.items() if k in traced})
    return (PreviousAction(environment) if previous_action else environment), params


def list_options(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The static and the traced options of an environment, each with its default."""
    environment_class = registry[name]
    static = {field.name: field.default for field in dataclasses.fields(environment_class)}
    parameters = inspect.signature(environment_class.Params).parameters.values()
    return static, {parameter.name: parameter.default for parameter in parameters}
