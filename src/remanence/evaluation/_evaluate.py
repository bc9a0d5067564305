"""Return against what grows: one agent or many, one cue after the other, value by value."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from remanence._keys import derive_key
from remanence._numbers import check_whole
from remanence._typing import Key
from remanence.certificates import (
    ExactEvaluator,
    Odds,
    SampledEvaluator,
    make_exact_evaluator,
    make_sampled_evaluator,
)
from remanence.envs import AbstractEnvironment, Growth
from remanence.errors import InvalidOptionError, MissingMethodError
from remanence.evaluation._decisions import tabulate_decisions
from remanence.evaluation._episodes import Episodes, run_episodes
from remanence.evaluation._summary import CONFIDENCE, Columns, Evaluation
from remanence.networks import Agent, check_fits

FEWEST_EPISODES = 100
# Where computing the chances of an agent that samples leaves out more than this, episodes are drawn
# for each length and cue, unless they may take too many steps.
MOST_LEFT_OUT, NUM_DRAWN, MOST_STEPS_DRAWN = 0.05, 1000, 20_000
LONGEST = 100_000_000  # ten times that is still a number of 32 bits
# Right decisions, and decisions, of an episode that has one at most.
_DECISIONS = {"right": (1, 1), "wrong": (0, 1), "timeout": (0, 0)}
# The columns of tables after those that say which agent, value and cue a row is of.
_EPISODE = ("return", "num_steps", "end", "num_right", "num_decisions")
_END = (*_EPISODE, "probability")
_BIN = ("first", "last", "num_right", "num_decisions")

OnProgress = Callable[[int, int], None]
Environment = tuple[AbstractEnvironment, Any]
Row = tuple[Any, ...]


def evaluate(
    agents: Agent | Mapping[Any, Agent],
    env: Environment,
    lengths: Sequence[int] | None = None,
    *,
    sampled: bool = False,
    num_episodes: int | None = None,
    seed: int = 0,
    plain: bool = False,
    on_progress: OnProgress = lambda done, total: None,
) -> Evaluation:
    """Run agents in closed loop while something grows, with actions greedy or sampled.

    `lengths` are values of what grows in the environment (its `growth`), the usual ones if not
    given. Where greedy episodes can be evaluated exactly, they are all there are, and
    fast-forwarded unless `plain`. Where the probability of each end of a sampled episode can be
    computed, it is; a thousand episodes are drawn for it where too much would be left out, and all
    episodes if `plain`. Elsewhere every cue has equally many episodes, `num_episodes` (100 or a
    little more if not given) in all, and all agents meet the same ones. All else of the
    environment, its time limit included, is as in `env`.

    >>> from pathlib import Path
    >>> from remanence import evaluation, training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> found = evaluation.evaluate(run.load_agents(), run.load_environment(), [2, 1_000_000])
    >>> found.exact, found.episodes["length"].tolist(), found.episodes["end"].tolist()
    (True, [2, 2, 1000000, 1000000], ['right', 'right', 'right', 'wrong'])
    """
    environment, _ = env
    growth = _find_growth(environment)
    named = agents if isinstance(agents, Mapping) else {0: agents}
    for agent in named.values():
        check_fits(agent, environment)
    lengths = _check_lengths(growth.usual if lengths is None else lengths)
    key = derive_key(jax.random.key(seed), "evaluation")
    evaluator = _make_evaluator(env, sampled, plain)
    if evaluator is not None:
        if num_episodes is not None:
            remedy = "probabilities are computed here; leave it out, or sample and step plainly"
            raise InvalidOptionError("num_episodes", num_episodes, remedy)
        if isinstance(evaluator, ExactEvaluator):
            return _evaluate_greedy(evaluator, named, env, lengths, on_progress)
        return _evaluate_odds(evaluator, named, env, lengths, key, on_progress)
    if plain and not (sampled and make_sampled_evaluator(env)):
        remedy = "leave it out: this evaluation steps through everything anyway"
        raise InvalidOptionError("plain", plain, remedy)
    rows, binned = _run_samples(named, env, lengths, num_episodes, sampled, key, on_progress)
    episodes = _name(rows, growth, environment, _EPISODE)
    decisions = _name(binned, growth, environment, _BIN)
    return Evaluation(episodes, growth.name, exact=False, decisions=decisions)


def _name(
    rows: Sequence[Row], growth: Growth, environment: AbstractEnvironment, names: Sequence[str]
) -> Columns:
    """Rows as columns; those of an environment without cues have none."""
    cue = () if environment.cue_observations() is None else ("cue",)
    columns = zip(*rows, strict=True)
    names = ("agent", growth.name, *cue, *names)
    return {name: _collect(column) for name, column in zip(names, columns, strict=True)}


def _collect(values: Sequence[Any]) -> np.ndarray:
    """A column of a table, in which None is masked."""
    unknown = [value is None for value in values]
    if not any(unknown):
        return np.array(values)
    return np.ma.masked_array([0 if value is None else value for value in values], unknown)


def _find_growth(environment: AbstractEnvironment) -> Growth:
    if environment.growth is None:
        need = "which tells evaluation what grows in it"
        raise MissingMethodError(type(environment.unwrapped).__name__, "growth", need)
    return environment.growth


def _check_lengths(lengths: Sequence[int]) -> list[int]:
    if not len(lengths):
        raise InvalidOptionError("lengths", [], "give one or more")
    return sorted({check_whole("lengths", length, 1, LONGEST) for length in lengths})


def _make_evaluator(
    env: Environment, sampled: bool, plain: bool
) -> ExactEvaluator | SampledEvaluator | None:
    """What finds all ends that there are; None where there is no way to them."""
    if not sampled:
        return make_exact_evaluator(env, plain=plain)
    return None if plain else make_sampled_evaluator(env)


def _evaluate_greedy(
    evaluator: ExactEvaluator,
    agents: Mapping[Any, Agent],
    env: Environment,
    lengths: Sequence[int],
    on_progress: OnProgress,
) -> Evaluation:
    environment, growth = env[0], _find_growth(env[0])
    rows = _run_each(agents, partial(_list_greedy, evaluator, lengths), on_progress)
    episodes = _name(list(rows), growth, environment, _EPISODE)
    return Evaluation(episodes, growth.name, exact=True)


def _evaluate_odds(
    evaluator: SampledEvaluator,
    agents: Mapping[Any, Agent],
    env: Environment,
    lengths: Sequence[int],
    key: Key,
    on_progress: OnProgress,
) -> Evaluation:
    (environment, params), growth = env, _find_growth(env[0])
    _check_ends(environment, environment.grow(params, lengths[0]), sampled=True)
    run = partial(_list_odds, evaluator, env, lengths, key)
    episodes = _name(list(_run_each(agents, run, on_progress)), growth, environment, _END)
    return Evaluation(episodes, growth.name, exact=True, returns=evaluator.returns)


def _run_each(
    agents: Mapping[Any, Agent], run: Callable[[Agent], Iterator[Row]], on_progress: OnProgress
) -> Iterator[Row]:
    for count, (name, agent) in enumerate(agents.items(), start=1):
        yield from ((name, *row) for row in run(agent))
        on_progress(count, len(agents))


def _list_greedy(evaluator: ExactEvaluator, lengths: Sequence[int], agent: Agent) -> Iterator[Row]:
    for episode in evaluator.run(agent, lengths):
        yield (*episode, *_DECISIONS[episode.end])


def _list_odds(
    evaluator: SampledEvaluator, env: Environment, lengths: Sequence[int], key: Key, agent: Agent
) -> Iterator[Row]:
    environment, params = env
    for odds in evaluator.run(agent, lengths):
        grown = environment.grow(params, odds.length)
        limit = environment.time_limit(grown)
        if odds.left_out > MOST_LEFT_OUT and limit is not None and limit <= MOST_STEPS_DRAWN:
            odds = _draw_odds(agent, (environment, grown), odds.length, odds.cue, key)
        yield from _list_ends(odds, evaluator.returns, limit)


def _draw_odds(agent: Agent, env: Environment, length: int, cue: int, key: Key) -> Odds:
    """How often episodes end in each way; what is left out is how far that may be off.

    All three shares are in their intervals of Clopper and Pearson (1934) at once, with 95%
    confidence. They are scaled down by the widest half of these, which makes it what is left out.
    """
    from scipy.special import betaincinv  # slow to import

    key = jax.random.fold_in(jax.random.fold_in(key, length), cue)
    drawn = run_episodes(agent.policy, *env, np.full(NUM_DRAWN, cue), key, sampled=True)
    flawless = drawn.num_right.sum(axis=1) == drawn.num_decisions
    right, wrong = drawn.terminated & flawless, drawn.terminated & ~flawless
    counts = np.array([it.sum() for it in (right, wrong, ~drawn.terminated)])
    tail = (1 - CONFIDENCE) / (2 * len(counts))
    low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), NUM_DRAWN - counts + 1, tail), 0)
    rest = NUM_DRAWN - counts
    high = np.where(rest > 0, betaincinv(counts + 1, np.maximum(rest, 1), 1 - tail), 1)
    shares = counts / NUM_DRAWN
    margin = float(np.maximum(shares - low, high - shares).max())
    steps = [float(drawn.num_steps[it].mean()) if it.any() else None for it in (right, wrong)]
    chances = dict(zip(("right", "wrong", "timeout"), (1 - margin) * shares, strict=True))
    return Odds(length, cue, **chances, left_out=margin, right_steps=steps[0], wrong_steps=steps[1])


def _list_ends(odds: Odds, returns: Mapping[str, float], limit: int | None) -> Iterator[Row]:
    """A row for each end that an episode may have."""
    ends = {
        "right": (odds.right_steps, odds.right),
        "wrong": (odds.wrong_steps, odds.wrong),
        "timeout": (limit, odds.timeout),
    }
    for end, (num_steps, probability) in ends.items():
        if probability > 0:
            told = (returns[end], num_steps, end, *_DECISIONS[end])
            yield odds.length, odds.cue, *told, probability


def _run_samples(
    agents: Mapping[Any, Agent],
    env: Environment,
    lengths: Sequence[int],
    num_episodes: int | None,
    sampled: bool,
    key: Key,
    on_progress: OnProgress,
) -> tuple[list[Row], list[Row]]:
    """A row for each episode, and one for each bin of decisions."""
    environment, params = env
    cues = balance_cues(environment, num_episodes)
    _check_ends(environment, environment.grow(params, lengths[0]), sampled)
    rows, binned = [], []
    for length in lengths:
        grown = environment.grow(params, length)
        for name, agent in agents.items():
            episodes = run_episodes(
                agent.policy,
                environment,
                grown,
                cues,
                jax.random.fold_in(key, length),
                sampled=sampled,
            )
            limit = environment.time_limit(grown)
            rows += [(name, length, *row) for row in _list_rows(cues, episodes, limit)]
            counts = tabulate_decisions(episodes.num_right, episodes.num_decisions, cues)
            binned += [(name, length, *row) for row in counts]
            on_progress(len(rows) // len(episodes.num_steps), len(agents) * len(lengths))
    return rows, binned


def _list_rows(cues: np.ndarray | int, episodes: Episodes, limit: int | None) -> list[Row]:
    num_right = episodes.num_right.sum(axis=1)
    flawless = num_right == episodes.num_decisions
    ends = np.where(episodes.terminated, np.where(flawless, "right", "wrong"), "timeout")
    # An episode that repeats itself was left before its time was over, and would take all of it.
    over = zip(episodes.num_steps.tolist(), episodes.terminated.tolist(), strict=True)
    num_steps = [taken if terminated else limit for taken, terminated in over]
    columns = [episodes.total_reward.tolist(), num_steps, ends.tolist()]
    columns += [num_right.tolist(), episodes.num_decisions.tolist()]
    if not isinstance(cues, int):
        columns = [cues.tolist(), *columns]
    return list(zip(*columns, strict=True))


def _check_ends(environment: AbstractEnvironment, params: Any, sampled: bool) -> None:
    """Raise unless every episode is certain to be over at some time."""
    if environment.time_limit(params) is not None:
        return
    name = type(environment.unwrapped).__name__
    if sampled:
        remedy = (
            "sampled episodes need one, as some may never end; set it in the environment's "
            f"parameters, or define time_limit in {name}"
        )
        raise InvalidOptionError("time limit", None, remedy)
    key = jax.random.key(0)
    if jax.eval_shape(lambda: environment.situation(environment.start(key, params))) is None:
        need = "nor a time limit (time_limit), and without one of them an episode may never end"
        raise MissingMethodError(name, "situation", need)


def balance_cues(
    environment: AbstractEnvironment, num_episodes: int | None = None
) -> np.ndarray | int:
    """Every cue equally often, and at least so many in all; their number if there are no cues.

    >>> from remanence import envs, evaluation
    >>> evaluation.balance_cues(envs.LookupTreeMaze(table_size=2), 5).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    wanted = FEWEST_EPISODES if num_episodes is None else num_episodes
    check_whole("num_episodes", wanted, 1)
    cues = environment.cue_observations()
    return wanted if cues is None else np.tile(np.arange(len(cues)), -(-wanted // len(cues)))
