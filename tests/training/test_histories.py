"""The prefix tree against a dictionary built step by step."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.training._histories import (
    CHUNK_SIZE,
    Histories,
    HistoryTree,
    build_tree,
    count_chunks,
    group_histories,
    hash_histories,
    prune_tree,
)

CARRIED_SIZE = 3


@dataclasses.dataclass(frozen=True)
class Steps:
    """Observations, where episodes start, and the states carried in, one for each environment."""

    observation: np.ndarray
    first: np.ndarray
    carried: np.ndarray


def make_steps(num_steps, num_envs, num_symbols=2, reset_rate=0.2, num_carried=None, seed=0):
    draws = np.random.default_rng(seed)
    alphabet = draws.normal(size=(num_symbols, 2)).astype(np.float32)
    carried = draws.normal(size=(num_carried or num_envs, CARRIED_SIZE)).astype(np.float32)
    return Steps(
        observation=alphabet[draws.integers(num_symbols, size=(num_steps, num_envs))],
        first=draws.random((num_steps, num_envs)) < reset_rate,
        carried=carried[np.arange(num_envs) % len(carried)],
    )


def group(steps: Steps) -> Histories:
    arrays = map(jnp.asarray, (steps.observation, steps.first, steps.carried))
    words = np.asarray(jax.jit(hash_histories)(*arrays))
    histories = group_histories(words, steps.observation, steps.first, steps.carried)
    assert histories is not None
    return histories


@dataclasses.dataclass(frozen=True)
class Grown:
    """A tree, and the node of every step of the environments that it is of."""

    members: range
    tree: HistoryTree
    node: np.ndarray


def grow(steps: Steps) -> Grown:
    tree, visits = build_tree(group(steps), steps.observation, 1024)
    tree, node = jax.tree.map(np.asarray, (tree, visits.node))
    return Grown(range(len(node)), tree, node)


def grow_and_prune(steps: Steps) -> Grown:
    """The tree of every other environment, from that of all."""
    tree, visits = build_tree(group(steps), steps.observation, 1024)
    members = range(0, len(visits.node), 2)
    visited = visits.find_visited(jnp.array(members))
    pruned, new_of_old, _ = jax.jit(prune_tree)(tree, visited)
    tree, node = jax.tree.map(np.asarray, (pruned, new_of_old[visits.node[np.array(members)]]))
    return Grown(members, tree, node)


def spell_out(steps: Steps, members: range) -> list[list[tuple]]:
    """Every step's history as a tuple: what it began with, then what was observed."""
    spelled = []
    for member in members:
        history: tuple = ("carried", steps.carried[member].tobytes())
        spelled.append([])
        for now, first in zip(steps.observation[:, member], steps.first[:, member], strict=True):
            history = (("start",) if first else history) + (now.tobytes(),)
            spelled[-1].append(history)
    return spelled


SHAPES = {
    "many steps": make_steps(60, 7),
    "carried states in common": make_steps(40, 6, reset_rate=0.05, num_carried=2),
    "one environment": make_steps(50, 1),
    "one step": make_steps(1, 9),
    "one of each": make_steps(1, 1),
    "all steps resets": make_steps(20, 5, reset_rate=1.1),
    "no resets": make_steps(20, 5, reset_rate=-1),
    "nothing twice": make_steps(20, 5, num_symbols=10**6),
    "nothing to see": make_steps(70, 5, num_symbols=1),
    "more environments than bits": make_steps(4, 33, num_symbols=50, reset_rate=0.5),
    "levels wider than a chunk": make_steps(4, 3 * CHUNK_SIZE, num_symbols=50, reset_rate=0.5),
}


@pytest.fixture(params=SHAPES, scope="module")
def steps(request):
    return SHAPES[request.param]


@pytest.fixture(params=[grow, grow_and_prune], scope="module")
def grown(request, steps):
    return request.param(steps)


def test_steps_share_a_node_where_they_share_a_history(steps, grown):
    node_of: dict[tuple, int] = {}
    for spelled, nodes in zip(spell_out(steps, grown.members), grown.node, strict=True):
        for history, node in zip(spelled, nodes, strict=True):
            assert node_of.setdefault(history, node) == node
    assert len(set(node_of.values())) == len(node_of) == grown.tree.num_nodes


def test_histories_are_counted_for_the_first_environments(steps):
    histories = group(steps)
    for count in range(1, steps.first.shape[1] + 1):
        met = {history for row in spell_out(steps, range(count)) for history in row}
        assert histories.count_met(count) == len(met)


def test_parents_and_observations_are_those_of_the_history(steps, grown):
    tree = grown.tree
    node_of = {
        history: int(node)
        for spelled, nodes in zip(spell_out(steps, grown.members), grown.node, strict=True)
        for history, node in zip(spelled, nodes, strict=True)
    }
    for history, node in node_of.items():
        assert tree.observation[:, node].tobytes() == history[-1]
        parent = int(tree.parent_row[node])
        before = history[:-1]
        if before == ("start",):
            assert parent == 0
        elif len(before) == 2 and before[0] == "carried":
            assert steps.carried[parent - 1].tobytes() == before[1]
        else:
            assert parent == tree.num_roots + node_of[before]


def test_every_chunk_can_run_once_those_before_it_have(grown):
    tree = grown.tree
    known = tree.num_roots
    for start, size in zip(tree.chunk_start[: tree.num_chunks], tree.chunk_size, strict=False):
        assert tree.num_roots + start == known, "chunks follow one another without a gap"
        assert 0 <= size <= CHUNK_SIZE
        assert np.all(tree.parent_row[start : start + size] < known)
        known += size
    assert known == tree.num_roots + tree.num_nodes


def test_chunks_are_as_many_as_counted(steps):
    tree = grow(steps).tree
    assert tree.num_chunks == count_chunks(group(steps))
    assert np.all(tree.chunk_size[: tree.num_chunks] > 0)


def test_blank_nodes_repeat_the_first(grown):
    tree = grown.tree
    assert np.all(tree.parent_row[tree.num_nodes :] == tree.parent_row[0])
    assert np.all(tree.observation[:, tree.num_nodes :] == tree.observation[:, :1])
    assert np.all(tree.chunk_size[tree.num_chunks :] == 0)


def test_histories_that_only_look_alike_are_found_out():
    steps = make_steps(30, 4)
    words = np.zeros((2, 30, 4), np.uint32)
    assert group_histories(words, steps.observation, steps.first, steps.carried) is None
    # The same words for the same observations, whatever came before them.
    words[0] = np.unique(steps.observation[..., 0], return_inverse=True)[1].reshape(30, 4)
    assert group_histories(words, steps.observation, steps.first, steps.carried) is None


def test_an_observation_that_differs_in_its_last_bit_is_another():
    observation = np.zeros((1, 2, 1), np.float32)
    observation[0, 1, 0] = np.nextafter(np.float32(0), np.float32(1))
    steps = Steps(observation, np.ones((1, 2), bool), np.zeros((2, 1), np.float32))
    assert len(group(steps)) == 2
