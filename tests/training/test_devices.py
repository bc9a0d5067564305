"""Seeds spread over several devices, which XLA makes of this machine's processor."""

import json
import os
from pathlib import Path

import numpy as np

PROGRAM = """
import json
import sys
from pathlib import Path

import jax
import numpy as np

from remanence import envs, networks, training

network = networks.Architecture(cell="mingru", state_size=2, head=[])
config = training.PPOConfig(num_envs=2, num_steps=8, num_iterations=3)


def train(batching, **options):
    env = envs.make("tmaze")
    made = training.train(env, network, config, [1, 2, 3], batching=batching, **options)
    weights = [jax.tree.leaves(agent.policy) for agent in made.agents.values()]
    numbers = [np.asarray(leaf).ravel().tolist() for leaves in weights for leaf in leaves]
    return sum(numbers, []), made.curves["return"].tolist()


out = Path(sys.argv[1])
found = {"devices": jax.local_device_count(), "one": train("vmap"), "all": train("devices")}
calls = []
train("devices", out=out, should_stop=lambda: calls.append(1) or len(calls) == 2)
found["resumed"] = train("devices", out=out, resume=True)
print(json.dumps(found))
"""


def test_seeds_on_two_devices_are_those_on_one(tmp_path: Path, nursery):
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    done = nursery.start(
        *("-c", PROGRAM, tmp_path / "run"),
        log=tmp_path / "log",
        environment={"XLA_FLAGS": flags},
    )
    assert done.wait() == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["devices"] == 2
    for one, other in zip(found["one"], found["all"], strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)
    for whole, resumed in zip(found["all"], found["resumed"], strict=True):
        np.testing.assert_array_equal(resumed, whole)
