"""What is lost when a decision in a LookupTreeMaze is wrong: the table, the index, or the flag.

By interventions, and not by a probe: a classifier trained to read the table from a memory says what
is there, and not what the agent uses. Here each of the three things that a decision needs is shown
to the agent once more, everything else being as it was. What cures a wrong decision had been lost.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from remanence._keys import derive_key
from remanence._typing import Action, Key
from remanence.envs import (
    ACTION_NAMES,
    RIGHT_DECISION,
    AbstractEnvironment,
    LookupTreeMazeParams,
    PreviousAction,
)
from remanence.errors import InvalidOptionError
from remanence.evaluation import balance_cues, space_bins
from remanence.study import AgentGroup, stages

NUM_MAZES = 1000
NUM_EPISODES = 100
# Of each maze, as in the paper's evaluations.
LENGTH = 3
SHOWN = ("table", "index", "flag")

RIGHT, UP, DOWN = (ACTION_NAMES.index(name) for name in ("right", "up", "down"))

Columns = dict[str, np.ndarray]


class Decisions(NamedTuple):
    """Which decisions are right, (mazes, episodes) each.

    `plain` are the agent's own; the others what it decides when one thing is shown to it again.
    """

    plain: Any
    table: Any
    index: Any
    flag: Any


def find_losses(
    group: AgentGroup,
    *,
    num_mazes: int = NUM_MAZES,
    num_episodes: int = NUM_EPISODES,
    seed: int = 0,
    on_agent: Any = lambda number, total: None,
) -> None:
    """Write the table `losses`: what cures wrong decisions of each agent, and spoils right ones.

    Every agent is led straight through the same episodes of `num_mazes` mazes, in which every table
    is equally often; there are `num_episodes` or a few more. Rows are for each table (`cue`) and
    bin of mazes, from the `first` to the `last` (those of `evaluation.space_bins`).

    At each junction the agent decides, and decides again with one thing shown to it once more:

    table   its memory at the maze's entry is that of an agent whose episode begins there, and
            which sees this table and this index at once
    index   it sees the index together with the flag
    flag    it stands still for a step, and sees the flag a second time

    `cured_by_table` and so on count wrong decisions that are right then, each thing on its own, and
    `cured_by_none` those that stay wrong in all three; `spoiled_by_table` and so on count right
    decisions that are wrong then, which tells how many cures are chance. Where the index is one
    number, 0 looks like none, and showing it again shows nothing.
    """
    environment, _ = group.env
    if not stages["losses"].supports(environment):
        remedy = "what is lost of table, index and flag can be asked in a LookupTreeMaze alone"
        raise InvalidOptionError("environment", type(environment.unwrapped).__name__, remedy)
    cues = np.asarray(balance_cues(environment, num_episodes))
    key = derive_key(jax.random.key(seed), "losses")
    parts = []
    for number, (name, agent) in enumerate(group.agents.items(), start=1):
        decisions = lead_agent(agent.policy, environment, cues, num_mazes, key)
        parts.append(tabulate_losses(name, cues, decisions))
        on_agent(number, len(group.agents))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    group.records.update("losses", joined, group.weights)


def lead_agent(
    policy: Any, environment: AbstractEnvironment, cues: np.ndarray, num_mazes: int, key: Key
) -> Decisions:
    """Lead an agent through episodes, one for each cue, and ask it at each junction.

    Of `policy` only `initial_state` and `step` are used.
    """
    found = _lead(policy, environment, jnp.asarray(cues, jnp.int32), num_mazes, key)
    return Decisions(*map(np.asarray, found))


@eqx.filter_jit
def _lead(
    policy: Any, environment: AbstractEnvironment, cues: Array, num_mazes: int, key: Key
) -> Decisions:
    params = LookupTreeMazeParams(num_mazes, LENGTH, time_limit_factor=None)
    guide = _Guide(policy, environment, params)
    keys = jax.random.split(key, len(cues))
    states = jax.vmap(environment.start_with, in_axes=(0, 0, None))(cues, keys, params)
    memories = jax.tree.map(lambda leaf: jnp.stack([leaf] * len(cues)), policy.initial_state())

    def pass_maze(carry: Any, _: None) -> tuple[Any, Decisions]:
        return jax.vmap(guide.pass_maze)(*carry)

    return jax.lax.scan(pass_maze, (states, memories), length=num_mazes)[1]


class _Guide(eqx.Module):
    """Leads one agent through one episode.

    Walking is taken out, since it is not what is asked: whatever the agent would do in a corridor,
    it goes right, and at the junction it takes the likelier of the two arms.
    """

    policy: Any
    environment: AbstractEnvironment = eqx.field(static=True)
    params: LookupTreeMazeParams

    def pass_maze(self, state: Any, memory: Any) -> tuple[Any, Decisions]:
        """Where the agent is after a maze, with its memory, and what it decides in it."""
        junction, before = self._walk(state, memory)
        decision, after = self._decide(junction, before)
        # As if the episode began here: nothing is remembered, and the table is seen with the index.
        by_table, _ = self._decide(
            *self._walk(_reset_time(self.environment, state), self.policy.initial_state())
        )
        by_index, _ = self._decide(_enter_again(self.environment, junction), before)
        # To go right is a bump here, so it stands where it stood.
        by_flag, _ = self._decide(self._advance(junction, RIGHT), after)
        right = (
            self.environment.judge(junction, action) == RIGHT_DECISION
            for action in (decision, by_table, by_index, by_flag)
        )
        return (self._advance(junction, decision), after), Decisions(*right)

    def _walk(self, state: Any, memory: Any) -> tuple[Any, Any]:
        """From the entry of a maze to its junction, which is not seen yet."""
        for _ in range(LENGTH - 1):
            _, memory = self.policy.step(self.environment.observe(state), memory)
            state = self._advance(state, RIGHT)
        return state, memory

    def _decide(self, state: Any, memory: Any) -> tuple[Action, Any]:
        """The likelier of up and down after a look, and the memory of it."""
        logits, memory = self.policy.step(self.environment.observe(state), memory)
        return jnp.where(logits[DOWN] > logits[UP], DOWN, UP).astype(jnp.int32), memory

    def _advance(self, state: Any, action: Action | int) -> Any:
        key = jax.random.key(0)  # mazes draw nothing on the way
        action = jnp.asarray(action, jnp.int32)
        return self.environment.advance(key, state, action, self.params)[0]


def _reset_time(environment: AbstractEnvironment, state: Any) -> Any:
    """The same maze as the first of an episode, before any action."""
    if isinstance(environment, PreviousAction):
        return environment.join(_reset_time(environment.inner, state.inner))
    return eqx.tree_at(lambda it: it.time, state, jnp.zeros_like(state.time))


def _enter_again(environment: AbstractEnvironment, state: Any) -> Any:
    """The same place as if it were the first of its maze, where the index is seen."""
    if isinstance(environment, PreviousAction):
        inner = _enter_again(environment.inner, state.inner)
        return eqx.tree_at(lambda it: it.inner, state, inner)
    return eqx.tree_at(lambda it: it.entered, state, jnp.ones_like(state.entered))


def tabulate_losses(seed: int, cues: np.ndarray, decisions: Decisions) -> Columns:
    """Counts of decisions, of wrong ones and of what cures and spoils them, by cue and bin."""
    wrong = ~decisions.plain
    shown = {name: getattr(decisions, name) for name in SHOWN}
    cured = {name: wrong & right for name, right in shown.items()}
    marks: dict[str, Bool[np.ndarray, "mazes episodes"]] = {
        "num_decisions": np.ones_like(wrong),
        "num_wrong": wrong,
        **{f"cured_by_{name}": it for name, it in cured.items()},
        "cured_by_none": wrong & ~np.any(list(cured.values()), axis=0),
        **{f"spoiled_by_{name}": ~wrong & ~right for name, right in shown.items()},
    }
    firsts, lasts = space_bins(len(wrong))
    tables = np.unique(cues)
    rows, bins = len(tables) * len(firsts), len(firsts)
    return {
        "seed": np.full(rows, seed),
        "cue": np.repeat(tables, bins),
        "first": np.tile(firsts, len(tables)),
        "last": np.tile(lasts, len(tables)),
        **{name: _count(mark, cues, firsts) for name, mark in marks.items()},
    }


def _count(mark: np.ndarray, cues: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """How many marks there are for each cue and bin, (cues * bins,)."""
    binned = np.add.reduceat(mark.astype(int), firsts - 1, axis=0)
    return np.concatenate([binned[:, cues == cue].sum(axis=1) for cue in np.unique(cues)])
