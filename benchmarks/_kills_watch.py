"""Tells at once of files that appear under directories, by Linux's inotify."""

import ctypes
import os
import select
import struct
from pathlib import Path

_CREATED, _MOVED_HERE, _IS_DIRECTORY = 0x100, 0x80, 0x40000000
_HEADER = struct.Struct("iIII")
_libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """Counts what is created in directories, or put in place there, subdirectories included."""

    def __init__(self, *paths: Path):
        self._handle = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle < 0:
            raise OSError(ctypes.get_errno(), "inotify is not to be had")
        self._paths: dict[int, Path] = {}
        for path in paths:
            self._add(path)

    def wait(self, seconds: float) -> int:
        """How many files and directories have appeared, as soon as one has, or 0 in the end."""
        if not select.select([self._handle], [], [], max(0.0, seconds))[0]:
            return 0
        return sum(self._follow(*event) for event in self._read())

    def close(self) -> None:
        """Watch no more."""
        os.close(self._handle)

    def _read(self) -> list[tuple[Path, int, str]]:
        read = os.read(self._handle, 1 << 16)
        events, position = [], 0
        while position < len(read):
            number, mask, _, size = _HEADER.unpack_from(read, position)
            position += _HEADER.size + size
            name = read[position - size : position].rstrip(b"\0").decode()
            if number in self._paths:
                events.append((self._paths[number], mask, name))
        return events

    def _follow(self, parent: Path, mask: int, name: str) -> int:
        return 1 + (self._add(parent / name) if mask & _IS_DIRECTORY else 0)

    def _add(self, path: Path) -> int:
        """Watch a directory too; what was in it before anyone watched has appeared as well."""
        number = _libc.inotify_add_watch(self._handle, os.fsencode(path), _CREATED | _MOVED_HERE)
        if number < 0:  # it is gone already
            return 0
        self._paths[number] = path
        children = list(path.iterdir())
        return len(children) + sum(self._add(child) for child in children if child.is_dir())
