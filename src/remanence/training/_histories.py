"""The prefix tree of observation histories in a rollout.

A cell's state depends only on what was observed since the episode's start, and in a maze most of
what is observed has been observed before. A node of the tree is a history; its parent is the
history one step shorter; roots are episode starts and the states carried into the rollout.

Histories are hashed on the device, and grouped and laid out on the host.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

# How many nodes run at once. What a chunk leaves over of it runs nodes of the next level, too early
# and for nothing.
WIDTH = 32
# How many nodes are worked on at once by what need not go level by level.
BLOCK = 256

Words = UInt32[Array, "*shape"]
Pair = UInt32[Array, "2 envs"]


class HistoryTree(eqx.Module):
    """Nodes level by level, cut into chunks of at most `WIDTH` that never span two levels.

    States are kept in one table: first that which opens an episode, then those carried into the
    rollout, one for each environment, then those of the nodes; `parent` points into it. A chunk
    has `size` nodes from `start` on. Nodes beyond the tree's own repeat the first, at least a block
    of them; chunks beyond are blank.
    """

    observation: Float[Array, "observation nodes"]
    parent: Int[Array, " nodes"]
    start: Int[Array, " chunks"]
    size: Int[Array, " chunks"]
    num_nodes: Int[Array, ""]
    num_chunks: Int[Array, ""]
    # How many states precede those of the nodes.
    num_roots: int = eqx.field(static=True)


class Visits(NamedTuple):
    """The node of every step, and which environments come through a node at all."""

    node: Int[Array, "envs time"]
    visited: Bool[Array, "envs nodes"]


@dataclasses.dataclass(frozen=True)
class Histories:
    """Which steps of a rollout share their history, on the host.

    A history is the observation of its step `example` (a flat index), after the history `parent`:
    0 for none, e + 1 for the state carried into environment e, and from there on histories.
    """

    history: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    example: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)

    def count(self, num_envs: int) -> int:
        """How many of them the first environments come through."""
        met = np.zeros(len(self), bool)
        met[self.history[:, :num_envs]] = True
        return int(met.sum())


def hash_histories(
    observation: Float[Array, "time envs observation"],
    first: Bool[Array, "time envs"],
    *carried: Float[Array, "envs _"],
) -> UInt32[Array, "2 time envs"]:
    """Two words for every step that are equal where histories are equal.

    The other way round it holds but for accidents, which `group_histories` finds.
    """
    seeds = jnp.array([0x9E3779B9, 0x7F4A7C15], jnp.uint32)[:, None]
    fresh = jnp.broadcast_to(seeds, (2, first.shape[1]))
    start = fresh + jnp.uint32(1)
    for states in carried:
        # A loop, as states may be hundreds of numbers wide; observations are few.
        start, _ = jax.lax.scan(lambda pair, word: (_mix(pair, word), None), start, _bits(states))

    def advance(pair: Pair, now: tuple[Words, Bool[Array, " envs"]]) -> tuple[Pair, Pair]:
        bits, first = now
        pair = functools.reduce(_mix, bits, jnp.where(first[None], fresh, pair))
        return pair, pair

    _, words = jax.lax.scan(advance, start, (_bits(observation), first))
    return jnp.moveaxis(words, 1, 0)


def group_histories(
    words: np.ndarray, observation: np.ndarray, first: np.ndarray, *carried: np.ndarray
) -> Histories | None:
    """Group steps by history; None if by accident two histories have the same words."""
    key = (words[0].astype(np.uint64) << np.uint64(32) | words[1]).ravel()
    history, example = _group_equal(key)
    num_steps, num_envs = first.shape
    before = np.empty((num_steps, num_envs), np.int32)
    before[0] = 1 + _find_twins(carried)
    before[1:] = history.reshape(before.shape)[:-1] + (1 + num_envs)
    before = np.where(first, 0, before).ravel()
    bits = observation.reshape(before.size, -1).view(np.uint8)
    # Equal words are only a guess. One parent and one observation for all steps of each history
    # prove it, by induction from the roots.
    if not np.array_equal(before, before[example][history]):
        return None
    if not np.array_equal(bits, bits[example][history]):
        return None
    time = np.arange(num_steps, dtype=np.int32)[:, None]
    depth = (time - np.maximum.accumulate(np.where(first, time, 0))).ravel()
    history = history.reshape(num_steps, num_envs)
    return Histories(history, before[example], depth[example], example)


def lay_out(
    histories: Histories, observation: np.ndarray, capacity: int
) -> tuple[HistoryTree, Visits]:
    """The tree of some histories, in arrays with room for `capacity` nodes, a block more at least.

    Blank nodes repeat the first, so that they are numbers wherever that is.
    """
    assert capacity >= len(histories) + BLOCK
    num_steps, num_envs = observation.shape[:2]
    order = np.argsort(histories.depth, kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    num_roots = 1 + num_envs
    to_row = np.concatenate([np.arange(num_roots, dtype=np.int32), place + num_roots])
    start, size = _cut_levels(np.bincount(histories.depth))
    observed = observation.reshape(num_steps * num_envs, -1)[histories.example[order]]
    parent = to_row[histories.parent[order]]
    node = np.ascontiguousarray(place[histories.history].T)
    visited = np.zeros((num_envs, capacity), bool)
    visited[np.arange(num_envs)[:, None], node] = True
    arrays = {
        "observation": np.ascontiguousarray(_pad(observed, capacity, observed[0]).T),
        "parent": _pad(parent, capacity, parent[0]),
        "start": _pad(start, capacity, 0),
        "size": _pad(size, capacity, 0),
        "num_nodes": np.int32(len(order)),
        "num_chunks": np.int32(len(start)),
    }
    arrays, *visits = jax.device_put((arrays, node, visited))
    return HistoryTree(**arrays, num_roots=num_roots), Visits(*visits)


def prune(
    tree: HistoryTree, visited: Bool[Array, " nodes"]
) -> tuple[HistoryTree, Int[Array, " nodes"], Int[Array, " nodes"]]:
    """The tree of some nodes and all their ancestors, on the device.

    Also where each node has gone, and where each has come from. Chunks stay as they were but for
    the nodes they lose, perhaps all.
    """
    before = jnp.cumulative_sum(visited, include_initial=True, dtype=jnp.int32)
    place, num_nodes = before[:-1], before[-1]
    numbers = jnp.arange(len(place), dtype=jnp.int32)
    target = jnp.where(visited, place, len(place))
    origin = jnp.zeros_like(place).at[target].set(numbers, mode="drop")
    origin = jnp.where(numbers < num_nodes, origin, origin[0])
    roots = jnp.arange(tree.num_roots, dtype=jnp.int32)
    to_row = jnp.concatenate([roots, place + tree.num_roots])
    start = place[tree.start]
    size = before[tree.start + tree.size] - start
    pruned = HistoryTree(
        observation=tree.observation[:, origin],
        parent=to_row[tree.parent[origin]],
        start=start,
        size=size,
        num_nodes=num_nodes,
        num_chunks=jnp.max(jnp.where(size > 0, numbers + 1, 0)),
        num_roots=tree.num_roots,
    )
    return pruned, place, origin


def count_chunks(histories: Histories) -> int:
    """How many chunks the tree of some histories is cut into."""
    return len(_cut_levels(np.bincount(histories.depth))[0])


def _cut_levels(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where chunks start, and how many nodes of their level they have."""
    num_chunks = -(-sizes // WIDTH)
    ends = np.repeat(np.cumsum(sizes), num_chunks)
    number = np.arange(len(ends)) - np.repeat(np.cumsum(num_chunks) - num_chunks, num_chunks)
    start = ends - np.repeat(sizes, num_chunks) + number * WIDTH
    return start.astype(np.int32), np.minimum(WIDTH, ends - start).astype(np.int32)


def _pad(rows: np.ndarray, count: int, blank: Any) -> np.ndarray:
    padded = np.empty((count, *rows.shape[1:]), rows.dtype)
    padded[len(rows) :] = blank
    padded[: len(rows)] = rows
    return padded


def _mix(pair: Pair, word: Words) -> Pair:
    """Take one more word into two running hashes, in the manner of MurmurHash3 (Appleby 2011)."""
    factors = jnp.array([[0xCC9E2D51], [0x1B873593]], jnp.uint32)
    pair = (pair ^ (word[None] * factors)) * jnp.uint32(0x85EBCA6B)
    return pair ^ (pair >> 15)


def _bits(values: Float[Array, "*time envs size"]) -> UInt32[Array, "*time size envs"]:
    words = jax.lax.bitcast_convert_type(values.astype(jnp.float32), jnp.uint32)
    return jnp.moveaxis(words, -1, -2)


def _group_equal(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each key the number of its group, and one member of each group."""
    order = np.argsort(key)
    ordered = key[order]
    opens = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    group = np.empty(len(key), np.int32)
    group[order] = np.cumsum(opens, dtype=np.int32) - 1
    return group, order[opens]


def _find_twins(carried: tuple[np.ndarray, ...]) -> np.ndarray:
    """For each environment the first one whose carried states are the same to the bit."""
    rows = [b"".join(row.tobytes() for row in states) for states in zip(*carried, strict=True)]
    first_seen: dict[bytes, int] = {}
    return np.array([first_seen.setdefault(row, env) for env, row in enumerate(rows)], np.int32)
