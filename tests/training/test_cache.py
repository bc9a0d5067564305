"""The compilation cache as processes of several machines share it."""

import os
import subprocess
import sys

PROGRAM = """
import os
import signal
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jax._src import monitoring

from remanence import training

events = []
monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))


def compile_something(die):
    with training.share_compiled_programs():
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        x = jnp.ones(3)
        events.clear()
        jax.jit(lambda x: jnp.sin(x) * 3)(x)
        if die:
            os.kill(os.getpid(), signal.SIGKILL)
    print("hit" if "cache_hits" in events else "miss", flush=True)


# Processes of their own: what has imported JAX and not computed yet can be forked.
for die in (True, False, False):
    child = os.fork()
    if not child:
        compile_something(die)
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    kept = any(Path(os.environ["XDG_CACHE_HOME"]).rglob("*-cache"))
    print("ended with", ended, "and something kept" if kept else "and nothing kept", flush=True)
"""


def test_what_one_process_compiles_others_find_whole(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-c", PROGRAM]
    environment = kept | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "ended with -9 and nothing kept",  # as a process that was killed leaves no part of it
        *("miss", "ended with 0 and something kept"),
        *("hit", "ended with 0 and something kept"),
    ], done.stderr
