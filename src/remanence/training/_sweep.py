"""A network over the nodes of a history tree, and gradients of sums over nodes.

Only the recurrence runs chunk by chunk, in the order of the tree and back; all else works on
blocks of nodes. Loops run over as many chunks and blocks as a tree has: one compiled program
serves every tree that its arrays have room for.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from remanence.networks import Network
from remanence.training._histories import HistoryTree

BLOCK = 256

Table = Float[Array, "rows state"]
# A sum over nodes to be differentiated, and further sums beside it, from outputs and data.
NodeLoss = Callable[[Float[Array, "block output"], Any], tuple[Float[Array, ""], Any]]


def run_tree(network: Network, tree: HistoryTree, carried: Float[Array, "envs state"]) -> Table:
    """The states of roots and nodes, as a table that `tree.parent` points into."""
    update = jax.vmap(network.cell.update, in_axes=-1, out_axes=-1)
    projected = _project(network, tree)
    roots = jnp.concatenate([network.initial_state()[None], carried])
    blank = jnp.zeros((tree.num_nodes, roots.shape[1]), roots.dtype)
    width = tree.parent.shape[1]

    def advance(chunk: Int[Array, ""], carry: tuple[Table, Any]) -> tuple[Table, Any]:
        table, now = carry
        states = update(now, table[tree.parent[chunk]].T)
        place = tree.num_roots + chunk * width
        table = jax.lax.dynamic_update_slice_in_dim(table, states.T, place, 0)
        return table, _take(projected, chunk + 1)

    # What a chunk reads is sliced out one turn ahead: fused with the slicing, XLA's CPU backend
    # does not vectorise the arithmetic.
    start = (jnp.concatenate([roots, blank]), _take(projected, 0))
    table, _ = jax.lax.fori_loop(0, tree.num_chunks, advance, start)
    return table


def differentiate(
    network: Network,
    tree: HistoryTree,
    carried: Float[Array, "envs state"],
    loss: NodeLoss,
    data: Any,
) -> tuple[Any, tuple[Float[Array, ""], Any]]:
    """The gradient of a sum over nodes with respect to the network, and the sums themselves.

    `data` has a row for each node.
    """
    weights, fixed = eqx.partition(network, eqx.is_inexact_array)
    table = run_tree(network, tree, carried)
    num_blocks = -(-tree.num_chunks * tree.parent.shape[1] // BLOCK)

    def decode(weights: Any, states: Table, observation: Array, data: Any) -> Any:
        network = eqx.combine(weights, fixed)
        features = jax.vmap(network.encode)(observation)
        return loss(jax.vmap(network.decode)(features, states), data)

    def visit(block: Int[Array, ""], carry: Any) -> Any:
        total, cotangent = carry
        place = tree.num_roots + block * BLOCK
        states = jax.lax.dynamic_slice_in_dim(table, place, BLOCK)
        sums, (gradient, change) = jax.value_and_grad(decode, argnums=(0, 1), has_aux=True)(
            weights, states, *_cut((tree.observation, data), block)
        )
        cotangent = jax.lax.dynamic_update_slice_in_dim(cotangent, change, place, 0)
        return _add(total, (gradient, sums)), cotangent

    def follow(weights: Any, parents: Table, observation: Array) -> Table:
        network = eqx.combine(weights, fixed)
        return jax.vmap(lambda o, s: network.cell.step(network.encode(o), s))(observation, parents)

    def gather(block: Int[Array, ""], gradient: Any) -> Any:
        observation, parent = _cut((tree.observation, tree.parent.ravel()), block)
        change = jax.lax.dynamic_slice_in_dim(cotangent, tree.num_roots + block * BLOCK, BLOCK)
        _, pull = jax.vjp(lambda weights: follow(weights, table[parent], observation), weights)
        return _add(gradient, pull(change)[0])

    first = _cut((tree.observation, data), 0)
    shapes = jax.eval_shape(decode, weights, table[:BLOCK], *first)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (weights, shapes))
    start = (nothing, jnp.zeros_like(table))
    (gradient, sums), cotangent = jax.lax.fori_loop(0, num_blocks, visit, start)
    cotangent = _pull_back(network, tree, table, cotangent)
    return jax.lax.fori_loop(0, num_blocks, gather, gradient), sums


def _pull_back(network: Network, tree: HistoryTree, table: Table, cotangent: Table) -> Table:
    """From what each state does to the loss at its own node, what it does at all that follow."""
    update = jax.vmap(network.cell.update, in_axes=-1, out_axes=-1)
    projected = _project(network, tree)
    width = tree.parent.shape[1]

    def look(chunk: Int[Array, ""]) -> Any:
        return _take(projected, chunk), table[tree.parent[chunk]].T

    def retreat(turn: Int[Array, ""], carry: tuple[Table, Any]) -> tuple[Table, Any]:
        cotangent, (now, parents) = carry
        chunk = tree.num_chunks - 1 - turn
        change = jax.lax.dynamic_slice_in_dim(cotangent, tree.num_roots + chunk * width, width)
        _, pull = jax.vjp(lambda parents: update(now, parents), parents)
        cotangent = cotangent.at[tree.parent[chunk]].add(pull(change.T)[0].T)
        return cotangent, look(chunk - 1)

    start = (cotangent, look(tree.num_chunks - 1))
    return jax.lax.fori_loop(0, tree.num_chunks, retreat, start)[0]


def _project(network: Network, tree: HistoryTree) -> Any:
    """What the cell sees of every node's observation: chunks first, nodes of a chunk last."""
    cell = network.cell
    rows = jax.vmap(lambda observation: cell.project(network.encode(observation)))(tree.observation)
    return jax.tree.map(
        lambda leaf: jnp.moveaxis(leaf.reshape(*tree.parent.shape, *leaf.shape[1:]), 1, -1), rows
    )


def _take(series: Any, index: Int[Array, ""] | int) -> Any:
    """One entry; the nearest where there is none of that number."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, index, 0, False), series)


def _cut(series: Any, block: Int[Array, ""] | int) -> Any:
    start = jnp.asarray(block) * BLOCK
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, BLOCK), series)


def _add(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)
