"""Makes Gymnasium know our environments by name, when this module is imported.

Gymnasium 1.0 gave up looking for plugins, so `import remanence` imports this, as does Gymnasium
itself for the id "remanence:remanence/TMaze-v0". It doesn't import JAX.
"""

from gymnasium.envs.registration import register, registry

_NAMES = {
    "remanence/TMaze-v0": "tmaze",
    "remanence/LookupTreeMaze-v0": "lookup-tree-maze",
}


def register_envs() -> None:
    """Register each environment, alone and batched; its code is loaded when it is made."""
    for gymnasium_id, name in _NAMES.items():
        if gymnasium_id not in registry:
            register(
                id=gymnasium_id,
                entry_point="remanence.envs:GymnasiumEnv",
                vector_entry_point="remanence.envs:GymnasiumVectorEnv",
                kwargs={"name": name},
            )


register_envs()
