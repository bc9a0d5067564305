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
from remanence.training._histories import WIDTH, HistoryTree

BLOCK = 256
_LARGEST_JACOBIAN = 16

Table = Float[Array, "rows state"]
Pull = Callable[[Any, Float[Array, "state width"]], Float[Array, "state width"]]
# A sum over nodes to be differentiated, and further sums beside it, from outputs and data.
NodeLoss = Callable[[Float[Array, "block output"], Any], tuple[Float[Array, ""], Any]]


def run_tree(network: Network, tree: HistoryTree, carried: Float[Array, "envs state"]) -> Table:
    """The states of roots and nodes, as a table that `tree.parent` points into."""
    update = jax.vmap(network.cell.update, in_axes=-1, out_axes=-1)
    projected = _project(network, tree)
    roots = jnp.concatenate([network.initial_state()[None], carried])
    blank = jnp.zeros((len(tree.parent) + WIDTH, roots.shape[1]), roots.dtype)

    def advance(chunk: Int[Array, ""], carry: tuple[Table, Any]) -> tuple[Table, Any]:
        table, now = carry
        start = tree.start[chunk]
        parent = jax.lax.dynamic_slice_in_dim(tree.parent, start, WIDTH)
        states = update(now, table[parent].T).T
        # What is written beyond the chunk's own nodes, their own chunk writes anew.
        table = jax.lax.dynamic_update_slice_in_dim(table, states, tree.num_roots + start, 0)
        return table, _take(projected, tree.start[chunk + 1])

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
    num_blocks = _count_blocks(tree)

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
        observation, parent = _cut((tree.observation, tree.parent), block)
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
    pull, linear = _linearize(network, tree, table)
    lane = jnp.arange(WIDTH)

    def retreat(turn: Int[Array, ""], carry: tuple[Table, Any]) -> tuple[Table, Any]:
        cotangent, now = carry
        chunk = tree.num_chunks - 1 - turn
        start = tree.start[chunk]
        change = jax.lax.dynamic_slice_in_dim(cotangent, tree.num_roots + start, WIDTH)
        change = jnp.where(lane[:, None] < tree.size[chunk], change, 0)
        parent = jax.lax.dynamic_slice_in_dim(tree.parent, start, WIDTH)
        cotangent = cotangent.at[parent].add(pull(now, change.T).T)
        return cotangent, _take(linear, tree.start[jnp.maximum(chunk - 1, 0)])

    start = (cotangent, _take(linear, tree.start[tree.num_chunks - 1]))
    return jax.lax.fori_loop(0, tree.num_chunks, retreat, start)[0]


def _linearize(network: Network, tree: HistoryTree, table: Table) -> tuple[Pull, Any]:
    """How to pull a change of states back to their parents, and what that needs of each node."""
    projected = _project(network, tree)
    update = network.cell.update
    if _is_small(network, projected):
        # All Jacobians before the loop, so that next to nothing is left to do one after another.
        return _apply_jacobian, _differentiate_updates(network, tree, table, projected)

    def pull(now: Any, change: Float[Array, "state width"]) -> Float[Array, "state width"]:
        projected, parents = now
        _, pull = jax.vjp(lambda state: jax.vmap(update, -1, -1)(projected, state), parents)
        return pull(change)[0]

    return pull, (projected, _widen(table[tree.parent].T))


def _differentiate_updates(
    network: Network, tree: HistoryTree, table: Table, projected: Any
) -> Float[Array, "state state nodes"]:
    """The Jacobian of every node's state with respect to its parent's."""
    differentiate = jax.vmap(jax.jacfwd(network.cell.update, argnums=1), in_axes=-1, out_axes=-1)

    def fill(block: Int[Array, ""], jacobian: Array) -> Array:
        parents = table[_cut(tree.parent, block)].T
        ours = differentiate(_take(projected, block * BLOCK, BLOCK), parents)
        return jax.lax.dynamic_update_slice_in_dim(jacobian, ours, block * BLOCK, -1)

    size = table.shape[1]
    blank = jnp.zeros((size, size, len(tree.parent) + WIDTH), table.dtype)
    return jax.lax.fori_loop(0, _count_blocks(tree), fill, blank)


def _is_small(network: Network, projected: Any) -> bool:
    """Whether Jacobians are worth their room, and the cell has a derivative in forward mode."""
    state = network.initial_state()
    if len(state) > _LARGEST_JACOBIAN:
        return False
    try:
        one = jax.tree.map(lambda leaf: leaf[..., 0], projected)
        jax.eval_shape(jax.jacfwd(network.cell.update, argnums=1), one, state)
    except TypeError:  # a cell of the user's own, with a `custom_vjp` in it
        return False
    return True


def _apply_jacobian(
    jacobian: Float[Array, "state state width"], change: Float[Array, "state width"]
) -> Float[Array, "state width"]:
    """Written out, as a loop of tiny matrix products is slow."""
    rows = zip(jacobian, change, strict=True)
    return sum((row * entry[None] for row, entry in rows), jnp.zeros_like(change))


def _project(network: Network, tree: HistoryTree) -> Any:
    """What the cell sees of every node's observation, nodes last."""
    cell = network.cell
    project = jax.vmap(lambda observation: cell.project(network.encode(observation)), 0, -1)
    return jax.tree.map(_widen, project(tree.observation))


def _widen(leaf: Float[Array, "*shape nodes"]) -> Float[Array, "*shape more_nodes"]:
    """Room for the last chunk, which may reach beyond the last node."""
    return jnp.pad(leaf, [(0, 0)] * (leaf.ndim - 1) + [(0, WIDTH)])


def _take(series: Any, start: Int[Array, ""] | int, width: int = WIDTH) -> Any:
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, width, -1), series)


def _count_blocks(tree: HistoryTree) -> Int[Array, ""]:
    return -(-tree.num_nodes // BLOCK)


def _cut(series: Any, block: Int[Array, ""] | int) -> Any:
    start = jnp.asarray(block) * BLOCK
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, BLOCK), series)


def _add(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)
