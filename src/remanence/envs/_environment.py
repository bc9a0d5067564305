"""What an environment is: pure functions of one unbatched episode, in the manner of gymnax 1.0.

Nothing here depends on gymnax; the adapters live in `_gymnax.py` and `_gymnasium.py`.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from remanence._keys import derive_key
from remanence._typing import Action, Flag, Key, Observation, Scalar
from remanence.envs._render import Scene, list_fields
from remanence.errors import InvalidOptionError, MissingMethodError

State = TypeVar("State")
Params = TypeVar("Params")
Integer = Int[Array, ""]

# What `judge` says of an action.
RIGHT_DECISION, NO_DECISION, WRONG_DECISION = 1, 0, -1


class Growth(NamedTuple):
    """Its name as a column of a table, its label on an axis, and its usual values.

    >>> from remanence import envs
    >>> envs.LookupTreeMaze().growth
    Growth(name='num_mazes', label='number of mazes', usual=(10, 100, 1000, 10000))
    """

    name: str
    label: str
    usual: tuple[int, ...]


def space_lengths(shortest: int = 2, longest: int = 10**6, per_decade: int = 10) -> list[int]:
    """Whole lengths at equal distances on a logarithmic scale, both ends included.

    >>> from remanence import envs
    >>> envs.space_lengths(2, 100, per_decade=3)
    [2, 4, 10, 21, 46, 100]
    """
    if not 1 <= shortest <= longest:
        received, remedy = f"{shortest}:{longest}", "use 1 or more, the shortest first"
        raise InvalidOptionError("lengths", received, remedy)
    num = 1 + max(1, round(per_decade * np.log10(longest / shortest)))
    return np.unique(np.round(np.geomspace(shortest, longest, num)).astype(int)).tolist()


class Script(NamedTuple):
    """A hand-written agent: `act(observation, memory) -> (action, memory)`.

    Each episode starts with `memory`; everything is JAX, so a script can be batched and compiled.

    >>> from remanence import envs
    >>> script = envs.TMaze().script()
    >>> action, memory = script.act(jnp.array([-1.0, 1.0]), script.memory)
    >>> envs.ACTION_NAMES[int(action)]
    'up'
    """

    memory: Any
    act: Callable[[Observation, Any], tuple[Action, Any]]


@dataclasses.dataclass(frozen=True)
class AbstractEnvironment(abc.ABC, Generic[State, Params]):
    """An environment with discrete actions and vector observations.

    A subclass is a frozen dataclass of its *static* options (those that change shapes); what may
    differ between the members of a batch is in `params_class`, a pytree.

    To train on it, the abstract methods are enough. Evaluation also needs `growth`, `grow` and
    `judge`. The rest adds to that where it is defined: cues make episodes balanced, a time limit
    bounds them, a situation shows that one of them repeats itself, and an idle observation is what
    the stability of a memory is measured under.

    >>> from remanence import envs
    >>> maze, params = envs.make("tmaze", length=3)
    >>> state = maze.start_with(jnp.int32(1), jax.random.key(0), params)
    >>> maze.observe(state).tolist()
    [1.0, 0.0]
    >>> state, reward, *ended = maze.advance(jax.random.key(0), state, jnp.int32(0), params)
    >>> maze.observe(state).tolist(), float(reward), any(map(bool, ended))
    ([0.0, 0.0], 0.0, False)
    >>> maze.optimal_return(params), maze.random_decision_return(params), maze.time_limit(params)
    (4.0, 1.95, 30)
    >>> maze.read_growth(maze.grow(params, 100))
    (100, 100)
    """

    params_class: ClassVar[type]

    @property
    @abc.abstractmethod
    def num_actions(self) -> int: ...

    @property
    @abc.abstractmethod
    def observation_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value of every component of an observation."""

    @abc.abstractmethod
    def start(self, key: Key, params: Params) -> State:
        """Draw the first state of an episode.

        >>> from remanence import envs
        >>> state = envs.TMaze().start(jax.random.key(0), envs.TMazeParams(length=3))
        >>> int(state.length), int(state.goal) in (-1, 1)
        (3, True)
        """

    @abc.abstractmethod
    def advance(
        self, key: Key, state: State, action: Action, params: Params
    ) -> tuple[State, Scalar, Flag, Flag]:
        """One transition within an episode: state, reward, terminated, truncated."""

    @abc.abstractmethod
    def observe(self, state: State) -> Observation:
        """What the agent sees of a state, (observation,)."""

    @property
    def unwrapped(self) -> "AbstractEnvironment":
        """The environment itself, inside whatever is wrapped around it."""
        return self

    @property
    def default_params(self) -> Params:
        return self.params_class()

    @property
    def action_names(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.num_actions)))

    @property
    def observation_size(self) -> int:
        return len(self.observation_bounds[0])

    def reset(self, key: Key, params: Params | None = None) -> tuple[Observation, State]:
        """Start an episode: its first observation (observation,), and its state.

        >>> from remanence import envs
        >>> observation, state = envs.TMaze().reset(jax.random.key(0))
        >>> observation.shape, int(state.time)
        ((2,), 0)
        """
        state = self.start(key, self.default_params if params is None else params)
        return self.observe(state), state

    def step(
        self, key: Key, state: State, action: Action, params: Params | None = None
    ) -> tuple[Observation, State, Scalar, Flag, Flag, dict[str, Any]]:
        """One transition; where the episode ends, a new one starts in the same step.

        The returned observation and state are then those of the new episode, and
        `info["final_observation"]` is the last observation of the old one (everywhere else it is
        the returned observation). `terminated` and `truncated` can both be true.

        >>> from remanence import envs
        >>> maze, params = envs.make("tmaze", length=1)
        >>> key, down = jax.random.key(0), jnp.int32(3)
        >>> state = maze.start_with(jnp.int32(1), key, params)
        >>> _, state, reward, terminated, _, info = maze.step(key, state, down, params)
        >>> float(reward), bool(terminated), info["final_observation"].tolist(), int(state.time)
        (4.0, True, [0.0, 0.0], 0)
        """
        params = self.default_params if params is None else params
        return self.step_from(self.draw(key, params), state, action, params)

    def draw(self, key: Key, params: Params) -> tuple[Key, State]:
        """All that is random in a step: a key for `advance`, and the episode to start if one ends.

        Neither depends on the state, so the draws of many steps can be made at once.

        >>> from remanence import envs
        >>> _, fresh_state = envs.TMaze().draw(jax.random.key(0), envs.TMazeParams(length=3))
        >>> int(fresh_state.time), int(fresh_state.length)
        (0, 3)
        """
        return derive_key(key, "advance"), self.start(derive_key(key, "start"), params)

    def step_from(
        self, drawn: tuple[Key, State], state: State, action: Action, params: Params
    ) -> tuple[Observation, State, Scalar, Flag, Flag, dict[str, Any]]:
        """What `step` does, given what it draws.

        >>> from remanence import envs
        >>> maze, params = envs.make("tmaze", length=1)
        >>> key, down = jax.random.key(0), jnp.int32(3)
        >>> state = maze.start_with(jnp.int32(1), key, params)
        >>> stepped = maze.step_from(maze.draw(key, params), state, down, params)
        >>> bool(jnp.array_equal(stepped[0], maze.step(key, state, down, params)[0]))
        True
        """
        key, fresh_state = drawn
        final_state, reward, terminated, truncated = self.advance(key, state, action, params)
        state = jax.tree.map(
            lambda fresh, final: jnp.where(terminated | truncated, fresh, final),
            fresh_state,
            final_state,
        )
        info = {
            "terminated": terminated,
            "truncated": truncated,
            "final_observation": self.observe(final_state),
        }
        return self.observe(state), state, reward, terminated, truncated, info

    def optimal_return(self, params: Params) -> float | None:
        """The expected undiscounted return of the best agent, or None where it is not known."""
        del params
        return None

    def random_decision_return(self, params: Params) -> float | None:
        """The same for an agent that does all but the decision right, and decides at random."""
        del params
        return None

    def levels(self, params: Params) -> dict[str, float]:
        """The returns that a figure marks, by name; those that are known.

        >>> from remanence import envs
        >>> envs.TMaze().levels(envs.TMazeParams())
        {'optimal': 4.0, 'coin flip': 1.95, 'no arm in time': 0.0}
        """
        known = {
            "optimal": self.optimal_return(params),
            "random decision": self.random_decision_return(params),
        }
        return {name: level for name, level in known.items() if level is not None}

    @property
    def growth(self) -> Growth | None:
        """What grows while the task stays the same, or None where nothing does."""
        return None

    def grow(self, params: Params, value: int) -> Params:
        """The parameters with what grows at that value, and all else as hard as it gets in them."""
        raise MissingMethodError(type(self).__name__, "grow", "which sets what grows in it")

    def read_growth(self, params: Params) -> tuple[int, int] | None:
        """The lowest and the highest value of what grows, in episodes of these parameters."""
        del params
        return None

    def time_limit(self, params: Params) -> int | None:
        """The most steps that an episode of these parameters takes, or None if any number."""
        del params
        return None

    def judge(self, state: State, action: Action) -> Integer:
        """Whether an action is a right decision (1), a wrong one (-1), or no decision (0).

        An episode is right if it terminated and no decision was wrong.

        >>> from remanence import envs
        >>> maze, params = envs.make("tmaze", length=1)
        >>> state = maze.start_with(jnp.int32(1), jax.random.key(0), params)
        >>> {name: int(maze.judge(state, jnp.int32(n))) for n, name in enumerate(maze.action_names)}
        {'right': 0, 'up': -1, 'left': 0, 'down': 1}
        """
        raise MissingMethodError(
            type(self).__name__, "judge", "which tells right decisions from wrong ones"
        )

    def cue_observations(self) -> np.ndarray | None:
        """What opens an episode, (cues, observation), if there is anything to remember.

        A row for each cue; everything else of the observation is as it is while the agent only has
        to wait.

        >>> from remanence import envs
        >>> envs.TMaze().cue_observations().tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
        """
        return None

    def idle_observation(self) -> np.ndarray | None:
        """What an agent sees that only has to remember and to walk on, or None if that varies.

        It is an observation, (observation,).

        >>> from remanence import envs
        >>> envs.TMaze().idle_observation().tolist()
        [0.0, 0.0]
        """
        return None

    def start_with(self, cue: Integer, key: Key, params: Params) -> State:
        """As `start`, with a given cue instead of a drawn one: a row of `cue_observations`."""
        raise MissingMethodError(
            type(self).__name__, "start_with", "which opens an episode with a given cue"
        )

    def situation(self, state: State) -> Any:
        """What of a state, apart from the time that is left, decides what follows.

        A greedy agent that comes back to the same memory in the same situation repeats itself for
        ever, and is taken to earn nothing more. None where that is not known: such an agent goes on
        until its time is over.

        >>> from remanence import envs
        >>> maze, params = envs.make("tmaze", length=3)
        >>> state = maze.start_with(jnp.int32(1), jax.random.key(0), params)
        >>> length, position, goal, arm, begins = maze.situation(state)
        >>> int(length), int(position), int(goal), int(arm), bool(begins)
        (3, 0, 1, 0, True)
        """
        del state
        return None

    def script(self) -> Script | None:
        """An agent that earns the optimal return, or None where nobody has written one.

        >>> from remanence import envs
        >>> script = envs.TMaze().script()
        >>> int(script.act(jnp.array([1.0, 0.0]), script.memory)[0])
        0
        """
        return None

    def depict(self, state: State) -> Scene:
        """What a person is shown of a state: its fields by name, where nobody has drawn more.

        >>> from remanence import envs
        >>> maze, params = envs.make("tmaze", length=3)
        >>> maze.depict(maze.start_with(jnp.int32(1), jax.random.key(0), params)).facts
        ('step 0', 'cell 1 of 3')
        """
        return list_fields(type(self).__name__, state)
