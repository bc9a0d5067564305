"""One environment step: T-maze, LookupTreeMaze, and adapters to gymnax and Gymnasium."""

import importlib
from typing import TYPE_CHECKING, Any

from remanence.envs._corridor import ACTION_NAMES as ACTION_NAMES
from remanence.envs._corridor import REWARD_RIGHT_ARM as REWARD_RIGHT_ARM
from remanence.envs._corridor import REWARD_WRONG_ARM as REWARD_WRONG_ARM
from remanence.envs._environment import NO_DECISION as NO_DECISION
from remanence.envs._environment import RIGHT_DECISION as RIGHT_DECISION
from remanence.envs._environment import WRONG_DECISION as WRONG_DECISION
from remanence.envs._environment import AbstractEnvironment as AbstractEnvironment
from remanence.envs._environment import Growth as Growth
from remanence.envs._environment import Script as Script
from remanence.envs._environment import space_lengths as space_lengths
from remanence.envs._lookup_tree_maze import LookupTreeMaze as LookupTreeMaze
from remanence.envs._lookup_tree_maze import LookupTreeMazeParams as LookupTreeMazeParams
from remanence.envs._lookup_tree_maze import LookupTreeMazeState as LookupTreeMazeState
from remanence.envs._previous_action import PreviousAction as PreviousAction
from remanence.envs._registry import describe as describe
from remanence.envs._registry import list_options as list_options
from remanence.envs._registry import make as make
from remanence.envs._registry import register as register
from remanence.envs._registry import registry as registry
from remanence.envs._registry import restore as restore
from remanence.envs._render import draw_text as draw_text
from remanence.envs._tmaze import TMaze as TMaze
from remanence.envs._tmaze import TMazeParams as TMazeParams
from remanence.envs._tmaze import TMazeState as TMazeState

if TYPE_CHECKING:
    from remanence.envs._gymnasium import GymnasiumEnv as GymnasiumEnv
    from remanence.envs._gymnasium import GymnasiumVectorEnv as GymnasiumVectorEnv
    from remanence.envs._gymnax import FromGymnax as FromGymnax
    from remanence.envs._gymnax import ToGymnax as ToGymnax

# The adapters subclass types of packages that are installed on request, so they are imported when
# they are asked for.
_ADAPTERS = {
    "GymnasiumEnv": "_gymnasium",
    "GymnasiumVectorEnv": "_gymnasium",
    "FromGymnax": "_gymnax",
    "ToGymnax": "_gymnax",
}


def __getattr__(name: str) -> Any:
    if name in _ADAPTERS:
        return getattr(importlib.import_module(f"remanence.envs.{_ADAPTERS[name]}"), name)
    raise AttributeError(f"module 'remanence.envs' has no attribute {name!r}")
