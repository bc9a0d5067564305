"""*On the Importance of Multistability for Horizon Generalization in Reinforcement Learning*.

Bakija, De Geeter, Brandoit, Sacré and Drion (2026). A folder for each experiment; what they share
(networks and trainings, looks, figures of single units and environments, how claims are judged) is
beside them.
"""

import importlib
from typing import TYPE_CHECKING

from remanence.papers.multistability import _presets as _presets
from remanence.papers.multistability import _stages as _stages
from remanence.report import experiments

if TYPE_CHECKING:
    from remanence.report import Experiment


def _load_tmaze() -> "Experiment":
    return importlib.import_module("remanence.papers.multistability.tmaze").describe_experiment()


def _load_lookup_tree() -> "Experiment":
    module = importlib.import_module("remanence.papers.multistability.lookup_tree")
    return module.describe_experiment()


experiments.register("tmaze", _load_tmaze)
experiments.register("lookup-tree", _load_lookup_tree)
