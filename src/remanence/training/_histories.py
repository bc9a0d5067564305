"""The prefix tree of observation histories in a rollout.

A cell's state depends only on what was observed since the episode's start, and in a maze most of
what is observed has been observed before. A node of the tree is a history; its parent is the
history one step shorter; roots are episode starts and the states carried into the rollout.

Histories are hashed on the device (`hash_histories`), grouped (`group_histories`) and laid out as a
tree (`build_tree`) on the host, and the tree is cut down to a minibatch on the device again
(`prune_tree`).

An example: two environments, five steps. A cue (u) opens an episode, which is what the brackets
say; a corridor (-) and a junction (J) follow. At first, environment 0 is in the middle of one.

    time              0    1    2    3    4
    environment 0     -    J   [u    -    J
    environment 1    [u    -    -   [u    -

These ten steps have six histories. States are kept in a table: row 0 is the state that opens an
episode, rows 1 and 2 are those carried into environments 0 and 1, and then come the nodes.

    node    history              its row    its parent's row    level
    0       carried, -           3          1                   0
    1       u                    4          0                   0
    2       carried, -, J        5          3                   1
    3       u, -                 6          4                   1
    4       u, -, J              7          6                   2
    5       u, -, -              8          6                   2

Every node needs the state of its parent alone, so a level is computed at once, after the one before
it. Here each level is one chunk; wider levels are several.

    >>> seen = np.array([list("-Ju-J"), list("u--u-")]).T
    >>> observation = np.vectorize(ord)(seen)[..., None].astype(np.float32)
    >>> first = np.array([[0, 0, 1, 0, 0], [1, 0, 0, 1, 0]], bool).T
    >>> carried = np.array([[0.5], [0.25]], np.float32)
    >>> hashes = hash_histories(*map(jnp.asarray, (observation, first, carried)))
    >>> histories = group_histories(np.asarray(hashes), observation, first, carried)
    >>> tree, visits = build_tree(histories, observation, capacity=512)
    >>> int(tree.num_nodes)
    6
    >>> print(visits.node)  # of the steps of environment 0, and of those of environment 1
    [[0 2 1 3 4]
     [1 3 5 1 3]]
    >>> print(tree.parent_row[:6])
    [1 0 3 4 6 6]
    >>> print(tree.chunk_start[:3], tree.chunk_size[:3])
    [0 2 4] [2 2 2]

A minibatch of environment 1 alone comes through nodes 1, 3 and 5, which become 0, 1 and 2:

    >>> pruned, new_of_old, old_of_new = prune_tree(tree, visits.find_visited(jnp.array([1])))
    >>> print(old_of_new[:3], pruned.parent_row[:3])
    [1 3 5] [0 3 4]
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

# How many nodes run at once. Where a chunk has fewer, some of the next level run too, too early
# and for nothing.
CHUNK_SIZE = 32
# How many nodes are worked on at once by what need not go level by level.
BLOCK_SIZE = 256
WORD_BITS = 32

Words = UInt32[Array, "*shape"]
HashPair = UInt32[Array, "2 envs"]


class HistoryTree(eqx.Module):
    """Nodes level by level, cut into chunks of at most `CHUNK_SIZE` that never span two levels.

    States are kept in one table: first that which opens an episode, then those carried into the
    rollout, one for each environment, then those of the nodes. `parent_row` is the row of the state
    before a node's observation. A chunk has `chunk_size` nodes from `chunk_start` on. Nodes beyond
    the tree's own repeat the first, at least a block of them; chunks beyond are blank.
    """

    observation: Float[Array, "observation nodes"]
    parent_row: Int[Array, " nodes"]
    chunk_start: Int[Array, " chunks"]
    chunk_size: Int[Array, " chunks"]
    num_nodes: Int[Array, ""]
    num_chunks: Int[Array, ""]
    # How many states precede those of the nodes.
    num_roots: int = eqx.field(static=True)


class Visits(NamedTuple):
    """The node of every step, and which environments come through a node at all.

    The latter as bits of words, environment e being bit e % 32 of word e // 32.
    """

    node: Int[Array, "envs time"]
    visitors: UInt32[Array, "words nodes"]

    def find_visited(self, members: Int[Array, " members"]) -> Bool[Array, " nodes"]:
        """The nodes that some environments come through."""
        chosen = jnp.zeros(WORD_BITS * len(self.visitors), jnp.uint32).at[members].set(1)
        bits = chosen.reshape(-1, WORD_BITS) << jnp.arange(WORD_BITS, dtype=jnp.uint32)[None]
        words = jnp.sum(bits, axis=1, keepdims=True, dtype=jnp.uint32)
        return jnp.any((self.visitors & words) != 0, axis=0)


@dataclasses.dataclass(frozen=True)
class Histories:
    """Which steps of a rollout share their history, on the host.

    `of_step` has the number of each step's history, (time, envs). The others have an entry for each
    history: the flat index of one of its steps; how many steps precede it since its root; and what
    it follows, 0 for the start of an episode, e + 1 for the state carried into environment e, and
    from there on histories.
    """

    of_step: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    example_step: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)

    def count_met(self, num_envs: int) -> int:
        """How many of them the first environments come through."""
        met = np.zeros(len(self), bool)
        met[self.of_step[:, :num_envs]] = True
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
        start, _ = jax.lax.scan(
            lambda pair, word: (_mix_word(pair, word), None), start, _as_words(states)
        )

    def advance(
        pair: HashPair, now: tuple[Words, Bool[Array, " envs"]]
    ) -> tuple[HashPair, HashPair]:
        bits, first = now
        pair = functools.reduce(_mix_word, bits, jnp.where(first[None], fresh, pair))
        return pair, pair

    _, words = jax.lax.scan(advance, start, (_as_words(observation), first))
    return jnp.moveaxis(words, 1, 0)


def group_histories(
    words: np.ndarray, observation: np.ndarray, first: np.ndarray, *carried: np.ndarray
) -> Histories | None:
    """Group steps by history; None if by accident two histories have the same words."""
    key = (words[0].astype(np.uint64) << np.uint64(32) | words[1]).ravel()
    history, example = _group_equal(key)
    num_steps, num_envs = first.shape
    before = np.empty((num_steps, num_envs), np.int32)
    before[0] = 1 + _find_first_equal(carried)
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


def build_tree(
    histories: Histories, observation: np.ndarray, capacity: int
) -> tuple[HistoryTree, Visits]:
    """The tree of some histories, in arrays with room for `capacity` nodes, a block more at least.

    Blank nodes repeat the first, so that they are numbers wherever that is.
    """
    assert capacity >= len(histories) + BLOCK_SIZE
    num_steps, num_envs = observation.shape[:2]
    order = np.argsort(histories.depth, kind="stable")
    node_of_history = np.empty(len(order), np.int32)
    node_of_history[order] = np.arange(len(order), dtype=np.int32)
    num_roots = 1 + num_envs
    row_of_parent = np.concatenate(
        [np.arange(num_roots, dtype=np.int32), node_of_history + num_roots]
    )
    chunk_start, chunk_size = _split_levels(np.bincount(histories.depth))
    observed = observation.reshape(num_steps * num_envs, -1)[histories.example_step[order]]
    parent_row = row_of_parent[histories.parent[order]]
    node = np.ascontiguousarray(node_of_history[histories.of_step].T)
    visited = np.zeros((num_envs, capacity), bool)
    visited[np.arange(num_envs)[:, None], node] = True
    arrays = {
        "observation": np.ascontiguousarray(_pad(observed, capacity, observed[0]).T),
        "parent_row": _pad(parent_row, capacity, parent_row[0]),
        "chunk_start": _pad(chunk_start, capacity, 0),
        "chunk_size": _pad(chunk_size, capacity, 0),
        "num_nodes": np.int32(len(order)),
        "num_chunks": np.int32(len(chunk_start)),
    }
    arrays, *visits = jax.device_put((arrays, node, _pack_rows(visited)))
    return HistoryTree(**arrays, num_roots=num_roots), Visits(*visits)


def prune_tree(
    tree: HistoryTree, visited: Bool[Array, " nodes"]
) -> tuple[HistoryTree, Int[Array, " nodes"], Int[Array, " nodes"]]:
    """The tree of some nodes and all their ancestors, on the device.

    Also the new number of each old node, and the old number of each new one. Chunks stay as they
    were but for the nodes they lose, perhaps all.
    """
    num_before = jnp.cumulative_sum(visited, include_initial=True, dtype=jnp.int32)
    new_of_old, num_nodes = num_before[:-1], num_before[-1]
    numbers = jnp.arange(len(new_of_old), dtype=jnp.int32)
    target = jnp.where(visited, new_of_old, len(new_of_old))
    old_of_new = jnp.zeros_like(new_of_old).at[target].set(numbers, mode="drop")
    old_of_new = jnp.where(numbers < num_nodes, old_of_new, old_of_new[0])
    roots = jnp.arange(tree.num_roots, dtype=jnp.int32)
    new_row = jnp.concatenate([roots, new_of_old + tree.num_roots])
    chunk_start = new_of_old[tree.chunk_start]
    chunk_size = num_before[tree.chunk_start + tree.chunk_size] - chunk_start
    pruned = HistoryTree(
        observation=tree.observation[:, old_of_new],
        parent_row=new_row[tree.parent_row[old_of_new]],
        chunk_start=chunk_start,
        chunk_size=chunk_size,
        num_nodes=num_nodes,
        num_chunks=jnp.max(jnp.where(chunk_size > 0, numbers + 1, 0)),
        num_roots=tree.num_roots,
    )
    return pruned, new_of_old, old_of_new


def count_chunks(histories: Histories) -> int:
    """How many chunks the tree of some histories is cut into."""
    return len(_split_levels(np.bincount(histories.depth))[0])


def _split_levels(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where chunks start, and how many nodes of their level they have."""
    num_chunks = -(-sizes // CHUNK_SIZE)
    ends = np.repeat(np.cumsum(sizes), num_chunks)
    number = np.arange(len(ends)) - np.repeat(np.cumsum(num_chunks) - num_chunks, num_chunks)
    start = ends - np.repeat(sizes, num_chunks) + number * CHUNK_SIZE
    return start.astype(np.int32), np.minimum(CHUNK_SIZE, ends - start).astype(np.int32)


def _pack_rows(flags: np.ndarray) -> np.ndarray:
    """Rows of flags as rows of words, the first of every 32 being the lowest bit."""
    num_words = -(-len(flags) // WORD_BITS)
    octets = np.packbits(_pad(flags, WORD_BITS * num_words, False), axis=0, bitorder="little")
    parts = octets.reshape(num_words, -1, flags.shape[1]).astype(np.uint32)
    shifts = np.arange(0, WORD_BITS, 8, dtype=np.uint32)
    return np.bitwise_or.reduce(parts << shifts[:, None], axis=1)


def _pad(rows: np.ndarray, count: int, blank: Any) -> np.ndarray:
    padded = np.empty((count, *rows.shape[1:]), rows.dtype)
    padded[len(rows) :] = blank
    padded[: len(rows)] = rows
    return padded


def _mix_word(pair: HashPair, word: Words) -> HashPair:
    """Take one more word into two running hashes, in the manner of MurmurHash3 (Appleby 2011)."""
    factors = jnp.array([[0xCC9E2D51], [0x1B873593]], jnp.uint32)
    pair = (pair ^ (word[None] * factors)) * jnp.uint32(0x85EBCA6B)
    return pair ^ (pair >> 15)


def _as_words(values: Float[Array, "*time envs size"]) -> UInt32[Array, "*time size envs"]:
    words = jax.lax.bitcast_convert_type(values.astype(jnp.float32), jnp.uint32)
    return jnp.moveaxis(words, -1, -2)


def _group_equal(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each key the number of its group, and one member of each group.

    Most keys are there many times, and are looked up among the few that are distinct: sorting the
    places of all of them takes four times as long.
    """
    distinct = np.unique(key)
    group = np.searchsorted(distinct, key).astype(np.int32)
    member = np.empty(len(distinct), np.int64)
    member[group] = np.arange(len(key))
    return group, member


def _find_first_equal(carried: tuple[np.ndarray, ...]) -> np.ndarray:
    """For each environment the first one whose carried states are the same to the bit."""
    rows = [b"".join(row.tobytes() for row in states) for states in zip(*carried, strict=True)]
    first_seen: dict[bytes, int] = {}
    return np.array([first_seen.setdefault(row, env) for env, row in enumerate(rows)], np.int32)
