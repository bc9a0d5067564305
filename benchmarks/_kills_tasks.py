"""The commands that are killed: each one small, and made to write many files."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

from remanence.networks import Agent
from remanence.store import read_json, write_json, write_table
from remanence.training import RunDirectory

_AGENTS = Path(__file__).parents[1] / "examples" / "agents" / "gru"
_PICTURE = Path(__file__).parents[1] / "docs" / "images" / "gru_returns.png"
_SMALL = ("num_envs=4", "num_steps=16", "policy_epochs=1", "value_epochs=1")
_PROFILE = """
name = "tmaze"
profile = "tiny"
note = "Too small to show anything."
lengths = [2, 100]

[[trainings]]
presets = ["tmaze-short"]
cells = ["gru", "bmru"]
seeds = [1, 2]
num_iterations = 6
changes = { num_envs = 4, num_steps = 16, policy_epochs = 1, value_epochs = 1 }
"""


@dataclasses.dataclass(frozen=True)
class Task:
    """A command in a directory of its own, which `prepare` fills.

    `command` says what goes on with what is there, `age` makes results that it is to replace.
    `tidy` tasks hold their directory, and so can remove what a killed process had not finished
    writing; others leave it.
    """

    prepare: Callable[[Path], None]
    command: Callable[[Path], list[str]]
    tidy: bool
    age: Callable[[Path], None]


def _prepare_nothing(directory: Path) -> None:
    del directory


def _prepare_profile(directory: Path) -> None:
    (directory / "tiny.toml").write_text(_PROFILE)


def _prepare_agents(directory: Path) -> None:
    """A run of three agents that nobody trained: one that was, and two a little beside it."""
    path = directory / "run"
    shutil.copytree(_AGENTS, path)
    description = read_json(path / "run.json")
    description["what"]["seeds"] = [1, 2, 3]
    write_json(path / "run.json", description)
    run = RunDirectory(path)
    agent = Agent.load(path / "agents" / "seed-1.safetensors")
    weights, rest = eqx.partition(agent, eqx.is_array)
    for seed in (2, 3):
        scaled = jax.tree.map(lambda leaf, seed=seed: leaf * (1 + 0.1 * seed), weights)
        run.save_agent(seed, eqx.combine(scaled, rest))


def _age_evaluation(directory: Path) -> None:
    write_table(directory / "run" / "evaluation.parquet", {"agent": np.array([0])})
    shutil.copy(_PICTURE, directory / "run" / "evaluation.png")


def _age_certificates(directory: Path) -> None:
    for seed in (1, 3):
        write_json(directory / "run" / "certificates" / f"seed-{seed}.json", {"old": seed})


def _train(directory: Path) -> list[str]:
    resume = ["--resume"] if (directory / "run" / "run.json").exists() else []
    numbers = ["--seeds", "1-2", "--checkpoint-every", "2", "--set", "num_iterations=6", *_SMALL]
    return ["train", "tmaze-short", "--out", "run", *resume, *numbers]


def _reproduce(directory: Path) -> list[str]:
    del directory
    return ["reproduce", "tmaze", "--profile", "tiny.toml", "--out", "study", "--workers", "2"]


def _evaluate(directory: Path) -> list[str]:
    del directory
    return ["evaluate", "run", "--lengths", "2,10,1000"]


def _certify(directory: Path) -> list[str]:
    del directory
    return ["certify", "run"]


TASKS = {
    "train": Task(_prepare_nothing, _train, True, _prepare_nothing),
    "study": Task(_prepare_profile, _reproduce, True, _prepare_nothing),
    "evaluate": Task(_prepare_agents, _evaluate, False, _age_evaluation),
    "certify": Task(_prepare_agents, _certify, False, _age_certificates),
}
