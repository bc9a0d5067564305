"""Sequences cut into stretches that are replayed side by side.

A stretch opens with an episode, whose state depends on nothing before it, so stretches need not
wait for each other: a few long loops become shorter ones over more rows.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

# Room for stretches that end before their length is used up, as episodes do not end in time.
ROOM = 1.25


class Packing(NamedTuple):
    """When stretches start in each environment, and in which of them each step is.

    The first starts with the rollout. Stretches that are not needed start behind its end.
    """

    start: Int[Array, "stretches envs"]
    stretch: Int[Array, "time envs"]

    def select(self, members: Int[Array, " members"]) -> "Packing":
        """The stretches of some environments."""
        return Packing(self.start[:, members], self.stretch[:, members])

    def pack(
        self, series: Shaped[Array, "time all *shape"], envs: Int[Array, " envs"], length: int
    ) -> Shaped[Array, "length stretches envs *shape"]:
        """Lay the series of some of all environments into stretches of a length.

        What follows the end of a stretch is not blanked: it is whatever follows in the series.
        """
        time = jnp.arange(length)[:, None, None] + self.start[None]
        return series[jnp.minimum(time, len(series) - 1), envs[None, None]]

    def unpack(
        self, packed: Shaped[Array, "length stretches envs *shape"]
    ) -> Shaped[Array, "time envs *shape"]:
        """The series whose stretches these are."""
        return _unpack(packed, self)


@jax.custom_vjp
def _unpack(packed: Array, packing: Packing) -> Array:
    num_steps, num_envs = packing.stretch.shape
    env = jnp.arange(num_envs)[None]
    time = jnp.arange(num_steps)[:, None] - packing.start[packing.stretch, env]
    return packed[time, packing.stretch, env]


def _unpack_forward(packed: Array, packing: Packing) -> tuple[Array, tuple[Packing, int]]:
    return _unpack(packed, packing), (packing, len(packed))


def _unpack_backward(known: tuple[Packing, int], change: Array) -> tuple[Array, None]:
    """Pack again, and blank what follows the stretches: JAX would scatter, which is slow."""
    packing, length = known
    num_steps, num_envs = packing.stretch.shape
    end = jnp.concatenate([packing.start[1:], jnp.full((1, num_envs), num_steps, jnp.int32)])
    within = jnp.arange(length)[:, None, None] + packing.start[None] < end[None]
    packed = packing.pack(change, jnp.arange(num_envs), length)
    return jnp.where(within.reshape(*within.shape, *[1] * (change.ndim - 2)), packed, 0), None


_unpack.defvjp(_unpack_forward, _unpack_backward)


def cut(first: np.ndarray, length: int) -> Packing | None:
    """Cut sequences into stretches no longer than `length`; None if there is no room for them."""
    num_steps, num_envs = first.shape
    time = np.arange(num_steps + 1)[:, None]
    opens = np.concatenate([first, np.ones((1, num_envs), bool)])
    last_opening = np.maximum.accumulate(np.where(opens, time, 0))
    starts = [np.zeros(num_envs, int)]
    for _ in range(_count_stretches(num_steps, length)):
        latest = np.minimum(starts[-1] + length, num_steps)
        starts.append(last_opening[latest, np.arange(num_envs)])
    if np.any(starts[-1] < num_steps):
        return None
    start = np.stack(starts[:-1])
    stretch = np.sum(start[None] <= time[:-1, None], axis=1) - 1
    return Packing(*jax.device_put((start.astype(np.int32), stretch.astype(np.int32))))


def _count_stretches(num_steps: int, length: int) -> int:
    """How many stretches of a length there is room for."""
    return int(np.ceil(ROOM * num_steps / length))
