"""A greedy agent in a T-maze as the portable program: the same walk, the same bits everywhere."""

from typing import Any

import numpy as np

from remanence.certificates._arrivals import Undecided
from remanence.certificates._walker import (
    ARMS,
    LEFT,
    NUM_ACTIONS,
    RIGHT,
    TAPE_ROWS,
    AbstractWalker,
    Memories,
    Spot,
    Trace,
    check_walkable,
)
from remanence.envs import AbstractEnvironment, PreviousAction
from remanence.networks import Agent

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
        """Stretch by stretch, each of steps that see the same; how long one is, is guessed."""
        state, action = self._open(spot)
        position, cue = spot.position, spot.goal if spot.memory is None else 0
        stretches, arm, guess = [], 0, 1
        while num_steps and not arm:
            at_junction = position == spot.length - 1
            look = self._look(cue, int(at_junction), action)
            states = self._policy.follow(look, state, min(guess, num_steps, TAPE_ROWS))
            logits = self._policy.decode(look, states)
            actions = logits.argmax(-1)
            positions = _follow_moves(actions, position, spot.length)
            arms = _ARM_OF_ACTION[actions] if at_junction else np.zeros_like(actions)
            # What is computed after a change is thrown away: it saw what was not to be seen.
            changes = (arms != 0) | ((positions == spot.length - 1) != at_junction)
            if self._sees_action:
                changes |= actions != action
            count = int(changes.argmax()) + 1 if changes.any() else len(actions)
            guess = 1 if changes.any() else 2 * guess
            self._check_finite(states[:count])
            self._check_finite(logits[:count])
            stretches.append((states[:count], actions[:count], positions[:count]))
            state, cue, num_steps = states[count - 1], 0, num_steps - count
            action, position, arm = (int(it[count - 1]) for it in (actions, positions, arms))
        states, actions, positions = map(np.concatenate, zip(*stretches, strict=True))
        memories = self._remember(states, actions)
        return Trace(memories, actions.astype(np.int32), positions.astype(np.int32), arm)

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


_ARM_OF_ACTION = np.array([ARMS.get(action, 0) for action in range(NUM_ACTIONS)])


def _follow_moves(actions: np.ndarray, position: int, length: int) -> np.ndarray:
    """Where each action leads, up to the first that leads to the junction or away from it."""
    ahead = (actions == RIGHT) & (position < length - 1)
    free = position + np.cumsum(ahead.astype(np.int64) - (actions == LEFT))
    return free - np.minimum.accumulate(np.minimum(free, 0))  # the wall on the left
