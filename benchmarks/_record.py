"""What every benchmark's record says: the command, the date, the versions, the machine."""

import dataclasses
import datetime
import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax

from remanence import __version__
from remanence.store import describe_machine


def write_record(options: Any, packages: Iterable[str], **results: Any) -> None:
    """Write results as JSON to `options.out`, with all that is needed to repeat them."""
    versions = {package: _find_version(package) for package in packages}
    record = {
        "command": describe_command(options),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), **versions},
        "machine": {**describe_machine(), "backend": jax.default_backend()},
        **results,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=2) + "\n")


def _find_version(package: str) -> str:
    # Ours has another name on the index.
    return __version__ if package == "remanence" else importlib.metadata.version(package)


def describe_command(options: Any) -> str:
    """The command that repeats a measurement: every option but the paths."""
    script = Path(sys.argv[0]).resolve()
    words = [f"python {script.parent.name}/{script.name}"]
    if script.parent.name != "benchmarks":
        words = [f"python -m tests.{script.parent.name}.{script.stem}"]
    for name, value in dataclasses.asdict(options).items():
        if value is not None and not isinstance(value, Path):
            values = value if isinstance(value, tuple) else (value,)
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return " ".join(words)
