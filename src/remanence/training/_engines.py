"""Many seeds at once: how one seed's program is spread over cores or batched on an accelerator.

On a CPU, a batch of tiny networks is slower than each core working through seeds of
its own with one shared compiled program (`benchmarks/seed_batching.py`); on an accelerator all
seeds are one batch, and on several each has a batch of its own.
"""

import abc
import functools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from remanence.errors import InvalidOptionError
from remanence.training._identity import identify
from remanence.training._iteration import Iteration, make_iteration
from remanence.training._learner import Learner, LearnerState
from remanence.training._programs import Profile, Program

BATCHINGS = ("auto", "cores", "vmap", "devices")
# The variable by which XLA is told how many cores it has, whatever there are.
GIVEN_CORES = "NPROC"

Metrics = dict[str, np.ndarray]


class AbstractEngine(abc.ABC):
    """Keeps the states of all seeds and moves them one iteration on at a time."""

    profile: Profile

    @abc.abstractmethod
    def begin(self, seeds: Sequence[int]) -> None:
        """Start every seed afresh."""

    @abc.abstractmethod
    def iterate(self) -> Metrics:
        """One iteration of every seed; metrics have one entry for each."""

    @abc.abstractmethod
    def get_states(self) -> LearnerState:
        """The states of all seeds, stacked."""

    @abc.abstractmethod
    def set_states(self, states: LearnerState) -> None:
        """Go on from stacked states."""


class CoresEngine(AbstractEngine):
    """Programs for one seed, each compiled once and called from a thread for each core.

    Every seed runs the same compiled code whatever the number of seeds, so its results are the
    same to the bit alone and among others.
    """

    def __init__(
        self,
        learner: Learner,
        params: Any,
        replay: str = "auto",
        num_threads: int | None = None,
    ):
        self.profile = Profile()
        parts = make_iteration(learner, replay)
        make = functools.partial(
            Program, profile=self.profile, identity=identify(learner, "cores", replay)
        )
        self._begin = make(learner.begin, "begin")
        self._play = make(parts.play, "play", donate_argnums=(0,))
        self._iteration = Iteration(
            play=self._play,
            plan=self.profile.measured(parts.plan, "plan"),
            judge=make(parts.judge, "judge", donate_argnums=(0,)),
            improve_policy=make(parts.improve_policy, "policy", donate_argnums=(0,)),
            improve_value=make(parts.improve_value, "value", donate_argnums=(0,)),
        )
        self._params = params
        self._states: list[LearnerState] = []
        self._pool = ThreadPoolExecutor(max_workers=num_threads or count_cores())

    def begin(self, seeds: Sequence[int]) -> None:
        self._states = [self._begin(jnp.int32(seed), self._params) for seed in seeds]

    def iterate(self) -> Metrics:
        # Here and not in a thread, where JAX would not know what the caller has set for itself
        # (`jax.numpy_dtype_promotion`, say), which a user's environment may depend on.
        self._play.prepare(self._states[0], self._params)
        done = list(self._pool.map(self._iterate_one, self._states))
        self._states = [state for state, _ in done]
        return {name: np.array([metrics[name] for _, metrics in done]) for name in done[0][1]}

    def get_states(self) -> LearnerState:
        return jax.tree.map(lambda *leaves: _stack(leaves), *self._states)

    def set_states(self, states: LearnerState) -> None:
        count = len(jax.tree.leaves(states)[0])
        self._states = [jax.tree.map(lambda leaf, i=i: _put(leaf[i]), states) for i in range(count)]

    def _iterate_one(self, state: LearnerState) -> tuple[LearnerState, Metrics]:
        state, metrics = self._iteration.run(state, self._params)
        return state, jax.tree.map(np.asarray, metrics)


class VmapEngine(AbstractEngine):
    """All seeds as one batch of one program, on a device or where JAX puts it."""

    def __init__(self, learner: Learner, params: Any, device: Any = None):
        self.profile = Profile()
        begin = jax.vmap(learner.begin, in_axes=(0, None))
        iterate = jax.vmap(make_iteration(learner).run, in_axes=(0, None))
        identity = identify(learner, "vmap", str(device))
        make = functools.partial(Program, profile=self.profile, identity=identity)
        self._begin = make(begin, "begin")
        self._iterate = make(iterate, "iterate", donate_argnums=(0,))
        self._device = device
        self._params = self._place(params)
        self._states: LearnerState | None = None

    def begin(self, seeds: Sequence[int]) -> None:
        self._states = self._begin(self._place(jnp.array(seeds, jnp.int32)), self._params)

    def prepare(self) -> None:
        """Compile what `iterate` calls."""
        self._iterate.prepare(self._states, self._params)

    def iterate(self) -> Metrics:
        self._states, metrics = self._iterate(self._states, self._params)
        return jax.tree.map(np.asarray, metrics)

    def get_states(self) -> LearnerState:
        assert self._states is not None
        return self._states

    def set_states(self, states: LearnerState) -> None:
        self._states = self._place(jax.tree.map(_put, states))

    def _place(self, tree: Any) -> Any:
        return tree if self._device is None else jax.device_put(tree, self._device)


class DevicesEngine(AbstractEngine):
    """A batch of seeds on each of this process's devices, none of which waits for another."""

    def __init__(self, learner: Learner, params: Any):
        self._engines = [VmapEngine(learner, params, device) for device in jax.local_devices()]
        self.profile = self._engines[0].profile
        self._busy: list[VmapEngine] = []
        self._pool = ThreadPoolExecutor(max_workers=len(self._engines))

    def begin(self, seeds: Sequence[int]) -> None:
        batches = self._split(len(seeds))
        for engine, batch in zip(self._busy, batches, strict=True):
            engine.begin([seeds[i] for i in batch])

    def iterate(self) -> Metrics:
        for engine in self._busy:
            engine.prepare()  # here and not in a thread, as above
        found = list(self._pool.map(lambda engine: engine.iterate(), self._busy))
        return {name: np.concatenate([metrics[name] for metrics in found]) for name in found[0]}

    def get_states(self) -> LearnerState:
        states = [engine.get_states() for engine in self._busy]
        return jax.tree.map(lambda *leaves: jax.device_put(np.concatenate(leaves)), *states)

    def set_states(self, states: LearnerState) -> None:
        batches = self._split(len(jax.tree.leaves(states)[0]))
        for engine, batch in zip(self._busy, batches, strict=True):
            engine.set_states(jax.tree.map(lambda leaf, batch=batch: leaf[batch], states))

    def _split(self, num_seeds: int) -> list[np.ndarray]:
        """Which seeds each device has; devices beyond the number of seeds have nothing to do."""
        self._busy = self._engines[:num_seeds]
        return np.array_split(np.arange(num_seeds), len(self._busy))


def _stack(leaves: Sequence[jax.Array]) -> jax.Array:
    """Arrays as one, by way of the host, where nothing is compiled for each shape of them."""
    if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(leaves)
    return jax.device_put(np.stack(leaves))


def _put(leaf: Any) -> jax.Array:
    """A copy on the device, which a program may overwrite."""
    return jax.device_put(leaf, may_alias=False)


ENGINES = {"cores": CoresEngine, "vmap": VmapEngine, "devices": DevicesEngine}


def choose_batching(batching: str) -> str:
    """Resolve "auto" by JAX's default backend and how many devices of it there are."""
    if batching not in BATCHINGS:
        raise InvalidOptionError("batching", batching, f"use one of {', '.join(BATCHINGS)}")
    if batching != "auto":
        return batching
    if jax.default_backend() == "cpu":
        return "cores"
    return "devices" if jax.local_device_count() > 1 else "vmap"


def make_engine(learner: Learner, params: Any, batching: str) -> AbstractEngine:
    """The engine of that name."""
    return ENGINES[choose_batching(batching)](learner, params)


def count_cores() -> int:
    """The cores that this process may use, which a scheduler may have made fewer than there are.

    >>> from remanence import training
    >>> training.count_cores() >= 1
    True
    """
    all_cores = os.cpu_count() or 1
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else all_cores
    # Slurm does not bind a job to its cores everywhere, and then only says how many it has.
    given = [os.environ.get(name, "") for name in ("SLURM_CPUS_PER_TASK", GIVEN_CORES)]
    return max(1, min([found, *(int(number) for number in given if number.isdecimal())]))
