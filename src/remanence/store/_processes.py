"""Which process of which machine this is, so that readers can tell whether it lives."""

import getpass
import os
import socket
from pathlib import Path

GONE = "gone"


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
