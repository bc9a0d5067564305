import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from remanence import envs
from remanence.certificates import SampledEvaluator, find_limits, make_sampled_evaluator
from remanence.certificates._chances import SampledOrbit
from remanence.certificates._limits import weigh_phases
from remanence.certificates._orbit import Closure
from remanence.certificates._passage import Walks
from remanence.errors import InvalidOptionError
from remanence.evaluation import evaluate
from remanence.networks import Agent
from tests.certificates.agents import make_agent

RIGHT, UP, LEFT, DOWN = range(4)


def make_undecided(cell, seed):
    """A random agent that finds nothing very likely, so that all that can happen does."""
    agent = make_agent(cell, seed, gain=1.5)
    return eqx.tree_at(lambda it: it.policy.output.weight, agent, agent.policy.output.weight / 6)


def enumerate_ends(agent, goal, length, limit):
    """The chances of right, wrong and neither, by following everything that may be drawn."""
    policy = agent.make_portable()
    ends = {"right": 0.0, "wrong": 0.0, "timeout": 0.0}
    steps = dict.fromkeys(ends, 0.0)

    def end(name, chance, time):
        ends[name] += chance
        steps[name] += chance * time

    def follow(chance, state, position, time):
        if time == limit:
            end("timeout", chance, time)
            return
        at_junction = position == length - 1
        seen = np.array([goal if time == 0 else 0, at_junction], np.float32)
        logits, state = policy.step(seen, state)
        powers = np.exp(logits.astype(float) - logits.max())
        right, up, left, down = powers / powers.sum()
        if at_junction:
            end("right", chance * (up if goal < 0 else down), time + 1)
            end("wrong", chance * (down if goal < 0 else up), time + 1)
        else:
            follow(chance * (up + down), state, position, time + 1)
        follow(chance * right, state, min(position + 1, length - 1), time + 1)
        follow(chance * left, state, max(position - 1, 0), time + 1)

    follow(1.0, policy.initial_state(), 0, 0)
    return ends, steps


@pytest.mark.parametrize("cell", ["gru", "bmru"])
def test_chances_are_those_of_all_that_may_be_drawn(cell):
    agent = make_undecided(cell, 3)
    for length, factor in ((1, 5), (2, 3), (3, 2), (4, 2)):
        found = SampledEvaluator(envs.TMaze(), factor).run(agent, [length])
        for odds, goal in zip(found, (-1, 1), strict=True):
            ends, steps = enumerate_ends(agent, goal, length, factor * length)
            chances = [odds.right, odds.wrong, odds.timeout]
            # Two programs in binary32, which round differently.
            np.testing.assert_allclose(chances, list(ends.values()), rtol=1e-5, atol=1e-6)
            assert odds.left_out < 1e-12
            means = [steps[end] / ends[end] for end in ("right", "wrong")]
            assert [odds.right_steps, odds.wrong_steps] == pytest.approx(means, rel=1e-5)


def test_who_has_too_many_memories_is_drawn(monkeypatch):
    """Shares are off by no more than what is left out."""
    env, agents = envs.make("tmaze"), {2: make_undecided("gru", 2)}
    computed = evaluate(agents, env, [2, 7], sampled=True)
    monkeypatch.setattr("remanence.certificates._sampled.MOST_LOOKS", 4)
    drawn = evaluate(agents, env, [2, 7], sampled=True)
    again = evaluate(agents, env, [2, 7], sampled=True)
    assert 0.01 < drawn.left_out < 0.05
    np.testing.assert_array_equal(drawn.episodes["probability"], again.episodes["probability"])
    shares, chances = (tell_ends(it.episodes) for it in (drawn, computed))
    for end, (chance, num_steps) in chances.items():
        share, shown = shares.get(end, (0.0, num_steps))
        assert abs(share / (1 - drawn.left_out) - chance) < 0.05
        assert shown == pytest.approx(num_steps, rel=0.25)
    told, known = (it.summarize() for it in (drawn, computed))
    assert np.all(np.abs(told["return"] - known["return"]) <= told["high"] - told["return"])
    assert told["outcome"].tolist() == known["outcome"].tolist()


def test_who_may_walk_for_long_is_not_drawn(monkeypatch):
    monkeypatch.setattr("remanence.certificates._sampled.MOST_LOOKS", 4)
    monkeypatch.setattr("remanence.evaluation._evaluate.MOST_STEPS_DRAWN", 69)
    found = evaluate(make_undecided("gru", 2), envs.make("tmaze"), [7], sampled=True)
    assert found.left_out > 0.3


def test_lengths_that_share_memories_do_not_change_each_other():
    agent = make_undecided("gru", 3)
    evaluator = SampledEvaluator(envs.TMaze(), 2)
    alone, *_ = evaluator.run(agent, [40])
    *_, among, _ = evaluator.run(agent, [50, 36, 40])
    assert among == alone


def tell_ends(episodes):
    """Probability and mean steps of each end, by length and cue."""
    columns = ("length", "cue", "end", "probability", "num_steps")
    rows = zip(*(episodes[name].tolist() for name in columns), strict=True)
    return {tuple(end): (chance, num_steps) for *end, chance, num_steps in rows}


def sort_rows(summary):
    order = np.lexsort([summary["length"], summary["agent"]])
    return {name: column[order] for name, column in summary.items()}


def test_chances_are_those_of_simulated_episodes_within_their_error():
    env = envs.make("tmaze")
    agents = {seed: make_undecided("gru", seed) for seed in (2, 3)}
    number, lengths = 4000, [2, 7]
    drawn = evaluate(agents, env, lengths, sampled=True, plain=True, num_episodes=number)
    found = evaluate(agents, env, lengths, sampled=True)
    assert found.exact
    assert not drawn.exact
    assert found.left_out < 1e-3
    table, episodes = found.episodes, drawn.episodes
    for agent, length, cue, end, chance in zip(
        *(table[name] for name in ("agent", "length", "cue", "end", "probability")), strict=True
    ):
        own = [episodes["agent"] == agent, episodes["length"] == length, episodes["cue"] == cue]
        share = np.mean(episodes["end"][np.all(own, axis=0)] == end)
        # Five standard deviations, of which two dozen comparisons make one in 70,000.
        assert abs(share - chance) <= 5 * np.sqrt(chance * (1 - chance) / (number / 2)) + 1e-3
    shown, told = (sort_rows(it.summarize()) for it in (drawn, found))
    np.testing.assert_allclose(told["return"], shown["return"], atol=0.2)
    np.testing.assert_allclose(told["num_steps"], shown["num_steps"], rtol=0.1)
    assert list(shown) == list(told)
    assert np.all(told["low"] <= told["return"])
    assert np.all(told["return"] <= told["high"])


def make_forgetful(chances):
    """An agent that sees and remembers nothing, and always draws with the same chances."""
    agent = make_agent("mingru", 1)
    weights, rest = eqx.partition(agent.policy, eqx.is_inexact_array)
    policy = eqx.combine(jax.tree.map(jnp.zeros_like, weights), rest)
    bias = jnp.log(jnp.maximum(jnp.asarray(chances), 1e-30))
    return eqx.tree_at(
        lambda it: it.policy,
        agent,
        eqx.tree_at(lambda it: it.output.bias, policy, bias),
    )


def test_a_walk_to_the_right_alone_takes_as_long_as_the_negative_binomial_says():
    # From one cell to the next it takes 10 steps in the mean, as many as the time limit allows.
    agent, lengths = make_forgetful([0.1, 0.6, 0.0, 0.3]), [3, 100, 20_000]
    logs = np.asarray(agent.policy.output.bias, float)
    right, up, _, down = np.exp(logs) / np.exp(logs).sum()
    for odds in SampledEvaluator(envs.TMaze(), 10).run(agent, lengths):
        arrival = scipy.stats.nbinom(odds.length - 1, right)
        late = np.arange(1, 60)  # steps at the junction; the chance of more is 1e-60
        decided = right ** (late - 1) * (up + down)
        slack = 10 * odds.length - (odds.length - 1) - late
        in_time = float(decided @ arrival.cdf(slack))
        goal, other = ((up, down), (down, up))[odds.cue]
        expected = [goal / (up + down) * in_time, other / (up + down) * in_time, 1 - in_time]
        np.testing.assert_allclose(
            [odds.right, odds.wrong, odds.timeout], expected, atol=max(1e-7, odds.left_out)
        )
        assert odds.left_out < 1e-9


def test_a_walk_without_drift_runs_out_of_time_at_no_cost():
    agent = make_forgetful([0.25, 0.25, 0.25, 0.25])
    for odds in SampledEvaluator(envs.TMaze(), 10).run(agent, [1_000_000]):
        assert odds.timeout == pytest.approx(1.0, abs=1e-12)
        assert odds.right == odds.wrong == 0.0


class Moves(SampledOrbit):
    """Chances of moves that begin anyhow and then repeat, as an orbit has them."""

    def __init__(self, opening, cycle):
        self._opening, self._cycle = opening, cycle

    @property
    def closure(self):
        return Closure(len(self._opening), len(self._cycle))

    def moves(self, time):
        beyond = time - len(self._opening)
        return self._opening[time] if beyond < 0 else self._cycle[beyond % len(self._cycle)]

    def list_cycle(self):
        return np.array(self._cycle)


def walk_slowly(moves, length, limit):
    """The chance of each time of arrival, with one number for each cell."""
    cells, arrivals = np.zeros(length), np.zeros(limit)
    cells[0] = 1.0
    for time in range(limit - 1):
        right, left = moves.moves(time)
        after = (1 - right - left) * cells
        after[1:] += right * cells[:-1]
        after[:-1] += left * cells[1:]
        after[0] += left * cells[0]
        arrivals[time + 1], after[-1] = after[-1], 0.0
        cells = after
    return arrivals, cells.sum()


@pytest.mark.parametrize("length", [2, 30, 700])
def test_leaps_do_not_change_when_the_junction_is_reached(length):
    numbers = np.random.default_rng(length)
    moves = Moves(
        [tuple(numbers.dirichlet([3, 1, 1])[:2]) for _ in range(5)], [(0.5, 0.2), (0.7, 0.0)]
    )
    limit = 4 * length
    arrivals, never = walk_slowly(moves, length, limit)
    found = Walks(moves).pass_through(length, limit)
    told = np.zeros(limit)
    told[found.times] = found.chances
    np.testing.assert_allclose(told, arrivals, atol=1e-13)
    np.testing.assert_allclose(found.never, never, atol=1e-12)


def test_the_phase_of_a_far_arrival_is_that_of_a_long_walk():
    moves = Moves([], [(0.6, 0.3), (0.2, 0.1), (0.9, 0.05)])
    found = Walks(moves).pass_through(3000, 30_000)
    phases = np.bincount(found.times % 3, found.chances)
    weights = weigh_phases(moves.list_cycle())
    assert weights is not None
    np.testing.assert_allclose(weights, phases, atol=1e-9)
    # One that goes right in every step is in a phase that depends on the length for ever.
    assert weigh_phases(np.array([(1.0, 0.0), (1.0, 0.0)])) is None


def test_limits_are_what_long_corridors_come_to():
    env = envs.make("tmaze")
    for cell in ("mingru", "brc"):
        agent = Agent.load(f"examples/agents/{cell}/agents/seed-1.safetensors")
        odds = SampledEvaluator(envs.TMaze(), 10).run(agent, [3000])
        for limit, far in zip(find_limits(agent, env), odds, strict=True):
            assert limit.low is not None
            assert limit.high == pytest.approx(limit.low, abs=1e-9)
            assert limit.right == pytest.approx(far.right, abs=far.left_out + 1e-9)
            assert limit.timeout == pytest.approx(far.timeout, abs=1e-9)


def test_who_never_arrives_in_time_has_no_right_arm_in_the_limit():
    limits = find_limits(make_forgetful([0.3, 0.2, 0.3, 0.2]), envs.make("tmaze"))
    assert [(it.right, it.timeout) for it in limits] == [(0.0, 1.0)] * 2
    endless = envs.make("tmaze", time_limit_factor=None)
    for limit in find_limits(make_forgetful([0.5, 0.1, 0.1, 0.3]), endless):
        assert limit.right == pytest.approx((0.25, 0.75)[limit.cue], abs=1e-6)
        assert limit.low is not None
        assert limit.high == pytest.approx(limit.low, abs=1e-9)


def test_what_cannot_be_computed_is_drawn_or_refused():
    env = envs.make("tmaze", previous_action=True)
    assert make_sampled_evaluator(env) is None
    agent = make_agent("gru", 0, previous_action=True)
    assert not evaluate(agent, env, [2], sampled=True, num_episodes=2).exact
    with pytest.raises(InvalidOptionError, match="without the previous action"):
        find_limits(agent, env)
    with pytest.raises(InvalidOptionError, match="probabilities are computed here"):
        evaluate(make_agent(), envs.make("tmaze"), [2], sampled=True, num_episodes=10)
    with pytest.raises(InvalidOptionError, match="sampled episodes need one"):
        evaluate(make_agent(), envs.make("tmaze", time_limit_factor=None), [2], sampled=True)
