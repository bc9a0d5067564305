"""A network over the nodes of a history tree, and gradients of sums over nodes.

Layer by layer, and of each layer only the recurrence chunk by chunk, in the order of the tree and
back; all else works on blocks of nodes.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from remanence.cells import AbstractCell, AbstractLinearCell, Stack
from remanence.networks import Network
from remanence.training._blocks import (
    BlockNumber,
    StateTable,
    compute_by_blocks,
    loop_over_blocks,
    read_rows,
    slice_block,
    slice_nodes,
    vmap_nodes,
    write_rows,
)
from remanence.training._histories import BLOCK_SIZE, CHUNK_SIZE, HistoryTree

LARGEST_JACOBIAN = 16

PullBack = Callable[[Any, Float[Array, "state width"]], Float[Array, "state width"]]
# A sum over nodes to be differentiated, and further sums beside it, from outputs and data.
NodeLoss = Callable[[Any, Any], tuple[Float[Array, ""], Any]]
# What a loss needs of a network at one node, from what its cell saw and the state it is in.
ReadOut = Callable[[Network, Float[Array, " features"], Float[Array, " state"]], Any]


def differentiate(
    network: Network,
    tree: HistoryTree,
    carried: Float[Array, "envs all_states"],
    loss: NodeLoss,
    data: Any,
    read_out: ReadOut = Network.decode,
) -> tuple[Any, tuple[Float[Array, ""], Any]]:
    """The gradient of a sum over nodes with respect to the network, and the sums themselves.

    `data` has nodes last, as has what `loss` gets of them by `read_out`.
    """
    weights, fixed = eqx.partition(network, eqx.is_inexact_array)
    tables, prepared = _run_layers(network, tree, carried)

    def decode(weights: Any, observation: Array, states: list[Array], data: Any) -> Any:
        network = eqx.combine(weights, fixed)
        features = vmap_nodes(network.encode)(observation)
        read = vmap_nodes(functools.partial(read_out, network))
        return loss(read(features, jnp.concatenate(states)), data)

    def read(block: BlockNumber) -> Any:
        states = [read_rows(table, tree, block) for table in tables]
        observation, data_now = slice_block((tree.observation, data), block)
        return observation, states, data_now

    def visit(block: Int[Array, ""], now: Any, carry: Any) -> Any:
        total, cotangents = carry
        sums, (gradient, changes) = jax.value_and_grad(decode, argnums=(0, 2), has_aux=True)(
            weights, *now
        )
        pairs = zip(cotangents, changes, strict=True)
        cotangents = [write_rows(cotangent, tree, block, change) for cotangent, change in pairs]
        return _add(total, (gradient, sums)), cotangents

    shapes = jax.eval_shape(decode, weights, *read(0))
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (weights, shapes))
    start = (nothing, jax.tree.map(jnp.zeros_like, tables))
    (gradient, sums), cotangents = loop_over_blocks(tree, read, visit, start)
    for layer in reversed(range(len(tables))):
        cell, table = _list_layers(network)[layer], tables[layer]
        own = cotangents[layer]
        cotangents[layer] = _pull_back_to_parents(cell, tree, table, prepared[layer], own)
        gradient, below = _add_layer_gradient(
            (weights, fixed), layer, tree, tables, cotangents, gradient
        )
        if below is not None:
            cotangents[layer - 1] = below
    # The first row is that of the state which opens an episode; a cell may learn it.
    _, pull = jax.vjp(lambda weights: eqx.combine(weights, fixed).initial_state(), weights)
    opening = jnp.concatenate([cotangent[0] for cotangent in cotangents])
    return _add(gradient, pull(opening)[0]), sums


def _run_layers(
    network: Network, tree: HistoryTree, carried: Float[Array, "envs all_states"]
) -> tuple[list[StateTable], list[Any]]:
    """The states of every layer, and what its updates need of each node's input."""
    roots = jnp.concatenate([network.initial_state()[None], carried])
    cells = _list_layers(network)
    parts = network.cell.split(roots) if isinstance(network.cell, Stack) else [roots]
    tables: list[StateTable] = []
    prepared = []
    for layer, (cell, part) in enumerate(zip(cells, parts, strict=True)):

        def prepare(now: tuple[Array, Any], layer: int = layer, cell: Any = cell) -> Any:
            inputs = _read_input(network, layer, *now)
            prepare_one = functools.partial(_prepare_update, cell)
            return jax.vmap(prepare_one, -1, _choose_axis(cell))(inputs)

        read = _make_input_reader(layer, tree, tables)
        prepared.append(compute_by_blocks(tree, read, prepare, _choose_axis(cell)))
        tables.append(_run_recurrence(cell, tree, part, prepared[-1]))
    return tables, prepared


def _run_recurrence(
    cell: AbstractCell, tree: HistoryTree, roots: Float[Array, "roots state"], prepared: Any
) -> StateTable:
    """The states of roots and nodes; blank nodes have that of the first."""
    axis = _choose_axis(cell)
    update = jax.vmap(lambda now, state: _update(cell, now, state), axis, axis)

    # Unlike blocks, chunks are so small that slicing them ahead costs more than it saves.
    def advance(chunk: Int[Array, ""], table: StateTable) -> StateTable:
        start = tree.chunk_start[chunk]
        parent = jax.lax.dynamic_slice_in_dim(tree.parent_row, start, CHUNK_SIZE)
        states = update(slice_nodes(prepared, start, axis=axis), _turn(table[parent], axis))
        # What is written beyond the chunk's own nodes, their own chunk writes anew.
        rows = _turn(states, axis)
        return jax.lax.dynamic_update_slice_in_dim(table, rows, tree.num_roots + start, 0)

    blank = jnp.zeros((len(tree.parent_row), roots.shape[1]), roots.dtype)
    table = jax.lax.fori_loop(0, tree.num_chunks, advance, jnp.concatenate([roots, blank]))
    first = jnp.broadcast_to(table[tree.num_roots], (BLOCK_SIZE, table.shape[1]))
    end = tree.num_roots + tree.num_nodes
    return jax.lax.dynamic_update_slice_in_dim(table, first, end, 0)


def _add_layer_gradient(
    network: tuple[Any, Any],
    layer: int,
    tree: HistoryTree,
    tables: Sequence[StateTable],
    cotangents: Sequence[StateTable],
    gradient: Any,
) -> tuple[Any, StateTable | None]:
    """Add what a layer's states do to the loss to the gradient and to what those below do.

    The network comes as its weights and all else.
    """
    weights, fixed = network
    see = _make_input_reader(layer, tree, tables)

    def follow(weights: Any, observation: Array, below: Any, parents: Array) -> Array:
        network = eqx.combine(weights, fixed)
        seen = _read_input(network, layer, observation, below)
        return vmap_nodes(_list_layers(network)[layer].step)(seen, parents)

    def read(block: BlockNumber) -> Any:
        parents = tables[layer][slice_block(tree.parent_row, block)].T
        return *see(block), parents, read_rows(cotangents[layer], tree, block)

    def gather(block: Int[Array, ""], now: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        gradient, all_below = carry
        observation, below, parents, change = now
        _, pull = jax.vjp(
            lambda weights, below: follow(weights, observation, below, parents), weights, below
        )
        more, change = pull(change)
        if layer:
            change = change + read_rows(all_below, tree, block)
            all_below = write_rows(all_below, tree, block, change)
        return _add(gradient, more), all_below

    below = cotangents[layer - 1] if layer else None
    return loop_over_blocks(tree, read, gather, (gradient, below))


def _pull_back_to_parents(
    cell: AbstractCell, tree: HistoryTree, table: StateTable, prepared: Any, cotangent: StateTable
) -> StateTable:
    """From what each state does to the loss at its own node, what it does at all that follow."""
    pull, linear = _linearize(cell, tree, table, prepared)
    axis, lane = _choose_axis(cell), jnp.arange(CHUNK_SIZE)

    def retreat(turn: Int[Array, ""], cotangent: StateTable) -> StateTable:
        chunk = tree.num_chunks - 1 - turn
        start = tree.chunk_start[chunk]
        change = jax.lax.dynamic_slice_in_dim(cotangent, tree.num_roots + start, CHUNK_SIZE)
        pulled = _turn(pull(slice_nodes(linear, start, axis=axis), _turn(change, axis)), axis)
        own = lane[:, None] < tree.chunk_size[chunk]
        parent = jax.lax.dynamic_slice_in_dim(tree.parent_row, start, CHUNK_SIZE)
        return cotangent.at[parent].add(jnp.where(own, pulled, 0))

    return jax.lax.fori_loop(0, tree.num_chunks, retreat, cotangent)


def _linearize(
    cell: AbstractCell, tree: HistoryTree, table: StateTable, prepared: Any
) -> tuple[PullBack, Any]:
    """How to pull a change of states back to their parents, and what that needs of each node."""
    if isinstance(cell, AbstractLinearCell):
        decay, _ = prepared
        return jnp.multiply, decay

    axis = _choose_axis(cell)

    def read(block: BlockNumber) -> tuple[Any, Array]:
        return slice_block(prepared, block), table[slice_block(tree.parent_row, block)].T

    if _has_small_jacobian(cell, prepared):
        # All Jacobians before the loop, so that next to nothing is left to do one after another.
        differentiate = vmap_nodes(jax.jacfwd(cell.update, argnums=1))
        return _apply_jacobian, compute_by_blocks(tree, read, lambda now: differentiate(*now))
    update = jax.vmap(cell.update, axis, axis)

    def pull(now: Any, change: Array) -> Array:
        prepared, parents = now
        return jax.vjp(lambda state: update(prepared, state), parents)[1](change)[0]

    def read_parents(block: BlockNumber) -> Array:
        return table[slice_block(tree.parent_row, block)]

    parents = compute_by_blocks(tree, read_parents, lambda rows: _turn(rows, axis), axis)
    return pull, (prepared, parents)


def _choose_axis(cell: AbstractCell) -> int:
    """Along which axis nodes are in what loops over chunks work on.

    Contiguous in memory are units or the nodes of a chunk, whichever are more.
    """
    return 0 if len(cell.initial_state()) > CHUNK_SIZE else -1


def _turn(rows: Array, axis: int) -> Array:
    """Rows of a table with nodes along an axis, or the other way round."""
    return rows if axis == 0 else rows.T


def _has_small_jacobian(cell: AbstractCell, prepared: Any) -> bool:
    """Whether Jacobians are worth their room, and the cell has a derivative in forward mode."""
    state = cell.initial_state()
    if len(state) > LARGEST_JACOBIAN:
        return False
    try:
        one = jax.tree.map(lambda leaf: leaf[..., 0], prepared)
        jax.eval_shape(jax.jacfwd(cell.update, argnums=1), one, state)
    except TypeError:  # a cell of the user's own, with a `custom_vjp` in it
        return False
    return True


def _apply_jacobian(
    jacobian: Float[Array, "state state width"], change: Float[Array, "state width"]
) -> Float[Array, "state width"]:
    """Written out, as a loop of tiny matrix products is slow."""
    rows = zip(jacobian, change, strict=True)
    return sum((row * entry[None] for row, entry in rows), jnp.zeros_like(change))


def _list_layers(network: Network) -> tuple[AbstractCell, ...]:
    """Cells of which each reads what the one before it holds."""
    return network.cell.cells if isinstance(network.cell, Stack) else (network.cell,)


def _make_input_reader(
    layer: int, tree: HistoryTree, tables: Sequence[StateTable]
) -> Callable[[BlockNumber], tuple[Array, Any]]:
    """What a layer looks at in a block: observations; the states of the layer below, if any."""
    return lambda block: (
        slice_block(tree.observation, block),
        read_rows(tables[layer - 1], tree, block) if layer else None,
    )


def _read_input(network: Network, layer: int, observation: Array, below: Array | None) -> Array:
    """What a layer sees of some nodes."""
    if below is None:
        return vmap_nodes(network.encode)(observation)
    return vmap_nodes(_list_layers(network)[layer - 1].read)(below)


def _prepare_update(cell: AbstractCell, input: Float[Array, " input"]) -> Any:
    """What an update needs of the input, as much of it computed as can be."""
    projected = cell.project(input)
    return cell.coefficients(projected) if isinstance(cell, AbstractLinearCell) else projected


def _update(cell: AbstractCell, prepared: Any, state: Array) -> Array:
    if isinstance(cell, AbstractLinearCell):
        decay, drive = prepared
        return decay * state + drive
    return cell.update(prepared, state)


def _add(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)
