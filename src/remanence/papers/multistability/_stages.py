"""What the paper's experiments ask of agents besides what every study may ask."""

import importlib
from typing import Any

from remanence.envs import LookupTreeMaze
from remanence.study import AgentGroup, Job, Stage, register_stage


def _find_losses(group: AgentGroup, job: Job, on_agent: Any) -> None:
    del job
    losses = importlib.import_module("remanence.papers.multistability.lookup_tree._losses")
    losses.find_losses(group, on_agent=on_agent)


register_stage(
    "losses",
    Stage(
        "finding what is lost",
        ("losses",),
        _find_losses,
        supports=lambda environment: isinstance(environment.unwrapped, LookupTreeMaze),
    ),
)
