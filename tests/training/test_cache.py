"""The compilation cache as processes of several machines share it."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os
import signal
import sys

import jax
import jax.numpy as jnp
from jax._src import monitoring

from remanence import training

events = []
monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))
with training.share_compiled_programs():
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    x = jnp.ones(3)
    events.clear()
    jax.jit(lambda x: jnp.sin(x) * 3)(x)
    if sys.argv[1:] == ["die"]:
        os.kill(os.getpid(), signal.SIGKILL)
print("hit" if "cache_hits" in events else "miss")
"""


def compile_in_a_process(home: Path, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    environment = kept | {"XDG_CACHE_HOME": str(home)}
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout.strip()


def test_what_one_process_compiles_others_find_whole(tmp_path):
    assert compile_in_a_process(tmp_path, "die") == ""
    assert not list(tmp_path.rglob("*-cache")), "a process that was killed has left something"
    assert compile_in_a_process(tmp_path) == "miss"
    assert compile_in_a_process(tmp_path) == "hit"
