"""What a record was made by, on which machine, and whether that process lives."""

import datetime
import getpass
import os
import platform
import socket
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from remanence import __version__

GONE = "gone"
_VERSIONED = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "duckdb")


def describe_process(command: Sequence[str] | None = None) -> dict[str, Any]:
    """Versions, Python, time, and the command line that a record was made by, if it was by one.

    >>> from remanence import store
    >>> store.describe_process(["remanence", "train"])["command"]
    ['remanence', 'train']
    """
    return {
        "command": None if command is None else list(command),
        "versions": list_versions(*_VERSIONED),
        "python": platform.python_version(),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def list_versions(*packages: str) -> dict[str, str]:
    """The versions of remanence and of some packages, by name.

    >>> from remanence import store
    >>> list(store.list_versions("jax"))
    ['remanence', 'jax']
    """
    return {"remanence": __version__} | {name: version(name) for name in packages}


def find_commit(*files: Path) -> str:
    """The commit of the checkout that this code runs from, marked if it was changed since.

    Of some files, the last commit that changed one of them. Empty where there is no checkout, or
    git: there the version says it all.

    >>> from remanence import store
    >>> store.find_commit()  # such as '0123456789ab-dirty'
    '...'
    """
    folder = files[0].parent if files else Path(__file__).parent
    names = [str(file.absolute()) for file in files] or [Path(__file__).name]
    # A virtual environment may be inside of somebody else's checkout.
    if not _ask_git(folder, "ls-files", "--error-unmatch", *names):
        return ""
    if not files:
        commit = "--always", "--dirty", "--abbrev=12", "--exclude=*"
        return _ask_git(folder, "describe", *commit)
    commit = _ask_git(folder, "log", "-1", "--format=%h", "--abbrev=12", "--", *names)
    changed = _ask_git(folder, "status", "--porcelain", "--", *names)
    return f"{commit}-dirty" if changed else commit


def _ask_git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def describe_machine() -> dict[str, Any]:
    """Processor, cores and memory, and nothing that names a person or a place.

    >>> from remanence import store
    >>> sorted(store.describe_machine())
    ['cores', 'cpu', 'memory_gib']
    """
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": round(memory_bytes / 2**30, 1)}


def find_user() -> str:
    """Who runs this process; empty of a user without a name, as containers have them.

    >>> from remanence import store
    >>> isinstance(store.find_user(), str)
    True
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def name_machine() -> str:
    """Where a process number means what it means here: a host since it was started, a container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def find_beginning(pid: int) -> str:
    """When a process of this machine began, in the kernel's own count, or that it has ended.

    Numbers of processes are given again; together with the beginning they are not.
    """
    if not Path("/proc/self/stat").exists():
        return _find_any(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return GONE
    return GONE if fields[0] in "ZX" else fields[19]  # a zombie holds nothing


def _find_any(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return GONE
    except PermissionError:
        pass
    return "there"
