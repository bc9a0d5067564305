"""A clock that is wrong by another amount in every life, and files with times of any year."""

import os
import random
from pathlib import Path

_SECONDS_PER_DAY = 86_400
_MOST_DAYS = 400


def find_library() -> Path | None:
    """libfaketime for programs with threads, which Debian has in its package `faketime`."""
    places = (*Path("/usr/lib").glob("*/faketime"), Path("/usr/lib/faketime"))
    found = [place / "libfaketimeMT.so.1" for place in places]
    return next((file for file in found if file.exists()), None)


def set_clock(moments: random.Random, library: Path | None) -> dict[str, str]:
    """Variables under which a process lives in another year; none without the library."""
    if library is None:
        return {}
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"{_draw_seconds(moments):+.0f}s",
        # A clock that is set moves neither this one nor the times of files.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def shift_files(directory: Path, moments: random.Random) -> None:
    """Give every file a time of its own, past or future."""
    for file in sorted(directory.rglob("*")):
        when = file.stat().st_mtime + _draw_seconds(moments)
        os.utime(file, (when, when))


def _draw_seconds(moments: random.Random) -> float:
    sign = moments.choice((-1, -1, 1))
    return sign * moments.uniform(60, _MOST_DAYS * _SECONDS_PER_DAY)
