"""What a run is, in words that last: the contents of run.json."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from remanence import envs
from remanence.store import describe_process, locate_difference
from remanence.training._learner import Learner

FORMAT = 1


def describe_run(
    environment: envs.AbstractEnvironment,
    params: Any,
    learner: Learner,
    seeds: Sequence[int],
    batching: str,
    labels: Mapping[str, Any],
    command: Sequence[str] | None,
) -> dict[str, Any]:
    """What a run is, as JSON has it: `what` must not change when it is resumed.

    `about` says what later readers want to know without our code: what grows in the task, the
    values it was trained on, returns to compare with, names for the training and the network, and
    what was changed of them.
    """
    return {
        "format": FORMAT,
        "what": {
            "environment": envs.describe(environment, params),
            "architecture": json.loads(learner.architecture.to_json()),
            "config": learner.config.to_json(),
            "seeds": list(seeds),
            "batching": batching,
            "backend": jax.default_backend(),
        },
        "about": {
            "preset": labels.get("preset"),
            "network": labels.get("network"),
            "changes": dict(labels.get("changes", {})),
            "parallelizable": learner.cell.linear,
            **describe_growth(environment, params),
        },
        **describe_process(command),
    }


def describe_growth(environment: envs.AbstractEnvironment, params: Any) -> dict[str, Any]:
    """What grows in a task, the values of it in `params`, and returns to compare with.

    >>> from remanence import envs, training
    >>> training.describe_growth(*envs.make("lookup-tree-maze", num_mazes=(1, 3)))["trained"]
    (1, 3)
    """
    growth = environment.growth
    return {
        "growth": None if growth is None else {"name": growth.name, "label": growth.label},
        "trained": environment.read_growth(params),
        "levels": environment.levels(params),
    }


def is_description(found: Any) -> bool:
    """Whether this is the contents of a run.json that this version can read."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return False
    what, versions = found.get("what"), found.get("versions")
    kinds = {"environment": dict, "architecture": dict, "config": dict, "seeds": list}
    return (
        isinstance(versions, dict)
        and isinstance(what, dict)
        and all(isinstance(what.get(name), kind) for name, kind in kinds.items())
    )


def find_foreign(header: Mapping[str, Any], seed: int, what: Mapping[str, Any]) -> str | None:
    """Why an agent with such a header is not that of a seed of a run, in words, or None.

    `what` is what the run's description has under that name.

    >>> from pathlib import Path
    >>> from remanence import networks, training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> _, header = networks.read_agent(run.agent_path(1))
    >>> training.find_foreign(header, 2, run.read_description()["what"])
    'this is the agent of seed 1, and that of seed 2 is expected here'
    """
    origin = header["origin"]
    if origin.get("seed") != seed:
        found = f"seed {origin['seed']}" if "seed" in origin else "a seed that it does not name"
        return f"this is the agent of {found}, and that of seed {seed} is expected here"
    told = {part: origin.get(part) for part in ("environment", "config")}
    told["architecture"] = header["architecture"]
    for part, found in told.items():
        difference = locate_difference(part, found, what[part])
        if difference:
            place, ours, theirs = difference
            return f"its agent is of another training: {place} is {ours!r} and should be {theirs!r}"
    return None
