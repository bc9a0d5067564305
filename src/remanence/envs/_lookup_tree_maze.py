"""LookupTreeMaze: T-mazes in a row, each decided by an entry of a table seen once, at the start.

Defined as in the paper's appendix "LookupTreeMaze Environment", with two errata: "right" is bounded
by the current maze's length, and the number of mazes takes every integer of its range.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from remanence._numbers import check_whole
from remanence._typing import Action, Flag, Key, Observation, Scalar
from remanence._words import Seed, Word, seed_from, word_at
from remanence.envs import _corridor as corridor
from remanence.envs._draws import integer_from, sign_from
from remanence.envs._environment import Growth, Script
from remanence.envs._render import Corridor, Scene, Table, show_number
from remanence.errors import InvalidOptionError

INDEX_ENCODINGS = ("scalar", "one-hot")


class LookupTreeMazeParams(eqx.Module):
    """What may differ between the members of a batch.

    `num_mazes` and `length` (of each maze, junction included) are numbers or pairs (low, high).
    The time limit is `time_limit_factor` times the sum of the episode's lengths (10 is our choice,
    the paper gives none); None turns it off. Each maze draws how slippery it
    is, uniformly from 0 to `slip`: so likely is a step to go right or left by a coin, whatever was
    chosen. Who is to remember however they walk has to meet more than the straight way, and so
    waits are met: one of n steps or more with probability slip^n / (n + 1). It is for training: a
    maze that has grown has none. It is for one-hot indices, too: where an index is one number, a
    decision that slipped in a maze of length 1 looks like a maze with the index 0.

    >>> from remanence import envs
    >>> params = envs.LookupTreeMazeParams(num_mazes=5, length=(1, 3), time_limit_factor=None)
    >>> [int(number) for number in (params.num_mazes_low, params.length_high, params.limit_factor)]
    [5, 3, 0]
    """

    num_mazes_low: Int[Array, "..."]
    num_mazes_high: Int[Array, "..."]
    length_low: Int[Array, "..."]
    length_high: Int[Array, "..."]
    limit_factor: Int[Array, "..."]
    slip: Float[Array, "..."] | None

    def __init__(
        self,
        num_mazes: Any = (1, 20),
        length: Any = (1, 3),
        time_limit_factor: Any = 10,
        slip: Any = 0.0,
    ):
        lengths = corridor.read_range("length", length)
        counts = corridor.read_range("num_mazes", num_mazes)
        factor = corridor.read_limit_factor(time_limit_factor, counts[1], lengths[1])
        chance = corridor.read_chance("slip", slip)
        (
            self.num_mazes_low,
            self.num_mazes_high,
            self.length_low,
            self.length_high,
            self.limit_factor,
            broadcast_chance,
        ) = jnp.broadcast_arrays(*counts, *lengths, factor, 0.0 if chance is None else chance)
        self.slip = None if chance is None else broadcast_chance


class LookupTreeMazeState(eqx.Module):
    """`maze` counts from 0 and reaches `num_mazes` when the episode has terminated.

    `entered` is true on the first step of each maze. Bit i of `table` is set where entry i is +1;
    the mazes are functions of `seed`. `total_length` is the sum of the lengths of
    the first `time + 1` mazes, and so of all of them long before a time limit can bind.

    >>> from remanence import envs
    >>> maze, params = envs.make("lookup-tree-maze", num_mazes=5, length=2)
    >>> _, state = maze.reset(jax.random.key(0), params)
    >>> int(state.num_mazes), int(state.maze), bool(state.entered), int(state.total_length)
    (5, 0, True, 2)
    """

    time: Int[Array, ""]
    num_mazes: Int[Array, ""]
    maze: Int[Array, ""]
    length: Int[Array, ""]
    position: Int[Array, ""]
    goal: Int[Array, ""]
    index: Int[Array, ""]
    entered: Bool[Array, ""]
    table: Int[Array, ""]
    total_length: Int[Array, ""]
    seed: Seed


@dataclasses.dataclass(frozen=True)
class LookupTreeMaze(corridor.AbstractMaze[LookupTreeMazeState, LookupTreeMazeParams]):
    """Observation: the table at the first step, the index on each maze's first step, the junction.

    All are 0 elsewhere. The index is one number (the paper's letter, where 0 also means "none") or
    a one-hot vector. Rewards are the T-maze's divided by the number of mazes. A terminal
    observation is all zeros.

    >>> from remanence import envs
    >>> maze, params = envs.make("lookup-tree-maze", table_size=3)
    >>> state = maze.start_with(jnp.int32(0), jax.random.key(0), params)
    >>> maze.observe(state)[:3].tolist()
    [1.0, -1.0, -1.0]
    >>> maze.observation_size, maze.num_tables, maze.time_limit(params)
    (5, 6, 600)
    """

    table_size: int = 4
    index_encoding: str = "scalar"

    params_class: ClassVar[type] = LookupTreeMazeParams

    def __post_init__(self):
        check_whole("table_size", self.table_size, 2, 30)
        if self.index_encoding not in INDEX_ENCODINGS:
            known = " or ".join(map(repr, INDEX_ENCODINGS))
            raise InvalidOptionError("index_encoding", self.index_encoding, f"use {known}")

    @property
    def observation_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        one_hot = self.index_encoding == "one-hot"
        index_high = [1.0] * self.table_size if one_hot else [self.table_size - 1.0]
        low = [-1.0] * self.table_size + [0.0] * len(index_high) + [0.0]
        high = [1.0] * self.table_size + index_high + [1.0]
        return np.array(low, np.float32), np.array(high, np.float32)

    @property
    def growth(self) -> Growth:
        return Growth("num_mazes", "number of mazes", (10, 100, 1_000, 10_000))

    def grow(self, params: LookupTreeMazeParams, value: int) -> LookupTreeMazeParams:
        """So many mazes, each as long as the longest of `params`.

        >>> from remanence import envs
        >>> maze = envs.LookupTreeMaze()
        >>> maze.time_limit(maze.grow(envs.LookupTreeMazeParams(length=(1, 3)), 100))
        3000
        """
        longest = int(np.max(params.length_high))
        return LookupTreeMazeParams(value, longest, int(np.max(params.limit_factor)) or None)

    def read_growth(self, params: LookupTreeMazeParams) -> tuple[int, int]:
        return corridor.read_ends(params.num_mazes_low, params.num_mazes_high)

    def time_limit(self, params: LookupTreeMazeParams) -> int | None:
        return corridor.read_limit(params.limit_factor, params.num_mazes_high, params.length_high)

    def start(self, key: Key, params: LookupTreeMazeParams) -> LookupTreeMazeState:
        seed = seed_from(key)
        one = jnp.ones((), jnp.int32)
        table = integer_from(word_at(seed, one), one, one * self.num_tables)
        return self._enter(seed, table, params)

    def start_with(
        self, cue: Int[Array, ""], key: Key, params: LookupTreeMazeParams
    ) -> LookupTreeMazeState:
        return self._enter(seed_from(key), cue + 1, params)

    @property
    def num_tables(self) -> int:
        """How many tables there are whose entries are not all equal."""
        return 2**self.table_size - 2

    def cue_observations(self) -> np.ndarray:
        tables = np.arange(1, self.num_tables + 1)[:, None] >> np.arange(self.table_size) & 1
        nothing = np.zeros((self.num_tables, self.observation_size - self.table_size))
        return np.concatenate([2 * tables - 1, nothing], axis=1).astype(np.float32)

    def idle_observation(self) -> np.ndarray:
        return np.zeros(self.observation_size, np.float32)

    def situation(self, state: LookupTreeMazeState) -> Any:
        return state.maze, state.position, state.entered, state.time == 0

    def _enter(
        self, seed: Seed, table: Int[Array, ""], params: LookupTreeMazeParams
    ) -> LookupTreeMazeState:
        zero = jnp.zeros((), jnp.int32)
        num_mazes_word = word_at(seed, zero)
        length = _length_of(zero, seed, params)
        goal, index = self._goal_of(zero, seed, table)
        return LookupTreeMazeState(
            time=zero,
            num_mazes=integer_from(num_mazes_word, params.num_mazes_low, params.num_mazes_high),
            maze=zero,
            length=length,
            position=zero,
            goal=goal,
            index=index,
            entered=jnp.array(True),
            table=table,
            total_length=length,
            seed=seed,
        )

    def advance(
        self, key: Key, state: LookupTreeMazeState, action: Action, params: LookupTreeMazeParams
    ) -> tuple[LookupTreeMazeState, Scalar, Flag, Flag]:
        del key  # the mazes are deterministic once their seed is drawn
        action = _slip(state, action, params)
        arm = corridor.choose_arm(state.position == state.length - 1, action)
        reward = corridor.reward_arm(arm, state.goal) / state.num_mazes.astype(jnp.float32)
        maze = state.maze + jnp.abs(arm)
        terminated = maze == state.num_mazes
        entered = (arm != 0) & ~terminated
        length = _length_of(maze, state.seed, params)
        goal, index = self._goal_of(maze, state.seed, state.table)
        state = LookupTreeMazeState(
            time=state.time + 1,
            num_mazes=state.num_mazes,
            maze=maze,
            length=jnp.where(entered, length, state.length),
            position=jnp.where(arm != 0, 0, corridor.move(state.position, state.length, action)),
            goal=jnp.where(entered, goal, state.goal),
            index=jnp.where(entered, index, state.index),
            entered=entered,
            table=state.table,
            total_length=state.total_length + _revealed_length(state, params),
            seed=state.seed,
        )
        truncated = corridor.out_of_time(state.time, params.limit_factor, state.total_length)
        return state, reward, terminated, truncated

    def judge(self, state: LookupTreeMazeState, action: Action) -> Int[Array, ""]:
        arm = corridor.choose_arm(state.position == state.length - 1, action)
        return corridor.judge_arm(arm, state.goal)

    def observe(self, state: LookupTreeMazeState) -> Observation:
        table = jnp.where(state.time == 0, self.table_entries(state), 0)
        if self.index_encoding == "one-hot":
            index = (jnp.arange(self.table_size) == state.index).astype(jnp.int32)
        else:
            index = state.index[None]
        index = jnp.where(state.entered, index, 0)
        at_junction = (state.position == state.length - 1) & (state.maze < state.num_mazes)
        parts = [table, index, at_junction[None].astype(jnp.int32)]
        return jnp.concatenate(parts).astype(jnp.float32)

    def table_entries(self, state: LookupTreeMazeState) -> Int[Array, " table"]:
        """The lookup table (table,), an arm's sign for each index.

        >>> from remanence import envs
        >>> maze = envs.LookupTreeMaze(table_size=3)
        >>> state = maze.start_with(jnp.int32(0), jax.random.key(0), envs.LookupTreeMazeParams())
        >>> maze.table_entries(state).tolist()
        [1, -1, -1]
        """
        return 2 * ((state.table >> jnp.arange(self.table_size)) & 1) - 1

    def script(self) -> Script:
        """Remember the table, look each index up in it, and take that arm at the junction.

        >>> from remanence import envs
        >>> script = envs.LookupTreeMaze(table_size=3).script()
        >>> seen = jnp.array([1.0, -1.0, -1.0, 2.0, 1.0])  # the table, the index, the junction
        >>> envs.ACTION_NAMES[int(script.act(seen, script.memory)[0])]
        'up'
        """

        def act(observation: Observation, memory: _Notes) -> tuple[Action, _Notes]:
            seen, index = observation[: self.table_size], observation[self.table_size : -1]
            table = jnp.where(jnp.any(seen != 0), seen.astype(jnp.int32), memory.table)
            # A scalar index of 0 looks like none, so the script counts on a maze to begin right
            # after every decision, which is so unless it slipped.
            if index.size == 1:
                entry, begins = index[0].astype(jnp.int32), memory.maze_begins
            else:
                entry, begins = jnp.argmax(index), jnp.any(index > 0)
            goal = jnp.where(begins, table[entry], memory.goal)
            decides = observation[-1] > 0
            decision = jnp.where(goal > 0, corridor.DOWN, corridor.UP)
            return jnp.where(decides, decision, corridor.RIGHT), _Notes(table, goal, decides)

        blank = jnp.zeros((), jnp.int32)
        return Script(_Notes(jnp.zeros(self.table_size, jnp.int32), blank, jnp.array(True)), act)

    def depict(self, state: LookupTreeMazeState) -> Scene:
        time, maze, num_mazes = int(state.time), int(state.maze), int(state.num_mazes)
        length, position, index = int(state.length), int(state.position), int(state.index)
        finished = maze == num_mazes
        place = f"cell {show_number(position + 1)} of {show_number(length)}"
        counted = f"maze {show_number(maze + 1)} of {show_number(num_mazes)}"
        sign = str(index) if state.entered else ""
        return Scene(
            title="LookupTreeMaze",
            facts=(f"step {show_number(time)}", *(["finished"] if finished else [counted, place])),
            corridor=Corridor(length, None if finished else position, int(state.goal), sign=sign),
            table=Table(tuple(self.table_entries(state).tolist()), index, visible=time == 0),
            progress=(maze, num_mazes),
        )

    def _goal_of(
        self, maze: Int[Array, ""], seed: Seed, table: Int[Array, ""]
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """A goal by a fair coin, then an index uniform among the table's entries equal to it."""
        _, goal_word, index_word = _words_of(maze, seed)
        goal = sign_from(goal_word)
        equal = jnp.where(goal > 0, table, ~table)
        counts = [
            jax.lax.population_count(equal & (2**size - 1))
            for size in range(1, self.table_size + 1)
        ]
        rank = integer_from(index_word, jnp.int32(1), counts[-1])
        # The entry of that rank comes after all those where the count has not yet reached it.
        return goal, sum(((count < rank).astype(jnp.int32) for count in counts), jnp.int32(0))


class _Notes(NamedTuple):
    table: Int[Array, " table"]
    goal: Int[Array, ""]
    maze_begins: Bool[Array, ""]


def _words_of(maze: Int[Array, ""], seed: Seed) -> tuple[Word, Word, Word]:
    """The random words of one maze: for its length, its goal and its index."""
    first = 2 + 3 * maze  # words 0 and 1 are the episode's
    return word_at(seed, first), word_at(seed, first + 1), word_at(seed, first + 2)


def _length_of(maze: Int[Array, ""], seed: Seed, params: LookupTreeMazeParams) -> Int[Array, ""]:
    return integer_from(_words_of(maze, seed)[0], params.length_low, params.length_high)


def _slip(state: LookupTreeMazeState, action: Action, params: LookupTreeMazeParams) -> Action:
    """The action, or a step right or left instead."""
    if params.slip is None:
        return action
    # Counted down from -1: lengths, goals and indices have the words from 0 on.
    step_word = word_at(state.seed, -1 - 2 * state.time)
    maze_word = word_at(state.seed, -2 - 2 * state.maze)
    slips = _chance_from(step_word) < params.slip * _chance_from(maze_word)
    return jnp.where(slips, jnp.where(step_word & 1, corridor.LEFT, corridor.RIGHT), action)


def _chance_from(word: Word) -> Scalar:
    """Uniform over [0, 1), from the upper 24 bits."""
    return (word >> 8).astype(jnp.float32) / 2.0**24


def _revealed_length(state: LookupTreeMazeState, params: LookupTreeMazeParams) -> Int[Array, ""]:
    """The length that this step adds to `total_length`.

    The time limit needs the sum of all lengths, and adding them up at the reset would cost as much
    as there are mazes. One maze a step is enough: all are known after `num_mazes` steps, and the
    limit is at least one step for each maze.
    """
    maze = state.time + 1
    length = _length_of(maze, state.seed, params)
    return jnp.where(maze < state.num_mazes, length, 0)
