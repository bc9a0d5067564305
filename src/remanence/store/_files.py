"""Files that are written whole or not at all."""

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remanence.errors import StoreError

SET_ASIDE = ".replaced"


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, then put it in place of `path` in one step.

    A reader sees the old file or the new one, never a part; whatever fails on the way (a full
    disk, a kill) leaves the old file as it was. Where `path` is a link, what it leads to is
    written; what is no file, such as a device, is not replaced.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> def write(temporary):
    ...     _ = temporary.write_bytes(b"all of it")
    >>> store.write_whole(Path("notes/one"), write)
    >>> Path("notes/one").read_bytes()
    b'all of it'
    """
    try:
        path = path.resolve() if path.is_symlink() else path
        if path.exists() and not path.is_file():
            raise StoreError(path, "this is not a file", "choose another name")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        # Not by `tempfile`, whose files only their owner can read; results are for everyone.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except StoreError:
        raise
    except (OSError, RuntimeError) as error:  # the latter of links that lead to themselves
        raise explain(path, error) from error
    try:
        write(temporary)
        _flush(temporary)
        temporary.replace(path)
        _flush(path.parent)
    except OSError as error:
        raise explain(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON that a person can read.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_json(Path("run.json"), {"seed": 1})
    >>> print(Path("run.json").read_text(), end="")
    {
      "seed": 1
    }
    """
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes as they are.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_bytes(Path("notes/one"), b"all of it")
    >>> Path("notes/one").read_bytes()
    b'all of it'
    """
    write_whole(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_text(Path("notes.txt"), "α")
    >>> Path("notes.txt").read_text(encoding="utf-8")
    'α'
    """
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def read_json(path: Path) -> Any:
    """The value in a file of JSON; the error says what is wrong with it.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_json(Path("run.json"), {"seed": 1})
    >>> store.read_json(Path("run.json"))
    {'seed': 1}
    >>> store.read_json(Path("walk.json"))
    Traceback (most recent call last):
    remanence.errors.StoreError: walk.json: there is no such file; check the path.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(path, "there is no such file", "check the path") from error
    # Brackets within brackets within brackets, too many of them, are a RecursionError.
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(path, f"this is not JSON ({error})", "restore it from a copy") from error
    except OSError as error:
        raise explain(path, error) from error


def find_difference(name: str, found: Any, wanted: Any) -> str | None:
    """The first place where two JSON values differ, in words, or None.

    >>> from remanence import store
    >>> store.find_difference("study", {"name": "a", "seeds": 1}, {"name": "a", "seeds": 2})
    'study.seeds was 1 and is now 2'
    """
    difference = locate_difference(name, found, wanted)
    if difference is None:
        return None
    name, found, wanted = difference
    if isinstance(found, dict) or isinstance(wanted, dict):
        return f"{name} was there and is not now" if found else f"{name} is new"
    return f"{name} was {found!r} and is now {wanted!r}"


def locate_difference(name: str, found: Any, wanted: Any) -> tuple[str, Any, Any] | None:
    """The first place where two JSON values differ, and what each has there, or None.

    >>> from remanence import store
    >>> store.locate_difference("study", {"name": "a", "seeds": 1}, {"name": "a", "seeds": 2})
    ('study.seeds', 1, 2)
    """
    wanted = json.loads(json.dumps(wanted))
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            difference = locate_difference(f"{name}.{key}", found.get(key), wanted.get(key))
            if difference:
                return difference
        return None
    return None if found == wanted else (name, found, wanted)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files that a killed process left in a directory that is held.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> Path(".run.json.0123.part").touch()
    >>> store.remove_leftovers(Path())
    >>> list(Path().iterdir())
    []
    """
    for leftover in path.rglob(".*.part"):
        leftover.unlink(missing_ok=True)


def set_aside(path: Path) -> None:
    """Rename a file that cannot stay, if it is there; an earlier one of that name gives way.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> Path("run.json").touch()
    >>> store.set_aside(Path("run.json"))
    >>> [file.name for file in Path().iterdir()]
    ['run.json.replaced']
    """
    try:
        if path.exists():
            path.replace(path.with_name(f"{path.name}{SET_ASIDE}"))
    except OSError as error:
        raise explain(path, error) from error


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explain(path: Path, error: Exception) -> StoreError:
    """What the operating system said of a file, as an error of ours."""
    reason = getattr(error, "strerror", None) or str(error)
    return StoreError(path, f"cannot be used ({reason})", "check space and permissions")
