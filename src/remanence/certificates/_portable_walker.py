"""A greedy agent in a T-maze as the portable program: the same walk, the same bits everywhere."""

from typing import Any

import numpy as np

from remanence.certificates._arrivals import Undecided
from remanence.certificates._walker import (
    ARMS,
    LEFT,
    RIGHT,
    AbstractWalker,
    Memories,
    Spot,
    Trace,
    check_walkable,
)
from remanence.envs import AbstractEnvironment, PreviousAction
from remanence.networks import Agent

NUM_ACTIONS = 4
NO_ACTION = 2**32 - 1  # before the first one


# What overflows is found out by looking at it.
_quietly = np.errstate(all="ignore")


class PortableWalker(AbstractWalker):
    """A memory is the bits of the state and the last action, as the compiled walker's is."""

    def __init__(self, agent: Agent, environment: AbstractEnvironment):
        check_walkable(agent, environment)
        self._policy = agent.make_portable()
        self._sees_action = isinstance(environment, PreviousAction)
        self._word = np.dtype(f"u{self._policy.dtype.itemsize}")
        self._looks: dict[tuple[int, int, int], Any] = {}

    @property
    def precision(self) -> str:
        """The format of all its numbers."""
        return f"binary{8 * self._policy.dtype.itemsize}"

    @_quietly
    def walk(self, spot: Spot, num_steps: int) -> Trace:
        near = spot.position + num_steps >= spot.length - 1
        if near or self._sees_action:
            return self._walk_maze(spot, num_steps)
        return self._walk_corridor(spot, num_steps)

    def _walk_corridor(self, spot: Spot, num_steps: int) -> Trace:
        """Too far from the junction to see it: what is done need not be known on the way."""
        state, _ = self._open(spot)
        look, corridor = self._look(spot.goal if spot.memory is None else 0, 0), self._look(0, 0)
        opening, states = look, []
        for _ in range(num_steps):
            state = self._policy.update(look, state)
            states.append(state)
            look = corridor
        rows = self._check_finite(np.stack(states))
        actions = self._choose(corridor, rows)
        actions[0] = self._choose(opening, rows[0])
        moves = (actions == RIGHT).astype(np.int64) - (actions == LEFT)
        free = spot.position + np.cumsum(moves)
        positions = free - np.minimum.accumulate(np.minimum(free, 0))  # the wall on the left
        return Trace(self._remember(rows, actions), actions.astype(np.int32), positions, arm=0)

    def _walk_maze(self, spot: Spot, num_steps: int) -> Trace:
        state, action = self._open(spot)
        position, cue = spot.position, spot.goal if spot.memory is None else 0
        states, actions, positions, arm = [], [], [], 0
        while len(states) < num_steps and not arm:
            at_junction = position == spot.length - 1
            look = self._look(cue, int(at_junction), action)
            state, cue = self._policy.update(look, state), 0
            action = int(self._choose(look, state))
            arm = ARMS.get(action, 0) if at_junction else 0
            position = min(max(position + _MOVES.get(action, 0), 0), spot.length - 1)
            states.append(state)
            actions.append(action)
            positions.append(position)
        rows = self._check_finite(np.stack(states))
        memories = self._remember(rows, np.array(actions))
        return Trace(memories, np.array(actions, np.int32), np.array(positions, np.int32), arm)

    @_quietly
    def decide(self, memories: Memories) -> np.ndarray:
        rows = np.ascontiguousarray(memories[:, :-1]).view(self._policy.dtype)
        decided = np.zeros(len(memories), np.int32)
        for action in np.unique(memories[:, -1]):
            members = memories[:, -1] == action
            look = self._look(0, 1, int(action))
            after = self._check_finite(self._policy.update(look, rows[members]))
            decided[members] = self._choose(look, after)
        return decided

    def read_state(self, memory: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(memory[..., :-1]).view(self._policy.dtype)

    def _open(self, spot: Spot) -> tuple[np.ndarray, int]:
        if spot.memory is None:
            return self._policy.initial_state(), NO_ACTION
        return self.read_state(np.asarray(spot.memory)), int(spot.memory[-1])

    def _look(self, cue: int, junction: int, action: int = NO_ACTION) -> Any:
        key = (cue, junction, action if self._sees_action else NO_ACTION)
        if key not in self._looks:
            seen = [float(action == number) for number in range(NUM_ACTIONS)]
            observation = [cue, junction, *(seen if self._sees_action else [])]
            self._looks[key] = self._policy.prepare(np.array(observation, self._policy.dtype))
        return self._looks[key]

    def _remember(self, states: np.ndarray, actions: np.ndarray) -> Memories:
        words = np.ascontiguousarray(states).view(self._word)
        return np.concatenate([words, actions[:, None].astype(self._word)], axis=1)

    def _choose(self, look: Any, states: np.ndarray) -> Any:
        return self._check_finite(self._policy.decode(look, states)).argmax(-1)

    def _check_finite(self, numbers: np.ndarray) -> np.ndarray:
        # The bits of what is not a number are not the same everywhere.
        if not np.isfinite(numbers).all():
            raise Undecided("its numbers are not finite")
        return numbers


_MOVES = {RIGHT: 1, LEFT: -1}
