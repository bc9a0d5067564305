"""The paper's networks and trainings (appendix "Training Procedure and Hyperparameters")."""

import dataclasses

from remanence.networks import Architecture, architectures, register_architecture
from remanence.training import Cost, PPOConfig, Preset, register_preset

register_architecture(
    "deep-mingru",
    Architecture(
        cell="mingru", state_size=128, num_layers=4, encoder=(128,), head=(64, 16), skip=True
    ),
)
# What they were called when they were the only ones.
architectures.rename("tmaze", "small")
architectures.rename("lookup-tree", "wide")

_SMALL = Cost()
# Its memory takes so long to settle that a certificate uses all of its budget; measured roughly,
# with a tenth of that and lengths up to a hundredth of the usual.
_DEEP = Cost(
    seconds_per_iteration=2.5,
    seconds_per_agent=500.0,
    seconds_to_compile=30.0,
    bytes_per_agent=13e6,
)
# Agents that are trained on long mazes wander about, so that fewer of their histories are alike;
# measured with small networks alone.
_SLOWER = 2.2

# What the paper leaves open, as what it does say comes out best: docs/results/tmaze-choices. A cell
# that is not ours starts as it does.
_CHOICES = {"time_limit_ends": True}
_CELLS = ("gru", "lstm", "brc", "nbrc", "mingru", "bmru", "hybrid")
_CELL_CHOICES = {cell: {"initialization": "pytorch-cell"} for cell in _CELLS}


def _slow_down(cost: Cost) -> Cost:
    return dataclasses.replace(cost, seconds_per_iteration=_SLOWER * cost.seconds_per_iteration)


register_preset(
    "tmaze-short",
    Preset(
        "tmaze",
        {"length": (1, 3)},
        costs={"small": _SMALL, "deep-mingru": _DEEP},
        choices=_CHOICES,
        cell_choices=_CELL_CHOICES,
    ),
)
register_preset(
    "tmaze-long",
    Preset(
        "tmaze",
        {"length": 100},
        costs={"small": _slow_down(_SMALL), "deep-mingru": _slow_down(_DEEP)},
        choices=_CHOICES,
        cell_choices=_CELL_CHOICES,
    ),
)
# Measured with a sixteenth of the environments, whose number an iteration's time grows with. A maze
# takes a hundred episodes, greedy and sampled, as much as is given here.
_WIDE_SECONDS = {"gru": 6.9, "brc": 4.2, "nbrc": 6.3, "mingru": 2.7, "bmru": 3.1, "hybrid": 2.9}
_WIDE: dict[str | tuple[str, str], Cost] = {
    ("wide", cell): Cost(
        seconds_per_iteration=16 * seconds,
        seconds_per_agent=5.0,
        seconds_per_size=0.003,
        seconds_to_compile=30.0,
        bytes_per_agent=3e6,
    )
    for cell, seconds in _WIDE_SECONDS.items()
}
register_preset(
    "lookup-tree",
    Preset(
        "lookup-tree-maze",
        {"num_mazes": (1, 20), "length": (1, 3)},
        "wide",
        PPOConfig(
            num_envs=2048, num_steps=250, num_minibatches=8, policy_epochs=10, value_epochs=10
        ),
        costs=_WIDE,
    ),
)
