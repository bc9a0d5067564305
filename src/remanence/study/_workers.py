"""Worker processes on this machine, which never outlive what started them."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.connection import Connection

from remanence._numbers import check_whole
from remanence._plugins import import_code, list_imported
from remanence.training import GIVEN_CORES, count_cores


@contextlib.contextmanager
def open_workers(num_workers: int = 1) -> Iterator[Executor]:
    """Processes that take jobs; they end with this block, or with this process, at once.

    They share the cores of this machine evenly. As many workers as cores finish many jobs soonest:
    a program of XLA's that has one core hands nothing from thread to thread, which is a third of
    the work of a small network's training.

    >>> from remanence import study
    >>> with study.open_workers(2) as executor:
    ...     print(type(executor).__name__)
    ProcessPoolExecutor
    """
    check_whole("num_workers", num_workers, 1)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        num_workers,
        mp_context=context,
        initializer=_start_worker,
        initargs=(receiver, list_imported(), max(1, count_cores() // num_workers)),
    )
    try:
        yield pool
    finally:
        # Closed before the pool is shut down, which would wait for the jobs under way.
        sender.close()
        pool.shutdown(cancel_futures=True)
        receiver.close()


def _start_worker(receiver: Connection, imported: Sequence[str], num_cores: int) -> None:
    """Make a worker know what its starter knows, keep to its share of cores, and end with it."""
    _live_while_open(receiver)
    os.environ[GIVEN_CORES] = str(num_cores)  # which XLA reads when it first computes
    for source in imported:
        import_code(source)


def _live_while_open(receiver: Connection) -> None:
    """End this worker when the other end of a pipe closes, which a killed process does too."""
    # Ctrl-C reaches all processes of a terminal; what it means is for the runner to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_when_closed, args=(receiver,), daemon=True).start()


def _end_when_closed(receiver: Connection) -> None:
    with contextlib.suppress(OSError):
        receiver.poll(None)
    os._exit(1)
