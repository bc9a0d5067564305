"""Environments by name. To add one, write its file and register it here."""

import dataclasses
import inspect
import json
from typing import Any

import jax
import numpy as np

from remanence._registry import Registry, check_options
from remanence.envs._environment import AbstractEnvironment
from remanence.envs._lookup_tree_maze import LookupTreeMaze
from remanence.envs._previous_action import PreviousAction
from remanence.envs._tmaze import TMaze
from remanence.errors import InvalidOptionError, RemanenceError

registry: Registry[type[AbstractEnvironment]] = Registry("environment")
register = registry.register

register("tmaze", TMaze)
register("lookup-tree-maze", LookupTreeMaze)


def make(
    name: str, *, previous_action: Any = False, **options: Any
) -> tuple[AbstractEnvironment, Any]:
    """The environment of that name and its parameters, as `gymnax.make` returns them.

    `options` are the environment's own, static (such as `table_size`) and traced (such as
    `length`) alike. `previous_action` appends the last action to the observation.

    >>> from remanence import envs
    >>> environment, params = envs.make("tmaze", length=(1, 10), previous_action=True)
    >>> environment.observation_size, int(params.length_high)
    (6, 10)
    """
    environment_class = registry[name]
    if not isinstance(previous_action, bool):
        raise InvalidOptionError("previous_action", previous_action, "use true or false")
    static, traced = list_options(name)
    check_options(name, options, [*static, *traced, "previous_action"])
    environment = environment_class(**{k: v for k, v in options.items() if k in static})
    params = environment_class.params_class(**{k: v for k, v in options.items() if k in traced})
    return (PreviousAction(environment) if previous_action else environment), params


def list_options(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The static and the traced options of an environment, each with its default.

    >>> from remanence import envs
    >>> static, traced = envs.list_options("lookup-tree-maze")
    >>> static
    {'table_size': 4, 'index_encoding': 'scalar'}
    >>> traced
    {'num_mazes': (1, 20), 'length': (1, 3), 'time_limit_factor': 10, 'slip': 0.0}
    """
    environment_class = registry[name]
    static = {field.name: field.default for field in dataclasses.fields(environment_class)}
    parameters = inspect.signature(environment_class.params_class).parameters.values()
    return static, {parameter.name: parameter.default for parameter in parameters}


def describe(environment: AbstractEnvironment, params: Any) -> dict[str, Any]:
    """An environment and its parameters as JSON has them; `restore` makes them again.

    >>> from remanence import envs
    >>> described = envs.describe(*envs.make("tmaze", length=3))
    >>> described["name"], described["params"]
    ('tmaze', {'length_low': 3, 'length_high': 3, 'limit_factor': 10})
    """
    inner = environment.unwrapped
    names = [name for name in registry if registry[name] is type(inner)]
    return {
        "name": names[0] if names else None,
        "class": type(inner).__name__,
        "options": {
            field.name: _to_json(getattr(inner, field.name)) for field in dataclasses.fields(inner)
        },
        "previous_action": isinstance(environment, PreviousAction),
        "params": {
            jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf).tolist()
            for path, leaf in jax.tree_util.tree_leaves_with_path(params)
        },
    }


def _to_json(value: Any) -> Any:
    """The value itself if JSON has it, else its description."""
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return repr(value)


def restore(description: Any) -> tuple[AbstractEnvironment, Any]:
    """The environment and parameters that `describe` described.

    >>> from remanence import envs
    >>> environment, params = envs.restore(envs.describe(*envs.make("tmaze", length=3)))
    >>> environment, int(params.length_low)
    (TMaze(), 3)
    """
    try:
        return _restore(description)
    except RemanenceError:
        raise
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        remedy = f"this is not the description of an environment ({error})"
        raise InvalidOptionError("environment", description, remedy) from error


def _restore(description: Any) -> tuple[AbstractEnvironment, Any]:
    if description["name"] is None:
        raise InvalidOptionError(
            "environment",
            description["class"],
            "it had no name when it was written down; register it by remanence.envs.register first",
        )
    environment, template = make(
        description["name"],
        previous_action=description["previous_action"],
        **description["options"],
    )
    return environment, _replace_values(template, description["params"])


def _replace_values(template: Any, values: Any) -> Any:
    """Parameters of those values; what a description does not tell must be None by default."""
    leaves, structure = jax.tree.flatten_with_path(template, is_leaf=lambda leaf: leaf is None)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    if unknown := set(values) - set(names):
        raise KeyError(f"no parameter is called {min(unknown)!r}")
    return jax.tree.unflatten(
        structure,
        [
            None
            if leaf is None and name not in values
            else jax.numpy.asarray(np.asarray(values[name]), None if leaf is None else leaf.dtype)
            for name, (_, leaf) in zip(names, leaves, strict=True)
        ],
    )
