"""The experiments that are known by name; what one is, `_experiment.py` says.

Apart from it, so that registering one brings neither matplotlib nor JAX.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from remanence._registry import Registry

if TYPE_CHECKING:
    from remanence.report._experiment import Experiment

experiments: "Registry[Callable[[], Experiment]]" = Registry("experiment")
