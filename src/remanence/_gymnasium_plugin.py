"""Makes Gymnasium know our environments by name, when this module is imported.

Gymnasium 1.0 gave up looking for plugins, so `import remanence` imports this, as does Gymnasium
itself for an id such as "remanence:remanence/LookupTreeMaze-v0". It doesn't import JAX, so it
reads the names of the environments from a file beside them.
"""

import json
from pathlib import Path

from gymnasium.envs.registration import register, registry

_NAMES = Path(__file__).parent / "envs" / "gymnasium_ids.json"


def register_envs() -> None:
    """Register each environment, alone and batched; its code is loaded when it is made."""
    for gymnasium_id, name in json.loads(_NAMES.read_text(encoding="utf-8")).items():
        if gymnasium_id not in registry:
            register(
                id=gymnasium_id,
                entry_point="remanence.envs:GymnasiumEnv",
                vector_entry_point="remanence.envs:GymnasiumVectorEnv",
                kwargs={"name": name},
            )


register_envs()
