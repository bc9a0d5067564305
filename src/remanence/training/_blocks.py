"""Arrays over the nodes of a history tree, a block or a chunk at a time.

Loops run over as many blocks as a tree has: one compiled program serves every tree that its arrays
have room for.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from remanence.training._histories import BLOCK_SIZE, CHUNK_SIZE, HistoryTree

BlockNumber = Int[Array, ""] | int
# States, or what they do to a loss: of the roots, then of the nodes, as `tree.parent_row` points.
StateTable = Float[Array, "rows state"]


def loop_over_blocks(
    tree: HistoryTree,
    read: Callable[[Any], Any],
    work: Callable[[Any, Any, Any], Any],
    start: Any,
) -> Any:
    """Loop over blocks: `work` gets a block's number, what `read` gave for it, and the carry.

    What a block reads is sliced out one turn ahead: fused with the slicing, XLA's CPU backend does
    not vectorise the arithmetic.
    """

    def visit(block: Int[Array, ""], carry: tuple[Any, Any]) -> tuple[Any, Any]:
        done, now = carry
        return work(block, now, done), read(block + 1)

    num_blocks = -(-tree.num_nodes // BLOCK_SIZE)
    return jax.lax.fori_loop(0, num_blocks, visit, (start, read(0)))[0]


def compute_by_blocks(
    tree: HistoryTree, read: Callable[[Any], Any], function: Callable[[Any], Any], axis: int = -1
) -> Any:
    """The values of a function of what blocks read, with nodes along an axis."""

    def write_block(block: Int[Array, ""], now: Any, filled: Any) -> Any:
        return jax.tree.map(
            lambda leaf, part: jax.lax.dynamic_update_slice_in_dim(
                leaf, part, block * BLOCK_SIZE, axis
            ),
            filled,
            function(now),
        )

    def make_room(leaf: jax.ShapeDtypeStruct) -> Array:
        shape = list(leaf.shape)
        shape[axis] = len(tree.parent_row)
        return jnp.zeros(shape, leaf.dtype)

    blank = jax.tree.map(make_room, jax.eval_shape(function, read(0)))
    return loop_over_blocks(tree, read, write_block, blank)


def vmap_nodes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one node, for many: nodes are last, so that they are contiguous."""
    return jax.vmap(function, in_axes=-1, out_axes=-1)


def slice_nodes(series: Any, start: BlockNumber, width: int = CHUNK_SIZE, axis: int = -1) -> Any:
    """Some nodes of arrays with nodes last, or along another axis; by default a chunk of them."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, width, axis), series)


def slice_block(series: Any, block: BlockNumber, axis: int = -1) -> Any:
    """A block of arrays with nodes last, or along another axis."""
    return slice_nodes(series, jnp.asarray(block) * BLOCK_SIZE, BLOCK_SIZE, axis)


def find_first_row(tree: HistoryTree, block: BlockNumber) -> Int[Array, ""]:
    """Where the nodes of a block begin in a table."""
    return tree.num_roots + jnp.asarray(block) * BLOCK_SIZE


def turn(rows: Float[Array, "_ _"], axis: int) -> Float[Array, "_ _"]:
    """Rows of a table with nodes along an axis, or the other way round."""
    return rows if axis == 0 else rows.T


def read_rows(
    table: StateTable, tree: HistoryTree, block: BlockNumber, axis: int
) -> Float[Array, "_ _"]:
    """What a table says of a block's nodes, with nodes along an axis."""
    rows = jax.lax.dynamic_slice_in_dim(table, find_first_row(tree, block), BLOCK_SIZE)
    return turn(rows, axis)


def write_rows(
    table: StateTable, tree: HistoryTree, block: BlockNumber, states: Float[Array, "_ _"], axis: int
) -> StateTable:
    """The table with other rows for a block's nodes, which are along an axis."""
    rows = turn(states, axis)
    return jax.lax.dynamic_update_slice_in_dim(table, rows, find_first_row(tree, block), 0)
