"""A greedy agent in a T-maze as one compiled program, which every exact evaluation goes through.

Plain stepping, fast-forward and certificates must not differ by a bit, and another compilation of
the same formulas may round differently. So there is one executable, one loop in it and one body of
that loop; what is computed differs only in what the body is given.
"""

import abc
import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from remanence.envs import (
    ACTION_NAMES,
    REWARD_RIGHT_ARM,
    REWARD_WRONG_ARM,
    AbstractEnvironment,
    PreviousAction,
    TMaze,
    TMazeParams,
    TMazeState,
)
from remanence.errors import InvalidOptionError
from remanence.networks import Agent, check_fits

TAPE_ROWS = 1024
NUM_ACTIONS = len(ACTION_NAMES)
RIGHT, UP, LEFT, DOWN = range(NUM_ACTIONS)
ARMS = {UP: -1, DOWN: 1}
GOALS = (-1, 1)
RETURNS = {"right": REWARD_RIGHT_ARM, "wrong": REWARD_WRONG_ARM, "timeout": 0.0}
ENDLESS = 2**30  # a length that nothing walks to the end of

Memories = np.ndarray  # rows of unsigned words: the bits of the state, then the last action


class Spot(NamedTuple):
    """Where an agent stands before it looks; without memory, it looks for the first time."""

    goal: int
    length: int
    position: int = 0
    memory: np.ndarray | None = None


class Trace(NamedTuple):
    """Steps one after the other: memory and position after each, and the arm entered at last."""

    memories: Memories
    actions: np.ndarray
    positions: np.ndarray
    arm: int


class AbstractWalker(abc.ABC):
    """What the analysis of all lengths needs of an agent: its steps, bit for bit.

    A memory is all that decides what comes next in the same place, and holds the last action.
    """

    @abc.abstractmethod
    def walk(self, spot: Spot, num_steps: int) -> Trace:
        """Some steps from a spot on, `num_steps` at most; fewer if an arm is entered before."""

    @abc.abstractmethod
    def decide(self, memories: Memories) -> np.ndarray:
        """The action that each memory takes if it sees the junction next."""

    @abc.abstractmethod
    def read_state(self, memory: np.ndarray) -> np.ndarray:
        """The recurrent state in a memory."""


class Walk(NamedTuple):
    """A spot as the program has it, or a column of them: arrays of the host or of the device."""

    state: Any
    last_action: Any
    first: Any
    goal: Any
    length: Any
    position: Any


class Walker(AbstractWalker):
    """An agent in a T-maze; all agents of one architecture share one compiled program.

    The program works through a tape of rows, one step each. A row goes on with the walk of the row
    before, or opens another one: a long walk opens once, and decisions at the junction open in
    every row.
    """

    def __init__(self, agent: Agent, environment: AbstractEnvironment):
        check_walkable(agent, environment)
        self._weights, skeleton = eqx.partition(agent.policy, eqx.is_array)
        self._run = compile_tape(self._weights, skeleton, environment)
        self._initial_state = np.asarray(agent.initial_state())
        self._word = np.dtype(f"u{self._initial_state.itemsize}")
        rows = self._blank(TAPE_ROWS)
        self._no_openings = jax.device_put((np.zeros(TAPE_ROWS, bool), rows))

    def walk(self, spot: Spot, num_steps: int) -> Trace:
        num_rows = min(num_steps, TAPE_ROWS)
        tape = self._run(self._weights, *self._no_openings, self._open(spot), np.int32(num_rows))
        states, actions, positions, arms = (np.asarray(part) for part in tape)
        entered = np.flatnonzero(arms[:num_rows])
        end = entered[0] + 1 if len(entered) else num_rows
        memories = self._remember(states[:end], actions[:end])
        arm = int(arms[end - 1]) if end else 0
        return Trace(memories, actions[:end], positions[:end], arm)

    def decide(self, memories: Memories) -> np.ndarray:
        blocks = range(0, len(memories), TAPE_ROWS)
        return np.concatenate(
            [self._decide(memories[block : block + TAPE_ROWS]) for block in blocks]
            or [np.zeros(0, np.int32)]
        )

    def _decide(self, memories: Memories) -> np.ndarray:
        num_rows = len(memories)
        rows = self._blank(TAPE_ROWS)
        rows.state[:num_rows], rows.last_action[:num_rows] = self._recall(memories)
        rows.position[:] = ENDLESS - 1
        opens = np.ones(TAPE_ROWS, bool)
        start = jax.tree.map(lambda leaf: leaf[0], rows)
        tape = self._run(self._weights, opens, rows, start, np.int32(num_rows))
        return np.asarray(tape.actions)[:num_rows]

    def _open(self, spot: Spot) -> Walk:
        first = spot.memory is None
        state, action = (
            (self._initial_state, np.int32(-1)) if first else self._recall(np.asarray(spot.memory))
        )
        return Walk(
            state, action, np.bool_(first), *map(np.int32, (spot.goal, spot.length, spot.position))
        )

    def _blank(self, num_rows: int) -> Walk:
        states = np.tile(self._initial_state, (num_rows, 1))
        zeros = np.zeros(num_rows, np.int32)
        return Walk(states, zeros.copy(), zeros != 0, zeros + 1, zeros + ENDLESS, zeros.copy())

    def _remember(self, states: np.ndarray, actions: np.ndarray) -> Memories:
        words = np.ascontiguousarray(states).view(self._word)
        return np.concatenate([words, actions[:, None].astype(self._word)], axis=1)

    def _recall(self, memories: Memories) -> tuple[np.ndarray, np.ndarray]:
        states = np.ascontiguousarray(memories[..., :-1]).view(self._initial_state.dtype)
        return states, memories[..., -1].astype(np.int32)

    def read_state(self, memory: np.ndarray) -> np.ndarray:
        return self._recall(memory)[0]


class Tape(NamedTuple):
    """What the program writes, row by row."""

    states: Float[Array, "rows state"]
    actions: Int[Array, " rows"]
    positions: Int[Array, " rows"]
    arms: Int[Array, " rows"]


def compile_tape(weights: Any, skeleton: Any, environment: AbstractEnvironment) -> Any:
    """The executable for policies of that shape in that environment: one and only one of each."""
    leaves, structure = jax.tree.flatten(weights)
    shapes = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
    return _compile_tape(shapes, structure, skeleton, environment)


@functools.cache
def _compile_tape(
    shapes: tuple[jax.ShapeDtypeStruct, ...],
    structure: Any,
    skeleton: Any,
    environment: AbstractEnvironment,
) -> Any:
    weights = jax.tree.unflatten(structure, shapes)

    def stand(weights: Any) -> Walk:
        number = jnp.zeros((), jnp.int32)
        state = eqx.combine(weights, skeleton).initial_state()
        return Walk(state, number, number == 0, number, number, number)

    start = jax.eval_shape(stand, weights)
    openings = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((TAPE_ROWS, *leaf.shape), leaf.dtype), start
    )
    run = functools.partial(run_tape, skeleton, environment)
    return jax.jit(run).lower(weights, openings.first, openings, start, start.position).compile()


def run_tape(
    skeleton: Any,
    environment: AbstractEnvironment,
    weights: Any,
    opens: Bool[Array, " rows"],
    openings: Walk,
    start: Walk,
    num_rows: Int[Array, ""],
) -> Tape:
    """Work through the first `num_rows` rows; the others of what is returned mean nothing."""
    policy = eqx.combine(weights, skeleton)
    params = TMazeParams(length=ENDLESS, time_limit_factor=None)
    key = jax.random.key(0)  # nothing is drawn in a maze once it has been entered

    def step(row: Int[Array, ""], carry: tuple[Walk, Tape]) -> tuple[Walk, Tape]:
        walk, tape = carry
        walk = jax.tree.map(lambda rows, now: jnp.where(opens[row], rows[row], now), openings, walk)
        place = _place(environment, walk)
        logits, state = policy.step(environment.observe(place), walk.state)
        action = jnp.argmax(logits).astype(jnp.int32)
        place, *_ = environment.advance(key, place, action, params)
        maze = place.inner if isinstance(environment, PreviousAction) else place
        now = Tape(state, action, maze.position, maze.arm)
        tape = jax.tree.map(lambda rows, value: rows.at[row].set(value), tape, now)
        walk = Walk(state, action, jnp.array(False), walk.goal, walk.length, maze.position)
        return walk, tape

    zeros = jnp.zeros(len(opens), jnp.int32)
    blank = Tape(jnp.zeros_like(openings.state), zeros, zeros, zeros)
    return jax.lax.fori_loop(0, num_rows, step, (start, blank))[1]


def can_certify(environment: AbstractEnvironment) -> bool:
    """Whether certificates and exact episodes are to be had in an environment.

    >>> from remanence import certificates, envs
    >>> [certificates.can_certify(maze) for maze in (envs.TMaze(), envs.LookupTreeMaze())]
    [True, False]
    """
    return isinstance(environment.unwrapped, TMaze)


def check_walkable(agent: Agent, environment: AbstractEnvironment) -> None:
    """Raise unless this is an agent of a T-maze."""
    if not can_certify(environment):
        remedy = "this is for the T-maze; for the LookupTreeMaze there is `certificates.mazes`"
        raise InvalidOptionError("env", type(environment.unwrapped).__name__, remedy)
    check_fits(agent, environment)


def _place(environment: AbstractEnvironment, walk: Walk) -> Any:
    """The environment's state at a spot."""
    maze = TMazeState(
        time=jnp.where(walk.first, 0, 1),
        length=walk.length,
        position=walk.position,
        goal=walk.goal,
        arm=jnp.zeros((), jnp.int32),
    )
    if isinstance(environment, PreviousAction):
        return environment.join(maze, walk.last_action)
    return maze
