"""A network over the nodes of a history tree, and gradients of sums over nodes.

Layer by layer, and of each layer only the recurrence chunk by chunk, in the order of the tree and
back; all else works on blocks of nodes. Loops run over as many chunks and blocks as a tree has:
one compiled program serves every tree that its arrays have room for.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from remanence.cells import AbstractCell, AbstractLinearCell, Stack
from remanence.networks import Network
from remanence.training._histories import WIDTH, HistoryTree

BLOCK = 256
_LARGEST_JACOBIAN = 16

# States, or what they do to a loss: of the roots and then of the nodes, as `tree.parent` points.
Table = Float[Array, "rows state"]
Pull = Callable[[Any, Float[Array, "state width"]], Float[Array, "state width"]]
# A sum over nodes to be differentiated, and further sums beside it, from outputs and data.
NodeLoss = Callable[[Float[Array, "block output"], Any], tuple[Float[Array, ""], Any]]


def differentiate(
    network: Network,
    tree: HistoryTree,
    carried: Float[Array, "envs all_states"],
    loss: NodeLoss,
    data: Any,
) -> tuple[Any, tuple[Float[Array, ""], Any]]:
    """The gradient of a sum over nodes with respect to the network, and the sums themselves.

    `data` has a row for each node.
    """
    weights, fixed = eqx.partition(network, eqx.is_inexact_array)
    tables, prepared = _run_tree(network, tree, carried)

    def decode(weights: Any, states: list[Array], observation: Array, data: Any) -> Any:
        network = eqx.combine(weights, fixed)
        features = jax.vmap(network.encode)(observation)
        return loss(jax.vmap(network.decode)(features, jnp.concatenate(states, axis=1)), data)

    def read(block: Int[Array, ""] | int) -> Any:
        return _cut_states(tables, tree, block), *_cut((tree.observation, data), block)

    def visit(block: Int[Array, ""], now: Any, carry: Any) -> Any:
        total, cotangents = carry
        sums, (gradient, changes) = jax.value_and_grad(decode, argnums=(0, 1), has_aux=True)(
            weights, *now
        )
        cotangents = [
            jax.lax.dynamic_update_slice_in_dim(cotangent, change, _find_row(tree, block), 0)
            for cotangent, change in zip(cotangents, changes, strict=True)
        ]
        return _add(total, (gradient, sums)), cotangents

    shapes = jax.eval_shape(decode, weights, *read(0))
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (weights, shapes))
    start = (nothing, jax.tree.map(jnp.zeros_like, tables))
    (gradient, sums), cotangents = _visit_blocks(tree, read, visit, start)
    cells = _list_layers(network)
    for number in reversed(range(len(cells))):
        cotangent = _pull_back(
            cells[number], tree, tables[number], prepared[number], cotangents[number]
        )
        below = cotangents[number - 1] if number else None
        gradient, below = _gather(
            (weights, fixed), number, tree, tables, cotangent, (gradient, below)
        )
        if number:
            cotangents[number - 1] = below
    return gradient, sums


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

        def read(block: Int[Array, ""] | int, number: int = number) -> tuple[Any, Array]:
            below = _cut_states(tables, tree, block)[number - 1] if number else None
            return below, _cut(tree.observation, block)

        def prepare(now: tuple[Any, Array], number: int = number, cell: Any = cell) -> Any:
            seen = _see(network, number, *now)
            return jax.vmap(lambda input: _prepare(cell, input), 0, -1)(seen)

        prepared.append(_fill(tree, read, prepare))
        tables.append(_advance(cell, tree, part, prepared[-1]))
    return tables, prepared


def _advance(
    cell: AbstractCell, tree: HistoryTree, roots: Float[Array, "roots state"], prepared: Any
) -> Table:
    """The states of roots and nodes."""
    update = jax.vmap(lambda now, state: _update(cell, now, state), in_axes=-1, out_axes=-1)
    blank = jnp.zeros((len(tree.parent) + WIDTH, roots.shape[1]), roots.dtype)

    def advance(chunk: Int[Array, ""], carry: tuple[Table, Any]) -> tuple[Table, Any]:
        table, now = carry
        start = tree.start[chunk]
        parent = jax.lax.dynamic_slice_in_dim(tree.parent, start, WIDTH)
        states = update(now, table[parent].T).T
        # What is written beyond the chunk's own nodes, their own chunk writes anew.
        table = jax.lax.dynamic_update_slice_in_dim(table, states, tree.num_roots + start, 0)
        return table, _take(prepared, tree.start[chunk + 1])

    # What a chunk reads is sliced out one turn ahead, as for blocks.
    start = (jnp.concatenate([roots, blank]), _take(prepared, 0))
    return jax.lax.fori_loop(0, tree.num_chunks, advance, start)[0]


def _gather(
    network: tuple[Any, Any],
    number: int,
    tree: HistoryTree,
    tables: Sequence[Table],
    cotangent: Table,
    start: tuple[Any, Table | None],
) -> tuple[Any, Table | None]:
    """Add what a layer's states do to the loss to the gradient and to what those below do.

    The network comes as its weights and all else.
    """
    weights, fixed = network

    def follow(weights: Any, below: Any, parents: Array, observation: Array) -> Array:
        network = eqx.combine(weights, fixed)
        seen = _see(network, number, below, observation)
        return jax.vmap(_list_layers(network)[number].step)(seen, parents)

    def read(block: Int[Array, ""] | int) -> Any:
        observation, parent = _cut((tree.observation, tree.parent), block)
        below = _cut_states(tables, tree, block)[number - 1] if number else None
        change = jax.lax.dynamic_slice_in_dim(cotangent, _find_row(tree, block), BLOCK)
        return below, tables[number][parent], observation, change

    def gather(block: Int[Array, ""], now: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        gradient, below_cotangent = carry
        below, parents, observation, change = now
        _, pull = jax.vjp(
            lambda weights, below: follow(weights, below, parents, observation), weights, below
        )
        more, change = pull(change)
        if number:
            row = _find_row(tree, block)
            change = change + jax.lax.dynamic_slice_in_dim(below_cotangent, row, BLOCK)
            below_cotangent = jax.lax.dynamic_update_slice_in_dim(below_cotangent, change, row, 0)
        return _add(gradient, more), below_cotangent

    return _visit_blocks(tree, read, gather, start)


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
        change = jnp.where(lane[:, None] < tree.size[chunk], change, 0)
        parent = jax.lax.dynamic_slice_in_dim(tree.parent, start, WIDTH)
        cotangent = cotangent.at[parent].add(pull(now, change.T).T)
        return cotangent, _take(linear, tree.start[jnp.maximum(chunk - 1, 0)])

    start = (cotangent, _take(linear, tree.start[tree.num_chunks - 1]))
    return jax.lax.fori_loop(0, tree.num_chunks, retreat, start)[0]


def _linearize(
    cell: AbstractCell, tree: HistoryTree, table: Table, prepared: Any
) -> tuple[Pull, Any]:
    """How to pull a change of states back to their parents, and what that needs of each node."""
    if isinstance(cell, AbstractLinearCell):
        decay, _ = prepared
        return jnp.multiply, decay

    def read(block: Int[Array, ""] | int) -> tuple[Any, Array]:
        here = jnp.asarray(block) * BLOCK
        return _take(prepared, here, BLOCK), table[_cut(tree.parent, block)].T

    update = jax.vmap(cell.update, in_axes=-1, out_axes=-1)
    if _is_small(cell, prepared):
        # All Jacobians before the loop, so that next to nothing is left to do one after another.
        differentiate = jax.vmap(jax.jacfwd(cell.update, argnums=1), in_axes=-1, out_axes=-1)

        return _apply_jacobian, _fill(tree, read, lambda now: differentiate(*now))

    def pull(now: Any, change: Float[Array, "state width"]) -> Float[Array, "state width"]:
        prepared, parents = now
        return jax.vjp(lambda state: update(prepared, state), parents)[1](change)[0]

    return pull, (prepared, _fill(tree, read, lambda now: now[1]))


def _is_small(cell: AbstractCell, prepared: Any) -> bool:
    """Whether Jacobians are worth their room, and the cell has a derivative in forward mode."""
    state = cell.initial_state()
    if len(state) > _LARGEST_JACOBIAN:
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


def _see(network: Network, number: int, below: Array | None, observation: Array) -> Array:
    """What a layer sees of some nodes: their observations, or the states of the layer below."""
    if below is None:
        return jax.vmap(network.encode)(observation)
    return jax.vmap(_list_layers(network)[number - 1].read)(below)


def _prepare(cell: AbstractCell, input: Float[Array, " input"]) -> Any:
    """What an update needs of the input, as much of it computed as can be."""
    projected = cell.project(input)
    return cell.coefficients(projected) if isinstance(cell, AbstractLinearCell) else projected


def _update(cell: AbstractCell, prepared: Any, state: Array) -> Array:
    if isinstance(cell, AbstractLinearCell):
        decay, drive = prepared
        return decay * state + drive
    return cell.update(prepared, state)


def _visit_blocks(
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

    return jax.lax.fori_loop(0, _count_blocks(tree), visit, (start, read(0)))[0]


def _fill(tree: HistoryTree, read: Callable[[Any], Any], function: Callable[[Any], Any]) -> Any:
    """A function of what blocks read, nodes last, with room for one more chunk of nodes."""
    num_nodes = len(tree.parent) + WIDTH

    def fill(block: Int[Array, ""], now: Any, filled: Any) -> Any:
        return jax.tree.map(
            lambda leaf, part: jax.lax.dynamic_update_slice_in_dim(leaf, part, block * BLOCK, -1),
            filled,
            function(now),
        )

    shapes = jax.eval_shape(function, read(0))
    blank = jax.tree.map(lambda leaf: jnp.zeros((*leaf.shape[:-1], num_nodes), leaf.dtype), shapes)
    return _visit_blocks(tree, read, fill, blank)


def _take(series: Any, start: Int[Array, ""] | int, width: int = WIDTH) -> Any:
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, width, -1), series)


def _count_blocks(tree: HistoryTree) -> Int[Array, ""]:
    return -(-tree.num_nodes // BLOCK)


def _find_row(tree: HistoryTree, block: Int[Array, ""] | int) -> Int[Array, ""]:
    """Where the nodes of a block begin in a table."""
    return tree.num_roots + jnp.asarray(block) * BLOCK


def _cut_states(
    tables: Sequence[Table], tree: HistoryTree, block: Int[Array, ""] | int
) -> list[Float[Array, "block state"]]:
    row = _find_row(tree, block)
    return [jax.lax.dynamic_slice_in_dim(table, row, BLOCK) for table in tables]


def _cut(series: Any, block: Int[Array, ""] | int) -> Any:
    start = jnp.asarray(block) * BLOCK
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, BLOCK), series)


def _add(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)
