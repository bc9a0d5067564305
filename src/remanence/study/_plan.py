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
from remanence.networks import Architecture, architectures
from remanence.study._names import check_file_name, check_variant, name_job, name_model
from remanence.study._stages import stages
from remanence.training import LARGEST_SEED, PPOConfig, Setup, check_training, get_preset

# What is asked where nobody says it, by plans of earlier versions too: of each environment as much
# of it as it is fit for.
DEFAULT_STAGES = ("evaluate", "stability", "certify")


@dataclasses.dataclass(frozen=True)
class Job:
    """One training of several seeds, and what is then asked of its agents.

    `lengths` are the values of what grows that they are evaluated at, `sampled_lengths` those with
    sampled actions, if not all of them; `stages` is what is asked of them, in this order. `budget`
    is the number of steps that a certificate may take, `changes` are options of the environment,
    the network, the cell and PPO that differ from the preset's, as `Preset.set_up` takes them.
    `variant` names the arm of the study that they make, beside the main one, whose name is empty.

    >>> from remanence import study
    >>> job = study.Job(
    ...     id="gru",
    ...     preset="lookup-tree-maze",
    ...     network="small",
    ...     cell="gru",
    ...     seeds=[1, 2],
    ...     num_iterations=100,
    ...     lengths=[2, 100],
    ...     changes={"discount": 0.9, "num_mazes": (1, 5)},
    ...     stages=["evaluate", "stability"],
    ... )
    >>> job.check()
    >>> environment, params = job.make_environment()
    >>> environment.read_growth(params), job.make_architecture().cell, job.make_config().discount
    ((1, 5), 'gru', 0.9)
    >>> job.list_changes()
    {'discount': 0.9, 'num_mazes': (1, 5), 'num_iterations': 100}
    >>> job.list_lengths(sampled=True)
    (2, 100)
    >>> job.to_json()["stages"]
    ['evaluate', 'stability']
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
    variant: str = ""
    sampled_lengths: Sequence[int] = ()

    def __post_init__(self):
        check_variant(self.variant)
        check_file_name("id", self.id)
        object.__setattr__(self, "network", architectures.find_name(self.network))
        object.__setattr__(self, "stages", tuple(self.stages))
        for option, ends in (("seeds", (0, LARGEST_SEED)), ("lengths", (1, LONGEST))):
            _check_numbers(option, getattr(self, option), *ends)
            object.__setattr__(self, option, tuple(getattr(self, option)))
        if self.sampled_lengths:
            _check_numbers("sampled_lengths", self.sampled_lengths, 1, LONGEST)
        object.__setattr__(self, "sampled_lengths", tuple(self.sampled_lengths))
        check_whole("num_iterations", self.num_iterations, 1)
        check_whole("budget", self.budget, 1, LONGEST)
        changes = self.changes
        pairs = changes.items() if isinstance(changes, Mapping) else changes
        changes = tuple(sorted((name, _freeze(value)) for name, value in pairs))
        object.__setattr__(self, "changes", changes)

    def check(self) -> None:
        """Raise if it cannot be trained, evaluated or certified, before anything runs.

        What others have made can be read all the same, by one who has not their cells.
        """
        _ = cell_registry[self.cell]
        (environment, _), network, config = self._set_up()
        for name in self.stages:
            if not stages[name].supports(environment):
                remedy = f"the environment of {self.preset!r} does not support it; leave it out"
                raise InvalidOptionError("stages", name, remedy)
        check_training(environment, network, config, len(self.seeds))

    @property
    def model(self) -> str:
        """What its agents are, by network and cell."""
        return name_model(self.preset, self.network, self.cell)

    @property
    def arm(self) -> tuple[str, str, str, str]:
        """What its agents are counted with: preset, network, cell and variant."""
        return self.preset, self.network, self.cell, self.variant

    def list_lengths(self, sampled: bool = False) -> Sequence[int]:
        """The values of what grows at which agents act greedily, or sample."""
        return (sampled and self.sampled_lengths) or self.lengths

    def list_changes(self) -> dict[str, Any]:
        """All that differs from the preset, its number of iterations included."""
        usual = get_preset(self.preset).config.num_iterations
        shorter = {} if self.num_iterations == usual else {"num_iterations": self.num_iterations}
        return {**dict(self.changes), **shorter}

    def make_environment(self) -> tuple[envs.AbstractEnvironment, Any]:
        """The environment that the job trains on, and its parameters."""
        return self._set_up().env

    def make_architecture(self) -> Architecture:
        """The network that the job trains."""
        return self._set_up().network

    def make_config(self) -> PPOConfig:
        """The numbers that the job trains with."""
        return self._set_up().config

    def _set_up(self) -> Setup:
        changes = dict(self.changes)
        if "num_iterations" in changes:
            raise InvalidOptionError("changes", changes, "num_iterations has a key of its own")
        changes["num_iterations"] = self.num_iterations
        return get_preset(self.preset).set_up(self.cell, changes, self.network)

    def to_json(self) -> dict[str, Any]:
        """The job as JSON has it."""
        fields = dataclasses.asdict(self)
        return fields | {
            "seeds": list(self.seeds),
            "lengths": list(self.lengths),
            "sampled_lengths": list(self.sampled_lengths),
            "changes": {name: _thaw(value) for name, value in dict(self.changes).items()},
            "stages": list(self.stages),
        }


@dataclasses.dataclass(frozen=True)
class Study:
    """Jobs under one name; `note` says in a sentence how large it is and what it cannot show.

    >>> from remanence import study
    >>> asked = {"lengths": [2, 100], "stages": ["evaluate"]}
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, **asked)
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
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
        agents = Counter((job.arm, seed) for job in self.jobs for seed in job.seeds)
        (arm, seed), number = agents.most_common(1)[0]
        if number > 1:
            remedy = f"seed {seed} is given {number} times; name a variant to train it in two ways"
            raise InvalidOptionError("trainings", name_job(*arm), remedy)
        id, number = Counter(job.id for job in self.jobs).most_common(1)[0]
        if number > 1:
            remedy = "several jobs would have this name; give all seeds in one training"
            raise InvalidOptionError("trainings", id, remedy)

    def check(self) -> None:
        """Raise if one of its jobs cannot be done, or if its arms cannot be told apart."""
        # Of thousands that differ in their seeds alone, the one with most stands for all.
        kinds: dict[Job, Job] = {}
        for job in self.jobs:
            kind = dataclasses.replace(job, id="any", seeds=(0,))
            kinds[kind] = max(kinds.get(kind, job), job, key=lambda it: len(it.seeds))
        for job in kinds.values():
            job.check()
        if all(job.variant for job in self.jobs):
            remedy = "figures and claims are about the main arm; leave it out of one training"
            raise InvalidOptionError("variant", self.jobs[0].variant, remedy)
        _check_arms(self.jobs)

    def to_json(self) -> dict[str, Any]:
        """The plan as `study.json` has it."""
        jobs = [job.to_json() for job in self.jobs]
        return {"name": self.name, "profile": self.profile, "note": self.note, "jobs": jobs}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> "Study":
        """The study that `to_json` wrote."""
        jobs = [Job(**fields) for fields in found["jobs"]]
        return Study(found["name"], found["profile"], found["note"], jobs)


def _check_arms(jobs: Sequence[Job]) -> None:
    """Raise if agents of one arm are trained in two ways, or those of two arms in the same one."""
    arms: dict[tuple[str, ...], dict[str, Any]] = {}
    for job in jobs:
        variants = arms.setdefault(job.arm[:-1], {})
        changes = variants.setdefault(job.variant, job.list_changes())
        if changes != job.list_changes():
            remedy = (
                f"it has changes {changes} and {job.list_changes()}; name one of them a variant"
            )
            raise InvalidOptionError("trainings", name_job(*job.arm), remedy)
        same = [name for name, it in variants.items() if it == changes and name != job.variant]
        if same:
            first, second = sorted((same[0], job.variant))
            other = f"the variant {first!r}" if first else "the main arm"
            remedy = f"{other} has the same changes, so its agents would be the same; leave one out"
            raise InvalidOptionError("variant", second, remedy)


def _freeze(value: Any) -> Any:
    """Lists and tables, as TOML and JSON have them, as tuples, so that a job can be compared."""
    if isinstance(value, Mapping):
        return tuple(sorted((name, _freeze(it)) for name, it in value.items()))
    return tuple(map(_freeze, value)) if isinstance(value, list | tuple) else value


def _thaw(value: Any) -> Any:
    """Tuples as lists, which JSON has."""
    return list(map(_thaw, value)) if isinstance(value, tuple) else value


def _check_numbers(option: str, numbers: Any, lowest: int, highest: int) -> None:
    listed = isinstance(numbers, list | tuple) and len(numbers) > 0
    whole = listed and all(is_whole(it, lowest, highest) for it in numbers)
    if not whole or len(set(numbers)) < len(numbers):
        remedy = f"give whole numbers from {lowest} to {highest:,}, each one once"
        raise InvalidOptionError(option, numbers, remedy)
