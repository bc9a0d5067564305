"""Compiled programs that threads share, and where the time of a training goes."""

import collections
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np


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

    @property
    def seconds(self) -> dict[str, float]:
        """What was counted so far."""
        with self._lock:
            return dict(self._seconds)


class Program:
    """A function compiled once for each shape of its arguments, whichever thread comes first."""

    def __init__(
        self,
        function: Callable[..., Any],
        phase: str,
        profile: Profile,
        donate_argnums: tuple[int, ...] = (),
    ):
        self._function = jax.jit(function, donate_argnums=donate_argnums)
        self._phase = phase
        self._profile = profile
        self._compiled: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def prepare(self, *arguments: Any) -> Any:
        """Compile for the shapes of these arguments, unless that has been done."""
        leaves, structure = jax.tree.flatten(arguments)
        shapes = structure, tuple(map(_describe, leaves))
        return self._compiled.get(shapes) or self._compile(shapes, arguments)

    def __call__(self, *arguments: Any) -> Any:
        run = self.prepare(*arguments)
        with self._profile.measure(self._phase):
            return jax.block_until_ready(run(*arguments))

    def _compile(self, shapes: Any, arguments: tuple[Any, ...]) -> Any:
        with self._lock:
            if shapes not in self._compiled:
                with self._profile.measure("compile"):
                    self._compiled[shapes] = self._function.lower(*arguments).compile()
            return self._compiled[shapes]


def _describe(leaf: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type, also of the plain numbers that a user's parameters may hold."""
    return np.shape(leaf), getattr(leaf, "dtype", type(leaf))
