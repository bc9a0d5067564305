"""The T-maze: a cue at the start of a corridor says which arm at its end holds the reward.

After Bakker (2001); defined as in the paper's appendix "T-maze Environment".
"""

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from remanence._typing import Action, Flag, Key, Observation, Scalar
from remanence._words import Word, words_from
from remanence.envs import _corridor as corridor
from remanence.envs._draws import integer_from, sign_from
from remanence.envs._environment import Growth, Script, space_lengths
from remanence.envs._render import ARROWS, Corridor, Scene, show_number


class TMazeParams(eqx.Module):
    """What may differ between the members of a batch.

    `length` is the number of corridor cells, junction included: one number, or a pair (low, high)
    from which every episode draws its own. The time limit is `time_limit_factor` times the
    episode's length (10 is our choice, the paper gives none); None turns it off.

    >>> from remanence import envs
    >>> params = envs.TMazeParams(length=np.array([10, 100]))
    >>> params.length_low.tolist(), params.limit_factor.tolist()
    ([10, 100], [10, 10])
    """

    length_low: Int[Array, "..."]
    length_high: Int[Array, "..."]
    limit_factor: Int[Array, "..."]

    def __init__(self, length: Any = (1, 3), time_limit_factor: Any = 10):
        low, high = corridor.read_range("length", length)
        factor = corridor.read_limit_factor(time_limit_factor, high)
        self.length_low, self.length_high, self.limit_factor = jnp.broadcast_arrays(
            low, high, factor
        )


class TMazeState(eqx.Module):
    """`arm` is 0 in the corridor and the arm's sign once the episode has terminated.

    >>> from remanence import envs
    >>> maze, params = envs.make("tmaze", length=3)
    >>> state = maze.start_with(jnp.int32(1), jax.random.key(0), params)
    >>> {name: int(value) for name, value in vars(state).items()}
    {'time': 0, 'length': 3, 'position': 0, 'goal': 1, 'arm': 0}
    """

    time: Int[Array, ""]
    length: Int[Array, ""]
    position: Int[Array, ""]
    goal: Int[Array, ""]
    arm: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class TMaze(corridor.AbstractMaze[TMazeState, TMazeParams]):
    """Observation: the goal (-1 up, +1 down) at the first step, else 0; 1 at the junction, else 0.

    Actions are right, up, left, down. Up or down at the junction terminates. The arms are not the
    junction: a terminal observation is all zeros.

    >>> from remanence import envs
    >>> maze, params = envs.make("tmaze", length=2)
    >>> key, right = jax.random.key(0), jnp.int32(0)
    >>> state = maze.start_with(jnp.int32(1), key, params)
    >>> state, *_ = maze.advance(key, state, right, params)
    >>> maze.observe(state).tolist()
    [0.0, 1.0]
    """

    params_class: ClassVar[type] = TMazeParams

    @property
    def observation_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([-1, 0], np.float32), np.array([1, 1], np.float32)

    @property
    def growth(self) -> Growth:
        return Growth("length", "length of the maze (cells)", tuple(space_lengths()))

    def grow(self, params: TMazeParams, value: int) -> TMazeParams:
        return TMazeParams(value, int(np.max(params.limit_factor)) or None)

    def read_growth(self, params: TMazeParams) -> tuple[int, int]:
        return corridor.read_ends(params.length_low, params.length_high)

    def time_limit(self, params: TMazeParams) -> int | None:
        return corridor.read_limit(params.limit_factor, params.length_high)

    def start(self, key: Key, params: TMazeParams) -> TMazeState:
        length_word, goal_word = words_from(key)
        return _enter(length_word, sign_from(goal_word), params)

    def start_with(self, cue: Int[Array, ""], key: Key, params: TMazeParams) -> TMazeState:
        length_word, _ = words_from(key)
        return _enter(length_word, 2 * cue - 1, params)

    def cue_observations(self) -> np.ndarray:
        return np.array([[-1, 0], [1, 0]], np.float32)

    def idle_observation(self) -> np.ndarray:
        return np.zeros(2, np.float32)

    def situation(self, state: TMazeState) -> Any:
        return state.length, state.position, state.goal, state.arm, state.time == 0

    def advance(
        self, key: Key, state: TMazeState, action: Action, params: TMazeParams
    ) -> tuple[TMazeState, Scalar, Flag, Flag]:
        del key  # the maze is deterministic once it is drawn
        arm = corridor.choose_arm(state.position == state.length - 1, action)
        reward = corridor.reward_arm(arm, state.goal)
        state = TMazeState(
            time=state.time + 1,
            length=state.length,
            position=corridor.move(state.position, state.length, action),
            goal=state.goal,
            arm=arm,
        )
        truncated = corridor.out_of_time(state.time, params.limit_factor, state.length)
        return state, reward, arm != 0, truncated

    def judge(self, state: TMazeState, action: Action) -> Int[Array, ""]:
        arm = corridor.choose_arm(state.position == state.length - 1, action)
        return corridor.judge_arm(arm, state.goal)

    def observe(self, state: TMazeState) -> Observation:
        cue = jnp.where(state.time == 0, state.goal, 0)
        at_junction = (state.position == state.length - 1) & (state.arm == 0)
        return jnp.stack([cue, at_junction.astype(jnp.int32)]).astype(jnp.float32)

    def script(self) -> Script:
        """Remember the cue, walk right, and take its arm at the junction.

        >>> from remanence import envs
        >>> script = envs.TMaze().script()
        >>> _, memory = script.act(jnp.array([1.0, 0.0]), script.memory)
        >>> envs.ACTION_NAMES[int(script.act(jnp.array([0.0, 1.0]), memory)[0])]
        'down'
        """

        def act(observation: Observation, goal: Int[Array, ""]) -> tuple[Action, Int[Array, ""]]:
            cue, at_junction = observation
            goal = jnp.where(cue != 0, cue.astype(jnp.int32), goal)
            decision = jnp.where(goal > 0, corridor.DOWN, corridor.UP)
            return jnp.where(at_junction > 0, decision, corridor.RIGHT), goal

        return Script(memory=jnp.zeros((), jnp.int32), act=act)

    def depict(self, state: TMazeState) -> Scene:
        time, length, position = int(state.time), int(state.length), int(state.position)
        goal, arm = int(state.goal), int(state.arm)
        place = f"cell {show_number(position + 1)} of {show_number(length)}"
        ending = "goal reached" if arm == goal else "wrong arm"
        return Scene(
            title="T-maze",
            facts=(f"step {show_number(time)}", ending if arm else place),
            corridor=Corridor(length, position, goal, arm, ARROWS[goal] if time == 0 else ""),
        )


def _enter(length_word: Word, goal: Int[Array, ""], params: TMazeParams) -> TMazeState:
    zero = jnp.zeros((), jnp.int32)
    return TMazeState(
        time=zero,
        length=integer_from(length_word, params.length_low, params.length_high),
        position=zero,
        goal=goal,
        arm=zero,
    )
