"""Chooses, on the host, how a rollout is replayed.

The choice depends on nothing but the configuration and what was played, so that a training that is
resumed, or runs among others, makes the same choices as one that is not.
"""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, UInt32

from remanence.errors import InvalidOptionError
from remanence.training._config import PPOConfig
from remanence.training._histories import (
    BLOCK_SIZE,
    CHUNK_SIZE,
    Histories,
    build_tree,
    count_chunks,
    group_histories,
    hash_histories,
)
from remanence.training._replays import (
    AbstractReplay,
    Played,
    SequenceReplay,
    TreeReplay,
)
from remanence.training._sweep import LARGEST_JACOBIAN

REPLAYS = ("auto", "tree", "sequence")
# Every size is compiled for anew, so they are few; blank nodes cost a little, so larger trees,
# where that adds up, are never more than half blank.
_SMALL_TREES = (1024, 8192)
# What a chunk costs beside its nodes, in nodes; measured with a GRU of 5 units.
_CHUNK_COST = 4
# What a node costs, in steps of a plain sequence, for cells whose Jacobians are not kept; for
# others it is one. Linear cells' sequences are cheaper, and of wide cells more is computed twice.
_NODE_COST = 2


@dataclasses.dataclass(frozen=True)
class Planner:
    """Plans the replay of what one learner plays."""

    config: PPOConfig
    num_actions: int
    dropout: bool
    linear: bool
    state_size: int
    replay: str = "auto"

    def __post_init__(self):
        if self.replay not in REPLAYS:
            raise InvalidOptionError("replay", self.replay, f"use one of {', '.join(REPLAYS)}")

    def hash(self, played: Played) -> UInt32[Array, "2 time envs"] | None:
        """What the plan needs that is best computed on the device."""
        if self.dropout or self.replay not in ("auto", "tree"):
            return None
        rollout = played.rollout
        carried = played.policy_state, played.value_state
        return hash_histories(rollout.observation, rollout.first, *carried)

    def plan(self, played: Played, hashes: Any) -> AbstractReplay:
        """The replay that is expected to be fastest."""
        rollout = played.rollout
        if hashes is not None:
            parts = (hashes, rollout.observation, rollout.first)
            carried = played.policy_state, played.value_state
            hashes, observation, first, *carried = map(np.asarray, (*parts, *carried))
            histories = group_histories(hashes, observation, first, *carried)
            if histories is not None and (self.replay == "tree" or self._tree_pays(histories)):
                return self._make_tree_replay(histories, observation, played)
        return SequenceReplay()

    def _tree_pays(self, histories: Histories) -> bool:
        num_members = self.config.num_envs // self.config.num_minibatches
        keeps_jacobians = not self.linear and self.state_size <= LARGEST_JACOBIAN
        node_cost = 1 if keeps_jacobians else _NODE_COST
        # The first environments stand for those of any minibatch.
        num_nodes = histories.count_met(num_members)
        cost = num_nodes + _CHUNK_COST * count_chunks(histories)
        return node_cost * cost < num_members * self.config.num_steps

    def _make_tree_replay(
        self, histories: Histories, observation: np.ndarray, played: Played
    ) -> TreeReplay:
        needed = len(histories) + BLOCK_SIZE
        doubled = 1 << (needed - 1).bit_length()
        few_sizes = () if self.state_size > CHUNK_SIZE else _SMALL_TREES
        capacity = next((size for size in few_sizes if needed <= size), max(doubled, 1024))
        tree, visits = build_tree(histories, observation, capacity)
        acted = np.asarray(played.rollout.log_probability)
        # Steps that share history and action were taken with one probability but for rounding.
        log_probability = np.zeros((self.num_actions, capacity), acted.dtype)
        log_probability[np.asarray(played.rollout.action), np.asarray(visits.node).T] = acted
        return TreeReplay(tree, visits, jax.device_put(log_probability))
