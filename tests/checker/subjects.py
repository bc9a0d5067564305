"""Agents whose certificates are of every kind: each cell, each verdict, and what is rare."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from remanence import envs
from remanence.networks import Agent
from tests.certificates import high_precision as precise
from tests.certificates.agents import load_walker, make_agent, solve_by_hand

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
TRAINED = ("gru", "brc", "nbrc", "mingru", "bmru")
SUBJECTS = (
    *TRAINED,  # every length, and some lengths
    "hybrid",
    "lstm",
    "for ever",
    "forgets",
    "dithers",
    "undecided",
    "sees its action",
    "no limit",
    "tie",
    "not proved",
    "skips",
)


def make_subject(name: str, directory: Path) -> tuple[Agent, Any, int]:
    """An agent, the maze it is certified in, and for how many steps."""
    env, budget = envs.make("tmaze"), 20_000
    match name:
        case "hybrid":
            return load_walker(precise.make_walker("hybrid", 1), directory, 2), env, budget
        case "lstm":
            return load_walker(precise.make_latch("lstm"), directory, 2), env, budget
        case "for ever":
            return solve_by_hand(), envs.make("tmaze", time_limit_factor=1), budget
        case "forgets":
            drive = jnp.asarray([[0.7, -1.0], [0.5, 0.5]])
            cell = lambda it: it.policy.cell.inputs.bias  # noqa: E731
            return eqx.tree_at(cell, solve_by_hand(), drive), env, budget
        case "dithers":
            return make_agent("mingru", 3, gain=1.0), env, budget
        case "undecided":
            return make_agent("gru", 0), env, 60
        case "sees its action":
            env = envs.make("tmaze", previous_action=True)
            return make_agent("bmru", 2, previous_action=True), env, budget
        case "no limit":
            leak = precise.make_leak(2.0, -0.75)
            return (
                load_walker(leak, directory, 2),
                envs.make("tmaze", time_limit_factor=None),
                budget,
            )
        case "tie":
            arrays, architecture = precise.make_walker("brc", 3)
            for part in ("policy.output.weight", "policy.output.bias"):
                arrays[part][1] = arrays[part][3]
            return load_walker((arrays, architecture), directory, 2), env, budget
        case "skips":
            return load_walker(precise.make_skipper(), directory, 2), env, budget
        case "not proved":
            walker = precise.make_latch("brc", 2.0**-12, 1 + 2.0**-12)
            return load_walker(walker, directory, 2), env, 400
        case _:
            return Agent.load(EXAMPLES / name / "agents" / "seed-1.safetensors"), env, budget
