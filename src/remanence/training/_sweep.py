"""A network over the nodes of a history tree, and gradients of sums over nodes.

Layer by layer, and of each layer only the recurrence chunk by chunk, in the order of the tree and
back; all else works on blocks of nodes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from remanence.cells import AbstractCell, AbstractLinearCell, Stack
from remanence.networks import Network
from remanence.training._blocks import (
    Number,
    Table,
    cut,
    cut_table,
    fill,
    over_nodes,
    take,
    visit_blocks,
    write_table,
)
from remanence.training._histories import BLOCK, WIDTH, HistoryTree

LARGEST_JACOBIAN = 16

Pull = Callable[[Any, Float[Array, "state width"]], Float[Array, "state width"]]
# A sum over nodes to be differentiated, and further sums beside it, from outputs and data.
NodeLoss = Callable[[Float[Array, "output block"], Any], tuple[Float[Array, ""], Any]]


def differentiate(
    network: Network,
    tree: HistoryTree,
    carried: Float[Array, "envs all_states"],
    loss: NodeLoss,
    data: Any,
) -> tuple[Any, tuple[Float[Array, ""], Any]]:
    """The gradient of a sum over nodes with respect to the network, and the sums themselves.

    `data` has nodes last, as have the outputs that `loss` gets.
    """
    weights, fixed = eqx.partition(network, eqx.is_inexact_array)
    tables, prepared = _run_tree(network, tree, carried)

    def decode(weights: Any, states: list[Array], observation: Array, data: Any) -> Any:
        network = eqx.combine(weights, fixed)
        features = over_nodes(network.encode)(observation)
        return loss(over_nodes(network.decode)(features, jnp.concatenate(states)), data)

    def read(block: Number) -> Any:
        states = [cut_table(table, tree, block) for table in tables]
        return states, *cut((tree.observation, data), block)

    def visit(block: Int[Array, ""], now: Any, carry: Any) -> Any:
        total, cotangents = carry
        sums, (gradient, changes) = jax.value_and_grad(decode, argnums=(0, 1), has_aux=True)(
            weights, *now
        )
        pairs = zip(cotangents, changes, strict=True)
        cotangents = [write_table(cotangent, tree, block, change) for cotangent, change in pairs]
        return _add(total, (gradient, sums)), cotangents

    shapes = jax.eval_shape(decode, weights, *read(0))
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (weights, shapes))
    start = (nothing, jax.tree.map(jnp.zeros_like, tables))
    (gradient, sums), cotangents = visit_blocks(tree, read, visit, start)
    for number in reversed(range(len(tables))):
        cell, table = _list_layers(network)[number], tables[number]
        cotangents[number] = _pull_back(cell, tree, table, prepared[number], cotangents[number])
        gradient, below = _gather((weights, fixed), number, tree, tables, cotangents, gradient)
        if below is not None:
            cotangents[number - 1] = below
    # The first row is that of the state which opens an episode; a cell may learn it.
    _, pull = jax.vjp(lambda weights: eqx.combine(weights, fixed).initial_state(), weights)
    opening = jnp.concatenate([cotangent[0] for cotangent in cotangents])
    return _add(gradient, pull(opening)[0]), sums


def _run_tree(
    network: Network, tree: HistoryTree, carried: Float[Array, "envs all_states"]
) -> tuple[list[Table], list[Any]]:
    """The states of every layer, and what its updates need of each node's input, nodes last."""
    roots = jnp.concatenate([network.initial_state()[None], carried])
    cells = _list_layers(network)
    parts = network.cell.split(roots) if isinstance(network.cell, Stack) else [roots]
    tables: list[Table] = []
    prepared = []
    for number, (cell, part) in enumerate(zip(cells, parts, strict=True)):

        def prepare(now: tuple[Any, Array], number: int = number, cell: Any = cell) -> Any:
            return over_nodes(lambda input: _prepare(cell, input))(_see(network, number, *now))

        read = _make_reader(number, tree, tables)
        prepared.append(fill(tree, read, prepare))
        tables.append(_advance(cell, tree, part, prepared[-1]))
    return tables, prepared


def _advance(
    cell: AbstractCell, tree: HistoryTree, roots: Float[Array, "roots state"], prepared: Any
) -> Table:
    """The states of roots and nodes; blank nodes have that of the first."""
    update = over_nodes(lambda now, state: _update(cell, now, state))

    def advance(chunk: Int[Array, ""], carry: tuple[Table, Any]) -> tuple[Table, Any]:
        table, now = carry
        start = tree.start[chunk]
        parent = jax.lax.dynamic_slice_in_dim(tree.parent, start, WIDTH)
        states = update(now, table[parent].T).T
        # What is written beyond the chunk's own nodes, their own chunk writes anew.
        table = jax.lax.dynamic_update_slice_in_dim(table, states, tree.num_roots + start, 0)
        return table, take(prepared, tree.start[chunk + 1])

    # What a chunk reads is sliced out one turn ahead, as for blocks.
    blank = jnp.zeros((len(tree.parent), roots.shape[1]), roots.dtype)
    start = (jnp.concatenate([roots, blank]), take(prepared, 0))
    table, _ = jax.lax.fori_loop(0, tree.num_chunks, advance, start)
    first = jnp.broadcast_to(table[tree.num_roots], (BLOCK, table.shape[1]))
    end = tree.num_roots + tree.num_nodes
    return jax.lax.dynamic_update_slice_in_dim(table, first, end, 0)


def _gather(
    network: tuple[Any, Any],
    number: int,
    tree: HistoryTree,
    tables: Sequence[Table],
    cotangents: Sequence[Table],
    gradient: Any,
) -> tuple[Any, Table | None]:
    """Add what a layer's states do to the loss to the gradient and to what those below do.

    The network comes as its weights and all else.
    """
    weights, fixed = network
    see = _make_reader(number, tree, tables)

    def follow(weights: Any, below: Any, observation: Array, parents: Array) -> Array:
        network = eqx.combine(weights, fixed)
        seen = _see(network, number, below, observation)
        return over_nodes(_list_layers(network)[number].step)(seen, parents)

    def read(block: Number) -> Any:
        parents = tables[number][cut(tree.parent, block)].T
        return *see(block), parents, cut_table(cotangents[number], tree, block)

    def gather(block: Int[Array, ""], now: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        gradient, all_below = carry
        below, observation, parents, change = now
        _, pull = jax.vjp(
            lambda weights, below: follow(weights, below, observation, parents), weights, below
        )
        more, change = pull(change)
        if number:
            change = change + cut_table(all_below, tree, block)
            all_below = write_table(all_below, tree, block, change)
        return _add(gradient, more), all_below

    below = cotangents[number - 1] if number else None
    return visit_blocks(tree, read, gather, (gradient, below))


def _pull_back(
    cell: AbstractCell, tree: HistoryTree, table: Table, prepared: Any, cotangent: Table
) -> Table:
    """From what each state does to the loss at its own node, what it does at all that follow."""
    pull, linear = _linearize(cell, tree, table, prepared)
    lane = jnp.arange(WIDTH)

    def retreat(turn: Int[Array, ""], carry: tuple[Table, Any]) -> tuple[Table, Any]:
        cotangent, now = carry
        chunk = tree.num_chunks - 1 - turn
        start = tree.start[chunk]
        change = jax.lax.dynamic_slice_in_dim(cotangent, tree.num_roots + start, WIDTH)
        pulled = jnp.where(lane[:, None] < tree.size[chunk], pull(now, change.T).T, 0)
        parent = jax.lax.dynamic_slice_in_dim(tree.parent, start, WIDTH)
        cotangent = cotangent.at[parent].add(pulled)
        return cotangent, take(linear, tree.start[jnp.maximum(chunk - 1, 0)])

    start = (cotangent, take(linear, tree.start[tree.num_chunks - 1]))
    return jax.lax.fori_loop(0, tree.num_chunks, retreat, start)[0]


def _linearize(
    cell: AbstractCell, tree: HistoryTree, table: Table, prepared: Any
) -> tuple[Pull, Any]:
    """How to pull a change of states back to their parents, and what that needs of each node."""
    if isinstance(cell, AbstractLinearCell):
        decay, _ = prepared
        return jnp.multiply, decay

    def read(block: Number) -> tuple[Any, Array]:
        return cut(prepared, block), table[cut(tree.parent, block)].T

    if _is_small(cell, prepared):
        # All Jacobians before the loop, so that next to nothing is left to do one after another.
        differentiate = over_nodes(jax.jacfwd(cell.update, argnums=1))
        return _apply_jacobian, fill(tree, read, lambda now: differentiate(*now))
    update = over_nodes(cell.update)

    def pull(now: Any, change: Float[Array, "state width"]) -> Float[Array, "state width"]:
        prepared, parents = now
        return jax.vjp(lambda state: update(prepared, state), parents)[1](change)[0]

    return pull, (prepared, fill(tree, read, lambda now: now[1]))


def _is_small(cell: AbstractCell, prepared: Any) -> bool:
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


def _make_reader(
    number: int, tree: HistoryTree, tables: Sequence[Table]
) -> Callable[[Number], tuple[Any, Array]]:
    """What a layer looks at in a block: the states of the layer below, if any; observations."""
    return lambda block: (
        cut_table(tables[number - 1], tree, block) if number else None,
        cut(tree.observation, block),
    )


def _see(network: Network, number: int, below: Array | None, observation: Array) -> Array:
    """What a layer sees of some nodes."""
    if below is None:
        return over_nodes(network.encode)(observation)
    return over_nodes(_list_layers(network)[number - 1].read)(below)


def _prepare(cell: AbstractCell, input: Float[Array, " input"]) -> Any:
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
