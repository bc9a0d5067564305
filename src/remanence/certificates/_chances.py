"""An agent of the T-maze that samples its actions: with which chances, along its one orbit.

What it remembers in the corridor depends on time and not on what it did, so that the chances at
each time are known before anything is drawn. With the previous action in its observation that is
not so.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from remanence.certificates._orbit import Closure, Orbit
from remanence.certificates._walker import LEFT, RIGHT, Walker
from remanence.envs import AbstractEnvironment
from remanence.networks import Agent, Network

FEWEST_ROWS = 64
BLOCK = 1024

Rows = np.ndarray


class SampledAgent:
    """Chances of actions, and memories after a look, for many memories at once."""

    def __init__(self, agent: Agent, environment: AbstractEnvironment):
        self._policy = agent.policy
        self._walker = Walker(agent, environment)

    def open(self, goal: int, at_junction: bool) -> tuple[Rows, Rows]:
        """Chances (4,) and memory (state,) after the first look."""
        seen = np.array([goal, at_junction], np.float32)
        chances, states = self._step(seen, np.asarray(self._policy.initial_state())[None])
        return chances[0], states[0]

    def look(self, states: Rows, at_junction: bool) -> tuple[Rows, Rows]:
        """Chances (rows, 4) and memories (rows, state) after a look down the corridor, or at its
        junction, from memories (rows, state)."""
        return self._step(np.array([0, at_junction], np.float32), states)

    def follow(self, goal: int) -> "SampledOrbit":
        """What a cue leads to in a corridor without end."""
        return SampledOrbit(self, self._walker, goal)

    def _step(self, seen: np.ndarray, states: Rows) -> tuple[Rows, Rows]:
        # Sizes are powers of two, so that few programs are compiled.
        size = max(FEWEST_ROWS, 1 << (len(states) - 1).bit_length())
        padded = np.zeros((size, states.shape[1]), states.dtype)
        padded[: len(states)] = states
        logits, after = _step_rows(self._policy, jnp.asarray(seen), jnp.asarray(padded))
        return _soften(np.asarray(logits)[: len(states)]), np.asarray(after)[: len(states)]


@eqx.filter_jit
def _step_rows(policy: Network, seen: Array, states: Float[Array, "rows state"]) -> Any:
    # One after the other, and not as a batch, whose rows may be rounded by where they stand: equal
    # memories must stay equal.
    return jax.lax.map(lambda state: policy.step(seen, state), states)


def _soften(logits: np.ndarray) -> np.ndarray:
    """The softmax of each row, in double precision."""
    logits = logits.astype(np.float64)
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


class SampledOrbit:
    """One cue's memories in a corridor without end, and the chances of a step at each time."""

    def __init__(self, agent: SampledAgent, walker: Walker, goal: int):
        self.agent, self.goal = agent, goal
        self._orbit, self._walker = Orbit(walker, goal), walker
        opening, _ = agent.open(goal, at_junction=False)
        self._moves = opening[None, [RIGHT, LEFT]]

    @property
    def closure(self) -> Closure | None:
        """From when on, and how often, the chances repeat; None while they have not."""
        found = self._orbit.closure
        # The chances at a time are those of the memory before it.
        return None if found is None else Closure(found.transient + 1, found.period)

    def close(self, budget: int) -> bool:
        """Whether the memory repeats within so many steps."""
        self._orbit.extend(budget)
        return self._orbit.closed

    def reduce(self, time: Any) -> Any:
        """The earliest time, of each of them, at which the chances of a step are the same."""
        if self.closure is None:
            return time
        transient, period = self.closure
        return time - period * (np.maximum(time - transient, 0) // period)

    def moves(self, time: int) -> tuple[float, float]:
        """The chances of a step to the right and to the left at a time."""
        while len(self._moves) <= self.reduce(time):
            self._extend()
        time = self.reduce(time)
        right, left = self._moves[time]
        return float(right), float(left)

    def list_cycle(self) -> np.ndarray:
        """The chances of steps to the right and to the left in one period, (period, 2)."""
        assert self.closure is not None
        transient, period = self.closure
        return np.array([self.moves(transient + phase) for phase in range(period)])

    def read_states(self, times: np.ndarray) -> Rows:
        """The memories that a look at these times begins with, (times, state)."""
        memories = (self._orbit.memory(int(time) - 1) for time in times)
        return np.stack([self._walker.read_state(memory) for memory in memories])

    def _extend(self) -> None:
        begin = len(self._moves)
        self._orbit.extend(begin + BLOCK)
        chances, _ = self.agent.look(self.read_states(np.arange(begin, begin + BLOCK)), False)
        self._moves = np.concatenate([self._moves, chances[:, [RIGHT, LEFT]]])
