"""On the Importance of Multistability for Horizon Generalization in Reinforcement Learning.

Importing this package registers the paper's networks and trainings.
"""

from remanence.papers.multistability import _presets as _presets
