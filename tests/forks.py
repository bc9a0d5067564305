"""Processes that start at once: forks of one that has imported JAX and remanence, and no more.

What has imported JAX and has not computed yet can be forked. A fork is then what a fresh process
is once it has imported the same, for which that would need two to three seconds.

    python -m tests.forks   reads requests from its standard input, one JSON object per line
"""

import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_ROOMS = ("cli", "dynamics", "evaluation", "figures", "networks", "study", "training")


class Nursery:
    """A process that forks others, which end as any process does, or are killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forks"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(
        self,
        *command: str | Path,
        log: Path,
        directory: Path = ROOT,
        adds_programs: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> "Fork":
        """`python FILE ...`, `python -m MODULE ...` or `python -c CODE ...`, in a directory.

        The environment can be changed for what is read when JAX first computes, as XLA's flags are.
        What it prints goes to `log`, and its errors to a file beside it. What is to be killed adds
        no programs to those that all processes share, of which it could leave one torn.
        """
        asked = {
            "command": [str(word) for word in command],
            "directory": str(directory),
            "log": str(log),
            "adds_programs": adds_programs,
            "environment": environment or {},
        }
        return Fork(self, self.ask(asked), log)

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class Fork:
    """A process that was forked, with what `subprocess.Popen` knows of its own."""

    def __init__(self, nursery: Nursery, pid: int, log: Path) -> None:
        self._nursery, self.pid, self._log = nursery, pid, log
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._await(os.WNOHANG)

    def wait(self) -> int:
        code = self._await(0)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    @property
    def stdout(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def stderr(self) -> str:
        return _name_errors(self._log).read_text(encoding="utf-8")

    def _await(self, options: int) -> int | None:
        if self.returncode is None:
            self.returncode = self._nursery.ask({"await": self.pid, "options": options})
        return self.returncode


def _name_errors(log: Path) -> Path:
    return log.with_name(f"{log.name}.errors")


def _serve() -> None:
    """Fork what is asked for; returns in the fork, with what it is to do."""
    for room in _ROOMS:
        importlib.import_module(f"remanence.{room}")
    importlib.import_module("tests.contexts").share_contexts()
    while line := sys.stdin.readline():
        asked = json.loads(line)
        if "await" in asked:
            process, status = os.waitpid(asked["await"], asked["options"])
            answer = os.waitstatus_to_exitcode(status) if process else None
        else:
            answer = os.fork()
            if not answer:
                return _become(**asked)
        print(json.dumps(answer), flush=True)


def _become(
    command: Sequence[str],
    directory: str,
    log: str,
    adds_programs: bool,
    environment: Mapping[str, str],
) -> None:
    """Do what was asked for; whatever it raises ends this process, as it ends any."""
    _redirect(log)
    # Who runs the tests may ignore Ctrl-C, which is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not adds_programs:
        import jax

        jax.config.update("jax_persistent_cache_min_compile_time_secs", 1e9)
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "1e9"
    os.environ.update(environment)
    os.chdir(directory)
    option, *arguments = command
    if option == "-m":
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        sys.argv = ["-c", *arguments[1:]]
        exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0] = list(command), str(Path(option).parent)
        runpy.run_path(option, run_name="__main__")


def _redirect(log: str) -> None:
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, str(_name_errors(Path(log))), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)


if __name__ == "__main__":
    _serve()
