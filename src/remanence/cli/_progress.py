"""Progress on the error stream: a live bar for a person, a plain line now and then for a log."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from remanence.training import Progress as TrainingProgress

SECONDS_BETWEEN_LINES = 5.0

Show = Callable[[TrainingProgress], None]


@contextlib.contextmanager
def show_progress(num_iterations: int) -> Iterator[Show]:
    """A function to call after each iteration; all output goes to the error stream."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _make_logger()
        return
    columns = [
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        BarColumn(bar_width=None),
        TextColumn("{task.description}"),
        TimeRemainingColumn(compact=True),
    ]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("compiling", total=num_iterations)

        def show(progress: TrainingProgress) -> None:
            bar.update(task, completed=progress.iteration, description=_describe(progress))

        yield show


@contextlib.contextmanager
def show_count(title: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with how many things are done, and of how many; silent in a log."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
    ]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _make_logger() -> Show:
    last_line = -np.inf

    def log(progress: TrainingProgress) -> None:
        nonlocal last_line
        now = time.monotonic()
        final = progress.iteration == progress.num_iterations
        if final or now - last_line >= SECONDS_BETWEEN_LINES:
            last_line = now
            count = f"iteration {progress.iteration}/{progress.num_iterations}"
            print(f"{count}  {_describe(progress)}", file=sys.stderr, flush=True)

    return log


def _describe(progress: TrainingProgress) -> str:
    """Means over the seeds."""
    returns = progress.metrics["return"]
    mean_return = np.nanmean(returns) if np.isfinite(returns).any() else np.nan
    rate = progress.steps / progress.seconds
    return (
        f"return {mean_return:.2f}  KL {np.mean(progress.metrics['kl']):.3f}  "
        f"value loss {np.mean(progress.metrics['value_loss']):.3f}  {_shorten(rate)} steps/s"
    )


def _shorten(rate: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.1f}{unit}"
    return f"{rate:.0f}"
