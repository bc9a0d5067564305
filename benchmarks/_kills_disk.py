"""A disk of its own for a work, which is made as small or as large as one likes."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

PAGE = 4096
_PLENTY = 64 << 20
_MANY = 10_000


@contextlib.contextmanager
def mount_disk(path: Path) -> Iterator["Disk"]:
    """A disk in memory, mounted at `path`, which only root can do."""
    path.mkdir(exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", _describe(_PLENTY, _MANY), "tmpfs", str(path))
    try:
        yield Disk(path)
    finally:
        # Whoever is still there, as after an interruption, keeps it until they end.
        _run("umount", "--lazy", str(path))


def can_mount(scratch: Path) -> bool:
    """Whether mounting is allowed here."""
    try:
        with mount_disk(scratch / "try"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


class Disk:
    """A mounted disk; `limit` leaves so much room, `free` all that is needed."""

    def __init__(self, path: Path):
        self.path = path

    def count_used(self) -> tuple[int, int]:
        """Bytes and files."""
        found = os.statvfs(self.path)
        return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree

    def limit(self, num_pages: int | None = None, num_files: int | None = None) -> None:
        """Leave room for so many more pages of memory, or so many more files."""
        used_bytes, used_files = self.count_used()
        # A size of 0 would be no limit.
        size = _PLENTY if num_pages is None else max(used_bytes + num_pages * PAGE, PAGE)
        files = _MANY if num_files is None else used_files + num_files
        self._remount(_describe(size, files))

    def free(self) -> None:
        """Make room."""
        self._remount(_describe(_PLENTY, _MANY))

    def _remount(self, options: str) -> None:
        _run("mount", "-o", f"remount,{options}", str(self.path))


def _describe(num_bytes: int, num_files: int) -> str:
    return f"size={num_bytes},nr_inodes={num_files}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
