"""A network over the nodes of a history tree, and gradients of sums over nodes.

Layer by layer, and of each layer only the recurrence chunk by chunk, in the order of the tree and
back; all else works on blocks of nodes.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
    turn,
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


class _Layer(NamedTuple):
    """The states of a layer, what its cell made of each node's input, and what updates use of it.

    The latter two are the same but for linear cells, whose updates need two coefficients.
    """

    table: StateTable
    projected: Any
    prepared: Any


def run_nodes(
    network: Network, tree: HistoryTree, carried: Float[Array, "envs all_states"]
) -> tuple[Float[Array, "output nodes"], list[StateTable]]:
    """The outputs at all nodes, and the states of every layer."""
    layers = _run_layers(network, tree, carried)
    axis = _choose_axis(network.cell)
    outputs = compute_by_blocks(
        tree,
        lambda block: (
            slice_block(tree.observation, block),
            _read_states(tree, layers, block, axis),
        ),
        lambda now: _decode(network, Network.decode, axis, *now),
    )
    return outputs, [layer.table for layer in layers]


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
    layers = _run_layers(network, tree, carried)
    axis = _choose_axis(network.cell)

    def decode(weights: Any, observation: Array, states: list[Array], data: Any) -> Any:
        network = eqx.combine(weights, fixed)
        return loss(_decode(network, read_out, axis, observation, states), data)

    def read(block: BlockNumber) -> Any:
        observation, data_now = slice_block((tree.observation, data), block)
        return observation, _read_states(tree, layers, block, axis), data_now

    def visit(block: Int[Array, ""], now: Any, carry: Any) -> Any:
        total, cotangents = carry
        sums, (gradient, changes) = jax.value_and_grad(decode, argnums=(0, 2), has_aux=True)(
            weights, *now
        )
        pairs = zip(cotangents, changes, strict=True)
        cotangents = [
            write_rows(cotangent, tree, block, change, axis) for cotangent, change in pairs
        ]
        return _add(total, (gradient, sums)), cotangents

    shapes = jax.eval_shape(decode, weights, *read(0))
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (weights, shapes))
    start = (nothing, [jnp.zeros_like(layer.table) for layer in layers])
    (gradient, sums), cotangents = loop_over_blocks(tree, read, visit, start)
    for number in reversed(range(len(layers))):
        cell = _list_layers(network)[number]
        cotangents[number] = _pull_back_to_parents(cell, tree, layers[number], cotangents[number])
        gradient, below = _add_layer_gradient(
            (weights, fixed), number, tree, layers, cotangents, gradient
        )
        if below is not None:
            cotangents[number - 1] = below
    # The first row is that of the state which opens an episode; a cell may learn it.
    _, pull = jax.vjp(lambda weights: eqx.combine(weights, fixed).initial_state(), weights)
    opening = jnp.concatenate([cotangent[0] for cotangent in cotangents])
    return _add(gradient, pull(opening)[0]), sums


def _read_states(
    tree: HistoryTree, layers: Sequence[_Layer], block: BlockNumber, axis: int
) -> list[Array]:
    return [read_rows(layer.table, tree, block, axis) for layer in layers]


def _decode(
    network: Network, read_out: ReadOut, axis: int, observation: Array, states: list[Array]
) -> Any:
    """What `read_out` makes of some nodes, nodes last; their states have them along an axis."""
    features = jax.vmap(network.encode, -1, axis)(observation)
    read = jax.vmap(functools.partial(read_out, network), axis, -1)
    return read(features, jnp.concatenate(states, axis + 1))


def _run_layers(
    network: Network, tree: HistoryTree, carried: Float[Array, "envs all_states"]
) -> list[_Layer]:
    """What every layer makes of the tree."""
    roots = jnp.concatenate([network.initial_state()[None], carried])
    cells = _list_layers(network)
    parts = network.cell.split(roots) if isinstance(network.cell, Stack) else [roots]
    layers: list[_Layer] = []
    for number, (cell, part) in enumerate(zip(cells, parts, strict=True)):
        axis = _choose_axis(cell)

        def prepare(
            now: tuple[Array, Any], number: int = number, cell: Any = cell, axis: int = axis
        ) -> Any:
            inputs = _read_input(network, number, *now)
            return jax.vmap(functools.partial(_prepare_update, cell), axis, axis)(inputs)

        read = _make_input_reader(number, tree, cells, layers)
        projected, prepared = compute_by_blocks(tree, read, prepare, axis)
        prepared = projected if prepared is None else prepared
        table = _run_recurrence(cell, tree, part, prepared)
        layers.append(_Layer(table, projected, prepared))
    return layers


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
        states = update(slice_nodes(prepared, start, axis=axis), turn(table[parent], axis))
        # What is written beyond the chunk's own nodes, their own chunk writes anew.
        rows = turn(states, axis)
        return jax.lax.dynamic_update_slice_in_dim(table, rows, tree.num_roots + start, 0)

    blank = jnp.zeros((len(tree.parent_row), roots.shape[1]), roots.dtype)
    table = jax.lax.fori_loop(0, tree.num_chunks, advance, jnp.concatenate([roots, blank]))
    first = jnp.broadcast_to(table[tree.num_roots], (BLOCK_SIZE, table.shape[1]))
    end = tree.num_roots + tree.num_nodes
    return jax.lax.dynamic_update_slice_in_dim(table, first, end, 0)


def _add_layer_gradient(
    network: tuple[Any, Any],
    number: int,
    tree: HistoryTree,
    layers: Sequence[_Layer],
    cotangents: Sequence[StateTable],
    gradient: Any,
) -> tuple[Any, StateTable | None]:
    """Add what a layer's states do to the loss to the gradient and to what those below do.

    The network comes as its weights and all else.
    """
    weights, fixed = network
    cells = _list_layers(eqx.combine(weights, fixed))
    axis = _choose_axis(cells[number])
    see = _make_input_reader(number, tree, cells, layers)

    def update(weights: Any, projected: Any, parents: Array) -> Array:
        cell = _list_layers(eqx.combine(weights, fixed))[number]
        return jax.vmap(cell.update, axis, axis)(projected, parents)

    def project(weights: Any, observation: Array, below: Any) -> Any:
        network = eqx.combine(weights, fixed)
        seen = _read_input(network, number, observation, below)
        return jax.vmap(_list_layers(network)[number].project, axis, axis)(seen)

    def read(block: BlockNumber) -> Any:
        parents = layers[number].table[slice_block(tree.parent_row, block)]
        projected = slice_block(layers[number].projected, block, axis)
        change = read_rows(cotangents[number], tree, block, axis)
        return *see(block), projected, turn(parents, axis), change

    def gather(block: Int[Array, ""], now: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        gradient, all_below = carry
        observation, below, projected, parents, change = now
        _, pull = jax.vjp(
            lambda weights, projected: update(weights, projected, parents), weights, projected
        )
        more, change = pull(change)
        gradient = _add(gradient, more)
        # What was projected is known, so that of the products here XLA computes only those back.
        _, pull = jax.vjp(
            lambda weights, below: project(weights, observation, below), weights, below
        )
        more, change = pull(change)
        if number:
            change = change + read_rows(all_below, tree, block, axis)
            all_below = write_rows(all_below, tree, block, change, axis)
        return _add(gradient, more), all_below

    below = cotangents[number - 1] if number else None
    return loop_over_blocks(tree, read, gather, (gradient, below))


def _pull_back_to_parents(
    cell: AbstractCell, tree: HistoryTree, layer: _Layer, cotangent: StateTable
) -> StateTable:
    """From what each state does to the loss at its own node, what it does at all that follow."""
    pull, linear = _linearize(cell, tree, layer)
    axis, lane = _choose_axis(cell), jnp.arange(CHUNK_SIZE)

    def retreat(turns: Int[Array, ""], cotangent: StateTable) -> StateTable:
        chunk = tree.num_chunks - 1 - turns
        start = tree.chunk_start[chunk]
        change = jax.lax.dynamic_slice_in_dim(cotangent, tree.num_roots + start, CHUNK_SIZE)
        pulled = turn(pull(slice_nodes(linear, start, axis=axis), turn(change, axis)), axis)
        own = lane[:, None] < tree.chunk_size[chunk]
        parent = jax.lax.dynamic_slice_in_dim(tree.parent_row, start, CHUNK_SIZE)
        return cotangent.at[parent].add(jnp.where(own, pulled, 0))

    return jax.lax.fori_loop(0, tree.num_chunks, retreat, cotangent)


def _linearize(cell: AbstractCell, tree: HistoryTree, layer: _Layer) -> tuple[PullBack, Any]:
    """How to pull a change of states back to their parents, and what that needs of each node."""
    if isinstance(cell, AbstractLinearCell):
        decay, _ = layer.prepared
        return jnp.multiply, decay

    axis = _choose_axis(cell)

    def read(block: BlockNumber) -> tuple[Any, Array]:
        parents = layer.table[slice_block(tree.parent_row, block)]
        return slice_block(layer.projected, block, axis), turn(parents, axis)

    if _has_small_jacobian(cell, layer.projected):
        # All Jacobians before the loop, so that next to nothing is left to do one after another.
        differentiate = vmap_nodes(jax.jacfwd(cell.update, argnums=1))
        return _apply_jacobian, compute_by_blocks(tree, read, lambda now: differentiate(*now))
    update = jax.vmap(cell.update, axis, axis)

    def pull(now: Any, change: Array) -> Array:
        projected, parents = now
        return jax.vjp(lambda state: update(projected, state), parents)[1](change)[0]

    parents = compute_by_blocks(tree, read, lambda now: now[1], axis)
    return pull, (layer.projected, parents)


def _choose_axis(cell: AbstractCell) -> int:
    """Along which axis nodes are in what loops over chunks work on.

    Contiguous in memory are units or the nodes of a chunk, whichever are more.
    """
    return 0 if cell.state_size > CHUNK_SIZE else -1


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
    number: int, tree: HistoryTree, cells: Sequence[AbstractCell], layers: Sequence[_Layer]
) -> Callable[[BlockNumber], tuple[Array, Any]]:
    """What a layer looks at in a block: observations; the states of the layer below, if any."""
    axis = _choose_axis(cells[number])
    return lambda block: (
        slice_block(tree.observation, block),
        read_rows(layers[number - 1].table, tree, block, axis) if number else None,
    )


def _read_input(network: Network, number: int, observation: Array, below: Array | None) -> Array:
    """What a layer sees of some nodes, which are along its axis."""
    cells = _list_layers(network)
    axis = _choose_axis(cells[number])
    if below is None:
        return jax.vmap(network.encode, -1, axis)(observation)
    return jax.vmap(cells[number - 1].read, axis, axis)(below)


def _prepare_update(cell: AbstractCell, input: Float[Array, " input"]) -> tuple[Any, Any]:
    """What a cell makes of its input, and what of a linear cell's update can be computed of it."""
    projected = cell.project(input)
    linear = isinstance(cell, AbstractLinearCell)
    return projected, cell.coefficients(projected) if linear else None


def _update(cell: AbstractCell, prepared: Any, state: Array) -> Array:
    if isinstance(cell, AbstractLinearCell):
        decay, drive = prepared
        return decay * state + drive
    return cell.update(prepared, state)


def _add(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)
