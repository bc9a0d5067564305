"""What a study is: trainings and what is asked of their agents, as data, no code."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from remanence import envs
from remanence._numbers import check_whole, is_whole
from remanence.cells import registry as cell_registry
from remanence.certificates import BUDGET
from remanence.errors import InvalidOptionError
from remanence.evaluation import LONGEST
from remanence.networks import Architecture, architectures, make_architecture
from remanence.study._stages import stages
from remanence.training import (
    LARGEST_SEED,
    PPOConfig,
    change_config,
    check_training,
    get_preset,
)

PLAIN_NETWORK = "small"
# A study of another environment than certificates are for says which of these it wants.
DEFAULT_STAGES = ("evaluate", "stability", "certify")
# File systems take 255 bytes, of which endings and those of temporary files need some.
LONGEST_NAME = 200


@dataclasses.dataclass(frozen=True)
class Job:
    """One training of several seeds, and what is then asked of its agents.

    `lengths` are the values of what grows that they are evaluated at, `stages` what is asked of
    them, in this order: all that their environment is fit for, if not given. `budget` is the number
    of steps that a certificate may take, `changes` are numbers of PPO that differ from the
    preset's.

    >>> from remanence import study
    >>> job = study.Job(
    ...     id="gru",
    ...     preset="tmaze-short",
    ...     network="small",
    ...     cell="gru",
    ...     seeds=[1, 2],
    ...     num_iterations=100,
    ...     lengths=[2, 100],
    ...     changes={"discount": 0.9},
    ... )
    >>> job.check()
    >>> environment, params = job.make_environment()
    >>> environment.read_growth(params), job.make_architecture().cell, job.make_config().discount
    ((1, 3), 'gru', 0.9)
    >>> job.to_json()["stages"]
    ['evaluate', 'stability', 'certify']
    """

    id: str
    preset: str
    network: str
    cell: str
    seeds: Sequence[int]
    num_iterations: int
    lengths: Sequence[int]
    budget: int = BUDGET
    changes: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()
    stages: Sequence[str] = DEFAULT_STAGES

    def __post_init__(self):
        check_file_name("id", self.id)
        object.__setattr__(self, "network", architectures.find_name(self.network))
        object.__setattr__(self, "stages", tuple(self.stages))
        for option, ends in (("seeds", (0, LARGEST_SEED)), ("lengths", (1, LONGEST))):
            _check_numbers(option, getattr(self, option), *ends)
            object.__setattr__(self, option, tuple(getattr(self, option)))
        check_whole("num_iterations", self.num_iterations, 1)
        check_whole("budget", self.budget, 1, LONGEST)
        changes = self.changes
        pairs = changes.items() if isinstance(changes, Mapping) else changes
        object.__setattr__(self, "changes", tuple(sorted((name, value) for name, value in pairs)))

    def check(self) -> None:
        """Raise if it cannot be trained, evaluated or certified, before anything runs.

        What others have made can be read all the same, by one who has not their cells.
        """
        _ = cell_registry[self.cell]
        environment, _ = self.make_environment()
        for name in self.stages:
            if not stages[name].supports(environment):
                remedy = f"the environment of {self.preset!r} does not support it; leave it out"
                raise InvalidOptionError("stages", name, remedy)
        num_seeds = len(self.seeds)
        check_training(environment, self.make_architecture(), self.make_config(), num_seeds)

    @property
    def model(self) -> str:
        """What its agents are, by network and cell."""
        return name_model(self.network, self.cell)

    def make_environment(self) -> tuple[envs.AbstractEnvironment, Any]:
        """The environment that the job trains on, and its parameters."""
        return get_preset(self.preset).make_environment()

    def make_architecture(self) -> Architecture:
        """The network that the job trains."""
        return make_architecture(self.network, cell=self.cell)

    def make_config(self) -> PPOConfig:
        """The numbers that the job trains with."""
        changes = dict(self.changes)
        if "num_iterations" in changes:
            raise InvalidOptionError("changes", changes, "num_iterations has a key of its own")
        changes["num_iterations"] = self.num_iterations
        return change_config(get_preset(self.preset).config, changes)

    def to_json(self) -> dict[str, Any]:
        """The job as JSON has it."""
        fields = dataclasses.asdict(self)
        return fields | {
            "seeds": list(self.seeds),
            "lengths": list(self.lengths),
            "changes": dict(self.changes),
            "stages": list(self.stages),
        }


@dataclasses.dataclass(frozen=True)
class Study:
    """Jobs under one name; `note` says in a sentence how large it is and what it cannot show.

    >>> from remanence import study
    >>> job = study.Job("gru", "tmaze-short", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("tmaze", "tiny", "Two seeds show nothing.", [job])
    >>> plan.check()
    >>> study.Study.from_json(plan.to_json()) == plan
    True
    """

    name: str
    profile: str
    note: str
    jobs: Sequence[Job]

    def __post_init__(self):
        for option in ("name", "profile"):
            check_file_name(option, getattr(self, option))
        object.__setattr__(self, "jobs", tuple(self.jobs))
        if not self.jobs:
            raise InvalidOptionError("trainings", [], "a study needs one or more")
        agents = Counter(
            (name_job(job.preset, job.network, job.cell), seed)
            for job in self.jobs
            for seed in job.seeds
        )
        (training, seed), number = agents.most_common(1)[0]
        if number > 1:
            raise InvalidOptionError("trainings", training, f"seed {seed} is given {number} times")
        id, number = Counter(job.id for job in self.jobs).most_common(1)[0]
        if number > 1:
            remedy = "several jobs would have this name; give all seeds in one training"
            raise InvalidOptionError("trainings", id, remedy)

    def check(self) -> None:
        """Raise if one of its jobs cannot be done."""
        # Of thousands that differ in their seeds alone, the one with most stands for all.
        kinds: dict[Job, Job] = {}
        for job in self.jobs:
            kind = dataclasses.replace(job, id="any", seeds=(0,))
            kinds[kind] = max(kinds.get(kind, job), job, key=lambda it: len(it.seeds))
        for job in kinds.values():
            job.check()

    def to_json(self) -> dict[str, Any]:
        """The plan as `study.json` has it."""
        jobs = [job.to_json() for job in self.jobs]
        return {"name": self.name, "profile": self.profile, "note": self.note, "jobs": jobs}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> "Study":
        """The study that `to_json` wrote."""
        jobs = [Job(**fields) for fields in found["jobs"]]
        return Study(found["name"], found["profile"], found["note"], jobs)


def check_file_name(option: str, name: Any) -> None:
    """Raise unless a name can be that of a file in a directory of ours, and in no other.

    Plans may come from others, and their names become parts of paths.
    """
    harmless = (
        isinstance(name, str)
        and name.isprintable()  # which rules out NUL, line breaks and what is no UTF-8
        and not set(name) & set("/\\")
        and not name.startswith(".")
        and 0 < len(name.encode()) <= LONGEST_NAME
    )
    if not harmless:
        remedy = (
            f"files are named after it; use 1 to {LONGEST_NAME} letters, digits and marks, none of "
            "them a slash or backslash, and no dot at the start"
        )
        raise InvalidOptionError(option, name, remedy)


def name_job(preset: str, network: str, cell: str, seeds: Sequence[int] | None = None) -> str:
    """A job's id, such as preset-gru; with seeds if there are other jobs for others."""
    batch = f"-s{seeds[0]}-{seeds[-1]}" if seeds else ""
    return f"{preset}-{name_model(network, cell)}{batch}"


def name_model(network: str, cell: str) -> str:
    """The cell's name in the plain network, and another network's where it has its own cell."""
    own = network in architectures and architectures[network].cell == cell
    return cell if network == PLAIN_NETWORK else network if own else f"{network}-{cell}"


def _check_numbers(option: str, numbers: Any, lowest: int, highest: int) -> None:
    listed = isinstance(numbers, list | tuple) and len(numbers) > 0
    whole = listed and all(is_whole(it, lowest, highest) for it in numbers)
    if not whole or len(set(numbers)) < len(numbers):
        remedy = f"give whole numbers from {lowest} to {highest:,}, each one once"
        raise InvalidOptionError(option, numbers, remedy)
