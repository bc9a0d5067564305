"""Return against horizon: one agent or many, one cue after the other, length by length."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy import stats

from remanence._keys import derive_key
from remanence.certificates import GOALS, ExactEpisodes
from remanence.envs import (
    AbstractEnvironment,
    LookupTreeMaze,
    LookupTreeMazeParams,
    PreviousAction,
    TMaze,
    TMazeParams,
    space_lengths,
)
from remanence.errors import InvalidOptionError
from remanence.evaluation._episodes import Episodes, run_episodes
from remanence.networks import Agent, check_fits

MAZE_COUNTS = (10, 100, 1_000, 10_000)
FEWEST_EPISODES = 100
CONFIDENCE = 0.95
LONGEST = 100_000_000  # ten times that is still a number of 32 bits
RETURNS = {"right": 4.0, "wrong": -0.1, "timeout": 0.0}

Columns = dict[str, np.ndarray]
OnProgress = Callable[[int, int], None]


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Every episode, as columns of one table.

    `agent` is the seed or name of the agent, `length` the maze's (`num_mazes` in a LookupTreeMaze),
    `cue` a row of the environment's `cue_observations`; then `return`, `num_steps` and `end`,
    which is "right" (no wrong decision), "wrong" or "timeout". `axis` names the column of lengths;
    `exact` says that the episodes are all there are, and not a sample. Without a time limit a
    "timeout" is an episode that never ends, and its `num_steps` is 0.
    """

    episodes: Columns
    axis: str
    exact: bool

    def summarize(self) -> Columns:
        """A row for each agent and length: mean return with its confidence interval, outcome.

        The outcome is "timeout" if some episode ran out of time, "solved" if all decisions were
        right, and else "random". The interval is Student's, at 95%, over episodes; where the
        episodes are all there are it is the mean itself.
        """
        agents, lengths = self.episodes["agent"], self.episodes[self.axis]
        groups = dict.fromkeys(zip(agents.tolist(), lengths.tolist(), strict=True))
        rows = [
            (agent, length, *self._summarize((agents == agent) & (lengths == length)))
            for agent, length in groups
        ]
        names = ("agent", self.axis, "return", "low", "high", "num_steps", "outcome")
        return {
            name: np.array(column)
            for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }

    def _summarize(self, members: np.ndarray) -> tuple[float, float, float, float, str]:
        returns, ends = self.episodes["return"][members], self.episodes["end"][members]
        mean = float(returns.mean())
        margin = 0.0 if self.exact else _find_margin(returns)
        outcome = "timeout" if "timeout" in ends else "random" if "wrong" in ends else "solved"
        num_steps = float(self.episodes["num_steps"][members].mean())
        return mean, mean - margin, mean + margin, num_steps, outcome


def evaluate(
    agents: Agent | Mapping[Any, Agent],
    env: tuple[AbstractEnvironment, Any],
    lengths: Sequence[int] | None = None,
    *,
    sampled: bool = False,
    num_episodes: int | None = None,
    seed: int = 0,
    plain: bool = False,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Run agents in closed loop at the given lengths, with actions greedy or sampled.

    On a T-maze two greedy episodes decide a length, one for each goal; they are exact, and
    fast-forwarded unless `plain`. The lengths are 2 to 1 000 000 if not given. On a LookupTreeMaze
    `lengths` are numbers of mazes, each maze as long as the longest of `env`; every table has
    equally many episodes, `num_episodes` (100 or a little more if not given) in all, and all agents
    meet the same ones. The time limit is that of `env`.
    """
    environment, params = env
    named = agents if isinstance(agents, Mapping) else {0: agents}
    for agent in named.values():
        check_fits(agent, environment)
    inner = environment.inner if isinstance(environment, PreviousAction) else environment
    axis, usual = _find_axis(inner)
    lengths = _check_lengths(usual if lengths is None else lengths)
    exact = isinstance(inner, TMaze) and not sampled
    if plain and not exact:
        remedy = "only greedy agents of a T-maze are fast-forwarded, all others step plainly anyway"
        raise InvalidOptionError("plain", plain, remedy)
    if exact and num_episodes is not None:
        remedy = "two greedy episodes are all there are on a T-maze; leave it out, or sample"
        raise InvalidOptionError("num_episodes", num_episodes, remedy)
    if sampled and not np.all(params.limit_factor):
        remedy = "sampled episodes need a time limit, for some may never end"
        raise InvalidOptionError("time_limit_factor", None, remedy)
    if exact:
        limit_factor = int(np.max(params.limit_factor))
        rows = _run_exactly(named, environment, limit_factor, lengths, plain, on_progress)
    else:
        cues = _balance_cues(environment, num_episodes)
        rows = _run_samples(named, env, lengths, cues, sampled, seed, on_progress)
    names = ("agent", axis, "cue", "return", "num_steps", "end")
    columns = {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    return Evaluation(columns, axis, exact)


def _find_axis(environment: AbstractEnvironment) -> tuple[str, Sequence[int]]:
    """What grows in an environment, and how far if nobody says."""
    if isinstance(environment, TMaze):
        return "length", space_lengths()
    if isinstance(environment, LookupTreeMaze):
        return "num_mazes", MAZE_COUNTS
    raise InvalidOptionError("env", type(environment).__name__, "use a T-maze or a LookupTreeMaze")


def _check_lengths(lengths: Sequence[int]) -> list[int]:
    numbers = list(lengths)
    if not numbers or any(int(n) != n or not 1 <= n <= LONGEST for n in numbers):
        remedy = f"give whole numbers from 1 to {LONGEST:,}"
        raise InvalidOptionError("lengths", numbers, remedy)
    return sorted({int(length) for length in lengths})


Row = tuple[Any, int, int, float, int, str]


def _run_exactly(
    agents: Mapping[Any, Agent],
    environment: AbstractEnvironment,
    limit_factor: int,
    lengths: Sequence[int],
    plain: bool,
    on_progress: OnProgress | None,
) -> list[Row]:
    rows: list[Row] = []
    for count, (name, agent) in enumerate(agents.items()):
        episodes = ExactEpisodes(agent, environment, limit_factor, plain)
        for length in lengths:
            for cue, goal in enumerate(GOALS):
                arm, num_steps = episodes.end(goal, length)
                end = "timeout" if arm == 0 else "right" if arm == goal else "wrong"
                taken = num_steps if arm else limit_factor * length
                rows.append((name, length, cue, RETURNS[end], taken, end))
        if on_progress:
            on_progress(count + 1, len(agents))
    return rows


def _run_samples(
    agents: Mapping[Any, Agent],
    env: tuple[AbstractEnvironment, Any],
    lengths: Sequence[int],
    cues: np.ndarray,
    sampled: bool,
    seed: int,
    on_progress: OnProgress | None,
) -> list[Row]:
    rows: list[Row] = []
    key = derive_key(jax.random.key(seed), "evaluation")
    for length in lengths:
        params = _set_length(env, length)
        for name, agent in agents.items():
            episodes = run_episodes(
                agent.policy, env[0], params, cues, jax.random.fold_in(key, length), sampled=sampled
            )
            rows += _list_rows(name, length, cues, episodes, _find_limit(params))
            if on_progress:
                on_progress(len(rows) // len(cues), len(agents) * len(lengths))
    return rows


def _list_rows(
    name: Any, length: int, cues: np.ndarray, episodes: Episodes, limit: int
) -> list[Row]:
    right = np.where(episodes.flawless, "right", "wrong")
    ends = np.where(episodes.terminated, right, "timeout")
    # An episode that repeats itself was left before its time was over, and would take all of it.
    num_steps = np.where(episodes.terminated, episodes.num_steps, limit)
    columns = (cues, episodes.total_reward, num_steps, ends)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(name, length, *row) for row in rows]


def _find_limit(params: Any) -> int:
    """The time limit in steps, 0 for none; lengths and numbers of mazes are fixed."""
    num_mazes = getattr(params, "num_mazes_high", 1)
    return int(params.limit_factor) * int(num_mazes) * int(params.length_high)


def _set_length(env: tuple[AbstractEnvironment, Any], length: int) -> Any:
    """The parameters with that length, or that number of mazes of the greatest length."""
    _, params = env
    limit_factor = int(np.max(params.limit_factor)) or None
    if isinstance(params, TMazeParams):
        return TMazeParams(length, limit_factor)
    return LookupTreeMazeParams(length, int(np.max(params.length_high)), limit_factor)


def _balance_cues(environment: AbstractEnvironment, num_episodes: int | None) -> np.ndarray:
    """Every cue equally often, and at least so many in all."""
    cues = environment.cue_observations()
    if cues is None:
        remedy = "its class must define cue_observations"
        raise InvalidOptionError("env", type(environment).__name__, remedy)
    wanted = FEWEST_EPISODES if num_episodes is None else num_episodes
    if wanted < 1:
        raise InvalidOptionError("num_episodes", wanted, "use 1 or more")
    return np.tile(np.arange(len(cues)), -(-wanted // len(cues)))


def _find_margin(returns: np.ndarray) -> float:
    """Half of the confidence interval of the mean, by Student's t."""
    if len(returns) < 2 or np.ptp(returns) == 0:
        return 0.0
    quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, len(returns) - 1)
    return float(quantile * returns.std(ddof=1) / np.sqrt(len(returns)))
