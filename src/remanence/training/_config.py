"""The numbers of recurrent PPO: data, no code."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from remanence._numbers import check_whole
from remanence._registry import check_options
from remanence.errors import InvalidOptionError
from remanence.networks import check_initialization

MOST_STEPS = 2**31 - 1
# The order of all minibatches of an iteration is drawn at once.
MOST_EPOCHS = 10_000
# What earlier versions did not have is told only where it is not what they did: the description of
# a training is the same in all versions.
_NEWER = (
    "time_limit_ends",
    "initialization",
    "state_passing",
    "surrogate_narrowing",
    "hold_margin",
    "hold_coefficient",
    "warm_up",
)


def _check_kind(option: str, value: Any, default: Any) -> None:
    """Counts are whole, rates are not negative, switches are true or false."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InvalidOptionError(option, value, "use true or false")
    elif option == "initialization":
        check_initialization(value)
    elif isinstance(default, int):
        check_whole(option, value, min(default, 1), 2**31 - 1)
    elif not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise InvalidOptionError(option, value, "use a number of 0 or more")


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """Hyperparameters of recurrent PPO.

    A minibatch holds `num_envs / num_minibatches` whole sequences of `num_steps` steps. Not given
    by the paper: Adam's epsilon, the value loss as half the mean squared error, and

    - `normalize_advantages`, within each minibatch: true, as in CleanRL, on which the paper's code
      is based;
    - `time_limit_ends`, whether a time limit ends an episode for good: false, as it is no part of
      the task (Pardo et al. 2018), so that the value of what would have followed counts. CleanRL
      makes no difference between the two, which is true;
    - `initialization`, how weights start: xavier, one of `networks.INITIALIZATIONS`.

    A preset may choose otherwise (`Preset.choose`).

    Not in the paper: `state_passing` is the share of training episodes that begin with the state in
    which the one before ended, and not with the initial one, so that agents also learn from what
    memories are like after many episodes (Buitrago Ruiz and Gu 2025). Acting otherwise than in
    training always begins with the initial state. Of cells with thresholds, BMRU and hybrid:
    `surrogate_narrowing` is the factor by which the width of surrogate gradients shrinks from the
    first iteration to the last, geometrically, and 1 leaves it as it is; with a `hold_margin` m
    above 0, `hold_coefficient` times the mean of max(0, 1 - ||n| - β| / m) over steps and units is
    added to the policy's loss, so that units are clearly set, or clearly hold what they have. Of
    nonlinear cells: `warm_up` is the most gradient steps that make memories multistable before
    training, after Lambrechts et al. (2023).

    >>> from remanence import training
    >>> training.PPOConfig(num_envs=10, num_iterations=20).num_steps
    1400
    >>> training.PPOConfig(num_envs=5)
    Traceback (most recent call last):
    remanence.errors.InvalidOptionError: num_minibatches = 2 is not possible: it must divide ...
    """

    num_envs: int = 50
    num_steps: int = 1400
    num_iterations: int = 250
    num_minibatches: int = 2
    policy_epochs: int = 20
    value_epochs: int = 10
    policy_learning_rate: float = 0.005
    value_learning_rate: float = 0.001
    anneal_iterations: int = 250
    max_gradient_norm: float = 1.0
    clip_range: float = 0.2
    value_coefficient: float = 1.0
    entropy_coefficient: float = 0.01
    advantage_decay: float = 0.98
    discount: float = 0.998
    max_kl: float = 0.2
    adam_epsilon: float = 1e-5
    normalize_advantages: bool = True
    time_limit_ends: bool = False
    initialization: str = "xavier"
    state_passing: float = 0.0
    surrogate_narrowing: float = 1.0
    hold_margin: float = 0.0
    hold_coefficient: float = 0.1
    warm_up: int = 0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            _check_kind(field.name, getattr(self, field.name), field.default)
        for option in ("policy_epochs", "value_epochs"):
            check_whole(option, getattr(self, option), 1, MOST_EPOCHS)
        if self.num_envs * self.num_steps > MOST_STEPS:
            raise InvalidOptionError(
                "num_envs, num_steps",
                (self.num_envs, self.num_steps),
                f"the steps of a rollout are counted in 31 bits; their product may be up to "
                f"{MOST_STEPS:,}",
            )
        if self.num_envs % self.num_minibatches:
            raise InvalidOptionError(
                "num_minibatches",
                self.num_minibatches,
                f"it must divide the number of environments, num_envs = {self.num_envs}",
            )
        if self.num_iterations > self.anneal_iterations:
            raise InvalidOptionError(
                "anneal_iterations",
                self.anneal_iterations,
                "learning rates would be 0 before the last iteration; use at least "
                f"num_iterations, {self.num_iterations}",
            )
        for option in ("advantage_decay", "discount", "state_passing"):
            if getattr(self, option) > 1:
                raise InvalidOptionError(option, getattr(self, option), "it cannot exceed 1")
        if self.surrogate_narrowing < 1:
            raise InvalidOptionError(
                "surrogate_narrowing",
                self.surrogate_narrowing,
                "it is the factor by which the width shrinks; use 1 (not at all) or more",
            )

    def to_json(self) -> dict[str, Any]:
        """The numbers by name, as the description of a run has them.

        >>> from remanence import training
        >>> training.PPOConfig(discount=0.9).to_json()["discount"]
        0.9
        """
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in _NEWER or value != usual[name]
        }


def complete_config(found: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers in the description of a run, with those that it leaves out as they are usual."""
    return {**dataclasses.asdict(PPOConfig()), **found}


def change_config(config: PPOConfig, changes: Mapping[str, Any]) -> PPOConfig:
    """A copy with some numbers changed; an unknown name is answered with the nearest known.

    >>> from remanence import training
    >>> training.change_config(training.PPOConfig(), {"discount": 0.9}).discount
    0.9
    """
    check_options("PPO", changes, [field.name for field in dataclasses.fields(PPOConfig)])
    return dataclasses.replace(config, **changes)
