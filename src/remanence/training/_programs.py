"""Compiled programs that threads and trainings share, and where the time of a training goes."""

import collections
import contextlib
import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import jax
import numpy as np

# A training has four to six of them, each of a few megabytes.
MOST_KEPT = 64


class Profile:
    """Seconds by phase, added up over threads."""

    def __init__(self):
        self._seconds: dict[str, float] = collections.defaultdict(float)
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Count what happens inside to a phase."""
        began = time.perf_counter()
        yield
        with self._lock:
            self._seconds[phase] += time.perf_counter() - began

    def measured(self, function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        """The function, with every call counted to a phase."""

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            with self.measure(phase):
                return function(*arguments)

        return call

    @property
    def seconds(self) -> dict[str, float]:
        """What was counted so far."""
        with self._lock:
            return dict(self._seconds)


@dataclasses.dataclass
class _Slot:
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    program: Any = None


class KeptPrograms:
    """The compiled programs that were asked for last, by what they depend on."""

    def __init__(self, most: int):
        self._most = most
        self._slots: collections.OrderedDict[Hashable, _Slot] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compile: Callable[[], Any]) -> Any:
        """The program of a key; whichever thread comes first compiles it, and others wait."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            if len(self._slots) > self._most:
                self._slots.popitem(last=False)
        with slot.lock:
            if slot.program is None:
                slot.program = compile()
            return slot.program

    def __len__(self) -> int:
        return len(self._slots)


_KEPT = KeptPrograms(MOST_KEPT)


class Program:
    """A function compiled once for each shape of its arguments, for all threads.

    `identity` says what the function depends on beside its arguments: programs of equal functions
    are shared, also by later trainings. Without it they are the caller's own.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        phase: str,
        *,
        profile: Profile,
        identity: Hashable | None = None,
        donate_argnums: tuple[int, ...] = (),
    ):
        self._function = jax.jit(function, donate_argnums=donate_argnums)
        self._phase = phase
        self._profile = profile
        self._identity = identity
        self._kept = KeptPrograms(MOST_KEPT) if identity is None else _KEPT
        # Held here as well, so that a training never loses a program that it uses.
        self._compiled: dict[Hashable, Any] = {}

    def prepare(self, *arguments: Any) -> Any:
        """The program for the shapes of these arguments, compiled unless that has been done."""
        leaves, structure = jax.tree.flatten(arguments)
        shapes = structure, tuple(map(_describe, leaves))
        if shapes not in self._compiled:
            key = self._identity, self._phase, shapes
            self._compiled[shapes] = self._kept.get(key, lambda: self._compile(arguments))
        return self._compiled[shapes]

    def __call__(self, *arguments: Any) -> Any:
        run = self.prepare(*arguments)
        with self._profile.measure(self._phase):
            return jax.block_until_ready(run(*arguments))

    def _compile(self, arguments: tuple[Any, ...]) -> Any:
        with self._profile.measure("compile"):
            return self._function.lower(*arguments).compile()


def _describe(leaf: Any) -> tuple[tuple[int, ...], Any, bool]:
    """Shape and type, also of the plain numbers that a user's parameters may hold."""
    return np.shape(leaf), getattr(leaf, "dtype", type(leaf)), getattr(leaf, "weak_type", False)
